"""Lease what is due in one shard and lane. Commits alone, so nothing else can hold it up or undo it.

Reached from engine.py; hands over to plan.py (executions), jobs.py and rollup.py (runs).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from tidings.domain.ids import Shard
from tidings.domain.queue import Claimed, Lane
from tidings.kernel import crash_points
from tidings.kernel.kernel import Kernel
from tidings.storage import claim
from tidings.storage.database import TransientFailure


async def claim_due(kernel: Kernel, shard: Shard, lane: Lane, limit: int) -> list[Claimed]:
    """Lease up to `limit` rows; a claim whose answer was lost is read back by its own expiry time."""
    now = await kernel.clock.now()
    # A random part of a second makes the expiry the name of this very claim.
    until = now + kernel.limits.lease + timedelta(microseconds=int(kernel.spread() * 100_000))
    try:
        async with kernel.db.autocommit() as tx:
            claimed = await claim.claim_due(tx, shard=shard, lane=lane, now=now, lease_until=until, limit=limit)
    except TransientFailure:
        claimed = await kernel.db.persist(
            lambda tx: claim.reread_claim(tx, shard=shard, lane=lane, lease_until=until), alone=True
        )
    crash_points.reach("after_claim")
    return claimed


async def next_due(kernel: Kernel, shard: Shard) -> Mapping[Lane, datetime]:
    """When each lane of a shard has work next; lanes without any are left out."""
    return await kernel.db.persist(lambda tx: claim.next_due(tx, shard=shard), alone=True)
