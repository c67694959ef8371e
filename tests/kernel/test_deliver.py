"""Deliver: windows, leases that outlast calls, and no network inside a transaction."""

import asyncio
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    deploy,
    email,
    frozen_in_call,
    plan_runs,
    row,
    shard_of_key,
    start,
    start_many,
    until,
    work,
    work_leases,
    work_once,
)
from tests.stored import TESTER
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Unknown
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.kernel.calls.call import call_provider
from tidings.kernel.calls.call_timer import CallTimer
from tidings.kernel.flow.executions import work_executions
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.readiness import declare_routes
from tidings.kernel.render.renderer import Renderer
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database

TEXT = {"entryNodeId": "text", "nodes": [{"id": "text", "type": "sms", "to": "+1", "body": "Hello"}]}


async def test_rule_15_a_call_inside_a_transaction_is_refused_before_it_starts(
    engine: Engine, provider: FakeProvider, db: Database
) -> None:
    await start(engine)

    async with db.transaction():
        with pytest.raises(AssertionError, match="inside a transaction"):
            await work(engine)

    assert provider.calls == []


async def test_rule_15_no_connection_is_in_use_while_providers_are_called(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine)

    async def all_idle() -> bool:
        busy = "select count(*) from pg_stat_activity where application_name = 'tidings' and state <> 'idle'"
        return await row(sql, busy) == (0,)

    async with frozen_in_call(engine, provider):
        await until(all_idle)  # a notification may be on its way

    assert len(provider.calls) == 1


async def test_what_is_not_a_clear_answer_is_unknown(engine: Engine, provider: FakeProvider) -> None:
    await start(engine)
    await work(engine)
    [item] = provider.calls

    def burst(_: Marked) -> Outcome:
        raise RuntimeError("a defect")

    provider.answer = burst
    raised = await call_provider(provider, item, lambda: True, CallTimer(1))
    provider.hang = asyncio.Event()
    stalled = await call_provider(provider, item, lambda: True, CallTimer(0))

    assert raised == Unknown("RuntimeError: a defect", "RuntimeError")
    assert stalled == Unknown("no answer within 0 s", is_unanswered=True)


async def test_a_provider_that_hangs_is_unknown_at_its_deadline_and_the_others_are_called(
    make_worker: MakeWorker, provider: FakeProvider, sql: Sql
) -> None:
    provider.call_deadline, provider.concurrency = timedelta(seconds=0.2), 2

    async def one_hangs(item: Marked) -> Outcome:
        if item.recipient == "p1@example.com":
            await asyncio.Event().wait()
        return Accepted()

    provider.answer = one_hangs
    engine = await make_worker(Limits())
    await deploy(engine, 20)

    await work(engine)

    counts = "select count(*) filter (where status = 'sent'), count(*) filter (where in_doubt) from outbox"
    assert await row(sql, counts) == (19, 1)
    assert await row(sql, "select error from attempts") == ("no answer within 0.2 s",)


async def test_a_provider_that_cancels_itself_is_unknown_and_the_others_are_called(
    make_worker: MakeWorker, provider: FakeProvider, sql: Sql
) -> None:
    provider.concurrency = 1

    async def first_cancels(_: Marked) -> Outcome:
        await asyncio.sleep(0)
        if len(provider.calls) == 1:
            raise asyncio.CancelledError("of its own")
        return Accepted()

    provider.answer = first_cancels
    engine = await make_worker(Limits())
    await start_many(engine, 2, email(), same_shard=True)

    await work(engine)

    counts = "select count(*) filter (where status = 'sent'), count(*) filter (where in_doubt) from outbox"
    assert await row(sql, counts) == (1, 1)
    assert await row(sql, "select error from attempts") == ("CancelledError: of its own",)


async def test_rule_5_a_slow_call_holds_up_nobody(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    stuck = asyncio.Event()

    async def one_is_slow(item: Marked) -> Outcome:
        if item.recipient == "p1@example.com":
            await stuck.wait()
        return Accepted()

    provider.answer = one_is_slow
    await deploy(engine, 9)
    await plan_runs(engine)
    jobs = await claim(engine)
    task = asyncio.create_task(work_leases(engine, jobs[:1]))
    in_job = await sql.fetchval("select planned from jobs where id = $1", jobs[0].id)
    slow = await sql.fetchval("select count(*) from outbox where job_id = $1 and ordinal = 1", jobs[0].id)

    async def all_but_the_slow_one() -> bool:
        return await row(sql, "select sent from jobs where id = $1", jobs[0].id) == (in_job - slow,)

    await until(all_but_the_slow_one)
    stuck.set()
    await task

    assert await sql.fetchval("select sent from jobs where id = $1", jobs[0].id) == in_job


async def test_rule_5_a_fresh_worker_marks_only_a_handful_for_a_provider_it_does_not_know_yet(
    make_worker: MakeWorker, provider: FakeProvider, sql: Sql
) -> None:
    provider.concurrency = 4
    engine = await make_worker(Limits())
    await deploy(engine, 200)
    await plan_runs(engine)

    async with frozen_in_call(engine, provider, calls=3):
        marked = await sql.fetchval("select count(*) from outbox where marked_at is not null")

    assert 3 <= marked <= 8


async def test_rule_5_the_commit_of_a_finished_call_renews_the_lease_of_a_slow_one(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    answers = {"a@example.com": asyncio.Event(), "b@example.com": asyncio.Event()}

    async def when_told(item: Marked) -> Outcome:
        await answers[item.recipient].wait()
        return Accepted()

    provider.answer = when_told
    await start(engine, email(to=list(answers)))
    task = asyncio.create_task(work_once(engine))
    await until(lambda: len(provider.calls) == 2)
    clock.advance(seconds=200)

    answers["a@example.com"].set()

    async def recorded() -> bool:
        return await row(sql, "select count(*) from outbox where status = 'sent'") == (1,)

    await until(recorded)
    renewed = await row(sql, "select due_at, fence from queue")
    answers["b@example.com"].set()
    await task

    assert renewed == (clock.time + timedelta(minutes=5), 1)
    assert await sql.fetchval("select count(*) from outbox where status = 'sent'") == 2


async def test_rule_5_no_call_starts_that_the_lease_may_not_outlast(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    lease_left: list[timedelta] = []

    async def note(item: Marked) -> Outcome:
        [due_at] = await row(sql, "select due_at from queue where id = $1", item.owner)
        lease_left.append(due_at - clock.time)
        return Accepted()

    provider.answer = note
    await start(engine)
    leases = await claim(engine)
    clock.advance(seconds=295)

    await work_leases(engine, leases)

    [left] = lease_left
    assert left > provider.call_deadline + engine.kernel.limits.lease_margin


async def test_rule_5_no_call_starts_on_a_lease_of_its_deadline_and_half_the_margin(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.concurrency = 2
    engine = await make_worker(Limits())
    margin, lease_left = engine.kernel.limits.lease_margin, list[timedelta]()
    turn = asyncio.Lock()

    async def note_and_use_up_the_lease(item: Marked) -> Outcome:
        async with turn:
            [due_at] = await row(sql, "select due_at from queue where id = $1", item.owner)
            lease_left.append(due_at - clock.time)
            clock.time = max(clock.time, due_at - provider.call_deadline - 0.6 * margin)
        return Accepted()

    provider.answer = note_and_use_up_the_lease
    people = [f"p{number}@example.com" for number in range(8)]
    await start(engine, email(to=people))

    await work(engine)

    assert sorted(call.recipient for call in provider.calls) == people
    assert min(lease_left[1:]) > provider.call_deadline + margin


async def test_rule_5_a_lease_too_short_for_a_provider_is_refused_at_the_start(
    db: Database, clock: ManualClock
) -> None:
    slow = FakeProvider(call_deadline=timedelta(minutes=5))

    with pytest.raises(ConfigInvalid, match="too short"):
        Kernel(db, clock, 4, {"fake": slow}, dict.fromkeys(Channel, "fake"), Renderer())


async def test_rule_5_draining_unmarks_what_has_not_started_and_leaves_nothing_in_doubt(
    make_worker: MakeWorker, provider: FakeProvider, sql: Sql
) -> None:
    provider.concurrency = 2
    engine = await make_worker(Limits())
    await deploy(engine, 40)
    await plan_runs(engine)

    async with frozen_in_call(engine, provider) as answered:
        calls = len(provider.calls)
        marked = await sql.fetchval("select count(*) from outbox where marked_at is not null")
        engine.kernel.draining.set()
        answered.set()

    assert marked > calls == len(provider.calls)
    left = "select count(*) filter (where status = 'sent'), count(marked_at) filter (where status = 'queued'), "
    left += "count(*) filter (where in_doubt), max(attempts) filter (where status = 'queued') from outbox"
    assert await row(sql, left) == (calls, 0, 0, 0)
    assert await sql.fetchval("select count(*) from queue where leased") == 0
    engine.kernel.draining.clear()
    await work(engine)
    assert len({call.key for call in provider.calls}) == len(provider.calls) == 40
    await assert_kept(engine)


async def test_rule_5_a_worker_does_not_start_what_it_had_marked_once_that_lease_is_lost(
    db: Database, clock: ManualClock, sql: Sql
) -> None:
    mail, text = FakeProvider("mail", concurrency=1), FakeProvider("text")
    mail_answered, text_answered = asyncio.Event(), asyncio.Event()
    mail.hang, text.hang = mail_answered, text_answered
    routes = dict.fromkeys(Channel, "mail") | {Channel.SMS: "text"}
    engine = Engine(Kernel(db, clock, 4, {"mail": mail, "text": text}, routes, Renderer()))
    await declare_routes(engine.kernel)
    await engine.define("text", TEXT)
    mails = set(await start_many(engine, 2, same_shard=True))
    [key] = _keys_in_first_shard(engine, 1)
    await engine.trigger("text", {}, key)
    task = asyncio.create_task(work_once(engine))
    await until(lambda: len(mail.calls) + len(text.calls) == 2)
    waiting = (mails - {mail.calls[0].owner}).pop()
    marked = await row(sql, "select marked_at is not null from outbox where execution_id = $1", waiting)
    clock.advance(seconds=200)

    await sql.execute("update queue set fence = fence + 1 where id = $1", waiting)  # somebody else has it now
    with capture_logs() as said:
        text_answered.set()
        await until(lambda: any(line["event"] == "lease_lost" for line in said))
    mail_answered.set()
    await task

    await engine.kernel.notifier.close()
    assert marked == (True,)
    assert len(mail.calls) == 1


async def test_a_cancelled_worker_leaves_marks_behind_and_nobody_is_called_twice(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await deploy(engine, 6)
    await plan_runs(engine)
    async with frozen_in_call(engine, provider):
        pass  # the task is cancelled in mid-air
    clock.advance(minutes=6)

    await work(engine)

    assert len({call.key for call in provider.calls}) == len(provider.calls)
    assert await row(sql, "select count(*) filter (where status = 'sent' or in_doubt) from outbox") == (6,)
    await assert_kept(engine)


async def test_a_window_waits_for_slots_of_its_own_provider_only(db: Database, clock: ManualClock, sql: Sql) -> None:
    # A mark refused for one provider must not keep a worker spinning for another one's slots.
    busy, free = FakeProvider("busy", concurrency=1), FakeProvider("free")
    limits = Limits(slot_wait=timedelta(milliseconds=20))
    routes = dict.fromkeys(Channel, "free") | {Channel.SMS: "busy"}
    kernel = Kernel(db, clock, 4, {"busy": busy, "free": free}, routes, Renderer(), limits)
    engine = Engine(kernel)
    await declare_routes(kernel)
    await engine.define("text", TEXT)
    [paused] = await start_many(engine, 1, email(), same_shard=True)
    texts = [(await engine.trigger("text", {}, key)).id for key in _keys_in_first_shard(engine, 4)]
    leases = await claim(engine)
    await engine.executions.pause(TESTER, paused)
    while kernel.slots["busy"].room(Lane.TRANSACTIONAL):
        kernel.slots["busy"].promise(Lane.TRANSACTIONAL)

    await work_executions(kernel, kernel.shard_of(paused), Lane.TRANSACTIONAL, leases)

    await kernel.notifier.close()  # or its last notification would meet a pool that the test's end has closed
    assert (free.calls, busy.calls) == ([], [])
    assert await sql.fetchval("select count(*) from outbox where marked_at is not null") == 0
    assert len(texts) == 4


def _keys_in_first_shard(engine: Engine, count: int) -> list[str]:
    return [key for number in range(1000) if shard_of_key(engine, key := f"t{number}") == 0][:count]
