"""Reserve items, mark them before a call, and take marks back.

Reached from kernel/flow/reserve.py and kernel/flow/mark.py.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Fence, ItemId, ItemStatus, Marked, OwnerId, Payload, Planned
from tidings.domain.flow.outgoing import Outgoing
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("outbox")


async def reserve_items(
    tx: Tx, *, shard: Shard, items: Sequence[Planned], marks: Sequence[bool], now: datetime
) -> Mapping[UUID, bool]:
    """Write items whose owner's lease holds; return the ids of the new ones, and whether they are marked."""
    rows = await tx.fetch(
        _SQL["reserve_items"],
        shard=shard,
        ids=[item.id for item in items],
        owners=[item.owner for item in items],
        fences=[item.fence for item in items],
        nodes=[item.node for item in items],
        visits=[item.visit for item in items],
        ordinals=[item.ordinal for item in items],
        channels=[item.channel for item in items],
        providers=[item.provider for item in items],
        recipients=[item.recipient for item in items],
        payloads=[item.payload for item in items],
        keys=[item.key for item in items],
        errors=[item.error for item in items],
        marks=marks,
        contact_ids=[item.contact_id for item in items] if any(item.contact_id for item in items) else [],
        skips=[item.skip is not None for item in items] if any(item.skip for item in items) else [],
        seen=[item.seen for item in items] if any(item.seen for item in items) else [],
        now=now,
    )
    return {row["id"]: row["marked"] for row in rows}


async def reread_reserved(tx: Tx, *, shard: Shard, items: Sequence[Planned]) -> Mapping[UUID, bool]:
    """Find what an earlier try has written; return the ids, and whether they are marked."""
    rows = await tx.fetch(
        _SQL["reread_reserved"],
        shard=shard,
        ids=[item.id for item in items],
        owners=[item.owner for item in items],
        fences=[item.fence for item in items],
    )
    return {row["id"]: row["marked"] for row in rows}


async def mark_items(tx: Tx, *, shard: Shard, outgoing: Sequence[Outgoing], now: datetime) -> Mapping[UUID, Payload]:
    """Mark what may be called; return the frozen payload of each item that was marked."""
    rows = await tx.fetch(
        _SQL["mark_items"],
        shard=shard,
        ids=[one.item.id for one in outgoing],
        owners=[one.item.owner for one in outgoing],
        fences=[one.fence for one in outgoing],
        attempt_numbers=[one.attempt for one in outgoing],
        attempts=[one.item.attempts + 1 for one in outgoing],
        payloads=[one.payload for one in outgoing],
        again=[one.item.in_doubt for one in outgoing],
        now=now,
    )
    return {row["id"]: row["payload"] for row in rows}


class Move(msgspec.Struct, frozen=True):
    """An item that takes another connection; `attempt` is the number of its last mark."""

    id: ItemId
    owner: OwnerId
    fence: Fence
    attempt: int
    before: str
    provider: str


async def move_items(tx: Tx, *, shard: Shard, moves: Sequence[Move]) -> set[UUID]:
    """Have items that cannot have arrived take another connection; return those that do."""
    rows = await tx.fetch(
        _SQL["move_items"],
        shard=shard,
        ids=[one.id for one in moves],
        owners=[one.owner for one in moves],
        fences=[one.fence for one in moves],
        attempt_numbers=[one.attempt for one in moves],
        before=[one.before for one in moves],
        providers=[one.provider for one in moves],
    )
    return {row["id"] for row in rows}


async def unmark_items(tx: Tx, *, shard: Shard, items: Sequence[tuple[Marked, Outgoing]], now: datetime) -> set[UUID]:
    """Take back the marks of calls that never started; what an earlier call had left in doubt stays so."""
    rows = await tx.fetch(
        _SQL["unmark_items"],
        shard=shard,
        ids=[item.id for item, _ in items],
        owners=[item.owner for item, _ in items],
        fences=[item.fence for item, _ in items],
        attempt_numbers=[item.attempt for item, _ in items],
        doubtful=[outgoing.item.in_doubt for _, outgoing in items],
        now=now,
    )
    return {row["id"] for row in rows}


async def settle_unmarked_items(
    tx: Tx,
    *,
    shard: Shard,
    ids: Sequence[ItemId],
    statuses: Sequence[ItemStatus],
    errors: Sequence[str],
    now: datetime,
) -> set[UUID]:
    """Skip or fail items that were never called for; return the ids of those that still could be."""
    rows = await tx.fetch(
        _SQL["settle_unmarked_items"], shard=shard, ids=ids, statuses=statuses, errors=errors, now=now
    )
    return {row["id"] for row in rows}
