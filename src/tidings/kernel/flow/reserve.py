"""Commit the rows of planned items: nothing reaches a provider without one.

Reached from executions.py after plan.py; hands over to deliver.py. What has room to be called at once is marked in the
same commit; the rest is marked later by mark.py. Safe to repeat: what exists already is the plan.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.execution import ItemState
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Channel, ItemStatus, Planned, Reserved
from tidings.kernel import crash_points
from tidings.kernel.calls.provider_queue import Limit
from tidings.kernel.flow.deliver import Flight, Parcel
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.mark import marked_on_arrival
from tidings.kernel.flow.plan import Case
from tidings.kernel.kernel import Kernel
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
    """Write items and held them to their cases; where a crash left some behind, those are taken instead."""
    if not planned:
        return
    marks = await flight.choose_new(planned, now)
    written = await _write(kernel, shard, planned, marks, now)
    strangers = set()
    for item, wished in zip(planned, marks, strict=True):
        marked = written.get(item.id)
        if marked is None:
            strangers.add(item.owner)
        else:
            _take(cases[item.owner], item, flight if marked else None)
        if wished and not marked:
            flight.refuse(item)
    if strangers:
        await _take_existing(kernel, shard, [cases[owner].held for owner in strangers], planned)


async def _write(
    kernel: Kernel, shard: Shard, planned: Sequence[Planned], marks: Sequence[bool], now: datetime
) -> Mapping[UUID, bool]:
    """Give each row that is ours, and whether it is marked; an answer that was lost is read back."""

    async def write(tx: Tx) -> Mapping[UUID, bool]:
        new = await outbox.reserve_items(tx, shard=shard, items=planned, marks=marks, now=now)
        crash_points.reach("before_reserve_commit")
        return new

    written = await kernel.db.persist(write, alone=not crash_points.is_armed("before_reserve_commit"))
    crash_points.reach("after_reserve")
    missing = [item for item in planned if item.id not in written] if len(written) < len(planned) else []
    if not missing:
        return written
    found = await kernel.db.persist(lambda tx: outbox.reread_reserved(tx, shard=shard, items=missing), alone=True)
    return {**written, **found}


def _take(case: Case, item: Planned, flight: Flight | None) -> None:
    """Add an item to its case; one that is marked boards its flight."""
    held, status = case.held, item.status
    held.states[item.id] = ItemState(item.node, status, False, None, 0, None, item.error)
    if status is not ItemStatus.QUEUED:
        return
    reserved = held.open[item.id] = _reserved(item)
    if flight:
        flight.board(marked_on_arrival(item), parcel_of(case, reserved))


def parcel_of(case: Case, item: Reserved) -> Parcel:
    """One of an execution's items, to be called for; a message that has begun is finished, a call is cut in time."""
    limit = None
    if item.channel is Channel.FUNCTION and case.deadline and case.loaded.ended_at is None:
        limit = Limit(case.deadline, case.too_late)
    return Parcel(case.wanted(item), case.held.retry_for(item), limit)


def _reserved(item: Planned) -> Reserved:
    return Reserved(  # by place: naming seventeen fields takes five times as long, for each item
        item.id,
        item.owner,
        item.node,
        item.ordinal,
        item.channel,
        item.provider,
        item.recipient,
        item.payload,
        item.key,
        0,  # attempts
        0,  # the number of its mark
        None,  # when to retry
        None,  # when it was marked
        None,  # when it was first marked
        False,  # in doubt
        item.workspace,
        item.contact_id,
    )


async def _take_existing(kernel: Kernel, shard: Shard, owners: Sequence[Held], planned: Sequence[Planned]) -> None:
    """Rows that were there already, or a lease that is gone: read and see."""
    by_id = {held.lease.id: held for held in owners}
    nodes = sorted({item.node for item in planned})
    items = await kernel.db.persist(
        lambda tx: load.load_execution_items(tx, shard=shard, ids=list(by_id), nodes=nodes), alone=True
    )
    for item in items:
        by_id[item.owner].take(item)
