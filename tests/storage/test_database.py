"""Transactions, errors sorted into "try again" and "never", and work that is repeated until its commit is known."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from traceback import format_exception
from types import SimpleNamespace
from uuid import UUID

import asyncpg
import pytest

from tidings.domain.errors import StorageUnavailable
from tidings.storage import database, planner
from tidings.storage.database import Database, TransientFailure, Tx, assert_no_transaction
from tidings.storage.statements import Statement

ONE = Statement("one", "select 1 as one", ())
INSERT = Statement("insert", "insert into shards (shard) values ($1)", ("shard",))
BACKEND = Statement("backend", "select pg_backend_pid() as pid", ())
SLEEP = Statement("sleep", "select pg_sleep(60)", ())


@pytest.fixture
async def db(owner_dsn: str) -> AsyncIterator[Database]:
    """As the owner of the tables, who may change them."""
    db = await Database.open(owner_dsn)
    yield db
    await db.close()


def failing(sqlstate: str) -> Statement:
    return Statement("failing", f"do $$ begin raise exception 'as told' using errcode = '{sqlstate}'; end $$", ())


async def shards(sql: "asyncpg.Connection[asyncpg.Record]") -> list[int]:
    return [row["shard"] for row in await sql.fetch("select shard from shards order by shard")]


# Errors


@pytest.mark.parametrize(
    "sqlstate",
    [
        *("08000", "08003", "08006", "53100", "53200", "53300", "57P01", "57P02", "57P03", "40001", "40P01", "55P03"),
        *("XX000", "25P03"),
    ],
)
async def test_what_may_pass_is_a_transient_failure(db: Database, sqlstate: str) -> None:
    with pytest.raises(TransientFailure, match="as told") as failed:
        async with db.autocommit() as tx:
            await tx.fetch(failing(sqlstate))
    assert isinstance(failed.value, StorageUnavailable)


@pytest.mark.parametrize("sqlstate", ["23505", "23514", "42601", "22P02", "22003", "P0001", "40002", "25P02"])
async def test_what_will_not_pass_is_raised_as_it_is(db: Database, sqlstate: str) -> None:
    with pytest.raises(asyncpg.PostgresError, match="as told"):
        async with db.transaction() as tx:
            await tx.fetch(failing(sqlstate))


async def test_a_right_that_is_missing_is_said_in_our_words_and_not_tried_again(db: Database) -> None:
    with pytest.raises(StorageUnavailable, match=r"the database refuses: as told; give its role the right") as refused:
        async with db.autocommit() as tx:
            await tx.fetch(failing("42501"))
    assert not isinstance(refused.value, TransientFailure)


async def test_a_value_that_does_not_fit_is_not_tried_again(db: Database) -> None:
    async with db.autocommit() as tx:
        with pytest.raises(asyncpg.DataError):
            await tx.fetch(INSERT, shard=2**40)


async def test_a_statement_that_takes_too_long_is_a_transient_failure(dsn: str) -> None:
    db = await Database.open(dsn, statement_timeout_seconds=0.05)

    with pytest.raises(TransientFailure):
        async with db.autocommit() as tx:
            await tx.fetch(SLEEP)
    await db.close()


async def test_a_transaction_that_fails_leaves_nothing(db: Database, sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    with contextlib.suppress(TransientFailure):
        async with db.transaction() as tx:
            await tx.fetch(INSERT, shard=99)
            await tx.fetch(failing("40001"))

    assert 99 not in await shards(sql)


async def test_a_snapshot_sees_one_moment(db: Database, sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    count = Statement("count", "select count(*) as shards from shards", ())

    async with db.transaction(snapshot=True) as snapshot, db.transaction() as ordinary:
        first = [await tx.fetch_one(count) for tx in (snapshot, ordinary)]
        await sql.execute("insert into shards values (99)")
        second = [await tx.fetch_one(count) for tx in (snapshot, ordinary)]

    assert [row and row["shards"] for row in first] == [4, 4]
    assert [row and row["shards"] for row in second] == [4, 5]


# Persisting


@pytest.mark.parametrize("alone", [True, False])
async def test_work_is_repeated_after_a_transient_failure(
    db: Database, sql: "asyncpg.Connection[asyncpg.Record]", alone: bool
) -> None:
    tries = 0

    async def work(tx: Tx) -> str:
        nonlocal tries
        tries += 1
        if tries < 3:
            await tx.fetch(failing("40001"))
        await tx.fetch(INSERT, shard=99)
        return "done"

    assert await db.persist(work, alone=alone) == "done"
    assert tries == 3
    assert 99 in await shards(sql)


async def test_work_outlives_the_connection_it_began_on(
    db: Database, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    backends = []

    async def work(tx: Tx) -> None:
        row = await tx.fetch_one(BACKEND)
        assert row is not None
        backends.append(row["pid"])
        await tx.fetch(INSERT, shard=98 + len(backends))
        if len(backends) == 1:
            await sql.fetch("select pg_terminate_backend($1, 5000)", row["pid"])

    await db.persist(work)

    assert len(set(backends)) == 2
    assert await shards(sql) == [0, 1, 2, 3, 100]


async def test_what_will_not_pass_is_not_repeated(db: Database) -> None:
    tries = 0

    async def work(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        await tx.fetch(INSERT, shard=0)

    with pytest.raises(asyncpg.UniqueViolationError):
        await db.persist(work)
    assert tries == 1


async def test_work_on_a_closed_database_fails_instead_of_waiting_for_ever(dsn: str) -> None:
    db = await Database.open(dsn)
    await db.close()

    async def work(tx: Tx) -> None:
        await tx.fetch(ONE)

    async with asyncio.timeout(5):
        with pytest.raises(TransientFailure):
            await db.persist(work)


# No network inside a transaction


async def test_a_call_inside_a_transaction_is_caught(db: Database) -> None:
    assert_no_transaction()
    async with db.transaction():
        with pytest.raises(AssertionError, match="inside a transaction"):
            assert_no_transaction()
    assert_no_transaction()


async def test_a_call_after_a_transaction_that_failed_is_none_of_its_business(db: Database) -> None:
    with contextlib.suppress(TransientFailure):
        async with db.transaction() as tx:
            await tx.fetch(failing("40001"))

    assert_no_transaction()


async def test_a_connection_without_a_transaction_may_be_held(db: Database) -> None:
    async with db.autocommit() as tx:
        await tx.fetch(ONE)
        assert_no_transaction()


async def test_a_transaction_of_one_task_does_not_concern_another(db: Database) -> None:
    opened, checked = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with db.transaction():
            opened.set()
            await checked.wait()

    holding = asyncio.create_task(hold())
    await opened.wait()
    assert_no_transaction()
    checked.set()
    await holding


async def test_a_call_within_persisted_work_is_caught_unless_it_is_one_statement_alone(db: Database) -> None:
    async def work(tx: Tx) -> None:
        await tx.fetch(ONE)
        assert_no_transaction()

    await db.persist(work, alone=True)
    with pytest.raises(AssertionError):
        await db.persist(work)


# Plans


@pytest.mark.parametrize("uptime", [0.5, 1e6], ids=["a machine that has just booted", "an old one"])
async def test_a_connection_forgets_its_old_plans_before_it_is_used(
    dsn: str, monkeypatch: pytest.MonkeyPatch, uptime: float
) -> None:
    executed = []
    execute = database._Connection.execute
    monotonic = SimpleNamespace(now=uptime)

    async def recorded(self: database._Connection, query: str) -> str:
        executed.append(query)
        return await execute(self, query)

    monkeypatch.setattr(database._Connection, "execute", recorded)
    monkeypatch.setattr(planner, "time", SimpleNamespace(monotonic=lambda: monotonic.now))
    db = await Database.open(dsn, connections=1)
    discarded = []

    for seconds in (0, planner.REPLAN_SECONDS - 0.01, 0.01, 0, planner.REPLAN_SECONDS):
        monotonic.now += seconds
        async with db.autocommit() as tx:
            await tx.fetch(ONE)
        discarded.append(executed.count("discard plans"))
    await db.close()

    assert discarded == [0, 0, 1, 1, 2]


async def test_one_plan_serves_every_call(db: Database) -> None:
    by_id = Statement("by_id", "select id from executions where shard = $1 and id = any($2::uuid[])", ("shard", "ids"))
    planned = Statement(
        "planned", "select generic_plans, custom_plans from pg_prepared_statements where statement = $1", ("text",)
    )
    async with db.autocommit() as tx:
        for _ in range(3):
            await tx.fetch(by_id, shard=0, ids=[UUID(int=1)])
        [counts] = await tx.fetch(planned, text=by_id.text)

    assert tuple(counts) == (3, 0)


async def test_an_error_of_the_database_names_no_row_and_no_value(db: Database) -> None:
    """It ends in a log line with its traceback, and no log is erased with a person."""
    insert = Statement(
        "stray",
        "insert into contacts (shard, id, tenant_id, workspace_id, external_id, email, created_at, updated_at)"
        " select 9, gen_random_uuid(), 'a', 'b', 'crm-1', 'canary@example.com', now(), now()",
        (),
    )

    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await db.persist(lambda tx: tx.fetch(insert), alone=True)

    told = "".join(format_exception(refused.value))
    assert "violates check constraint" in told
    assert "canary" not in told
