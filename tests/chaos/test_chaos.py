"""Kill real workers and the real database, then compare what was intended, what is stored and what really went out.

A failure names the seed; `CHAOS_SEED=… pytest tests/chaos -k …` draws the same numbers again.
"""

import asyncio
import random
import signal
import time
from collections import Counter

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, Timing, until
from tests.chaos.proof import SEED, feed, prove

pytestmark = pytest.mark.chaos

# A row dies after five crashes without progress, so at most four points in a row before everything is settled.
POINTS = (
    ("after_claim", "after_render", "before_reserve_commit", "after_reserve"),
    ("before_mark_commit", "after_mark", "before_call", "after_call"),
    ("before_finalize_commit", "after_finalize", "before_release_commit", "after_release"),
    ("before_deploy_commit", "after_deploy_chunk", "before_rollup_commit"),
)
FURTHEST = {"after_claim": 3, "before_call": 30, "after_call": 30, "after_finalize": 3}
"""A point is armed for its first to this-many-th time."""
MEMORY_BOMB = "{% assign s = '" + "a" * 2000 + "' %}{{ s | replace: 'a', s | replace: 'a', s | size }}"
FROZEN_SECONDS = 150.0
"""A worker frozen half-way through a statement keeps its locks for twenty seconds, and others may queue behind it."""


async def test_a_worker_killed_at_any_point_neither_loses_nor_repeats(arena: Arena) -> None:
    draw = random.Random(SEED)

    async def feed_every_class() -> None:
        for provider in CLASSES:
            await feed(arena, provider)

    for points in POINTS:
        # Two took over from the last ones at once; three classes, and what was in a crash goes alone.
        await arena.settle(workers=2, seconds=FROZEN_SECONDS)
        times = [draw.randint(1, FURTHEST.get(point, 1)) for point in points]
        armed = [f"{point}:{time}" for point, time in zip(points, times, strict=True)]
        await asyncio.gather(*(arena.crash_worker(one, feed_every_class) for one in armed))
    findings = await prove(arena, FROZEN_SECONDS)

    assert arena.faults.kills == Counter(point for points in POINTS for point in points)
    assert all(findings.tallies[provider].calls > 0 for provider in CLASSES)


@pytest.mark.parametrize(
    "arena", [Timing(lease_seconds=8)], indirect=True
)  # a row waits at most three leases for a zombie
async def test_a_frozen_worker_that_wakes_after_its_lease_sends_nothing_again(arena: Arena) -> None:
    zombies = []
    for point in ("after_mark:2:stop", "after_call:5:stop"):
        for provider in CLASSES:
            await feed(arena, provider)
        zombie = await arena.start_worker(point)
        await arena.until_frozen(zombie)
        zombies.append(zombie)
    await arena.settle(workers=1, seconds=FROZEN_SECONDS)

    for zombie in zombies:
        arena.thaw(zombie)
    for zombie in zombies:
        arena.terminate(zombie)
        assert await zombie.wait() == 0
    await prove(arena)


async def test_a_killed_database_loses_nothing_and_nobody_is_reached_twice(arena: Arena) -> None:
    await arena.start_workers(2)
    for provider in CLASSES:
        await arena.workload.start_run(provider, 600)
        await arena.workload.start_executions(provider, 100)
    await arena.workload.start_walks(50)

    for _ in range(3):
        await arena.until_calls(200)
        await arena.kill_postgres()
    findings = await prove(arena)

    # The workers live and say what they know, so doubt ends again, except where an execution has ended meanwhile.
    assert findings.tallies["blind"].in_doubt <= arena.unanswered() + await arena.walked_past()


@pytest.mark.parametrize("arena", [Timing(lease_seconds=6, call_seconds=5)], indirect=True)
async def test_the_first_sigterm_leaves_nothing_in_doubt_and_the_second_leaves_at_once(arena: Arena) -> None:
    for _ in range(3):
        for provider in CLASSES:  # each time: a worker may do more than is waited for before it hears of its end
            await arena.workload.start_run(provider, 60)
            await arena.workload.start_executions(provider, 40)
        [worker] = await arena.start_workers(1)
        await arena.until_calls(150)
        arena.terminate(worker)
        assert await worker.wait() == 0
        async with arena.look() as connection:
            held = await connection.fetchval("select count(*) from queue where leased")
            marked = await connection.fetchval(
                "select count(*) from outbox where status = 'queued' and marked_at is not null"
            )
        assert (held, marked) == (0, 0)
    await arena.settle(workers=1)

    await arena.workload.start_executions("blind", 5, mode="hang")
    calls = await arena.calls()
    [worker] = await arena.start_workers(1)
    await until("the calls hang", lambda: _has_calls(arena, calls + 5))
    arena.terminate(worker)
    await until("the worker drains", lambda: bool(worker.events("draining")))
    assert worker.code is None
    asked_at = time.monotonic()
    arena.terminate(worker)
    assert await worker.wait() == 143
    assert time.monotonic() - asked_at < 3  # the calls would have hung for five
    arena.faults.kills["second SIGTERM"] += 1
    findings = await prove(arena, workers=1)

    assert 5 <= findings.tallies["blind"].in_doubt <= 5 + arena.unanswered()  # five, unless the machine is too busy


async def test_whatever_a_provider_does_with_a_call_or_a_template_with_its_memory_nobody_is_reached_twice(
    arena: Arena,
) -> None:
    for provider in CLASSES:
        for mode in ("drop", "half", "hang", "error", "broken", "cut", "refuse", "throttle"):
            await arena.workload.start_run(provider, 2, mode)
        await arena.workload.start_run(provider, 20, poison=MEMORY_BOMB)
        await arena.workload.start_executions(provider, 50)

    findings = await prove(arena)

    assert {tally.failed for tally in findings.tallies.values()} == {2 + 1}  # refused, and not to be rendered
    assert findings.tallies["keyed"].sent == findings.tallies["resolvable"].sent == 7 * 2 + 19 + 50
    assert findings.tallies["blind"].in_doubt >= 12  # two for each mode whose answer says nothing


async def test_a_client_killed_while_it_triggers_or_enrolls_may_ask_again_and_nobody_gets_anything_twice(
    arena: Arena,
) -> None:
    triggers = arena.workload.triggers("keyed", 40)
    tags = {
        point: await arena.workload.add_contacts(40) for point in ("before_enroll_commit:3", "after_enroll_chunk:2")
    }
    codes = await asyncio.gather(
        arena.trigger_elsewhere("one-keyed", triggers, crash_at="before_trigger_commit:3"),
        *(
            arena.ask_elsewhere({"sequence": str(arena.workload.sequence), "tag": tag}, point)
            for point, tag in tags.items()
        ),
    )
    assert codes == [-signal.SIGKILL] * 3

    used = await arena.workload.trigger_again("keyed", triggers)
    rest = [await arena.workload.enroll(tag) for tag in tags.values()]
    places = ("after_claim:1", "after_reserve:1", "after_call:3", "before_release_commit:1")
    await asyncio.gather(*(arena.crash_worker(place, lambda: arena.workload.start_enrollments(10)) for place in places))
    await prove(arena)

    assert any(used)
    assert not all(used)
    assert [one.enrolled + one.already_enrolled for one in rest] == [40, 40]
    assert all(one.already_enrolled for one in rest[1:])  # a chunk was whole before the client died


async def _has_calls(arena: Arena, count: int) -> bool:
    return await arena.calls() >= count
