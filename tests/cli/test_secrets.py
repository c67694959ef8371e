"""A wrong key for stored secrets is refused when something starts, and a lost one is got over."""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.cli.conftest import Command
from tidings import Config, Engine, Workspace, open_engine
from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid

RIGHT, WRONG = (b64encode(bytes([number] * 32)).decode() for number in (1, 2))
SECRET = "the-secret-of-a-function"
ACME = Workspace("acme", "eu")


@asynccontextmanager
async def opened(dsn: str, key: str | None) -> AsyncIterator[Engine]:
    engine = await open_engine(Config(database_url=dsn, allow_unsafe_storage=True, secret_key=key))
    try:
        yield engine
    finally:
        await engine.close()


@pytest.fixture
async def sealed(dsn: str) -> str:
    """A database with a secret in two workspaces, sealed with the right key."""
    async with opened(dsn, RIGHT) as engine:
        for workspace in (Workspace(), ACME):
            await engine.functions.set(Caller(workspace, "test"), "send-email", "https://a.example/", SECRET)
    return dsn


@pytest.mark.parametrize("command", ["worker", "serve", "up"])
@pytest.mark.usefixtures("sealed")
def test_nothing_starts_with_a_wrong_key(tidings: Command, command: str) -> None:
    complaint = tidings(command, TIDINGS_SECRET_KEY=WRONG).complaint

    assert "TIDINGS_SECRET_KEY does not open the stored secret of function 'send-email'" in complaint
    assert "and of 1 more; set TIDINGS_SECRET_KEY to the key that sealed it" in complaint
    assert "if that key is lost, run 'tidings db forget-secrets'" in complaint
    assert WRONG not in complaint


@pytest.mark.parametrize("command", ["worker", "up"])
@pytest.mark.usefixtures("sealed")
def test_no_worker_starts_without_the_key_that_its_calls_need(tidings: Command, command: str) -> None:
    assert "TIDINGS_SECRET_KEY is not set, so nothing opens the stored secret of" in tidings(command).complaint


async def test_an_application_with_a_wrong_key_is_refused(sealed: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"^TIDINGS_SECRET_KEY does not open "):
        await open_engine(Config(database_url=sealed, allow_unsafe_storage=True, secret_key=WRONG))


async def test_an_application_that_only_starts_work_needs_no_key(sealed: str) -> None:
    async with opened(sealed, None) as engine:
        assert [one.has_secret for one in await engine.functions.list(ACME)] == [True]


async def test_a_new_key_in_front_of_the_old_one_is_taken(sealed: str) -> None:
    async with opened(sealed, f"{WRONG},{RIGHT}"):
        pass


@pytest.mark.usefixtures("sealed")
def test_a_command_that_only_looks_does_not_need_the_key(tidings: Command) -> None:
    assert tidings("workflows", "list", TIDINGS_SECRET_KEY=WRONG).status == 0


# A key that is lost


async def test_secrets_of_a_lost_key_are_removed_once_and_on_record(
    tidings: Command, sealed: str, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    removed = tidings("db", "forget-secrets", "--yes", "--json", "--actor", "ann", TIDINGS_SECRET_KEY=WRONG)
    again = tidings("db", "forget-secrets", TIDINGS_SECRET_KEY=WRONG)

    assert removed.json == [
        {"tenant": "acme", "workspace": "eu", "function": "send-email"},
        {"tenant": "default", "workspace": "default", "function": "send-email"},
    ]
    lines = await sql.fetch("select tenant_id, actor from audit_log where event = 'secret_forgotten' order by 1")
    assert [tuple(line) for line in lines] == [("acme", "ann"), ("default", "ann")]
    assert again.out == "every stored secret can be opened; none was removed\n"
    async with opened(sealed, WRONG) as engine:
        [left] = await engine.functions.list(ACME)
        assert (left.url, left.has_secret) == ("https://a.example/", False)
        await engine.functions.set(Caller(ACME, "test"), "send-email", "https://a.example/", "a-new-one")
    async with opened(sealed, WRONG):
        pass


async def test_what_a_key_opens_is_kept(tidings: Command, sealed: str) -> None:
    kept = tidings("db", "forget-secrets", "--yes", "--json", TIDINGS_SECRET_KEY=f"{WRONG},{RIGHT}")

    assert kept.json == []
    async with opened(sealed, RIGHT) as engine:
        assert [one.has_secret for one in await engine.functions.list(ACME)] == [True]


async def test_removing_asks_first_and_names_what_would_go(tidings: Command, sealed: str) -> None:
    refused = tidings("db", "forget-secrets", typed="n\n", TIDINGS_SECRET_KEY=WRONG)

    assert refused.status == 1
    assert "function 'send-email' in workspace 'eu' of tenant 'acme'\n" in refused.err
    assert "Remove the stored secret of these 2 functions?" in refused.err
    async with opened(sealed, RIGHT) as engine:
        assert [one.has_secret for one in await engine.functions.list(ACME)] == [True]


@pytest.mark.usefixtures("sealed")
def test_without_a_key_no_secret_is_taken_for_lost(tidings: Command) -> None:
    complaint = tidings("db", "forget-secrets", "--yes").complaint

    assert "without a key no secret opens: set TIDINGS_SECRET_KEY to the key to use from now on" in complaint
