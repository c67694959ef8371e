"""The triggers of the arena see what an audit at the end could not."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from tests.chaos.history import offences, watch
from tests.kernel.scenes import email, start
from tidings.engine import Engine
from tidings.storage.database import Database

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

SETTINGS = {"search_path": "tidings, public", "tidings.acts_for": "everyone"}


@pytest.fixture
async def db(owner_dsn: str) -> AsyncIterator[Database]:
    """As the owner, who watches: what its triggers note belongs to it."""
    db = await Database.open(owner_dsn)
    yield db
    await db.close()


@pytest.fixture
async def connection(engine: Engine, owner_dsn: str) -> AsyncIterator["Connection"]:
    """A watched database with one execution that has sent its item and one that has not begun."""
    connection = await asyncpg.connect(owner_dsn, server_settings=SETTINGS)
    await watch(connection)
    await start(engine, email())
    await engine.work_everything()
    await engine.trigger("flow", {}, "k2")
    yield connection
    await connection.close()


async def test_what_is_in_order_is_not_noted(connection: "Connection") -> None:
    assert await connection.fetchval("select count(*) from outbox where status = 'sent'") == 1
    assert await connection.fetchval("select count(*) from chaos.last_fences") == 1
    assert await offences(connection) == []


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a fence fell", "update queue set fence = fence - 1"),
        ("a lease was taken under an old fence", "update queue set leased = true"),
        ("a fence came again", "insert into queue select * from took"),
        ("an item left its end", "update outbox set status = 'failed'"),
        ("a mark was numbered backwards", "update outbox set marked_attempt = 0"),
        ("a mark was set under an older fence", "update outbox set marked_fence = 0"),
        ("a marked item changed", "update outbox set payload = '{}'"),
        ("an item was deleted", "delete from outbox"),
        ("an execution left its end", "update executions set status = 'failed' where ended_at is not null"),
    ],
)
async def test_what_must_never_happen_is_noted(connection: "Connection", what: str, change: str) -> None:
    await connection.execute("create temporary table took as select * from queue")
    if "took" in change:
        await connection.execute("delete from queue")

    await connection.execute(change)

    [noted] = await offences(connection)
    assert what in noted
