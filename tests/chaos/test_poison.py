"""What kills workers dies alone; everybody else is written to."""

import json
import signal

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, Timing
from tests.chaos.oddities import POISON
from tests.chaos.proof import prove
from tests.stored import stored_execution
from tidings.engine import Trigger
from tidings.worker.loop import ALONE_AFTER

pytestmark = pytest.mark.chaos

MOST_CRASHES = 5


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

    deadly = arena.intended().executions["deadly"]
    dead = {json.loads(line)["execution"] for worker in arena.workers for line in worker.events("execution_given_up")}
    assert dead == {str(deadly)}
    given_up = await stored_execution(arena.engine, deadly)
    assert given_up.error == f"workers died {MOST_CRASHES} times while working on it"
