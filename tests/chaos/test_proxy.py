"""The proxy does to a connection what it says: otherwise the tests that use it would prove nothing."""

import asyncio
import time
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.chaos.proxy import ByteCut, CommitCut, Moment, PatternCut, Proxy, Toward, postgres_proxy
from tests.kernel.scenes import Sql
from tidings.storage.database import Database, TransientFailure
from tidings.storage.statements import Statement

INSERT = Statement("insert", "insert into noted values ($1)", ("number",))
LOST = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


@pytest.fixture
async def way(dsn: str, sql: Sql) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy and the address that leads through it to a database with one table of the test's own."""
    await sql.execute("create table public.noted (number integer); grant all on public.noted to public")
    async with postgres_proxy(dsn) as way:
        yield way


@pytest.fixture
def proxy(way: tuple[Proxy, str]) -> Proxy:
    return way[0]


@pytest.fixture
def address(way: tuple[Proxy, str]) -> str:
    return way[1]


@pytest.mark.parametrize("alone", [False, True], ids=["transaction", "alone"])
@pytest.mark.parametrize(("moment", "noted"), [(Moment.BEFORE, 0), (Moment.AFTER, 1)])
async def test_a_commit_is_cut_where_it_was_asked_for(
    proxy: Proxy, address: str, sql: Sql, moment: Moment, noted: int, alone: bool
) -> None:
    db = await Database.open(address, connections=1)
    async with db.autocommit() as tx:
        await tx.fetch(INSERT, number=1)  # prepared by now: its text does not cross the wire again
    proxy.arm(CommitCut(frozenset({INSERT.text}), moment))

    with pytest.raises(TransientFailure):
        async with db.autocommit() if alone else db.transaction() as tx:
            await tx.fetch(INSERT, number=2)

    assert await sql.fetchval("select count(*) from noted where number = 2") == noted
    assert proxy.cuts == 1
    await db.close()


async def test_other_statements_and_rollbacks_are_left_alone(proxy: Proxy, address: str, sql: Sql) -> None:
    connection = await asyncpg.connect(address)
    proxy.arm(CommitCut(frozenset({INSERT.text}), Moment.BEFORE))

    await connection.fetch("insert into noted values ($1::integer)", 1)
    transaction = connection.transaction()
    await transaction.start()
    await connection.fetch(INSERT.text, 2)
    await transaction.rollback()

    assert await connection.fetchval("select array_agg(number) from noted") == [1]
    assert proxy.cuts == 0
    await connection.close()


@pytest.mark.parametrize(
    "cut", [ByteCut(Toward.SERVER, 40), ByteCut(Toward.CLIENT, 40), PatternCut(Toward.SERVER, b"a word")]
)
async def test_a_link_is_cut_by_what_it_carries(proxy: Proxy, address: str, cut: ByteCut | PatternCut) -> None:
    connection = await asyncpg.connect(address)
    proxy.arm(cut)

    with pytest.raises(LOST):
        await asyncio.wait_for(_ask_again_and_again(connection), 10)

    assert proxy.cuts == 1
    connection.terminate()


async def test_a_half_open_link_tells_neither_side(proxy: Proxy, address: str, sql: Sql) -> None:
    connection = await asyncpg.connect(address, server_settings={"application_name": "deaf"})
    assert proxy.deafen() == 1

    with pytest.raises(TimeoutError):
        await connection.fetchval("select 1", timeout=0.3)
    connection.terminate()

    assert await sql.fetchval("select count(*) from pg_stat_activity where application_name = 'deaf'") == 1
    sound = await asyncpg.connect(address)
    assert await sound.fetchval("select 1") == 1
    await sound.close()


async def test_what_a_stall_held_back_arrives_late(proxy: Proxy, address: str) -> None:
    connection = await asyncpg.connect(address)
    proxy.stall()
    asked = asyncio.create_task(connection.fetchval("select 1"))
    done, _ = await asyncio.wait([asked], timeout=0.3)
    assert not done

    proxy.flow()

    assert await asked == 1
    await connection.close()


async def test_bytes_travel_as_slowly_as_asked(proxy: Proxy, address: str) -> None:
    connection = await asyncpg.connect(address)
    proxy.weather.bytes_per_second = 10_000
    began = time.monotonic()

    assert len(await connection.fetchval("select repeat('x', 5000)")) == 5000

    assert time.monotonic() - began > 0.4
    await connection.close()


async def test_a_closed_door_refuses_and_opens_again_at_the_same_port(proxy: Proxy, address: str) -> None:
    connection = await asyncpg.connect(address)
    await proxy.refuse()

    with pytest.raises(LOST):
        await connection.fetchval("select 1")
    with pytest.raises(ConnectionRefusedError):
        await asyncpg.connect(address)

    await proxy.accept()
    again = await asyncpg.connect(address)
    assert await again.fetchval("select 1") == 1
    await again.close()
    connection.terminate()


@pytest.mark.parametrize("turns", range(8))
async def test_a_link_that_is_ending_when_the_door_closes_leaves_nothing_open(
    proxy: Proxy, address: str, turns: int
) -> None:
    connection = await asyncpg.connect(address)
    (link,) = proxy.links
    link.client[0].feed_eof()
    for _ in range(turns):  # of the loop, so that the door closes at each stage of the link's end
        await asyncio.sleep(0)

    await proxy.refuse()

    assert link.client[1].transport.is_closing()
    assert link.server[1].transport.is_closing()
    connection.terminate()


async def _ask_again_and_again(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    while True:
        await connection.fetchval("select $1::text", "a word")
