"""Each mistake is one line on stderr that says what to do; nothing is started or written, no password is shown."""

import os
from pathlib import Path

import asyncpg
import pytest

from tests.cli.conftest import Command

PASSWORD = "tops3cret"
CLOSED_PORT = 1


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://ann:{PASSWORD}@localhost/app",
        f"postgresql://ann:{PASSWORD}@localhost:port/app",
        f"ann:{PASSWORD}@localhost",
        f"postgresql://ann:{PASSWORD}",
        f"postgresql://ann:12?{PASSWORD}@localhost/app",
        f"postgresql:/ann:{PASSWORD}@localhost/app",
    ],
)
@pytest.mark.parametrize("arguments", [["db", "status"], ["db", "reset"], ["up"], ["verify"]])
def test_a_bad_database_url_is_refused_without_its_password(anywhere: Command, url: str, arguments: list[str]) -> None:
    complaint = anywhere(*arguments, DATABASE_URL=url).complaint

    assert "write it like postgresql://user:password@host:5432/database" in complaint
    assert PASSWORD not in complaint


@pytest.mark.parametrize("arguments", [["db", "migrate"], ["verify"], ["worker"], ["up"], ["outbox", "in-doubt"]])
def test_a_server_that_does_not_answer_is_named_without_its_password(anywhere: Command, arguments: list[str]) -> None:
    url = f"postgresql://ann:{PASSWORD}@127.0.0.1:{CLOSED_PORT}/app"

    complaint = anywhere(*arguments, DATABASE_URL=url).complaint

    assert "cannot connect to postgresql://ann@127.0.0.1:1/app" in complaint
    assert "check DATABASE_URL and that the server runs" in complaint
    assert PASSWORD not in complaint


def test_a_server_that_may_forget_is_refused(tidings: Command) -> None:
    complaint = tidings("db", "status", TIDINGS_ALLOW_UNSAFE_STORAGE="false").complaint

    assert "fsync=off" in complaint
    assert "TIDINGS_ALLOW_UNSAFE_STORAGE=true" in complaint


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ('databse_url = "x"', "tidings.toml has 'databse_url', which is not a setting; did you mean database_url?"),
        ("lease_seconds = ", "tidings.toml cannot be read: "),
        ("batch = 0", "tidings.toml: batch is 0; write a whole number from 1 to 10,000"),
        ("lanes = []", "tidings.toml: lanes is empty; use some of transactional, "),
    ],
)
def test_a_bad_settings_file_is_refused(anywhere: Command, file: str, expected: str) -> None:
    (anywhere.directory / "tidings.toml").write_text(file)

    assert expected in anywhere("worker").complaint
    assert not (anywhere.directory / "data").exists()


def test_a_settings_file_with_secrets_that_others_may_read_is_warned_of_and_used(anywhere: Command) -> None:
    path = anywhere.directory / "tidings.toml"
    path.write_text(f'admin_key = "{PASSWORD}"')
    path.chmod(0o644)

    ended = anywhere("db", "stop", "--json")

    assert (ended.status, ended.json) == (0, {"stopped": False})
    assert ended.err == f"tidings: warning: {path} holds secrets and others may read it; run chmod 600 {path}\n"


@pytest.mark.parametrize(
    ("arguments", "settings", "expected"),
    [
        (["worker", "--lanes", "campaigns,fast"], {}, "--lanes has 'fast'; use some of transactional, sequences, "),
        (["worker", "--processes", "0"], {}, "--processes is 0; write a whole number from 1 to 256"),
        (["worker"], {"TIDINGS_BATCH": "1.5"}, "TIDINGS_BATCH is '1.5'; write a whole number"),
        (
            ["worker"],
            {"TIDINGS_SMTP_ULR": PASSWORD},
            "TIDINGS_SMTP_ULR is not a setting; did you mean TIDINGS_SMTP_URL?",
        ),
        (["runs", "list"], {"TIDINGS_XYZZY": PASSWORD}, "TIDINGS_XYZZY is not a setting; use one of "),
        (["db", "reset", "--yes", "--database-url", ""], {}, "--database-url is empty; write a value, or leave it out"),
        (["serve"], {"TIDINGS_RATE_LIMIT": "-1"}, "TIDINGS_RATE_LIMIT is '-1'; write a number from 0 to 1,000,000"),
        (["up"], {"TIDINGS_DOUBT_POLICY": "guess"}, "TIDINGS_DOUBT_POLICY is 'guess'; use one of hold, "),
        (["worker"], {"TIDINGS_SMTP_URL": f"smtp://ann:{PASSWORD}@host:25"}, "add ?from=you@example.com"),
        (["worker", "--app", "no.such:thing"], {}, "--app 'no.such:thing' cannot be loaded"),
        (["worker", "--app", "os:sep"], {}, "--app 'os:sep' is a str; it must be a tidings.wiring.App"),
        (["worker", "--app", ".up:app"], {}, "write it like package.module:app"),
    ],
)
def test_a_bad_setting_is_refused_before_anything_is_started(
    anywhere: Command, arguments: list[str], settings: dict[str, str], expected: str
) -> None:
    complaint = anywhere(*arguments, **settings).complaint

    assert expected in complaint
    assert PASSWORD not in complaint
    assert not (anywhere.directory / "data").exists()


def test_a_lease_shorter_than_a_call_is_refused_with_what_would_do(tidings: Command) -> None:
    complaint = tidings("worker", TIDINGS_LEASE_SECONDS="4").complaint

    assert "a lease of 4 s is too short for console-" in complaint
    assert "raise TIDINGS_LEASE_SECONDS above 5.4" in complaint


async def test_shards_that_are_no_power_of_two_write_nothing(
    tidings: Command, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await sql.execute("drop schema tidings cascade")

    complaint = tidings("db", "migrate", "--shards", "3").complaint

    assert "3 shards: use a power of two" in complaint
    assert not await sql.fetchval("select 1 from pg_namespace where nspname = 'tidings'")


def test_a_data_directory_of_somebody_else_is_left_alone(anywhere: Command) -> None:
    theirs = anywhere.directory / "theirs"
    theirs.mkdir()
    if os.geteuid() == 0:
        os.chown(theirs, 65_534, 65_534)
    else:
        theirs = Path("/usr")
    before = sorted(theirs.iterdir())

    complaint = anywhere("db", "url", "--data-dir", str(theirs)).complaint

    assert f"{theirs} belongs to " in complaint
    assert "choose another data directory, or set DATABASE_URL" in complaint
    assert sorted(theirs.iterdir()) == before
