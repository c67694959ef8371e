"""Pause, resume and cancel: asked of executions and runs, obeyed by whoever holds the lease."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import ManualClock, make_engine
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    crash_in_call,
    delay,
    deploy,
    email,
    frozen_in_call,
    listening,
    plan_runs,
    row,
    start,
    until,
    with_lossy_database,
    work,
    work_leases,
    work_once,
)
from tests.stored import TESTER, stored_execution, stored_run
from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.errors import Conflict, NotFound
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Found, Keyed, Resolvable
from tidings.engine import Engine
from tidings.kernel.campaigns import plan_audience as kernel_deploy
from tidings.kernel.manage.observe import show_history
from tidings.providers.fake import FakeProvider
from tidings.resources.runs import Runs
from tidings.storage import load as storage_load
from tidings.storage import resolve as storage_resolve
from tidings.storage.database import Database, Tx
from tidings.storage.load import LoadedRun


async def test_a_paused_execution_sends_nothing_and_goes_on_when_resumed(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    id = await start(engine)

    await engine.executions.pause(Caller(TESTER.workspace, "ann"), id)
    for _ in range(3):
        await work(engine)
        clock.advance(hours=2)
    paused = (await stored_execution(engine, id)).status, len(provider.calls)
    await engine.executions.resume(Caller(TESTER.workspace, "bob"), id)
    await work(engine)

    assert paused == (ExecutionStatus.PAUSED, 0)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
    assert len(provider.calls) == 1
    history = await show_history(engine.kernel, id)
    assert [(entry.event, entry.actor) for entry in history] == [("pause", "ann"), ("resume", "bob")]


async def test_rule_1_a_pause_during_a_call_lets_it_end_and_keeps_the_next_from_starting(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine, email(), email("second"))

    async with frozen_in_call(engine, provider) as answered:
        await engine.executions.pause(TESTER, id)
        answered.set()
    await work(engine)

    assert await row(sql, "select status from outbox") == ("sent",)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.PAUSED
    await engine.executions.resume(TESTER, id)
    await work(engine)
    assert len(provider.calls) == 2


@pytest.mark.parametrize("answer", [Accepted("m-1"), Rejected("no mailbox")])
async def test_a_cancel_during_the_last_call_holds_and_the_fact_is_kept(
    engine: Engine, provider: FakeProvider, sql: Sql, answer: Outcome
) -> None:
    """It was answered with success, and then the call's answer completed the execution, or failed it."""
    provider.answer = answer
    id = await start(engine)

    async with frozen_in_call(engine, provider) as answered:
        await engine.executions.cancel(TESTER, id)
        answered.set()
    await work(engine)

    shown, fact = await stored_execution(engine, id), "sent" if isinstance(answer, Accepted) else "failed"
    assert (shown.status, shown.error) == (ExecutionStatus.CANCELLED, None)
    assert shown.vars["hello"]["status"] == fact  # type: ignore[index]
    assert await row(sql, "select status from outbox") == (fact,)
    assert await sql.fetchval("select count(*) from queue") == 0
    await assert_kept(engine)


async def test_a_pause_during_the_last_call_holds_until_it_is_resumed(engine: Engine, provider: FakeProvider) -> None:
    id = await start(engine)

    async with frozen_in_call(engine, provider) as answered:
        await engine.executions.pause(TESTER, id)
        answered.set()
    await work(engine)
    paused = (await stored_execution(engine, id)).status
    await engine.executions.resume(TESTER, id)
    await work(engine)

    assert (paused, (await stored_execution(engine, id)).status) == (ExecutionStatus.PAUSED, ExecutionStatus.COMPLETED)
    assert len(provider.calls) == 1


async def test_rule_1_a_resume_during_the_lease_that_obeys_the_pause_is_not_lost(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    id = await start(engine)
    await engine.executions.pause(TESTER, id)
    leases = await claim(engine)

    await engine.executions.resume(TESTER, id)
    await work_leases(engine, leases)
    await work(engine)

    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
    assert len(provider.calls) == 1


async def test_a_cancelled_execution_ends_and_its_unmarked_items_are_skipped(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["ada@example.com"] = [RetryLater("busy")]
    id = await start(engine, email(), email("second"))
    await work(engine)

    await engine.executions.cancel(TESTER, id)
    await work(engine)
    clock.advance(days=1)
    await work(engine)

    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED
    assert await row(sql, "select status, skipped, error from outbox") == ("skipped", True, "cancelled")
    assert len(provider.calls) == 1
    assert await sql.fetchval("select count(*) from queue") == 0
    await assert_kept(engine)


async def test_a_cancelled_execution_leaves_its_doubtful_item_in_doubt_and_calls_it_no_more(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Keyed(timedelta(hours=24))
    provider.answer = Unknown("reset")
    id = await start(engine)
    await work(engine)

    await engine.executions.cancel(TESTER, id)
    for _ in range(3):
        clock.advance(minutes=1)
        await work(engine)

    assert len(provider.calls) == 1
    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED
    assert await row(sql, "select status, in_doubt from outbox") == ("queued", True)
    await assert_kept(engine)


async def test_a_cancel_stays_one_whatever_is_asked_for_after_it(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    id = await start(engine, delay("rest", "PT1H"), email())

    await engine.executions.cancel(TESTER, id)
    for stop in (engine.executions.resume, engine.executions.pause):  # by somebody who had looked before it
        with pytest.raises(Conflict, match="cancelled"):
            await stop(TESTER, id)
    await engine.executions.cancel(TESTER, id)
    clock.advance(days=1)
    await work(engine)

    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED
    assert provider.calls == []


async def test_an_execution_that_sleeps_is_cancelled_at_once(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    id = await start(engine, delay("long", "P3D"), email())
    await work(engine)

    await engine.executions.cancel(TESTER, id)
    await work(engine)

    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED
    assert provider.calls == []


async def test_what_has_ended_cannot_be_stopped(engine: Engine, clock: ManualClock) -> None:
    id, run = await start(engine), await deploy(engine, 1)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    executions, runs = engine.executions, engine.runs
    for stop in (executions.pause, executions.resume, executions.cancel):
        with pytest.raises(Conflict):
            await stop(TESTER, id)
    for stop_run in (runs.pause, runs.resume, runs.cancel):
        with pytest.raises(Conflict):
            await stop_run(TESTER, run)
    with pytest.raises(NotFound):
        await engine.executions.pause(TESTER, run)
    with pytest.raises(NotFound):
        await engine.runs.pause(TESTER, id)


async def test_a_stop_whose_commit_is_unknown_is_in_the_history_once(engine: Engine, clock: ManualClock) -> None:
    id = await start(engine)

    await with_lossy_database(engine, lose=lambda count: count == 1).executions.pause(TESTER, id)

    assert [entry.event for entry in await show_history(engine.kernel, id)] == ["pause"]


async def test_a_paused_run_sends_nothing_and_goes_on_when_resumed(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await deploy(engine, 6)
    await plan_runs(engine)

    await engine.runs.pause(TESTER, run)
    for _ in range(3):
        await work(engine)
        clock.advance(hours=2)
    shown = await stored_run(engine, run)
    paused = shown.run.paused, shown.queued, len(provider.calls)
    await engine.runs.resume(TESTER, run)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    assert paused == (True, 6, 0)
    shown = await stored_run(engine, run)
    assert (shown.run.status, shown.run.paused) == (RunStatus.COMPLETED, False)
    assert len(provider.calls) == 6


@pytest.mark.parametrize("ask", [Runs.pause, Runs.cancel])
async def test_what_is_marked_and_waits_for_its_slot_is_taken_back_when_its_run_is_stopped(
    engine: Engine, clock: ManualClock, db: Database, sql: Sql, ask: Callable[..., Awaitable[object]]
) -> None:
    """Asked in one process, obeyed in another: only calls that had begun are made, and nothing is in doubt."""
    slow = FakeProvider(concurrency=5)
    worker = await make_engine(db, clock, slow)
    run = await deploy(engine, 60)
    await plan_runs(engine)

    async def marks() -> int:
        return int(await sql.fetchval("select count(*) from outbox where marked_at is not null"))

    async def are_taken_back() -> bool:
        return await marks() == 4

    async with listening(worker), frozen_in_call(worker, slow, calls=4) as answered:
        before = await marks(), len(slow.calls)
        await ask(engine.runs, TESTER, run)
        await until(are_taken_back)
        answered.set()
    await work(worker)

    shown = await stored_run(engine, run)
    assert before == (8, 4)
    assert (len(slow.calls), shown.counts.sent, shown.in_doubt) == (4, 4, 0)
    assert await marks() == 4
    if ask is Runs.pause:
        await engine.runs.resume(TESTER, run)
        await work(worker)
        assert len(slow.calls) == len({call.recipient for call in slow.calls}) == 60
    await assert_kept(engine)
    await worker.kernel.notifier.close()
    await worker.kernel.renderer.close()


async def test_a_pause_taken_back_while_the_worker_holds_the_job_stops_nothing(
    engine: Engine, clock: ManualClock, db: Database, sql: Sql
) -> None:
    """The worker marks anew what it took back, and goes on."""
    slow = FakeProvider(concurrency=5)
    worker = await make_engine(db, clock, slow)
    run = await deploy(engine, 60)
    await plan_runs(engine)

    async with listening(worker), frozen_in_call(worker, slow, calls=4) as answered:
        await engine.runs.pause(TESTER, run)
        await engine.runs.resume(TESTER, run)
        answered.set()
    await work(worker)

    assert len(slow.calls) == len({call.recipient for call in slow.calls}) == 60
    await worker.kernel.notifier.close()
    await worker.kernel.renderer.close()


async def test_a_run_paused_before_its_audience_is_planned_shows_its_size_and_calls_nobody(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await deploy(engine, 6)

    await engine.runs.pause(TESTER, run)
    await work(engine)
    clock.advance(hours=2)
    await work(engine)
    paused = await stored_run(engine, run)
    called = len(provider.calls)
    await engine.runs.resume(TESTER, run)
    await work(engine)

    assert (paused.run.planned, paused.counts.planned, paused.queued, called) == (6, 6, 6, 0)
    assert len(provider.calls) == 6
    await assert_kept(engine)


async def test_a_scheduled_run_that_is_paused_and_resumed_keeps_its_time(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deploy(engine, 6, scheduled_for=clock.time + timedelta(hours=5))

    await engine.runs.pause(TESTER, run)
    await work(engine)
    await engine.runs.resume(TESTER, run)
    await work(engine)
    clock.advance(hours=4)
    await work(engine)
    before = await sql.fetchval("select count(*) from outbox"), len(provider.calls)
    clock.advance(hours=1)
    await work(engine)

    assert before == (0, 0)
    assert len(provider.calls) == 6


async def test_a_resume_that_died_half_way_is_finished_by_the_runs_own_claim(
    engine: Engine, clock: ManualClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await deploy(engine, 6)
    await plan_runs(engine)
    await engine.runs.pause(TESTER, run)
    await work(engine)

    with monkeypatch.context() as patched:
        patched.setattr(storage_resolve, "stop_jobs_of_run", _die)
        with pytest.raises(RuntimeError):
            await engine.runs.resume(TESTER, run)
    await work(engine)

    assert len(provider.calls) == 6


async def _die(*_: object, **__: object) -> int:
    raise RuntimeError("dies here")


@asynccontextmanager
async def between_a_workers_reading_a_run_and_its_obeying(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], Awaitable[object]]
) -> AsyncIterator[None]:
    """Have somebody act right after the next worker has read a run."""
    original = storage_load.load_runs

    async def read(tx: Tx, **values: Any) -> Mapping[UUID, LoadedRun]:
        monkeypatch.setattr(storage_load, "load_runs", original)
        found = await original(tx, **values)
        await act()
        return found

    monkeypatch.setattr(storage_load, "load_runs", read)
    yield


async def test_a_resume_is_not_undone_by_a_worker_that_still_believes_in_the_pause(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await deploy(engine, 6)
    await plan_runs(engine)
    await engine.runs.pause(TESTER, run)

    async with between_a_workers_reading_a_run_and_its_obeying(monkeypatch, lambda: other.runs.resume(TESTER, run)):
        await plan_runs(engine)
    await work(engine)

    assert len(provider.calls) == 6


async def test_a_pause_is_not_undone_by_a_worker_that_has_not_heard_of_it(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It told the jobs to go on, until the run was claimed again: at once, or when a dead worker's lease had ended."""
    run = await deploy(engine, 6)
    await plan_runs(engine)
    clock.advance(seconds=30)

    async with between_a_workers_reading_a_run_and_its_obeying(monkeypatch, lambda: other.runs.pause(TESTER, run)):
        await plan_runs(engine)
    await work_once(other)

    assert provider.calls == []


@pytest.mark.parametrize("ask", [Runs.pause, Runs.cancel])
async def test_jobs_that_are_written_while_their_run_is_stopped_are_stopped_as_well(
    engine: Engine,
    other: Engine,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[..., Awaitable[object]],
) -> None:
    """They were written to go on, and went on until the run was claimed again."""
    run = await deploy(engine, 6)
    read = kernel_deploy._read_chunk

    async def stopped_meanwhile(*arguments: Any) -> Any:
        chunk = await read(*arguments)
        monkeypatch.setattr(kernel_deploy, "_read_chunk", read)
        await ask(other.runs, TESTER, run)
        return chunk

    monkeypatch.setattr(kernel_deploy, "_read_chunk", stopped_meanwhile)
    await plan_runs(engine)
    await work_once(other)

    assert provider.calls == []


async def test_a_cancelled_run_skips_what_is_left_and_its_status_follows_from_its_jobs(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = RetryLater("busy")
    run = await deploy(engine, 6)
    await work(engine)

    await engine.runs.cancel(TESTER, run)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    shown = await stored_run(engine, run)
    assert (shown.counts.skipped, shown.run.cancelled, shown.run.status) == (6, True, RunStatus.COMPLETED)
    assert await sql.fetchval("select count(*) from queue") == 0
    await assert_kept(engine)


async def test_a_run_cancelled_before_it_was_planned_accounts_for_everybody_and_ends(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Whatever its time and its rate: nobody waits for a place in order to be skipped."""
    run = await deploy(engine, 6, scheduled_for=clock.time + timedelta(hours=5), rate_per_minute=1)

    await engine.runs.cancel(TESTER, run)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    shown = await stored_run(engine, run)
    assert (shown.run.planned, shown.counts.skipped, shown.run.ended_at is not None) == (6, 6, True)
    assert {tuple(one) for one in await sql.fetch("select status, error from outbox")} == {("skipped", "cancelled")}
    assert provider.calls == []
    await assert_kept(engine)


async def test_a_cancelled_run_cannot_be_resumed(engine: Engine) -> None:
    run = await deploy(engine, 2)
    await engine.runs.cancel(TESTER, run)

    with pytest.raises(Conflict):
        await engine.runs.resume(TESTER, run)
    with pytest.raises(Conflict):
        await engine.runs.pause(TESTER, run)


@pytest.mark.parametrize("retention_hours", [24, 0])
async def test_a_cancelled_run_with_items_in_doubt_stays_open_calls_nobody_and_does_not_spin(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, retention_hours: int
) -> None:
    provider.provider_class = Keyed(timedelta(hours=retention_hours))
    provider.answer = Unknown("reset")
    run = await deploy(engine, 1)
    await work(engine)

    await engine.runs.cancel(TESTER, run)
    for _ in range(3):
        clock.advance(minutes=2)
        await work(engine)

    shown = await stored_run(engine, run)
    assert (shown.in_doubt, shown.run.ended_at) == (1, None)
    assert len(provider.calls) == 1


async def test_a_cancelled_run_still_learns_what_became_of_a_doubtful_item(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.provider_class = Resolvable(authoritative=True, settle=timedelta(minutes=1))
    run = await deploy(engine, 1)
    await plan_runs(engine)
    await crash_in_call(engine, provider)
    provider.evidence[provider.calls[0].key] = Found("m-1")

    await engine.runs.cancel(TESTER, run)
    clock.advance(minutes=6)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    shown = await stored_run(engine, run)
    assert (shown.counts.sent, shown.run.status) == (1, RunStatus.COMPLETED)
    assert len(provider.calls) == 1
