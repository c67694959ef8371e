"""Workers whose wall clocks are wrong: the time is the database's, so nobody notices."""

import json
import time
from datetime import datetime

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, WorkerProcess
from tests.chaos.proof import feed, prove

pytestmark = pytest.mark.chaos

MINUTES = 60.0


def seconds_off(worker: WorkerProcess) -> float:
    """How wrong a worker's clock is, by its own word: to Python as a whole, and to its log."""
    [event] = worker.events("clock_is_off")
    started = json.loads(worker.events("worker_started")[0])["timestamp"]
    by_log = datetime.fromisoformat(started).timestamp() - json.loads(event)["at"]
    assert abs(by_log) < MINUTES
    return float(json.loads(event)["at"]) - time.time()


async def test_workers_ten_minutes_early_and_late_work_together(arena: Arena) -> None:
    early = await arena.start_workers(1, **arena.clock_off(10 * MINUTES))
    late = await arena.start_workers(1, **arena.clock_off(-10 * MINUTES))
    assert 9 * MINUTES < seconds_off(early[0]) < 11 * MINUTES
    assert -11 * MINUTES < seconds_off(late[0]) < -9 * MINUTES

    for provider in CLASSES:
        await feed(arena, provider)
    await arena.until_calls(60)
    await arena.kill(early[0])  # what it leaves is taken over by a worker that believes itself twenty minutes earlier
    await arena.start_workers(1, **arena.clock_off(10 * MINUTES))
    findings = await prove(arena)

    assert findings.tallies["keyed"].in_doubt == findings.tallies["resolvable"].in_doubt == 0
    async with arena.look() as connection:
        stray = "select count(*) from outbox where abs(extract(epoch from finalized_at - clock_timestamp())) > 300"
        assert await connection.fetchval(stray) == 0
