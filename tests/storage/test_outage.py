"""A database that is out of reach: who waits for it, and who is told at once."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from tidings.embedded import TemporaryServer
from tidings.storage import outage
from tidings.storage.database import Database, OutOfReach, TransientFailure, Tx
from tidings.storage.outage import hurried
from tidings.storage.statements import Statement

DEADLINE_SECONDS = 30
WAITS_FOR_EVER = 3600.0
ONE = Statement("one", "select 1 as one", ())
LEAVE = Statement("leave", "select pg_terminate_backend(pg_backend_pid())", ())


@pytest.fixture
async def postgres() -> AsyncIterator[TemporaryServer]:
    async with TemporaryServer(settings={"fsync": "off"}) as postgres:
        yield postgres


@pytest.fixture
async def db(postgres: TemporaryServer) -> AsyncIterator[Database]:
    db = await Database.open(postgres.dsn)
    yield db
    await db.close()


async def one(tx: Tx) -> int:
    row = await tx.fetch_one(ONE)
    assert row is not None
    return int(row["one"])


async def is_served(db: Database) -> bool:
    """Whether somebody in a hurry gets an answer."""
    try:
        with hurried():
            return await db.persist(one) == 1
    except OutOfReach:
        return False


async def refusal(db: Database) -> TransientFailure:
    with hurried(), pytest.raises(TransientFailure) as refused:
        await db.persist(one)
    return refused.value


async def test_whoever_is_in_a_hurry_is_told_of_a_killed_server_and_served_when_it_is_back(
    postgres: TemporaryServer, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await db.persist(one) == 1
    await postgres.kill()
    await refusal(db)

    # Nothing is waited for and no connection tried once the outage is known.
    monkeypatch.setattr(outage, "BRIEF_SECONDS", 0)
    monkeypatch.setattr(db, "_pool", None)
    started = time.monotonic()
    known = [await refusal(db) for _ in range(100)]
    assert time.monotonic() - started < DEADLINE_SECONDS
    assert {type(failure) for failure in known} == {OutOfReach}
    monkeypatch.undo()

    await postgres.start()
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not await is_served(db):
            await asyncio.sleep(0.01)


async def test_an_outage_of_a_moment_is_waited_for_in_a_hurry_too(
    postgres: TemporaryServer, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "BRIEF_SECONDS", WAITS_FOR_EVER)
    monkeypatch.setattr("tidings.storage.database.BRIEF_SECONDS", WAITS_FOR_EVER)
    await postgres.kill()
    with hurried():
        asked = asyncio.create_task(db.persist(one))

    await postgres.start()

    async with asyncio.timeout(DEADLINE_SECONDS):
        assert await asked == 1


async def test_whoever_can_wait_waits_for_a_killed_server(postgres: TemporaryServer, db: Database) -> None:
    await postgres.kill()
    asked = asyncio.create_task(db.persist(one))
    await refusal(db)
    assert not asked.done()

    await postgres.start()

    async with asyncio.timeout(DEADLINE_SECONDS):
        assert await asked == 1


async def test_a_hurry_that_has_ended_waits_like_anybody(postgres: TemporaryServer, db: Database) -> None:
    await postgres.kill()
    with hurried() as hurry:
        hurry.end()
        asked = asyncio.create_task(db.persist(one))
    await refusal(db)
    assert not asked.done()

    await postgres.start()

    async with asyncio.timeout(DEADLINE_SECONDS):
        assert await asked == 1


async def test_a_lost_connection_is_no_outage(db: Database) -> None:
    async def lose(tx: Tx) -> int:
        tries.append(1)
        if len(tries) == 1:
            await tx.fetch(LEAVE)
        return await one(tx)

    tries: list[int] = []
    with hurried():
        assert await db.persist(lose) == 1

    assert len(tries) == 2
