import json
import subprocess
import sys
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest
import structlog

from tidings.cli.options import configure_logs
from tidings.config import Config, LogFormat, load_config, variable
from tidings.domain.doubt import DoubtPolicy
from tidings.domain.errors import ConfigInvalid
from tidings.domain.queue import Lane


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text("batch = 1\nprocesses = 1\npoll_seconds = 1\n")
    environ = {"TIDINGS_BATCH": "2", "TIDINGS_PROCESSES": "2"}

    config = load_config({"batch": 3}, environ, tmp_path)

    assert (config.batch, config.processes, config.poll_seconds) == (3, 2, 1)


def test_a_flag_not_given_and_an_empty_variable_count_as_absent(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text('database_url = "postgresql://file/app"\n')

    config = load_config({"database_url": None}, {"DATABASE_URL": ""}, tmp_path)

    assert config.database_url == "postgresql://file/app"


def test_without_any_setting_there_are_defaults(tmp_path: Path) -> None:
    assert load_config({}, {}, tmp_path) == Config()


def test_every_setting_can_be_given_everywhere(tmp_path: Path) -> None:
    wanted = Config(
        database_url="postgresql://here/app",
        data_dir=Path("/data"),
        pg_bin=Path("/bin"),
        allow_unsafe_storage=True,
        shards=8,
        connections=3,
        smtp_url="smtp://here?from=a@b",
        functions_url="https://here.example",
        functions_key="token",
        allow_private_addresses=True,
        secret_key="a2V5",
        lease_seconds=90,
        call_seconds=1.5,
        provider_concurrency={"smtp": 20, "functions": 50},
        outage_hours={Lane.TRANSACTIONAL: 1, Lane.SEQUENCES: 24, Lane.CAMPAIGNS: 72},
        doubt_policy=DoubtPolicy.RESEND,
        processes=2,
        batch=7,
        lanes=(Lane.CAMPAIGNS, Lane.RUNS),
        poll_seconds=0.5,
        host="0.0.0.0",
        port=9000,
        admin_key="tid_something",
        rate_limit=12.5,
        log_format=LogFormat.JSON,
    )
    words = {field.name: str(getattr(wanted, field.name)) for field in fields(Config)}
    words |= {"lanes": "Campaigns, runs", "allow_unsafe_storage": "yes"}
    words["allow_private_addresses"] = "on"
    words["provider_concurrency"] = "smtp=20, functions = 50"
    words["outage_hours"] = "transactional=1, Campaigns = 72"
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "tidings.toml").write_text("".join(f'{name} = "{word}"\n' for name, word in words.items()))

    assert load_config({}, {}, tmp_path) == wanted
    assert load_config({}, {variable(name): word for name, word in words.items()}, empty) == wanted
    assert load_config(words, {}, empty) == wanted


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("batch", "many"),
        ("batch", "nan"),
        ("lease_seconds", "inf"),
        ("allow_unsafe_storage", "perhaps"),
        ("log_format", "xml"),
        ("provider_concurrency", "smtp"),
        ("provider_concurrency", "smtp=0"),
        ("provider_concurrency", "smtp=2,smtp=3"),
        ("provider_concurrency", "=5"),
        ("lanes", "campaigns,"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named_with_its_source(tmp_path: Path, name: str, word: str) -> None:
    with pytest.raises(ConfigInvalid, match=f"^TIDINGS_{name.upper()} "):
        load_config({}, {f"TIDINGS_{name.upper()}": word}, tmp_path)


@pytest.mark.parametrize("name", ["database_url", "smtp_url", "functions_key", "secret_key", "admin_key"])
def test_a_setting_that_may_hold_a_secret_is_never_repeated(name: str, tmp_path: Path) -> None:
    assert "hunter2" not in repr(load_config({name: "scheme://user:hunter2@host"}, {}, tmp_path))

    (tmp_path / "tidings.toml").write_text(f"{name} = 12345678\n")
    with pytest.raises(ConfigInvalid) as refused:
        load_config({}, {}, tmp_path)
    assert "12345678" not in str(refused.value)


CRASH = """
import structlog
from tidings.cli.options import configure_logs
from tidings.config import Config, LogFormat

configure_logs(Config(log_format=LogFormat("{form}")))

def handle(bearer):
    raise ZeroDivisionError("what nobody foresaw")

try:
    handle("tid_" + "hunter" + str(2))
except ZeroDivisionError:
    structlog.get_logger().exception("request_crashed")
"""


@pytest.mark.parametrize("form", list(LogFormat))
def test_a_crash_is_logged_without_the_secrets_that_were_at_hand(form: LogFormat) -> None:
    ended = subprocess.run([sys.executable, "-c", CRASH.format(form=form)], capture_output=True, text=True, check=True)

    assert "what nobody foresaw" in ended.stderr
    assert "hunter2" not in ended.stderr


def test_a_line_and_its_end_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []
    stream = StringIO()
    monkeypatch.setattr(stream, "write", writes.append)
    monkeypatch.setattr(sys, "stderr", stream)

    try:
        configure_logs(Config(log_format=LogFormat.JSON))
        structlog.get_logger().info("worker_started")
    finally:
        structlog.reset_defaults()

    [line] = writes
    assert json.loads(line)["event"] == "worker_started"
    assert line.endswith("\n")
