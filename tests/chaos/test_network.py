"""Trouble on the way to PostgreSQL and to the provider: cuts in a commit, silence, stalls, slowness, closed doors."""

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import product

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, Timing, until
from tests.chaos.processes import WorkerProcess
from tests.chaos.proof import prove
from tests.chaos.proxy import ByteCut, Moment, Toward, Weather

pytestmark = pytest.mark.chaos

ARROWS = ("claim", "reserve", "mark", "finalize", "release")
ARROWS_OF_RUNS = ("release jobs", "roll up")
SILENCE_SECONDS = 2.0
RECOVERY_SECONDS = 90.0
"""A server ends what a vanished client left open after ten seconds; the rest is this machine's leisure."""


def _out_of_use(workers: Sequence[WorkerProcess]) -> set[str]:
    """The providers that some worker leaves alone because no call to them can begin."""
    told = [json.loads(line) for worker in workers for line in worker.events("provider_unavailable")]
    return {line["provider"] for line in told}


async def nibble(arena: Arena, provider: str) -> None:
    """A little work for one provider, of each kind."""
    await arena.workload.start_executions(provider, 8)
    await arena.workload.start_run(provider, 8)


async def bite(arena: Arena, people: int = 60) -> None:
    """Work for every provider."""
    for provider in CLASSES:
        await arena.workload.start_executions(provider, people)
        await arena.workload.start_run(provider, people)


@pytest.mark.parametrize("arena", [Timing(retry_seconds=4.0)], indirect=True)  # nobody gives up before the door opens
async def test_a_slow_network_a_closed_door_and_commits_cut_off_cost_time_and_no_message(arena: Arena) -> None:
    proxy, door = await arena.route_database(), await arena.route_provider()
    proxy.weather.delay_seconds = 0.005
    await door.refuse()
    workers = await arena.start_workers(2)
    proxy.weather.bytes_per_second = 100_000  # after their start, which reads much
    await bite(arena, 10)
    await until("every provider is found out of use", lambda: _out_of_use(workers) == set(CLASSES))
    assert await arena.calls() == 0
    await door.accept()
    await arena.until_settled()
    assert await arena.calls() == 60
    assert [line for worker in workers for line in worker.events("storage_retry", "lease_lost")] == []
    proxy.weather = Weather()

    for provider in CLASSES:
        for arrow, moment in product(ARROWS, Moment):
            await arena.cut_commit(proxy, arrow, moment, partial(nibble, arena, provider))
        await arena.until_settled()  # so that no cut meets another provider's work
    for arrow, moment in product(ARROWS_OF_RUNS, Moment):
        await arena.cut_commit(proxy, arrow, moment, partial(nibble, arena, "blind"))
    findings = await prove(arena)

    expected = Counter(f"cut {moment} {arrow}" for arrow, moment in product(ARROWS * 3 + ARROWS_OF_RUNS, Moment))
    assert arena.troubles == expected
    # A claim without an answer is read back instead.
    retries = sum(len(worker.events("storage_retry")) for worker in workers)
    assert retries >= expected.total() - 3 * len(Moment)
    assert findings.tallies["blind"].in_doubt <= arena.unanswered()


async def test_a_network_that_falls_silent_stalls_tears_or_closes_is_recovered_from_in_time(arena: Arena) -> None:
    proxy = await arena.route_database()
    arena.notice_silence_after(SILENCE_SECONDS)
    await arena.start_workers(2)
    await bite(arena, 40)
    await arena.until_calls(30)

    arena.half_open(proxy)
    await arena.until_settled(RECOVERY_SECONDS)
    await bite(arena, 40)
    await arena.until_calls(30)
    await arena.stall(proxy, seconds=2 * Timing().lease_seconds)
    for toward, after in product(Toward, (1, 500, 20_000)):
        await arena.cut_link(proxy, ByteCut(toward, after), partial(bite, arena, 2))
    await arena.turn_away(proxy, seconds=1)

    await prove(arena, RECOVERY_SECONDS)
