"""`tidings providers` and the limit that workers share, as a user sets and sees them."""

from pathlib import Path

from tests.cli.conftest import Command
from tidings.config import load_config


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
