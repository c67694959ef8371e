"""Keep: a worker that is alive keeps its leases, whatever it waits for."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import Sql, assert_kept, claim, deploy, plan_runs, row, start, until, work_once
from tests.stored import stored_execution
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.queue import Kind
from tidings.engine import Engine
from tidings.kernel.flow.lease_keeper import LeaseKeeper
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider

SHORT = Limits(lease=timedelta(seconds=0.8), lease_margin=timedelta(seconds=0.1))


async def test_a_worker_that_waits_for_a_lock_keeps_its_lease_and_counts_as_no_crash(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.call_deadline = timedelta(seconds=0.2)
    worker = await make_worker(SHORT)
    await deploy(worker, 1)
    await plan_runs(worker)
    locking = sql.transaction()
    await locking.start()
    await sql.execute("select 1 from outbox for update")  # a frozen worker, say
    task = asyncio.create_task(work_once(worker))
    await until(lambda: _somebody_waits_for_a_lock(sql))
    for _ in range(3):
        leased = await _due(sql)
        clock.advance(seconds=0.5)
        await until(lambda leased=leased: _later(sql, leased))  # type: ignore[misc]
    claimed_meanwhile = await claim(worker)
    await locking.rollback()

    await task

    assert Kind.JOB not in {one.kind for one in claimed_meanwhile}
    assert await row(sql, "select status, attempts from outbox") == ("sent", 1)
    assert await row(sql, "select max(crashes) from queue") == (0,)
    await assert_kept(worker)


async def test_a_renewal_that_fails_is_said_and_tried_again(
    make_worker: MakeWorker, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.call_deadline = timedelta(seconds=0.2)
    worker = await make_worker(SHORT)
    id = await start(worker)
    leases = await claim(worker)
    keeper = LeaseKeeper(worker.kernel, worker.kernel.shard_of(id), leases)
    tries = 0

    async def fail(*_: object) -> None:
        nonlocal tries
        tries += 1
        raise StorageUnavailable("the database refuses")

    monkeypatch.setattr(keeper, "renew_before", fail)
    with capture_logs() as said:
        async with keeper:
            await until(lambda: tries >= 2)

    assert {line["event"] for line in said} == {"renewal_failed"}


async def test_a_lease_that_somebody_else_has_by_now_is_let_go(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql
) -> None:
    worker = await make_worker(Limits())
    id = await start(worker)
    [lease] = await claim(worker)
    keeper = LeaseKeeper(worker.kernel, worker.kernel.shard_of(id), [lease])
    held = keeper.holds(id)
    await sql.execute("update queue set fence = fence + 1")
    clock.advance(seconds=250)

    await keeper.renew_before(timedelta(minutes=2), await clock.now())

    assert (held, keeper.holds(id)) == (True, False)


async def test_a_lease_that_was_let_go_is_not_called_lost(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    id = await start(engine)
    leases = await claim(engine)
    keeper = LeaseKeeper(engine.kernel, engine.kernel.shard_of(id), leases)
    await sql.execute("update queue set fence = fence + 1, leased = false")  # our own release
    clock.advance(seconds=250)
    keeper.begin_release([id])

    with capture_logs() as said:
        await keeper.renew_before(timedelta(minutes=2), await clock.now())

    assert said == []
    assert not keeper.holds(id)


async def test_a_lease_is_not_renewed_before_it_needs_to_be(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    id = await start(engine)
    [lease] = await claim(engine)
    keeper = LeaseKeeper(engine.kernel, engine.kernel.shard_of(id), [lease])
    before = await _due(sql)
    clock.advance(seconds=100)

    await keeper.renew_before(timedelta(minutes=3), await clock.now())
    unchanged = await _due(sql)
    await keeper.renew_before(timedelta(minutes=4), await clock.now())

    assert unchanged == before
    assert await _due(sql) == clock.time + engine.kernel.limits.lease
    assert keeper.keeps(id, clock.time + timedelta(minutes=4))
    assert not keeper.keeps(id, clock.time + timedelta(minutes=5))
    assert not keeper.keeps(uuid4(), clock.time)


async def _somebody_waits_for_a_lock(sql: Sql) -> bool:
    waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    return bool(await sql.fetchval(f"select exists ({waiting})"))


async def _due(sql: Sql) -> object:
    return await sql.fetchval("select max(due_at) from queue where leased")


async def _later(sql: Sql, than: object) -> bool:
    return bool(await sql.fetchval("select max(due_at) > $1 from queue where leased", than))


async def test_a_step_s_worker_counts_as_dead_after_the_visibility_timeout(
    engine: Engine, other: Engine, provider: FakeProvider, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is 300 s, and so is the time that steps have: a crash must not use up all of it."""

    async def dies(*_: object) -> None:
        raise KeyboardInterrupt

    step = {"name": "a", "function": "f", "action": "go", "payload_template": {}}
    await engine.define("steps", {"steps": [step], "visibility_timeout": 30})
    started = await engine.trigger("steps", {}, "k1")
    monkeypatch.setattr("tidings.kernel.flow.executions.plan", dies)
    with pytest.raises(KeyboardInterrupt):
        await engine.work_everything()
    monkeypatch.undo()

    clock.advance(seconds=29)
    assert not await other.work_everything()
    clock.advance(seconds=2)
    await other.work_everything()

    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.COMPLETED
    assert len(provider.calls) == 1


async def test_a_lease_is_never_shorter_than_a_call_may_take(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    provider.call_deadline = timedelta(seconds=50)
    step = {"name": "a", "function": "f", "action": "go", "payload_template": {}}
    await engine.define("steps", {"steps": [step], "visibility_timeout": 5})
    started = await engine.trigger("steps", {}, "k1")
    await engine.work_everything()

    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.COMPLETED
