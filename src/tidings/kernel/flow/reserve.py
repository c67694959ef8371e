"""Commit the rows of planned items: nothing reaches a provider without one.

Reached from executions.py after plan.py. What has room to be called at once is marked in the same commit; the rest is
marked later by mark.py. Safe to repeat: what exists already is the plan.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tidings.domain.flow.execution import ItemState
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus, Planned, Reserved
from tidings.domain.flow.outgoing import Outgoing
from tidings.kernel import crash_points
from tidings.kernel.flow.case import Case
from tidings.kernel.flow.held import Held
from tidings.kernel.kernel import Kernel
from tidings.storage import load, outbox
from tidings.storage.database import Tx


class Written(NamedTuple):
    """The result of the requested marks: items whose row has one, and those that got none."""

    marked: Sequence[tuple[Planned, Outgoing]] = ()
    refused: Sequence[Planned] = ()


async def reserve(
    kernel: Kernel,
    shard: Shard,
    cases: Mapping[UUID, Case],
    planned: Sequence[Planned],
    marks: Sequence[bool],
    now: datetime,
) -> Written:
    """Write items and add them to their cases; where a crash left some behind, use those instead.

    `marks` says for each item whether its row gets its first mark.
    """
    if not planned:
        return Written()
    written = await _write(kernel, shard, planned, marks, now)
    strangers, marked, refused = set(), [], []
    for item, mark in zip(planned, marks, strict=True):
        has_mark, case = written.get(item.id), cases[item.owner]
        if has_mark is None:
            strangers.add(item.owner)
        elif (reserved := _take(case.held, item)) and has_mark:
            marked.append((item, case.outgoing(reserved)))
        if mark and not has_mark:
            refused.append(item)
    if strangers:
        await _take_existing(kernel, shard, [cases[owner].held for owner in strangers], planned)
    return Written(marked, refused)


async def _write(
    kernel: Kernel, shard: Shard, planned: Sequence[Planned], marks: Sequence[bool], now: datetime
) -> Mapping[UUID, bool]:
    """Return each row that this call wrote, and whether it is marked; a lost answer is read back."""

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


def _take(held: Held, item: Planned) -> Reserved | None:
    """Add an item to its owner's held items; return it if it is open."""
    status = item.status
    held.states[item.id] = ItemState(item.node, status, False, None, 0, None, item.error)
    if status is not ItemStatus.QUEUED:
        return None
    reserved = held.open[item.id] = _reserved(item)
    return reserved


def _reserved(item: Planned) -> Reserved:
    return Reserved(  # by position: naming seventeen fields takes five times as long, for each item
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
    """Take items that could not be written: read whether their rows existed already or the lease is gone."""
    by_id = {held.lease.id: held for held in owners}
    nodes = sorted({item.node for item in planned})
    items = await kernel.db.persist(
        lambda tx: load.load_execution_items(tx, shard=shard, ids=list(by_id), nodes=nodes), alone=True
    )
    for item in items:
        by_id[item.owner].take(item)
