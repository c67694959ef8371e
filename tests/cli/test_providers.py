"""`tidings providers` and the limit that workers share, as a user sets and sees them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tidings.config import load_config
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.queue import Lane


def test_providers_are_the_system_s_whatever_is_set_in_the_shell(tidings: Command) -> None:
    shown = tidings("providers", "list", TIDINGS_SMTP_URL="smtp://here?from=a@b")
    found = {one["name"]: one for one in tidings("providers", "list", "--json").json}

    assert shown.status == 0, shown.err
    assert "nobody" in shown.out
    assert "smtp" not in shown.out
    assert (found["console-email"]["channels"], found["console-email"]["printing"]) == (["email"], True)
    assert (found["console-email"]["limit"], found["console-email"]["servedBy"]) == (None, [])


def test_a_worker_refuses_a_limit_for_a_provider_that_it_does_not_have(tidings: Command) -> None:
    complaint = tidings("worker", TIDINGS_PROVIDER_CONCURRENCY="smpt=20").complaint

    assert "'smpt'" in complaint
    assert "functions" in complaint


def test_limits_may_stand_in_a_table_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text("[provider_concurrency]\nsmtp = 20\nfunctions = 50\n")

    assert load_config({}, {}, tmp_path).provider_concurrency == {"smtp": 20, "functions": 50}


@pytest.mark.parametrize(
    ("given", "hours"),
    [
        ("6", (6, 6, 6)),
        ("0.5", (0.5, 0.5, 0.5)),
        ("transactional=1, Campaigns=72", (1, 24, 72)),
        (None, (12, 24, 24)),
    ],
)
def test_the_patience_with_outages_is_one_number_or_one_for_each_lane(
    tmp_path: Path, given: str | None, hours: tuple[float, ...]
) -> None:
    environ = {"TIDINGS_OUTAGE_HOURS": given} if given else {}
    found = load_config({}, environ, tmp_path).outage_hours

    assert (found[Lane.TRANSACTIONAL], found[Lane.SEQUENCES], found[Lane.CAMPAIGNS]) == hours


def test_the_patience_with_outages_may_stand_in_a_table_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text("[outage_hours]\nsequences = 100\n")

    assert load_config({}, {}, tmp_path).outage_hours[Lane.SEQUENCES] == 100


@pytest.mark.parametrize("given", ["soon", "-1", "workflows=3", "campaigns=", "campaigns=1,campaigns=2", "runs=3"])
def test_a_patience_with_outages_that_says_nothing_is_refused_with_what_to_write(tmp_path: Path, given: str) -> None:
    with pytest.raises(ConfigInvalid, match="TIDINGS_OUTAGE_HOURS"):
        load_config({}, {"TIDINGS_OUTAGE_HOURS": given}, tmp_path)
