"""Trouble on the way to PostgreSQL and to the provider: cuts in a commit, silence, stalls, slowness, closed doors."""

from functools import partial
from itertools import product

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena
from tests.chaos.proof import feed, prove
from tests.chaos.proxy import Moment
from tests.chaos.troubles import COMMITS

pytestmark = pytest.mark.chaos

SILENCE_SECONDS = 2.0


async def nibble(arena: Arena, provider: str) -> None:
    """A little work for one provider, of each kind."""
    await arena.workload.start_executions(provider, 8)
    await arena.workload.start_run(provider, 8)


async def test_a_commit_cut_off_before_or_after_it_happened_neither_loses_nor_repeats(arena: Arena) -> None:
    proxy = await arena.route_database()
    workers = await arena.start_workers(2)

    for provider in CLASSES:
        for arrow, moment in product(COMMITS, Moment):
            await arena.cut_commit(proxy, arrow, moment, partial(nibble, arena, provider))
        await arena.until_settled()  # so that no cut meets another provider's work
    findings = await prove(arena)

    assert set(arena.troubles) == {f"cut {moment} {arrow}" for arrow, moment in product(COMMITS, Moment)}
    assert set(arena.troubles.values()) == {len(CLASSES)}
    assert sum(len(worker.events("storage_retry")) for worker in workers) >= 20  # all but some of claims
    assert findings.tallies["blind"].in_doubt <= arena.unanswered()


async def test_connections_that_lead_nowhere_are_given_up(arena: Arena) -> None:
    proxy = await arena.route_database()
    arena.notice_silence_after(SILENCE_SECONDS)
    await arena.start_workers(2)

    for provider in CLASSES:
        await feed(arena, provider)
    await arena.until_calls(60)
    arena.half_open(proxy)
    await prove(arena)
