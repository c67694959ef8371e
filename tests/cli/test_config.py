import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest
import structlog

from tests.cli.conftest import Command
from tidings.cli.running import configure_logs
from tidings.config import (
    CREDENTIAL_PREFIX,
    OTHER_VARIABLES,
    Config,
    LogFormat,
    RowSecurity,
    _is_injected,
    _warn_if_others_may_read,
    load_config,
    variable,
)
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.queue import Lane
from tidings.domain.people.oidc import read_login

LOGIN = {"issuer": "https://login.example.com", "client_id": "tidings", "client_secret": "s3cret", "label": "Work"}


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
        database_url_file=Path("/address"),
        owner_database_url="postgresql://owner@here/app",
        row_security=RowSecurity.FORCE,
        data_dir=Path("/data"),
        pg_bin=Path("/bin"),
        allow_unsafe_storage=True,
        shards=8,
        connections=3,
        smtp_url="smtp://here?from=a@b",
        phone_region="DE",
        functions_url="https://here.example",
        functions_key="token",
        functions_for=("default/default", "acme/*"),
        functions_signing_secret="whsec_c2VjcmV0",
        allow_private_addresses=True,
        secret_key="a2V5",
        lease_seconds=90,
        call_seconds=1.5,
        connect={"own": {"provider": "smtp"}},
        provider_concurrency={"smtp": 20, "functions": 50},
        outage_hours={Lane.TRANSACTIONAL: 1, Lane.SEQUENCES: 24, Lane.CAMPAIGNS: 72},
        doubt_policy=DoubtPolicy.RESEND,
        processes=2,
        batch=7,
        lanes=(Lane.CAMPAIGNS, Lane.RUNS),
        poll_seconds=0.5,
        host="0.0.0.0",
        port=9000,
        tls_cert=Path("/cert.pem"),
        tls_key=Path("/key.pem"),
        forwarded_allow_ips=("10.0.0.7", "172.16.0.0/12"),
        max_connections=500,
        max_connections_per_address=50,
        admin_key="tid_something",
        rate_limit=12.5,
        public_url="https://tidings.example.com",
        session_idle_hours=2,
        session_hours=48.5,
        oidc={"company": read_login("company", LOGIN)},
        log_format=LogFormat.JSON,
    )
    words = {field.name: str(getattr(wanted, field.name)) for field in fields(Config)}
    words |= {"lanes": "Campaigns, runs", "allow_unsafe_storage": "yes"}
    words["allow_private_addresses"] = "on"
    words["functions_for"] = "default/default, acme/*"
    words["forwarded_allow_ips"] = "10.0.0.7, 172.16.0.0/12"
    words["connect"] = json.dumps({"own": {"provider": "smtp"}})
    words["oidc"] = json.dumps({"company": LOGIN})
    words["provider_concurrency"] = "smtp=20, functions = 50"
    words["outage_hours"] = "transactional=1, Campaigns = 72"
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "tidings.toml").write_text("".join(f"{name} = {json.dumps(word)}\n" for name, word in words.items()))

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
        ("connect", "smtp"),
        ("connect", '{"own": 7}'),
        ("oidc", '{"company": {"issuer": "https://login.example.com"}}'),
        ("public_url", "tidings.example.com"),
        ("public_url", "https://tidings.example.com/page"),
        ("provider_concurrency", "smtp"),
        ("functions_for", "acme"),
        ("functions_for", "*/main"),
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
from tidings.cli.running import configure_logs
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


# Names that nobody reads


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TIDINGS_SMTP_ULR", "did you mean TIDINGS_SMTP_URL?"),
        ("TIDINGS_SMTPURL", "did you mean TIDINGS_SMTP_URL?"),
        ("TIDINGS_smtp_url", "did you mean TIDINGS_SMTP_URL?"),
        ("tidings_smtp_url", "did you mean TIDINGS_SMTP_URL?"),
        ("TIDINGS_DATABASE_URL", "did you mean DATABASE_URL?"),
        ("TIDINGS_DB_URL", "did you mean DATABASE_URL?"),
        ("TIDINGS_LEASE_SECOND", "did you mean TIDINGS_LEASE_SECONDS?"),
        ("TIDINGS_", "use one of TIDINGS_ADMIN_KEY, "),
        ("TIDINGS_XYZZY", "use one of TIDINGS_ADMIN_KEY, "),
    ],
)
@pytest.mark.parametrize("value", ["hunter2", ""])
def test_a_variable_that_nobody_reads_is_refused_with_the_nearest_name(
    name: str, meant: str, value: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        load_config({}, {"PATH": "/bin", "TIDINGS_BATCH": "5", name: value}, tmp_path)

    assert str(refused.value).startswith(f"{name} is not a setting; {meant}")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("key", "meant"), [("smtp-url", "did you mean smtp_url?"), ("x", "use one of admin_key, ")])
def test_a_key_that_nobody_reads_is_refused_with_the_nearest_name(key: str, meant: str, tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text(f'{key} = "hunter2"\n')

    with pytest.raises(ConfigInvalid, match=f"^tidings.toml has '{key}', which is not a setting; {re.escape(meant)}"):
        load_config({}, {}, tmp_path)


@pytest.mark.parametrize("service", ["TIDINGS", "TIDINGS_API", "TIDINGS_SMTP_URL"])
def test_what_kubernetes_tells_of_a_service_is_ignored(service: str, tmp_path: Path) -> None:
    injected = {
        f"{service}_SERVICE_HOST": "10.0.0.11",
        f"{service}_SERVICE_PORT": "8080",
        f"{service}_SERVICE_PORT_HTTP_API": "8080",
        f"{service}_PORT": "tcp://10.0.0.11:8080",
        f"{service}_PORT_8080_TCP": "tcp://10.0.0.11:8080",
        f"{service}_PORT_8080_TCP_PROTO": "tcp",
        f"{service}_PORT_8080_TCP_PORT": "8080",
        f"{service}_PORT_8080_TCP_ADDR": "10.0.0.11",
        f"{service}_PORT_53_UDP": "udp://10.0.0.11:53",
        f"{service}_PORT_53_UDP_ADDR": "10.0.0.11",
    }

    assert load_config({}, injected, tmp_path) == Config()


def test_our_own_port_is_read_beside_what_kubernetes_tells(tmp_path: Path) -> None:
    injected = {"TIDINGS_SERVICE_HOST": "10.0.0.11", "TIDINGS_PORT_8080_TCP_PORT": "8080"}

    assert load_config({}, injected | {"TIDINGS_PORT": "9000"}, tmp_path).port == 9000
    with pytest.raises(ConfigInvalid, match=r"^TIDINGS_PORT is 'ftp://x'; write a whole number from 0 to 65,535"):
        load_config({}, injected | {"TIDINGS_PORT": "ftp://x"}, tmp_path)


@pytest.mark.parametrize("name", ["TIDINGS_API_PORT", "TIDINGS_PORT_TCP", "TIDINGS_PORT_8080_HTTP", "TIDINGS_SERVICE"])
def test_what_only_resembles_kubernetes_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=f"^{name} is not a setting; "):
        load_config({}, {name: "8080"}, tmp_path)


def test_every_variable_that_is_named_anywhere_is_a_setting_or_in_the_one_list_of_others() -> None:
    root = Path(__file__).parents[2]
    files = [root / "Makefile", root / "README.md", root / "ARCHITECTURE.md", root / "CHANGELOG.md"]
    for folder in ("src/tidings", "tests", "bench", "examples", "docs", ".ci"):
        files += [one for one in (root / folder).glob("**/*") if one.suffix in {".py", ".md", ".sql", ".yaml", ".yml"}]
    ours = [file for file in files if file != Path(__file__) and ".peers" not in file.parts]

    named = {name for file in ours for name in re.findall(r"\bTIDINGS_[A-Z]\w*", file.read_text())}

    wrong_on_purpose = {"TIDINGS_SMTP_ULR", "TIDINGS_XYZZY"}
    others = {name for name in named - wrong_on_purpose if not _is_injected(name, "")}
    others = {name for name in others if not name.startswith(CREDENTIAL_PREFIX)}
    assert others - {variable(field.name) for field in fields(Config)} == OTHER_VARIABLES


# A settings file that others may read


@pytest.fixture
def warned(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    _warn_if_others_may_read.cache_clear()
    return lambda: capsys.readouterr().err


def write_settings(directory: Path, text: str, mode: int) -> Path:
    path = directory / "tidings.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


SECRETS = [
    'database_url = "postgresql://ann:hunter2@host/db"',
    'database_url = "postgresql:///db?user=ann&password=hunter2"',
    'smtp_url = "smtp://ann:hunter2@host?from=a@example.com"',
    'functions_key = "hunter2"',
    'secret_key = "hunter2"',
    'admin_key = "hunter2"',
]
NO_SECRETS = [
    "batch = 5",
    'database_url = "postgresql://ann@host:5432/db"',
    'smtp_url = "smtp://host:25?from=a@example.com"',
    'functions_url = "https://host:443/@me"',
]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
@pytest.mark.parametrize("text", SECRETS)
def test_secrets_in_a_file_that_others_may_read_are_warned_of_once(
    tmp_path: Path, warned: Callable[[], str], text: str, mode: int
) -> None:
    path = write_settings(tmp_path, text, mode)

    load_config({}, {}, tmp_path)
    load_config({}, {}, tmp_path)

    assert warned() == f"tidings: warning: {path} holds secrets and others may read it; run chmod 600 {path}\n"


@pytest.mark.parametrize(("text", "mode"), [*((one, 0o600) for one in SECRETS), *((one, 0o644) for one in NO_SECRETS)])
def test_a_file_of_its_owner_alone_or_without_secrets_is_no_reason_to_warn(
    tmp_path: Path, warned: Callable[[], str], text: str, mode: int
) -> None:
    write_settings(tmp_path, text, mode)

    load_config({}, {}, tmp_path)

    assert warned() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize(
    ("mode", "expected"), [(0o640, ""), (0o644, "make the user that runs Tidings its owner and run")]
)
def test_a_file_that_another_lends_to_our_group_is_no_reason_to_warn(
    tmp_path: Path, warned: Callable[[], str], mode: int, expected: str
) -> None:
    os.chown(write_settings(tmp_path, SECRETS[0], mode), 65_534, os.getegid())

    load_config({}, {}, tmp_path)

    found = warned()
    assert expected in found
    assert bool(found) is bool(expected)


# What a setting may be


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host = 5", "tidings.toml: host is 5; write a string, in quotes"),
        ('host = ""', "tidings.toml: host is empty; write a value, or leave it out"),
        ('smtp_url = " "', "tidings.toml: smtp_url is empty; write a value, or leave it out"),
        ("admin_key = 12345678", "tidings.toml: admin_key is not a string; write it in quotes"),
        ("data_dir = 5", "tidings.toml: data_dir is 5; write a path, in quotes"),
        ('data_dir = "~nobody-is-called-so/x"', "'~nobody-is-called-so/x', which begins with an unknown home"),
        ("rate_limit = -1", "tidings.toml: rate_limit is -1; write a number from 0 to 1,000,000"),
        ("batch = 1.5", "tidings.toml: batch is 1.5; write a whole number from 1 to 10,000"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_what_to_write(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "tidings.toml").write_text(text)

    with pytest.raises(ConfigInvalid) as refused:
        load_config({}, {}, tmp_path)

    assert expected in str(refused.value)


def test_a_flag_that_a_shell_made_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"^--database-url is empty; write a value, or leave it out"):
        load_config({"database_url": ""}, {}, tmp_path)


def test_a_settings_file_is_read_as_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_bytes('data_dir = "/srv/büro"\n'.encode())
    code = "from tidings.config import read_config; print(ascii(str(read_config().data_dir)))"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
    environ |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )

    assert ended.stdout.strip() == r"'/srv/b\xfcro'"


def test_a_line_and_its_end_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []
    stream = StringIO()
    monkeypatch.setattr(stream, "write", writes.append)
    monkeypatch.setattr(sys, "stderr", stream)
    before = structlog.get_config()

    try:
        configure_logs(Config(log_format=LogFormat.JSON))
        structlog.get_logger().info("worker_started")
    finally:
        structlog.configure(**before)

    [line] = writes
    assert json.loads(line)["event"] == "worker_started"
    assert line.endswith("\n")


def test_the_database_s_address_can_be_kept_in_a_file(tmp_path: Path) -> None:
    kept = tmp_path / "address"
    kept.write_text("postgresql://u:p@h/d\n")

    config = load_config({}, {"TIDINGS_DATABASE_URL_FILE": str(kept)}, tmp_path)
    given = load_config({"database_url": "postgresql://other/d"}, {"TIDINGS_DATABASE_URL_FILE": str(kept)}, tmp_path)

    assert config.database_url == "postgresql://u:p@h/d"
    assert given.database_url == "postgresql://other/d"
    with pytest.raises(ConfigInvalid, match="TIDINGS_DATABASE_URL_FILE cannot be read"):
        load_config({}, {"TIDINGS_DATABASE_URL_FILE": str(tmp_path / "none")}, tmp_path)


@pytest.mark.parametrize("service", ["worker", "serve", "up"])
def test_what_ends_a_service_is_a_line_like_its_others(anywhere: Command, service: str) -> None:
    """A worker that was starting when PostgreSQL was killed wrote a line for people among its parent's JSON."""
    nowhere = {"DATABASE_URL": "postgresql://ann@127.0.0.1:1/nowhere"}

    told = anywhere(service, **nowhere).complaint
    ended = anywhere(service, **nowhere, TIDINGS_LOG_FORMAT="json")

    [line] = map(json.loads, ended.err.splitlines())
    assert (ended.status, ended.out) == (1, "")
    assert (line["event"], line["level"], line["code"]) == ("ended_by_error", "error", "storage_unavailable")
    assert line["problem"] == told.removeprefix("tidings: ")


@pytest.mark.own_process
def test_a_host_application_that_logs_while_it_is_imported_writes_lines_like_ours(anywhere: Command) -> None:
    (anywhere.directory / "host.py").write_text("import structlog, sys\nstructlog.get_logger().info('hi')\nsys.exit(7)")

    ended = anywhere("worker", "--app", "host", TIDINGS_LOG_FORMAT="json")

    assert (ended.status, ended.out) == (7, "")
    assert json.loads(ended.err)["event"] == "hi"
