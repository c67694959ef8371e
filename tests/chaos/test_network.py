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


@pytest.mark.parametrize("provider", CLASSES)
async def test_a_commit_cut_off_before_or_after_it_happened_neither_loses_nor_repeats(
    arena: Arena, provider: str
) -> None:
    proxy = await arena.route_database()
    await arena.start_workers(2)

    for arrow, moment in product(COMMITS, Moment):
        await arena.cut_commit(proxy, arrow, moment, partial(feed, arena, provider))
    findings = await prove(arena)

    assert set(arena.troubles) == {f"cut {moment} {arrow}" for arrow, moment in product(COMMITS, Moment)}
    assert findings.tallies[provider].in_doubt <= arena.unanswered()
