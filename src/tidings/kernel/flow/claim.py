"""Lease what is due in one shard and lane. A claim commits alone, so nothing else can delay or undo it.

Reached from engine.py, which hands what was claimed to executions.py, jobs.py or rollup.py (runs).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Claimed, Lane
from tidings.kernel import crash_points
from tidings.kernel.kernel import Kernel
from tidings.storage import claim
from tidings.storage.database import TransientFailure

UNABLE = timedelta(seconds=30)
"""How long work waits after a worker had to release it unworked."""


async def claim_due(kernel: Kernel, shard: Shard, lane: Lane, limit: int) -> list[Claimed]:
    """Lease up to `limit` rows; a claim whose answer was lost is read back by its own expiry time."""
    now = await kernel.clock.now()
    # A random fraction of a second makes the expiry identify this one claim.
    until = now + kernel.limits.lease + timedelta(microseconds=int(kernel.spread() * 100_000))
    since = kernel.claim_floor.to_claim((shard, lane), now)
    noted = kernel.elsewhere.notes(now)
    try:
        async with kernel.db.autocommit() as tx:
            claimed = await claim.claim_due(
                tx, shard=shard, lane=lane, since=since, now=now, lease_until=until, limit=limit, without=noted
            )
    except TransientFailure:
        leases = await kernel.db.persist(
            lambda tx: claim.reread_claim(tx, shard=shard, lane=lane, lease_until=until), alone=True
        )
        claimed = claim.Claim(leases, reached=None)
    if claimed.suspect_due_at:
        kernel.claim_floor.suspected((shard, lane), claimed.suspect_due_at, now)
    elif claimed.reached:
        kernel.claim_floor.took((shard, lane), claimed.reached, now)
    crash_points.reach("after_claim")
    if len(claimed.leases) == limit:
        await kernel.statistics.correct(shard, lane)
    return claimed.leases


async def give_back(kernel: Kernel, shard: Shard, leases: Sequence[Claimed], wait: timedelta = UNABLE) -> None:
    """Release leases because this worker cannot work on them just now; it does not count as a crash."""
    due_at = await kernel.clock.now() + wait
    ids, fences = [lease.id for lease in leases], [lease.fence for lease in leases]
    await kernel.db.persist(
        lambda tx: claim.give_back_leases(tx, shard=shard, ids=ids, fences=fences, due_at=due_at), alone=True
    )


async def next_due(kernel: Kernel, shard: Shard) -> Mapping[Lane, datetime]:
    """Return when each lane of a shard has work next; lanes without any are left out."""
    now = await kernel.clock.now()
    since = {lane: kernel.claim_floor.to_look((shard, lane), now) for lane in Lane}
    due = await kernel.db.persist(lambda tx: claim.next_due(tx, shard=shard, since=since), alone=True)
    for lane, due_at in due.items():
        kernel.claim_floor.found((shard, lane), due_at)
    return due
