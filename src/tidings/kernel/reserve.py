"""Commit the rows of planned items: nothing reaches a provider without one.

Reached from executions.py after plan.py; hands over to deliver.py. Safe to repeat: what exists already is the plan.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.execution import ItemState
from tidings.domain.ids import Shard
from tidings.domain.item import ItemStatus, Planned, Reserved
from tidings.kernel import crash_points
from tidings.kernel.hand import Hand
from tidings.kernel.kernel import Kernel
from tidings.kernel.plan import Case
from tidings.storage import load, outbox
from tidings.storage.database import Tx


async def reserve(
    kernel: Kernel, shard: Shard, cases: Mapping[UUID, Case], planned: Sequence[Planned], now: datetime
) -> None:
    """Write items and hand them to their cases; where a crash left some behind, those are taken instead."""
    if not planned:
        return

    async def write(tx: Tx) -> set[UUID]:
        new = await outbox.reserve_items(tx, shard=shard, items=planned, now=now)
        crash_points.reach("before_reserve_commit")
        return new

    new = await kernel.db.persist(write)
    crash_points.reach("after_reserve")
    for item in planned:
        if item.id in new:
            _take(cases[item.owner].hand, item)
    found = {item.owner for item in planned if item.id not in new}
    if found:
        await _take_existing(kernel, shard, [cases[owner].hand for owner in found], planned)


def _take(hand: Hand, item: Planned) -> None:
    status = ItemStatus.FAILED if item.failure else ItemStatus.QUEUED
    hand.states[item.id] = ItemState(item.node, status, False, None, 0, None, item.failure)
    if not item.failure:
        hand.open[item.id] = _reserved(item)


def _reserved(item: Planned) -> Reserved:
    return Reserved(
        id=item.id,
        owner=item.owner,
        node=item.node,
        ordinal=item.ordinal,
        channel=item.channel,
        provider=item.provider,
        recipient=item.recipient,
        payload=item.payload,
        key=item.key,
        attempts=0,
        marked_attempt=0,
        retry_at=None,
        marked_at=None,
        first_marked_at=None,
        in_doubt=False,
    )


async def _take_existing(kernel: Kernel, shard: Shard, hands: Sequence[Hand], planned: Sequence[Planned]) -> None:
    """Rows that were there already, or a commit whose answer was lost, or a lease that is gone: read and see."""
    by_id = {hand.lease.id: hand for hand in hands}
    nodes = sorted({item.node for item in planned})
    items = await kernel.db.persist(
        lambda tx: load.load_execution_items(tx, shard=shard, ids=list(by_id), nodes=nodes), alone=True
    )
    for item in items:
        by_id[item.owner].take(item)
