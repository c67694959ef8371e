"""What kills workers or cannot be rendered dies alone; everybody else is written to."""

import json
import signal

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, Timing
from tests.chaos.book import read_intended
from tests.chaos.oddities import POISON
from tests.chaos.proof import prove
from tidings.engine import Trigger
from tidings.worker.loop import ALONE_AFTER

pytestmark = pytest.mark.chaos

MOST_CRASHES = 5
MEMORY_BOMB = "{% assign s = '" + "a" * 2000 + "' %}{{ s | replace: 'a', s | replace: 'a', s | size }}"


async def test_a_template_that_eats_memory_fails_alone(arena: Arena) -> None:
    for provider in CLASSES:
        await arena.workload.start_run(provider, 20, poison=MEMORY_BOMB)
        await arena.workload.start_executions(provider, 20)

    findings = await prove(arena, workers=1)

    assert [tally.failed for tally in findings.tallies.values()] == [1, 1, 1]
    assert findings.tallies["keyed"].sent == findings.tallies["resolvable"].sent == 39


@pytest.mark.parametrize("arena", [Timing(lease_seconds=0.8, call_seconds=0.5)], indirect=True)
async def test_a_row_that_kills_its_workers_is_given_up_and_takes_nobody_along(arena: Arena) -> None:
    trigger = Trigger("deadly", {"to_blind": "deadly@chaos.test", "name": "deadly"})
    await arena.workload.trigger_again("blind", [trigger])  # it never gets as far as an item
    for provider in CLASSES:
        await arena.workload.start_executions(provider, 8)

    for _ in range(MOST_CRASHES):
        victim = await arena.start_worker(**{POISON: "deadly"})
        assert await victim.wait() == -signal.SIGKILL
        arena.faults.kills["poison"] += 1
    async with arena.look() as connection:
        suspects = await connection.fetchval("select count(*) from queue where crashes > $1", ALONE_AFTER)
    assert suspects == 1  # only what kills workers may be near its end: the others were with it twice at most
    await arena.start_workers(1, **{POISON: "deadly"})
    await prove(arena, workers=1)

    deadly = read_intended(arena.directory / "intended.jsonl").executions["deadly"]
    dead = {json.loads(line)["execution"] for worker in arena.workers for line in worker.events("execution_given_up")}
    assert dead == {str(deadly)}
    assert (await arena.engine.execution(deadly)).error == f"workers died {MOST_CRASHES} times while working on it"
