"""Commit the rows of planned items: nothing reaches a provider without one.

Reached from executions.py after plan.py; hands over to deliver.py. What has room to be called at once is marked in the
same commit; the rest is marked later by mark.py. Safe to repeat: what exists already is the plan.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.execution import ItemState
from tidings.domain.ids import Shard
from tidings.domain.item import ItemStatus, Planned, Reserved
from tidings.kernel import crash_points
from tidings.kernel.deliver import Flight, Parcel
from tidings.kernel.hand import Hand
from tidings.kernel.kernel import Kernel
from tidings.kernel.mark import marked_on_arrival
from tidings.kernel.plan import Case
from tidings.storage import load, outbox
from tidings.storage.database import Tx


async def reserve(
    kernel: Kernel,
    shard: Shard,
    cases: Mapping[UUID, Case],
    planned: Sequence[Planned],
    flight: Flight,
    now: datetime,
) -> None:
    """Write items and hand them to their cases; where a crash left some behind, those are taken instead."""
    if not planned:
        return
    wishes = await flight.choose_new(planned, now)
    written = await _write(kernel, shard, planned, wishes, now)
    for item in planned:
        if item.id in written:
            _take(cases[item.owner].hand, item)
    _board(flight, cases, planned, wishes, {id for id, marked in written.items() if marked})
    strangers = {item.owner for item in planned if item.id not in written}
    if strangers:
        await _take_existing(kernel, shard, [cases[owner].hand for owner in strangers], planned)


async def _write(
    kernel: Kernel, shard: Shard, planned: Sequence[Planned], wishes: set[UUID], now: datetime
) -> Mapping[UUID, bool]:
    """Give each row that is ours, and whether it is marked; an answer that was lost is read back."""
    marks = [item.id in wishes for item in planned]

    async def write(tx: Tx) -> Mapping[UUID, bool]:
        new = await outbox.reserve_items(tx, shard=shard, items=planned, marks=marks, now=now)
        crash_points.reach("before_reserve_commit")
        return new

    written = await kernel.db.persist(write, alone=not crash_points.is_armed("before_reserve_commit"))
    crash_points.reach("after_reserve")
    missing = [item for item in planned if item.id not in written]
    if not missing:
        return written
    found = await kernel.db.persist(lambda tx: outbox.reread_reserved(tx, shard=shard, items=missing), alone=True)
    return {**written, **found}


def _take(hand: Hand, item: Planned) -> None:
    hand.states[item.id] = ItemState(item.node, item.status, False, None, 0, None, item.error)
    if item.status is ItemStatus.QUEUED:
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
        workspace=item.workspace,
        contact_id=item.contact_id,
    )


def _board(
    flight: Flight, cases: Mapping[UUID, Case], planned: Sequence[Planned], wishes: set[UUID], marked: set[UUID]
) -> None:
    """Hand over what is marked; give back the room of what should have been and is not."""
    for item in marked_on_arrival(planned, marked):
        case = cases[item.owner]
        reserved = case.hand.open[item.id]
        flight.board(item, Parcel(case.wanted(reserved), case.hand.retry_for(reserved)))
    if refused := wishes - marked:
        flight.refuse(item for item in planned if item.id in refused)


async def _take_existing(kernel: Kernel, shard: Shard, hands: Sequence[Hand], planned: Sequence[Planned]) -> None:
    """Rows that were there already, or a lease that is gone: read and see."""
    by_id = {hand.lease.id: hand for hand in hands}
    nodes = sorted({item.node for item in planned})
    items = await kernel.db.persist(
        lambda tx: load.load_execution_items(tx, shard=shard, ids=list(by_id), nodes=nodes), alone=True
    )
    for item in items:
        by_id[item.owner].take(item)
