"""Lease what is due in one shard and lane. A claim commits alone, so nothing else can delay or undo it.

Reached from engine.py, which hands what was claimed to executions.py, jobs.py or rollup.py (runs).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Claimed, Lane
from tidings.kernel import crash_points
from tidings.kernel.flow.turns import claim_turn, read_back, whose_turn
from tidings.kernel.kernel import Kernel
from tidings.storage import claim
from tidings.storage.claim import ClaimScope
from tidings.storage.database import TransientFailure

UNABLE = timedelta(seconds=30)
"""How long work waits after a worker had to release it unworked."""


async def claim_due(kernel: Kernel, shard: Shard, lane: Lane, limit: int) -> list[Claimed]:
    """Lease up to `limit` rows: what is due first, or of whose turn it is where more is due than a claim takes."""
    while whose := await whose_turn(kernel, (shard, lane), limit):
        if leases := await claim_turn(kernel, (shard, lane), whose, limit):
            return leases  # others claim as well: a turn that came to nothing is followed by the next
    if whose is not None:
        return []
    leases = await _claim_first(kernel, shard, lane, limit)
    if len(leases) == limit:
        kernel.turns.work((shard, lane)).note_full()
        await kernel.statistics.correct(shard, lane)
    return leases


async def _claim_first(kernel: Kernel, shard: Shard, lane: Lane, limit: int) -> list[Claimed]:
    """Lease what is due first; a claim whose answer was lost is read back by its own expiry time."""
    now = await kernel.clock.now()
    until = kernel.lease_until(now)
    since = kernel.claim_floor.to_claim((shard, lane), now)
    scope = ClaimScope(shard, lane, since, now, until, limit, kernel.elsewhere.notes(now))
    try:
        async with kernel.db.autocommit() as tx:
            claimed = await claim.claim_due(tx, scope=scope)
    except TransientFailure:
        claimed = await read_back(kernel, (shard, lane), until)
    if claimed.suspect_due_at:
        kernel.claim_floor.suspected((shard, lane), claimed.suspect_due_at, now)
    elif claimed.reached:
        kernel.claim_floor.took((shard, lane), claimed.reached, now)
    crash_points.reach("after_claim")
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
