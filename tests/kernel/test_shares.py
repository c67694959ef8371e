"""A provider's limit over all workers: shares under leases, renewed on a beat, and never more than the limit."""

import asyncio
import random
from datetime import timedelta
from uuid import UUID

from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import Sql, assert_kept, deploy, frozen_in_call, plan_runs, row, start, until, work, work_once
from tidings.domain.flow.outcome import Accepted
from tidings.engine import Engine
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider
from tidings.storage import shares
from tidings.storage.database import Database, TransientFailure
from tidings.storage.shares import Granted

BEAT, SLOT_WAIT = Limits().share_beat, Limits().slot_wait


def limited(limit: int, slot_wait: timedelta = SLOT_WAIT) -> Limits:
    return Limits(provider_concurrency={"fake": limit}, slot_wait=slot_wait)


def slots_of(*engines: Engine) -> list[int]:
    return [engine.kernel.slots["fake"].size for engine in engines]


def want(*engines: Engine) -> None:
    """As if there were more to call than there are slots."""
    for engine in engines:
        engine.kernel.slots["fake"].is_short = True


async def beat(clock: ManualClock, *engines: Engine, beats: int = 1) -> None:
    for _ in range(beats):
        clock.advance(seconds=BEAT.total_seconds() * 3)  # even for the idle
        for engine in engines:
            await engine.kernel.shares.refresh(clock.time)


async def settle(clock: ManualClock, *engines: Engine) -> None:
    """Let the busy ones want everything for some beats: what is too much is offered, then given back, then taken."""
    for _ in range(3):
        want(*engines)
        await beat(clock, *engines)


async def held(sql: Sql) -> int:
    return int(await sql.fetchval("select coalesce(sum(slots), 0) from provider_shares"))


async def test_without_a_limit_nothing_is_asked_and_nothing_is_stored(
    engine: Engine, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    await deploy(engine, 5)
    await work(engine)
    await beat(clock, engine)
    await engine.kernel.shares.give_back()

    assert len(provider.calls) == 5
    assert slots_of(engine) == [provider.concurrency]
    assert await row(sql, "select count(*) from limited_providers") == (0,)


async def test_an_engine_without_a_worker_takes_its_share_when_it_calls_and_gives_it_back_at_the_end(
    make_worker: MakeWorker, sql: Sql, provider: FakeProvider
) -> None:
    engine = await make_worker(limited(8))
    await deploy(engine, 20)
    await work(engine)
    while_working = await held(sql)
    await engine.kernel.shares.give_back()

    assert (len(provider.calls), while_working, await held(sql)) == (20, 8, 0)


async def test_two_busy_workers_have_half_each_and_never_more_than_the_limit_together(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql
) -> None:
    one, other = await make_worker(limited(8)), await make_worker(limited(8))
    await beat(clock, one)
    alone = slots_of(one, other)
    want(one, other)
    await beat(clock, other)
    before_the_first_has_given = slots_of(one, other)
    sums = []
    for _ in range(5):
        want(one, other)
        await beat(clock, one, other)
        sums.append(await held(sql))

    assert (alone, before_the_first_has_given) == ([8, 0], [8, 0])
    assert slots_of(one, other) == [4, 4]
    assert max(sums) == 8


async def test_one_busy_worker_among_idle_ones_has_nearly_everything(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql
) -> None:
    busy, *idle = [await make_worker(limited(20)) for _ in range(4)]
    await beat(clock, busy, *idle, beats=12)  # whoever makes no call wants less each time
    for _ in range(3):
        want(busy)
        await beat(clock, busy, *idle)

    assert slots_of(busy, *idle) == [17, 1, 1, 1]
    assert await held(sql) == 20


async def test_what_is_more_than_fair_is_given_back_as_its_calls_end(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    one, other = await make_worker(limited(8)), await make_worker(limited(8))
    await deploy(one, 40)
    await plan_runs(one)
    async with frozen_in_call(one, provider, calls=6) as answered:  # of eight, two are for triggers
        await settle(clock, one, other)
        while_in_the_air = (slots_of(one, other), await held(sql))
        answered.set()
    await settle(clock, one, other)

    assert while_in_the_air == ([4, 2], 8)
    assert slots_of(one, other) == [4, 4]
    await work(other)
    await assert_kept(one)
    assert len(provider.calls) == 40


async def test_a_dead_worker_s_slots_come_free_when_its_lease_ends_and_not_before(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider
) -> None:
    dead, alive = await make_worker(limited(4)), await make_worker(limited(4))
    await beat(clock, dead)
    died_at = clock.time
    want(alive)
    clock.time = died_at + provider.call_deadline  # a call that it began just before may still be in the air
    await alive.kernel.shares.refresh(clock.time)
    too_early = slots_of(alive)
    want(alive)
    clock.time = died_at + dead.kernel.shares._shares["fake"].lease
    await alive.kernel.shares.refresh(clock.time)

    assert (too_early, slots_of(alive)) == ([0], [4])


async def test_a_worker_that_drains_gives_its_slots_back_as_its_calls_end(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    engine = await make_worker(limited(8))
    await deploy(engine, 40)
    await plan_runs(engine)
    async with frozen_in_call(engine, provider, calls=6) as answered:
        engine.kernel.draining.set()
        await beat(clock, engine)
        while_draining = await held(sql)
        answered.set()
    await engine.kernel.shares.give_back()

    assert (while_draining, await held(sql)) == (6, 0)
    assert len(provider.calls) == 6
    assert await row(
        sql, "select count(*) from outbox where status = 'queued' and (marked_at is not null or in_doubt)"
    ) == (0,)


async def test_with_one_slot_for_two_workers_they_take_turns_and_the_other_waits_without_a_mark(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    limits = limited(1, slot_wait=timedelta(milliseconds=20))
    one, other = await make_worker(limits), await make_worker(limits)
    await start(one)
    had: set[tuple[int, ...]] = set()
    for _ in range(60):
        await settle(clock, one, other)
        had.add(tuple(slots_of(one, other)))
        if had >= {(1, 0), (0, 1)} and slots_of(one, other) == [0, 1]:
            break
    await work_once(one)
    of_the_one_without = len(provider.calls)
    unmarked = await row(sql, "select status, marked_at, attempts from outbox")
    clock.advance(seconds=0.05)  # too short for anybody's next beat
    await work_once(other)

    assert had <= {(1, 0), (0, 1), (0, 0)}
    assert (of_the_one_without, unmarked) == (0, ("queued", None, 0))
    assert len(provider.calls) == 1
    await assert_kept(one)


async def test_a_smaller_limit_is_in_force_as_soon_as_one_worker_knows_it_and_a_larger_one_when_all_do(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql
) -> None:
    old, new = await make_worker(limited(12)), await make_worker(limited(4))
    await beat(clock, old)
    await settle(clock, old, new)
    smaller = (slots_of(old, new), await held(sql))
    await new.kernel.shares.give_back()
    await settle(clock, old)

    assert smaller == ([2, 2], 4)
    assert slots_of(old) == [12]


async def test_a_worker_cut_off_from_the_database_makes_no_call_that_its_share_may_not_outlast(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    engine = await make_worker(limited(4))
    share = engine.kernel.shares._shares["fake"]
    await start(engine)
    await beat(clock, engine)
    share.is_beating = True  # a beat that hangs: nothing is renewed
    clock.time = share.until - provider.call_deadline
    await work_once(engine)
    unmarked = await row(sql, "select status, marked_at, attempts from outbox")
    calls = len(provider.calls)
    share.is_beating = False
    clock.advance(seconds=2)
    await work(engine)

    assert (calls, unmarked) == (0, ("queued", None, 0))
    assert len(provider.calls) == 1


async def test_a_call_frozen_before_its_first_byte_is_not_made_when_its_share_is_gone(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    engine = await make_worker(limited(4))
    await start(engine)
    send, share = provider.send, engine.kernel.shares._shares["fake"]

    async def send_late(item: object, may_start: object) -> object:
        share.is_beating = True
        clock.time = share.until  # its lease on the work lasts much longer
        return await send(item, may_start)  # type: ignore[arg-type]

    provider.send = send_late  # type: ignore[assignment, method-assign]
    await work_once(engine)

    assert provider.calls == []
    assert await row(sql, "select status, attempts, in_doubt from outbox") == ("queued", 0, False)


async def test_slots_taken_away_between_the_mark_and_the_call_leave_no_mark_behind(
    make_worker: MakeWorker, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    limits = limited(4, slot_wait=timedelta(milliseconds=20))
    engine = await make_worker(limits)
    await deploy(engine, 30)
    await plan_runs(engine)
    slots = engine.kernel.slots["fake"]
    provider.answer = Accepted()
    await beat(clock, engine)
    for _ in range(200):
        slots.observe(timedelta())  # a fast provider: much is marked at once

    async with frozen_in_call(engine, provider, calls=3) as answered:
        marked = await row(sql, "select count(*) from outbox where marked_at is not null")
        slots.resize(0)
        answered.set()

    assert marked > (3,)
    assert len(provider.calls) == 3
    assert await row(
        sql, "select count(*) from outbox where status = 'queued' and (marked_at is not null or in_doubt)"
    ) == (0,)
    assert await row(sql, "select max(attempts) from outbox where status = 'queued'") == (0,)


async def test_a_beat_that_is_lost_is_logged_and_comes_again(make_worker: MakeWorker, clock: ManualClock) -> None:
    engine = await make_worker(limited(4))
    autocommit = engine.kernel.db.autocommit

    def fail() -> object:
        raise TransientFailure("the server went away")

    engine.kernel.db.autocommit = fail  # type: ignore[assignment, method-assign]
    with capture_logs() as logs:
        await beat(clock, engine)
    engine.kernel.db.autocommit = autocommit  # type: ignore[method-assign]
    await beat(clock, engine)

    assert [(line["event"], line["reason"]) for line in logs] == [("beat_lost", "the server went away")]
    assert slots_of(engine) == [4]


async def test_a_beat_that_was_long_on_its_way_does_not_undo_a_later_one(db: Database, clock: ManualClock) -> None:
    worker = UUID(int=1)
    await _beat(db, worker, clock, limit=4, kept=0, wanted=4)
    late = clock.time
    clock.advance(seconds=1)
    later = await _beat(db, worker, clock, limit=4, kept=4, wanted=4)
    clock.time = late - timedelta(seconds=1)

    assert await _beat(db, worker, clock, limit=4, kept=0, wanted=0) == later


async def test_random_beats_never_give_out_more_than_the_limit_nor_take_what_is_kept(
    db: Database, clock: ManualClock, sql: Sql
) -> None:
    """Workers come, die, want this and that, and keep to what they were told, some of them late."""
    dice = random.Random(12)
    local: dict[UUID, int] = {}
    for step in range(400):
        clock.advance(seconds=dice.choice([0, 0.2, 1]))
        worker = UUID(int=dice.randint(1, 5))
        if dice.random() < 0.05:
            await sql.execute("delete from provider_shares where worker_id = $1", worker)
            local.pop(worker, None)
            continue
        kept = local.get(worker, 0)
        granted = await _beat(db, worker, clock, limit=7, kept=kept, wanted=dice.choice([0, 1, 3, 50]))
        still = {row["worker_id"]: row["slots"] for row in await sql.fetch("select * from provider_shares")}
        assert sum(still.values()) <= 7, step
        assert granted.slots >= kept, step
        local = {one: min(had, still.get(one, 0)) for one, had in local.items() if one in still}
        fewer_calls = min(granted.slots, granted.fair)
        local[worker] = fewer_calls if dice.random() < 0.5 else min(granted.slots, max(kept, fewer_calls))
        assert sum(local.values()) <= 7, step


async def test_a_beat_that_waits_for_another_one_sees_what_that_took(
    db: Database, clock: ManualClock, sql: Sql
) -> None:
    """What it would have added up before it waited is not so any more."""
    await _beat(db, UUID(int=1), clock, limit=5, kept=0, wanted=0)
    async with sql.transaction():
        await sql.execute("select 1 from limited_providers for update")
        await sql.execute("update provider_shares set slots = 5, wanted = 50")
        waiting = asyncio.create_task(_beat(db, UUID(int=2), clock, limit=5, kept=0, wanted=50))
        await until(lambda: _somebody_waits(sql) if not waiting.done() else True)

    granted = await waiting
    assert (granted.slots, granted.fair) == (0, 2)


async def _somebody_waits(sql: Sql) -> bool:
    return bool(
        await sql.fetchval(
            "select count(*) from pg_locks where not granted and pid in"
            " (select pid from pg_stat_activity where datname = current_database())"
        )
    )


async def _beat(
    db: Database, worker: UUID, clock: ManualClock, *, limit: int, kept: int, wanted: int, turn: str = ""
) -> Granted:
    async with db.autocommit() as tx:
        return await shares.beat_share(
            tx,
            provider="fake",
            worker_id=worker,
            provider_limit=limit,
            kept=kept,
            wanted=wanted,
            turn=turn,
            now=clock.time,
            lease_until=clock.time + timedelta(seconds=20),
        )
