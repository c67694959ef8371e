"""E-mail by the real SMTP provider into the ledger's SMTP door: whatever the server or the worker does, never two."""

import asyncio
from functools import partial

import pytest

from tests.chaos.arena import Arena, Timing
from tests.chaos.ledger import Mode, read_lines
from tests.chaos.mail import AT_END
from tests.chaos.proof import prove

pytestmark = pytest.mark.chaos

UNKNOWABLE = (Mode.DROP, Mode.HALF, Mode.HANG, Mode.ERROR)
SAFE_TO_REPEAT = (Mode.CUT, Mode.STUCK, Mode.THROTTLE, Mode.BROKEN)
POINTS = ("after_mark:1", "before_call:5", "after_call:9", "before_finalize_commit:1")


async def feed(arena: Arena, people: int) -> None:
    await arena.workload.start_executions("blind", people)
    await arena.workload.start_run("blind", people)


@pytest.mark.parametrize("arena", [Timing(lease_seconds=3, call_seconds=2)], indirect=True)
async def test_whatever_becomes_of_a_mail_server_or_a_worker_around_a_message_nobody_gets_it_twice(
    arena: Arena,
) -> None:
    arena.mail_by_smtp()
    await feed(arena, 60)
    [worker] = await arena.start_workers(1)
    await arena.until_calls(20)
    arena.terminate(worker)
    assert await worker.wait() == 0
    async with arena.look() as connection:
        in_doubt = await connection.fetchval("select count(*) from outbox where in_doubt")
    assert in_doubt <= arena.unanswered()  # none, unless the machine is too busy

    await asyncio.gather(*(arena.crash_worker(point, partial(feed, arena, 8)) for point in POINTS))
    for mode in (*UNKNOWABLE, *SAFE_TO_REPEAT, Mode.REFUSE):
        await arena.workload.start_run("blind", 2, mode)
    findings = await prove(arena, workers=1)

    lines = read_lines(arena.file)
    tally = findings.tallies["blind"]
    assert tally.calls == len(lines)
    assert all(line.connection < 0 for line in lines)  # through the SMTP door
    assert arena.faults.kills.total() == len(POINTS)
    assert tally.failed == 2
    assert 2 * len(UNKNOWABLE) <= tally.in_doubt
    assert {line.mode for line in lines} == {*UNKNOWABLE, *SAFE_TO_REPEAT, Mode.REFUSE, Mode.ACK}
    assert set(AT_END) == {*UNKNOWABLE, Mode.ACK, Mode.BROKEN}
