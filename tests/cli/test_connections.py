"""`tidings connections`: credentials come from files, the environment or standard input, and from no argument."""

from base64 import b64encode

import asyncpg
import pytest

from tests.cli.conftest import Command

CANARY = "re_canary-5b1d7e-secret"
ADD = ("connections", "add", "own", "resend", "--set", "from=me@example.com")


@pytest.fixture(autouse=True)
def settings(tidings: Command, dsn: str) -> None:
    key = b64encode(b"k" * 32).decode()
    tidings.settings |= {
        "DATABASE_URL": dsn,
        "TIDINGS_ALLOW_UNSAFE_STORAGE": "true",
        "TIDINGS_SECRET_KEY": key,
    }


@pytest.mark.parametrize("way", ["file", "standard input", "environment"])
async def test_a_credential_is_sealed_and_shown_nowhere(
    tidings: Command, sql: "asyncpg.Connection[asyncpg.Record]", way: str
) -> None:
    (tidings.directory / "key.txt").write_text(f"{CANARY}\n")
    match way:
        case "file":
            added = tidings(*ADD, "--credential", "apiKey=@key.txt")
        case "standard input":
            added = tidings(*ADD, "--credential", "apiKey=@-", typed=f"{CANARY}\n")
        case _:
            added = tidings(*ADD, TIDINGS_CREDENTIAL_API_KEY=CANARY)

    shown = [tidings("connections", "show", "own"), tidings("connections", "list", "--json")]
    stored = await sql.fetch("select c::text from tidings.connections c")
    assert added.status == 0
    assert "apiKey" in shown[0].out
    assert len(stored) == 1
    for place in (added, shown, stored):
        assert CANARY not in str(place)
        assert CANARY.encode().hex() not in str(place)


def test_a_credential_in_an_argument_is_refused_and_not_repeated(tidings: Command) -> None:
    refused = tidings(*ADD, "--credential", f"apiKey={CANARY}")

    assert "everybody on this machine can read arguments" in refused.complaint
    assert CANARY not in str(refused)


def test_what_is_needed_and_not_given_is_named(tidings: Command) -> None:
    assert "credentials.apiKey: is missing" in tidings(*ADD).complaint


def test_a_setting_without_a_value_is_refused(tidings: Command) -> None:
    assert "--set from=you@example.com" in tidings("connections", "add", "own", "smtp", "--set", "host").complaint


def test_a_limit_that_is_unknown_is_refused_with_those_there_are(tidings: Command) -> None:
    given = ("--limits", '{"perMinit": 5}')
    ended = tidings("connections", "add", "first", "smtp", *given)

    assert "perMinit" in ended.complaint
    assert "perSecond, perMinute, perDay" in ended.complaint


def test_kinds_lists_all_and_one_with_what_it_must_be_told(tidings: Command) -> None:
    every, one, wrong = (tidings("connections", "kinds", *name) for name in ((), ("resend",), ("resned",)))

    assert {"resend", "twilio", "apns", "webhook"} <= set(every.out.split())
    assert "--credential" in one.out
    assert "twilio" not in one.out
    assert "did you mean 'resend'?" in wrong.complaint
