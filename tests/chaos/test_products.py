"""The products under real kills, as their users have them: over HTTP, of real workers, with the ledger as the judge.

The soak does the same with tens of thousands (docs/reliability.md). These thousands are enough for a change that breaks
it: each workload has jobs or batches in every shard and is under way when each fault comes, and a larger one would only
be cut in more places of the same kind.
"""

import asyncio

import pytest

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena
from tests.chaos.audit import Findings
from tests.chaos.book import CAMPAIGN, ENROLLMENT, EVENT
from tests.chaos.products import STEPS, Products, hand_over, open_products
from tests.chaos.proof import prove
from tests.chaos.scene import SETTLE_SECONDS

pytestmark = pytest.mark.chaos

SLOW_CALL_SECONDS = 0.4
"""So that there is something under way for each fault, however long a process takes to start; not while it settles."""


async def prove_everybody(arena: Arena, products: Products) -> Findings:
    """Settle and audit; then end all doubt by the ledger's evidence, after which everybody was reached exactly once."""
    before = await prove(arena, SETTLE_SECONDS)
    in_doubt = await products.resolve_by_evidence()
    assert in_doubt == before.tallies["blind"].in_doubt
    if in_doubt:
        before = await prove(arena)
    assert await products.unfinished() == []
    assert all(tally.sent == tally.intended for tally in before.tallies.values())
    return before


async def test_a_campaign_and_events_under_kills_and_a_restart_reach_everybody_exactly_once(arena: Arena) -> None:
    async with open_products(arena) as products:
        await products.deploy("blind", 1000)
        await arena.order(delay_seconds=SLOW_CALL_SECONDS)
        workers = await arena.start_workers(2)

        await arena.until_calls(40)
        await arena.kill(workers.pop(0))
        asking = asyncio.gather(
            products.deploy("keyed", 200), products.deploy("resolvable", 200), products.post_events(20)
        )
        await arena.kill_api(products.api)
        workers += await arena.start_workers(1)
        await arena.until_calls(40)
        await arena.kill_postgres()
        await asking
        await arena.until_calls(40)
        await arena.kill(workers.pop(0))
        findings = await prove_everybody(arena, products)

    assert arena.faults.kills == {"at random": 2, "API kill -9": 1}
    assert findings.workloads == {
        f"{CAMPAIGN} blind": 1000,
        f"{CAMPAIGN} keyed": 200,
        f"{CAMPAIGN} resolvable": 200,
        **{f"{EVENT} {provider}": 20 for provider in CLASSES},
    }


async def test_a_run_and_a_sequence_handed_over_from_old_workers_to_new_ones_reach_everybody_once_and_in_order(
    arena: Arena,
) -> None:
    async with open_products(arena) as products:
        await asyncio.gather(products.deploy("keyed", 600), products.enroll(200))
        await arena.order(delay_seconds=SLOW_CALL_SECONDS)
        old = await arena.start_workers(2)
        await arena.until_calls(60)

        await arena.kill(old.pop(0))
        new = await hand_over(arena, products, old)
        await arena.until_calls(40)
        await arena.kill_postgres()
        new = await hand_over(arena, products, new)
        await arena.until_calls(40)
        await arena.kill(new.pop())
        findings = await prove_everybody(arena, products)

    assert findings.workloads == {f"{CAMPAIGN} keyed": 600, **{f"{ENROLLMENT} {provider}": 200 for provider in STEPS}}


async def test_what_is_in_doubt_for_other_tenants_is_ended_with_keys_of_their_own(arena: Arena) -> None:
    async with open_products(arena) as products:
        await arena.workload.start_flood("blind", 3, "broken")
        await arena.workload.start_executions("blind", 2, "drop")
        findings = await prove_everybody(arena, products)

    assert findings.tallies["blind"].sent == 5
