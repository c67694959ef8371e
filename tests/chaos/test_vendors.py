"""Connections to a vendor of each class, two accounts for each, while workers die and accounts are refused."""

import asyncio
from functools import partial

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, Timing
from tests.chaos.ledger import Mode, read_lines
from tests.chaos.proof import prove
from tests.chaos.vendor_scene import ACCOUNTS, connect, reopen

pytestmark = pytest.mark.chaos

POINTS = ("after_mark:1", "before_call:5", "after_call:9", "before_finalize_commit:1")
UNANSWERED = (Mode.DROP, Mode.HALF, Mode.HANG, Mode.ERROR)


async def feed(arena: Arena, people: int) -> None:
    for provider in CLASSES:
        await arena.workload.start_executions(provider, people)
        await arena.workload.start_run(provider, people)


@pytest.mark.parametrize("arena", [Timing(lease_seconds=3, call_seconds=2)], indirect=True)
async def test_nobody_hears_twice_from_two_accounts_of_a_vendor_of_any_class(arena: Arena) -> None:
    await connect(arena)
    for provider in CLASSES:
        for mode in (*UNANSWERED, Mode.CUT, Mode.THROTTLE, Mode.REFUSE):
            await arena.workload.start_run(provider, 2, mode)
    await asyncio.gather(*(arena.crash_worker(point, partial(feed, arena, 8)) for point in POINTS[:2]))
    await arena.close_accounts(*(first for first, _ in ACCOUNTS.values()))
    await asyncio.gather(*(arena.crash_worker(point, partial(feed, arena, 8)) for point in POINTS[2:]))
    await reopen(arena)
    findings = await prove(arena)

    lines = read_lines(arena.file)
    assert {line.account for line in lines if line.taken} == {one for both in ACCOUNTS.values() for one in both}
    turned_away = {line.recipient for line in lines if line.mode is Mode.SHUT}
    assert turned_away & {line.recipient for line in lines if line.taken}
    assert [findings.tallies[provider].failed for provider in CLASSES] == [2, 2, 2]
    assert findings.tallies["keyed"].in_doubt == 0
    async with arena.look() as connection:
        unfound = await connection.fetch("select recipient from outbox where in_doubt and channel = 'sms'")
    assert not {row["recipient"] for row in unfound} & {line.recipient for line in lines if line.taken}
    assert findings.tallies["blind"].in_doubt >= 2 * len(UNANSWERED)
