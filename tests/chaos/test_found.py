"""What killing things has found, each as the smallest test that fails without its remedy."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from tests.chaos.proxy import CommitCut, Moment, postgres_proxy
from tests.chaos.troubles import statements
from tests.conftest import ManualClock, make_engine
from tests.kernel.scenes import Sql, delay, email, start
from tests.stored import TESTER, items_in_doubt
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Unknown
from tidings.domain.flow.queue import Claimed, Lane
from tidings.engine import Deployment, Engine, Recipient, Resolution
from tidings.kernel.calls.slots import SHORTEST_REST, Slots
from tidings.kernel.flow import executions
from tidings.kernel.flow.deliver import Flight
from tidings.kernel.flow.lease_keeper import Keeper
from tidings.kernel.flow.mark import Window, commit_window
from tidings.kernel.flow.plan import Case, load_cases, plan
from tidings.kernel.flow.reserve import reserve
from tidings.providers.fake import FakeProvider
from tidings.storage.clock import database_time
from tidings.storage.database import Database, Tx
from tidings.storage.load import load_runs
from tidings.storage.outbox import Unstarted, unmark_items

PARTING_SECONDS = 0.3
FAREWELL = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"


@asynccontextmanager
async def parting_proxy(dsn: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A way to the server that, when told, says the server's farewell and closes only a moment later."""
    told = asyncio.Event()
    parts = urlsplit(dsn)

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, downstream = await asyncio.open_connection(parts.hostname, parts.port)
        passing = [asyncio.create_task(pass_on(reader, downstream)), asyncio.create_task(pass_on(upstream, writer))]
        parting = asyncio.create_task(told.wait())
        try:
            await asyncio.wait([*passing, parting], return_when=asyncio.FIRST_COMPLETED)
            if told.is_set():
                writer.write(b"E" + (len(FAREWELL) + 4).to_bytes(4, "big") + FAREWELL)
                await asyncio.sleep(PARTING_SECONDS)
        finally:
            for task in (*passing, parting):
                task.cancel()
            for closing in (writer, downstream):
                closing.close()
            with suppress(OSError):
                await asyncio.gather(writer.wait_closed(), downstream.wait_closed())

    serving: set[asyncio.Task[None]] = set()
    server = await asyncio.start_server(
        lambda reader, writer: serving.add(asyncio.create_task(serve(reader, writer))), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    try:
        yield urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}")), told
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


async def test_a_farewell_of_the_server_is_no_reason_to_give_up_a_batch(dsn: str, sql: Sql) -> None:
    async with parting_proxy(dsn) as (address, told):
        db = await Database.open(address, connections=1)
        before = await db.persist(database_time, alone=True)
        told.set()
        await sql.fetchval("select 1")  # long enough for the farewell to arrive; the connection closes later
        told.clear()

        try:
            async with asyncio.timeout(20):
                assert await db.persist(database_time, alone=True) > before
        finally:
            await db.close()


async def test_one_statement_without_an_answer_is_enough_to_distrust_every_connection(dsn: str) -> None:
    """Each would have been tried, and have timed out, in its turn: ten minutes for a pool of ten."""
    async with postgres_proxy(dsn) as (proxy, address):
        db = await Database.open(address, connections=4, statement_timeout_seconds=0.5)
        together = asyncio.Barrier(4)

        async def use(tx: Tx) -> None:
            await database_time(tx)
            await together.wait()

        await asyncio.gather(*(db.persist(use) for _ in range(4)))
        links = list(proxy.links)
        assert proxy.deafen() == 4

        with capture_logs() as logs:
            await db.persist(database_time, alone=True)
        await db.close()

    assert "storage_retry" in [line["event"] for line in logs]
    assert [link.was_asked_in_vain for link in links].count(True) == 1


def test_calls_that_hang_together_are_one_reason_to_rest() -> None:
    slots, began = Slots(100), datetime(2026, 3, 2, tzinfo=UTC)
    ended = began + timedelta(seconds=1)

    rests = [slots.rest_after(Unknown("timeout"), began, ended) for _ in range(100)]

    assert [rest for rest in rests if rest] == [SHORTEST_REST]


async def mark_and_leave(
    engine: Engine, on_doubt: str = "continue", then: Sequence[Mapping[str, object]] = ()
) -> tuple[UUID, Unstarted]:
    """Start an execution and be the worker that marks its first item and then calls nobody; gives both."""
    id = await start(engine, {**email(), "onDoubt": on_doubt}, *then)
    kernel, shard = engine.kernel, engine.kernel.shard_of(id)
    now = await kernel.clock.now()
    cases = await load_cases(kernel, shard, await engine.claim(shard, Lane.TRANSACTIONAL), now)
    with Flight(kernel, shard, Lane.TRANSACTIONAL, Keeper(kernel, shard, [cases[id].hand.lease])) as flight:
        await reserve(kernel, shard, cases, await plan(kernel, cases.values(), now), flight, now)
        [(marked, _)] = flight.lines["fake"].ready
    return id, Unstarted(marked, doubtful=False)


async def take_back(engine: Engine, mark: Unstarted) -> None:
    """Be that worker once more, long after its lease: it knows that it never called."""
    now = await engine.kernel.clock.now()
    window = Window(unstarted=[mark])
    await commit_window(engine.kernel, engine.kernel.shard_of(mark.item.id), window, now)


async def test_a_worker_from_before_an_execution_ended_has_no_hold_on_it_once_it_is_reopened(
    engine: Engine, clock: ManualClock
) -> None:
    """Its fence must not come again: it would renew another's lease as its own, and both would send."""
    id, old = await mark_and_leave(engine)
    clock.advance(minutes=6)
    await engine.work_everything()
    await engine.outbox.resolve(TESTER, old.item.id, Resolution.RESEND, "it did not arrive")

    [new] = await engine.claim(engine.kernel.shard_of(id), Lane.TRANSACTIONAL)

    assert new.fence > old.item.fence


async def test_a_mark_taken_back_late_ends_the_doubt_it_caused(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    _, mark = await mark_and_leave(engine, on_doubt="hold")
    clock.advance(minutes=6)
    await engine.work_everything()
    assert len(await items_in_doubt(engine)) == 1

    await take_back(engine, mark)
    await engine.work_everything()

    assert await items_in_doubt(engine) == []
    assert len(provider.calls) == 1


async def test_a_step_that_was_passed_in_doubt_is_sent_late_when_it_proves_never_to_have_been_called(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """Found by round 20 of seed 6: it came after the next step, and the judge took that for a broken promise."""
    _, mark = await mark_and_leave(engine, then=[email("second", to="b@example.com"), delay("wait", "PT1H")])
    clock.advance(minutes=6)
    await engine.work_everything()
    assert [call.recipient for call in provider.calls] == ["b@example.com"]

    await take_back(engine, mark)
    await engine.work_everything()

    assert [call.recipient for call in provider.calls] == ["b@example.com", "ada@example.com"]
    assert await items_in_doubt(engine) == []


async def test_whoever_works_on_an_owner_whose_mark_is_taken_back_looks_again(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    """It may have read the mark already and be about to park the owner for an hour."""
    id, mark = await mark_and_leave(engine)
    clock.advance(minutes=6)
    await engine.claim(engine.kernel.shard_of(id), Lane.TRANSACTIONAL)

    await take_back(engine, mark)

    assert await sql.fetchval("select wake from queue where id = $1", id)


async def test_a_mark_taken_back_after_its_execution_has_ended_leaves_the_item_in_sight(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    _, mark = await mark_and_leave(engine)
    clock.advance(minutes=6)
    await engine.work_everything()

    await take_back(engine, mark)

    assert len(await items_in_doubt(engine)) == 1
    assert [check for check in await engine.verify() if check.offences] == []
    assert provider.calls == []


async def test_a_run_ends_at_once_although_the_answer_to_its_last_release_was_lost(
    dsn: str, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """The release is repeated and finds nothing to release; the run waited half a minute for its next look."""
    async with postgres_proxy(dsn) as (proxy, address):
        db = await Database.open(address)
        engine = await make_engine(db, clock, provider)
        run = await engine.deploy(Deployment(uuid4(), "key", Channel.SMS, {"body": "x"}, [Recipient("+44", {})]))
        proxy.arm(CommitCut(statements("release jobs"), Moment.AFTER))
        shard = engine.kernel.shard_of(run.id)
        # Who meets a run for the first time has it looked at; this worker knows it from an earlier job.
        engine.kernel.runs.update(await db.persist(lambda tx: load_runs(tx, shard=shard, ids=[run.id])))

        try:
            await engine.work_everything()  # up to a release that nobody hears of
            clock.advance(seconds=1)
            await engine.work_everything()
        finally:
            await engine.close()

    assert proxy.cuts == 1
    assert await sql.fetchval("select status from runs where id = $1", run.id) == RunStatus.COMPLETED


async def test_a_mark_taken_back_between_another_workers_claim_and_its_doubt_is_not_walked_past(
    engine: Engine, clock: ManualClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It saw its own fence, so it woke nobody; the other saw the mark, and ended the execution without the item."""
    id, mark = await mark_and_leave(engine)
    kernel, shard = engine.kernel, engine.kernel.shard_of(id)
    clock.advance(minutes=6)
    now = await kernel.clock.now()
    claimed: list[Claimed] = []
    cases: dict[UUID, Case] = {}

    async def take_back_too_late_to_see_the_claim(tx: Tx) -> None:
        await unmark_items(tx, shard=shard, items=[mark], now=now)
        claimed.extend(await engine.claim(shard, Lane.TRANSACTIONAL))
        cases.update(await load_cases(kernel, shard, claimed, now))

    async def loaded_before(*_: object) -> dict[UUID, Case]:
        return cases

    await kernel.db.persist(take_back_too_late_to_see_the_claim)
    with monkeypatch.context() as patch:
        patch.setattr(executions, "load_cases", loaded_before)
        await executions.work_executions(kernel, shard, Lane.TRANSACTIONAL, claimed)
    await engine.work_everything()

    assert len(provider.calls) == 1
    assert await items_in_doubt(engine) == []
    assert [check for check in await engine.verify() if check.offences] == []
