"""Slots: a share for transactional work, a minimum for bulk, and rests that all workers keep."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import Sql, deploy, email, frozen_in_call, plan_runs, row, start, start_many, work, work_once
from tidings.domain.flow.outcome import Accepted, RetryLater, Unknown
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.kernel.calls.slots import LONGEST_REST, UNKNOWNS_BEFORE_REST, Rest, Slots
from tidings.kernel.gate.rests import announce
from tidings.kernel.kernel import Limits
from tidings.providers.fake import FakeProvider


@pytest.mark.parametrize("concurrency", [2, 3, 10, 100])
async def test_rule_12_bulk_leaves_room_for_transactional_work_and_the_other_way_round(concurrency: int) -> None:
    for lane, other in ((Lane.CAMPAIGNS, Lane.TRANSACTIONAL), (Lane.TRANSACTIONAL, Lane.CAMPAIGNS)):
        slots = Slots(concurrency)
        never = asyncio.Event()
        flooding = [asyncio.create_task(_hold(slots, lane, never)) for _ in range(concurrency * 3)]
        await asyncio.sleep(0)

        async with asyncio.timeout(5), _one(slots, other):
            pass

        for task in flooding:
            task.cancel()
        await asyncio.gather(*flooding, return_exceptions=True)


@asynccontextmanager
async def _one(slots: Slots, lane: Lane) -> AsyncIterator[bool]:
    has_slot = slots.take(lane) or await slots.wait(lane)
    try:
        yield has_slot
    finally:
        if has_slot:
            slots.leave(lane)


async def _hold(slots: Slots, lane: Lane, until_set: asyncio.Event) -> None:
    async with _one(slots, lane):
        await until_set.wait()


async def test_fewer_slots_let_calls_end_and_send_away_whoever_waits() -> None:
    slots, ended = Slots(4), asyncio.Event()
    calling = [asyncio.create_task(_hold(slots, Lane.CAMPAIGNS, ended)) for _ in range(3)]
    waiting = asyncio.create_task(_try(slots))
    await asyncio.sleep(0)

    slots.resize(0)
    sent_away, in_air = await waiting, slots.in_air
    also_sent_away = await _try(slots)
    slots.resize(1)
    while_too_many = await _try(slots)  # three are in the air, and only one may be
    ended.set()
    await asyncio.gather(*calling)

    assert (sent_away, also_sent_away, while_too_many, in_air) == (False, False, False, 3)
    assert await _try(slots)
    assert slots.in_air == 0


async def test_more_slots_let_in_whoever_waits_and_a_cancelled_one_keeps_none() -> None:
    slots, ended = Slots(10, size=1), asyncio.Event()
    calling = asyncio.create_task(_hold(slots, Lane.CAMPAIGNS, ended))
    waiting = [asyncio.create_task(_hold(slots, Lane.CAMPAIGNS, ended)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()

    slots.resize(3)  # two of them for bulk
    waiting[1].cancel()  # it was let in, and has not noticed yet
    await asyncio.gather(*waiting[:2], return_exceptions=True)

    assert slots.in_air == 2
    ended.set()
    await asyncio.gather(calling, waiting[2])
    assert slots.in_air == 0


async def _try(slots: Slots) -> bool:
    async with _one(slots, Lane.CAMPAIGNS) as has_slot:
        return has_slot


async def test_room_is_promised_for_as_many_as_there_is_and_asking_for_more_is_remembered() -> None:
    slots = Slots(10)
    slots.fade()
    room = slots.room(Lane.CAMPAIGNS)

    all_but_one = slots.promise(Lane.CAMPAIGNS, room - 1)
    was_short = slots.is_short
    the_rest = slots.promise(Lane.CAMPAIGNS, 5)

    assert (all_but_one, was_short, the_rest, slots.is_short) == (room - 1, False, 1, True)
    assert slots.promise(Lane.CAMPAIGNS) == 0
    assert slots.promise(Lane.TRANSACTIONAL) == 1


async def test_what_a_process_wishes_follows_what_it_did_of_late() -> None:
    slots = Slots(10)
    at_first = slots.wanted
    slots.fade()
    for _ in range(4):
        slots.fade()
    when_idle = slots.wanted
    await _try(slots)
    after_one_call = slots.wanted
    slots.resize(0)
    slots.room(Lane.CAMPAIGNS)

    assert (at_first, when_idle, after_one_call, slots.wanted) == (10, 0, 2, 10)


async def test_rule_12_no_more_calls_are_in_the_air_than_the_provider_takes(
    make_worker: MakeWorker, provider: FakeProvider
) -> None:
    provider.concurrency = 4
    engine = await make_worker(Limits())
    in_the_air, most = [0], [0]

    async def count(_: object) -> Accepted:
        in_the_air[0] += 1
        most[0] = max(most[0], in_the_air[0])
        await asyncio.sleep(0)
        in_the_air[0] -= 1
        return Accepted()

    provider.answer = count
    await deploy(engine, 40)
    await start_many(engine, 10)

    await work(engine)

    assert len(provider.calls) == 50
    assert 1 <= most[0] <= 4


async def test_rule_12_a_batch_that_ends_in_mid_air_gives_back_its_room_once_and_calls_nobody_more(
    make_worker: MakeWorker, provider: FakeProvider
) -> None:
    provider.concurrency = 4
    engine = await make_worker(Limits())
    slots = engine.kernel.slots[provider.name]
    room = slots.room(Lane.CAMPAIGNS)
    await deploy(engine, 40)
    await plan_runs(engine)

    # Every slot is in use: a call that began after the others hang would be answered, and teach a faster pace.
    async with frozen_in_call(engine, provider, calls=slots.limit(Lane.CAMPAIGNS)):
        pass  # the task is cancelled in mid-air, with more items marked than called
    calls = len(provider.calls)
    await asyncio.sleep(0)  # whoever was told to begin would do so now
    await asyncio.sleep(0)

    assert slots.room(Lane.CAMPAIGNS) == room
    assert len(provider.calls) == calls


async def test_rule_12_an_item_without_a_slot_goes_back_unmarked_and_uses_no_attempt(
    make_worker: MakeWorker, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.concurrency = 1
    engine = await make_worker(Limits(slot_wait=timedelta(milliseconds=20)))
    await start(engine)
    slots = engine.kernel.slots[provider.name]

    taken = slots.room(Lane.TRANSACTIONAL)
    for _ in range(taken):
        slots.promise(Lane.TRANSACTIONAL)
    await work_once(engine)
    for _ in range(taken):
        slots.redeem(Lane.TRANSACTIONAL)

    assert provider.calls == []
    assert await row(sql, "select status, marked_at, attempts from outbox") == ("queued", None, 0)
    clock.advance(seconds=1)
    await work(engine)
    assert len(provider.calls) == 1


async def test_rule_12_not_so_fast_lets_the_provider_rest_for_every_worker(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    first, second = await start_many(engine, 2, same_shard=True)
    provider.answer = RetryLater("429", delay=timedelta(minutes=2), uses_attempt=False)
    await engine.work(engine.kernel.shard_of(first), Lane.TRANSACTIONAL, limit=1)

    await work(other)
    while_resting = [call.owner for call in provider.calls]
    provider.answer = None
    clock.advance(minutes=2)
    await work(other)

    assert len(while_resting) == 1  # which of two that are due at the same moment comes first, nothing promises
    assert {call.owner for call in provider.calls} == {first, second}
    assert await row(sql, "select max(attempts) from outbox") == (1,)


async def test_rule_12_the_worker_that_was_told_rests_at_once(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await start_many(engine, 3, same_shard=True)
    clock.advance(seconds=30)  # whatever was read of rests is stale by now
    provider.answer = RetryLater("429", delay=timedelta(minutes=2), uses_attempt=False)

    for _ in range(3):
        await engine.work(engine.kernel.every_shard()[0], Lane.TRANSACTIONAL, limit=1)

    assert len(provider.calls) == 1


async def test_rule_12_a_provider_that_keeps_timing_out_gets_ever_longer_rests() -> None:
    slots, now = Slots(10), datetime(2026, 3, 2, tzinfo=UTC)

    rests = [slots.rest_after(Unknown("timeout"), now, now) for _ in range(UNKNOWNS_BEFORE_REST * 12)]
    given = [rest for rest in rests if rest]

    assert rests[: UNKNOWNS_BEFORE_REST - 1] == [None] * (UNKNOWNS_BEFORE_REST - 1)
    assert given[:3] == [timedelta(seconds=5), timedelta(seconds=10), timedelta(seconds=20)]
    assert given[-1] == LONGEST_REST
    assert slots.rest_after(Accepted(), now, now) is None
    assert slots.rest_after(Unknown("timeout"), now, now) is None


async def test_rule_12_one_host_of_many_that_does_not_answer_rests_alone() -> None:
    slots, now, minute = Slots(10), datetime(2026, 3, 2, tzinfo=UTC), timedelta(minutes=1)

    of_all = slots.rest_after(RetryLater("not so fast", minute, uses_attempt=False), now, now)
    of_one = slots.rest_after(RetryLater("no answer", minute, uses_attempt=False, is_unanswered=True), now, now)

    assert (of_all, of_one) == (minute, None)


async def test_rule_12_a_rest_is_never_made_shorter_by_another_answer(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    delays = {"p1@example.com": 60, "p2@example.com": 5}
    for recipient, seconds in delays.items():
        provider.script[recipient] = [RetryLater("429", delay=timedelta(seconds=seconds), uses_attempt=False)]
    await deploy(engine, 2)

    await work(engine)

    assert await sql.fetchval("select paused_until from provider_pauses") == clock.time + timedelta(seconds=60)
    assert engine.kernel.rests.until(provider.name, clock.time) == clock.time + timedelta(seconds=60)


@pytest.mark.parametrize("seconds", [(60, 5), (5, 60)])
async def test_rule_12_of_two_rests_asked_for_in_one_window_the_longer_holds(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, seconds: tuple[int, int]
) -> None:
    people = ["a@example.com", "b@example.com"]
    for recipient, delay in zip(people, seconds, strict=True):
        provider.script[recipient] = [RetryLater("429", delay=timedelta(seconds=delay), uses_attempt=False)]
    await start(engine, email(to=people))

    await work(engine)

    assert len(provider.calls) == 2
    assert await sql.fetchval("select paused_until from provider_pauses") == clock.time + timedelta(seconds=60)


async def test_rule_12_a_shorter_rest_ends_no_longer_one_here_or_for_the_others(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    for minutes in (1, 5, 2):
        rest = Rest(clock.time + timedelta(minutes=minutes), "429")
        engine.kernel.rests.extend({"fake": rest})
        await announce(engine.kernel, "fake", rest)

    longest = clock.time + timedelta(minutes=5)
    assert engine.kernel.rests.until("fake", clock.time) == longest
    assert await row(sql, "select paused_until from provider_pauses") == (longest,)


async def test_rule_12_a_big_campaign_does_not_stand_in_front_of_a_trigger(
    engine: Engine, provider: FakeProvider
) -> None:
    await deploy(engine, 30)
    await plan_runs(engine)
    id = await start(engine)

    claimed = await engine.work(engine.kernel.shard_of(id), Lane.TRANSACTIONAL)

    assert claimed == 1
    assert [call.owner for call in provider.calls] == [id]
