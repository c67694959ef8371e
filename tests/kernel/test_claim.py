"""Claim: a lease is a fence, what crashed is claimed alone, and the time is the database's."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from types import SimpleNamespace

import pytest

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    crash_in_call,
    delay,
    deploy,
    email,
    plan_runs,
    row,
    start,
    start_many,
    until,
    with_lossy_database,
    work,
    work_leases,
    work_once,
)
from tests.stored import TESTER, items_in_doubt, stored_execution, stored_run
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater
from tidings.domain.flow.queue import Kind, Lane
from tidings.engine import Engine
from tidings.kernel.flow.claim import claim_due
from tidings.kernel.kernel import Limits
from tidings.kernel.manage.resolve import Resolution
from tidings.kernel.process.claim_floor import BEGINNING, LOOK_EVERYWHERE, SLACK
from tidings.kernel.wake import as_payload, from_payload
from tidings.providers.fake import FakeProvider
from tidings.storage import claim as storage_claim
from tidings.storage import clock as storage_clock
from tidings.storage.database import Database, TransientFailure


async def test_rule_1_claim_and_release_each_add_one_to_the_fence(engine: Engine, sql: Sql) -> None:
    await start(engine, delay("wait", "PT0S"), delay("long", "PT1H"), email())

    [lease] = await claim(engine)
    leased = await row(sql, "select fence, leased, due_at from queue")

    assert leased == (1, True, lease.until)
    assert lease.fence == 1


async def test_rule_1_release_ends_the_lease_under_a_new_fence(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    await start(engine, email(), delay("long", "PT1H"))

    await work_once(engine)

    found = await row(sql, "select fence, leased, due_at from queue")
    assert found == (2, False, clock.time + timedelta(hours=1))


async def test_rule_1_jobs_and_runs_are_released_under_a_new_fence_too(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = RetryLater("busy")
    await deploy(engine, 1)
    await plan_runs(engine)

    await work_once(engine)

    found = await sql.fetch("select kind, fence, leased from queue order by kind")
    assert [tuple(each) for each in found] == [("job", 2, False), ("run", 2, False)]


async def test_rule_1_two_workers_never_hold_the_same_row(engine: Engine, other: Engine) -> None:
    await start_many(engine, 40)

    claims = await asyncio.gather(*(claim(worker, limit=3) for worker in (engine, other) * 6))

    ids = [lease.id for leases in claims for lease in leases]
    assert len(ids) == len(set(ids)) == 40


async def test_rule_1_whoever_asks_a_leased_row_to_stop_leaves_its_expiry_alone_and_is_obeyed_at_its_release(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine, email(), delay("long", "PT1H"))
    [lease] = await claim(engine)

    await engine.executions.pause(TESTER, id)
    asked = await row(sql, "select due_at, wake, stop, fence from queue")

    assert asked == (lease.until, True, "pause", lease.fence)


async def test_rule_1_a_wake_during_the_lease_makes_the_row_due_at_its_release(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    await start(engine, delay("wait", "PT0S"), delay("long", "PT1H"), email())
    [lease] = await claim(engine)
    await sql.execute("update queue set wake = true")

    await work_leases(engine, [lease])

    found = await row(sql, "select due_at, wake, leased from queue")
    assert found == (clock.time, False, False)


async def test_what_sleeps_is_not_claimed(engine: Engine, clock: ManualClock) -> None:
    await start(engine, delay("long", "PT1H"), email())

    early = await claim(engine)
    clock.advance(hours=1)
    due = await claim(engine)

    assert (len(early), len(due)) == (0, 1)


async def test_what_is_due_first_is_claimed_first(engine: Engine, clock: ManualClock) -> None:
    ids = await start_many(engine, 1, same_shard=True)
    clock.advance(seconds=1)
    await start_many(engine, 3, same_shard=True)

    leases = await claim_due(engine.kernel, Shard(0), Lane.TRANSACTIONAL, limit=1)

    assert [lease.id for lease in leases] == ids


async def test_a_worker_that_leaves_does_not_wait_for_a_claim_that_cannot_be_read_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def fail(*_: object, **__: object) -> None:
        raise TransientFailure("the database is gone")

    async def fail_again(*_: object, **__: object) -> None:
        asked.set()
        raise TransientFailure("the database is gone")

    monkeypatch.setattr(storage_claim, "claim_due", fail)
    monkeypatch.setattr(storage_claim, "reread_claim", fail_again)
    claiming = asyncio.create_task(claim_due(engine.kernel, Shard(0), Lane.TRANSACTIONAL, 10))
    await asked.wait()
    engine.kernel.draining.set()

    async with asyncio.timeout(60):
        assert await claiming == []


async def test_a_claim_whose_answer_is_lost_is_read_back(engine: Engine, sql: Sql) -> None:
    await start_many(engine, 3, same_shard=True)
    lossy = with_lossy_database(engine, lose=lambda count: count == 1)

    leases = await claim_due(lossy.kernel, Shard(0), Lane.TRANSACTIONAL, limit=10)

    assert {(lease.id, lease.fence) for lease in leases} == {
        (row["id"], row["fence"]) for row in await sql.fetch("select id, fence from queue where leased")
    }
    assert len(leases) == 3


async def test_a_claim_that_never_happened_leases_nothing(engine: Engine, sql: Sql) -> None:
    await start_many(engine, 3, same_shard=True)
    lossy = with_lossy_database(engine, lose=lambda count: count == 1, when="before")

    leases = await claim_due(lossy.kernel, Shard(0), Lane.TRANSACTIONAL, limit=10)

    assert leases == []
    assert await sql.fetchval("select count(*) from queue where leased") == 0


async def test_recovery_of_a_stale_lock_claims_the_job_again_and_calls_nobody_twice(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    run = await deploy(engine, 4)
    await plan_runs(engine)
    jobs = await claim(engine)

    await work(other)
    before = len(provider.calls)
    clock.advance(minutes=5, seconds=1)
    await work(other)

    assert (len(jobs), before, len(provider.calls)) == (await sql.fetchval("select count(*) from jobs"), 0, 4)
    assert (await stored_run(engine, run)).counts.sent == 4
    await assert_kept(engine)


async def test_rule_7_claiming_a_row_that_is_still_leased_counts_a_crash_and_claims_it_alone(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    ids = await start_many(engine, 3, same_shard=True)
    poisoned = await claim_due(engine.kernel, Shard(0), Lane.TRANSACTIONAL, limit=1)
    clock.advance(minutes=6)

    first = await claim_due(engine.kernel, Shard(0), Lane.TRANSACTIONAL, limit=10)
    second = await claim_due(engine.kernel, Shard(0), Lane.TRANSACTIONAL, limit=10)

    assert [(lease.id, lease.crashes) for lease in first] == [(poisoned[0].id, 1)]
    assert {lease.id for lease in second} == set(ids) - {poisoned[0].id}


async def test_rule_7_a_row_with_a_history_of_crashes_is_claimed_alone(engine: Engine, sql: Sql) -> None:
    ids = await start_many(engine, 3, same_shard=True)
    await sql.execute("update queue set crashes = 1 where id = $1", ids[1])

    leases = await claim_due(engine.kernel, Shard(0), Lane.TRANSACTIONAL, limit=10)

    assert [lease.id for lease in leases] == [ids[1]]


async def test_rule_7_any_progress_forgets_the_crashes(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    await start(engine, email(), delay("long", "PT1H"))
    await claim(engine)
    clock.advance(minutes=6)

    await work_once(engine)

    assert await sql.fetchval("select crashes from queue") == 0


async def test_rule_7_a_move_without_any_answer_forgets_the_crashes_too(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine, delay("first", "PT0S"), delay("long", "PT1H"), email())
    await deploy(engine, 1)
    await plan_runs(engine)
    clock.advance(seconds=31)
    kinds = {lease.kind for lease in await claim(engine)}
    clock.advance(minutes=6)
    rest = "insert into provider_pauses (provider, paused_until, reason) values ($1, $2, '429')"
    await sql.execute(rest, provider.name, clock.time + timedelta(hours=1))  # so nobody is called

    await work(engine)

    assert kinds == {*Kind}
    assert provider.calls == []
    left = await sql.fetch("select kind, leased, crashes from queue order by kind")
    assert [tuple(each) for each in left] == [(kind, False, 0) for kind in sorted(Kind)]


async def test_rule_7_an_answer_is_progress_even_if_its_worker_dies_before_the_release(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    engine = await make_worker(Limits(flush_results=1))
    await start(engine, email(to=["ada@example.com", "b@example.com"]))
    await claim(engine)
    clock.advance(minutes=6)
    never = asyncio.Event()

    async def answer_only_the_first(item: Marked) -> Outcome:
        if item.recipient == "b@example.com":
            await never.wait()
        return Accepted()

    provider.answer = answer_only_the_first
    task = asyncio.create_task(work_once(engine))

    async def answered() -> bool:
        return await row(sql, "select count(*) from outbox where status = 'sent'") == (1,)

    await until(answered)
    task.cancel()

    assert await row(sql, "select leased, crashes from queue") == (True, 0)


async def test_rule_7_only_the_row_that_kills_workers_dies_of_it(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    good, poison = await start_many(engine, 2, same_shard=True)
    await claim(engine)
    for _ in range(engine.kernel.limits.crashes - 1):
        clock.advance(minutes=6)
        leases = await claim(engine)
        while leases[0].id != poison:  # whatever else was in the crash proves itself alone
            await work_leases(engine, leases)
            leases = await claim(engine)

    clock.advance(minutes=6)
    await work(engine)

    dead = await stored_execution(engine, poison)
    assert (dead.status, dead.error) == (ExecutionStatus.FAILED, "workers died 5 times while working on it")
    assert (await stored_execution(engine, good)).status is ExecutionStatus.COMPLETED
    assert [call.owner for call in provider.calls] == [good]
    await assert_kept(engine)


async def test_rule_7_a_job_out_of_attempts_is_dead_its_unmarked_items_fail_and_marked_ones_stay_in_doubt(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.concurrency = 1
    run = await deploy(engine, 1)
    await plan_runs(engine)
    await crash_in_call(engine, provider)
    await sql.execute("update queue set crashes = 4 where kind = 'job'")
    clock.advance(minutes=6)

    await work(engine)
    parked = await row(sql, "select status, failed from jobs")
    [item] = await items_in_doubt(engine)
    await engine.outbox.resolve(TESTER, item.id, Resolution.SENT, "it is in the provider's log")
    await work(engine)

    assert parked == ("queued", 0)
    assert await sql.fetchval("select status from jobs") == "dead"
    assert (await stored_run(engine, run)).counts.sent == 1
    await assert_kept(engine)


async def test_rule_3_no_statement_asks_for_the_time_itself() -> None:
    clock_words = re.compile(r"\b(now\(\)|current_timestamp|clock_timestamp|localtimestamp|statement_timestamp)", re.I)
    sql_files = [file for file in files("tidings.storage").joinpath("sql").iterdir() if file.name != "clock.sql"]

    asking = [file.name for file in sql_files if clock_words.search(file.read_text())]

    assert len(sql_files) > 5
    assert asking == []


async def test_rule_3_the_database_is_asked_for_the_time_at_most_every_ten_seconds(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = [100.0]
    monkeypatch.setattr(storage_clock, "time", SimpleNamespace(clock_gettime=lambda _: ticks[0]))
    answers = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]

    async def database_time(_: object) -> datetime:
        return answers.pop(0)

    monkeypatch.setattr(storage_clock, "database_time", database_time)
    clock = storage_clock.DatabaseClock(db)

    first = await clock.now()
    ticks[0] += 9.5
    carried = await clock.now()
    ticks[0] += 0.5
    asked_again = await clock.now()

    assert (first, carried) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 9, 500_000, tzinfo=UTC))
    assert asked_again == datetime(2026, 1, 2, tzinfo=UTC)


async def test_rule_11_a_trigger_notifies_after_its_commit(engine: Engine, sql: Sql) -> None:
    heard: list[tuple[str, int]] = []

    async def note(payload: str) -> None:
        heard.append((payload, await sql.fetchval("select count(*) from queue")))

    pending: list[asyncio.Task[None]] = []
    await sql.add_listener("tidings", lambda *arguments: pending.append(asyncio.create_task(note(str(arguments[-1])))))

    id = await start(engine)
    await until(lambda: bool(heard))

    assert heard == [(f"{engine.kernel.shard_of(id)}:0", 1)]


async def test_rule_11_many_tellings_become_few_notifications(engine: Engine, sql: Sql) -> None:
    heard: list[str] = []
    await sql.add_listener("tidings", lambda *arguments: heard.append(str(arguments[-1])))

    for _ in range(500):
        engine.kernel.notifier.tell(Shard(1), Lane.CAMPAIGNS)
        engine.kernel.notifier.tell(Shard(2), Lane.RUNS)
    await engine.kernel.notifier.close()
    await until(lambda: len(heard) >= 1)
    await sql.fetchval("select 1")

    assert heard == ["1:2,2:3"]


async def test_rule_11_work_is_found_with_notify_off(
    engine: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.kernel.notifier, "tell", lambda *_: None)
    await start(engine)
    await deploy(engine, 3)

    await work(engine)

    assert len(provider.calls) == 4


async def test_rule_11_the_next_due_time_of_each_lane_is_known(
    engine: Engine, db: Database, clock: ManualClock
) -> None:
    id = await start(engine, delay("long", "PT1H"), email())

    async with db.autocommit() as tx:
        since = dict.fromkeys(Lane, BEGINNING)
        due = await storage_claim.next_due(tx, shard=engine.kernel.shard_of(id), since=since)

    assert due == {Lane.TRANSACTIONAL: clock.time + timedelta(hours=1)}


def test_rule_11_a_notification_says_which_lanes_have_work_and_nonsense_means_nothing() -> None:
    due = {(Shard(3), Lane.RUNS), (Shard(11), Lane.TRANSACTIONAL)}

    assert from_payload(as_payload(due)) == due
    assert from_payload("x,1:,:2,1:9,5") == set()


async def test_a_row_that_appears_late_behind_the_horizon_is_found_by_the_next_look(
    engine: Engine, sql: Sql, clock: ManualClock, provider: FakeProvider
) -> None:
    """A trigger in somebody's long transaction: its due time is long past when its row can be seen."""
    await start(engine)
    await engine.work_everything()
    clock.advance(seconds=5)
    late = (await engine.trigger("flow", {}, "late")).id
    await sql.execute("update tidings.queue set due_at = $2 where id = $1", late, clock.time - timedelta(minutes=1))

    assert not await engine.work_everything()
    clock.advance(seconds=10)
    due = await engine.next_due(engine.kernel.shard_of(late))
    await engine.work_everything()

    assert due[Lane.TRANSACTIONAL] == clock.time - timedelta(minutes=1, seconds=10)
    assert len(provider.calls) == 2


async def test_a_claim_begins_where_everything_before_was_taken_and_sometimes_at_the_beginning(
    engine: Engine, clock: ManualClock
) -> None:
    place, floor = (Shard(0), Lane.TRANSACTIONAL), engine.kernel.claim_floor
    assert floor.to_claim(place, clock.time) == BEGINNING
    await start_many(engine, 3, same_shard=True)

    await engine.claim(*place, limit=2)
    assert floor.to_claim(place, clock.time) == clock.time - SLACK
    clock.advance(seconds=1)
    await engine.claim(*place, limit=2)
    assert floor.to_claim(place, clock.time) == clock.time - SLACK
    assert floor.to_claim(place, clock.time + LOOK_EVERYWHERE) == BEGINNING
    assert floor.to_claim(place, clock.time - LOOK_EVERYWHERE) == BEGINNING


async def test_what_crashed_is_taken_without_a_pause_although_a_claim_beside_it_found_nothing(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    """Whoever takes one has locked the others: who found nothing passed over all of them, for ten seconds each time."""
    place = Shard(0), Lane.TRANSACTIONAL
    await start_many(engine, 3, same_shard=True)
    await claim(engine)  # by a worker that dies
    clock.advance(minutes=6)
    assert len(await engine.claim(*place)) == 1
    clock.advance(seconds=6)

    async with sql.transaction():
        await sql.execute("select 1 from tidings.queue for update")  # as a claim does for as long as it takes
        beside = await engine.claim(*place)
    following = [len(await engine.claim(*place)) for _ in range(3)]

    assert beside == []
    assert following == [1, 1, 0]
