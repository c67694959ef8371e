"""One tenant floods while others ask for a little and workers are killed: nobody waits for the flood to end."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.chaos.arena import Arena
from tests.chaos.book import Intended
from tests.chaos.fairness import Waited, check_fairness
from tests.chaos.proof import prove

FLOOD = 800
SMALL_BATCHES = {"TIDINGS_BATCH": "5"}
"""Two workers claim 40 before anybody else comes, and if all were of one shard, a fifth of the flood there."""
SLOW_CALL_SECONDS = 0.1
BEGUN = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.chaos
async def test_messages_beside_a_flood_leave_before_half_of_it_whoever_is_killed(arena: Arena) -> None:
    await arena.order(delay_seconds=SLOW_CALL_SECONDS)
    flood = await arena.workload.start_flood("keyed", FLOOD)
    await arena.workload.start_beside(flood, "keyed", 3)
    workers = await arena.start_workers(2, **SMALL_BATCHES)
    await arena.until_calls(40)

    await asyncio.gather(arena.kill(workers[0]), arena.start_workers(2, **SMALL_BATCHES))
    await arena.workload.start_beside(flood, "keyed", 3)
    await arena.kill(workers[1])
    findings = await prove(arena)

    assert findings.fairness.messages > 0
    assert findings.tallies["keyed"].sent == FLOOD + 18


def waited(recipient: str, due: float, marked: float, *, shard: int = 0, was_in_crash: bool = False) -> Waited:
    due_at, marked_at = (BEGUN + timedelta(seconds=seconds) for seconds in (due, marked))
    return Waited(recipient, shard, due_at, marked_at, was_in_crash)


def judge(*few: Waited) -> tuple[float, list[str]]:
    """A flood whose four messages in one shard are marked a second apart, and those in another all at once."""
    flood = [waited(f"f{number}", 0, number) for number in range(1, 5)]
    flood += [waited(f"g{number}", 0, 0.6, shard=1) for number in range(9)]
    intended = Intended(floods={"f": [one.recipient for one in flood]}, beside={one.recipient: "f" for one in few})
    seen, violations = check_fairness(intended, {one.recipient: one for one in (*flood, *few)})
    return seen.share, violations


def test_who_waits_for_more_than_half_of_a_flood_is_a_violation_however_long_it_took() -> None:
    assert judge(waited("ada", 0.5, 2.5)) == (0.5, [])
    share, [wrong] = judge(waited("ada", 0.5, 2.5), waited("grace", 0.5, 3.5))
    assert (share, wrong.split()[0]) == (0.75, "grace")


def test_who_comes_when_the_flood_is_over_waits_for_none_of_it() -> None:
    assert judge(waited("ada", 4.5, 400)) == (0, [])


def test_what_a_killed_worker_had_claimed_waited_for_its_lease() -> None:
    assert judge(waited("ada", 0.5, 9, was_in_crash=True)) == (0, [])
