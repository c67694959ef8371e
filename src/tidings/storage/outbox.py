"""Reserve items, mark them before a call, and take marks back.

Reached from kernel/flow/reserve.py and kernel/flow/mark.py.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Fence, ItemId, ItemStatus, Marked, Payload, Planned, Reserved
from tidings.domain.flow.lateness import Appointment
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("outbox")


class Wanted(msgspec.Struct, frozen=True):
    """An item to be marked for one more call; `again` repeats a call whose fate is unknown."""

    item: Reserved
    fence: Fence
    payload: Payload
    again: bool = False
    appointment: Appointment | None = None  # when it was to leave, if it may not be late

    @property
    def may_be_skipped(self) -> bool:
        """Whether somebody may refuse it, or it may become too late."""
        return self.item.contact_id is not None or self.appointment is not None

    def lateness(self, now: datetime) -> str | None:
        """Why it is too late to be sent, if so; what may have arrived already is not judged."""
        return self.appointment.lateness(now) if self.appointment and not self.again else None

    @property
    def attempt(self) -> int:
        """The number of the mark to be made."""
        return self.item.marked_attempt + 1


class Unstarted(msgspec.Struct, frozen=True):
    """A marked item whose call never began; `doubtful` if an earlier call had left it in doubt."""

    item: Marked
    doubtful: bool


async def reserve_items(
    tx: Tx, *, shard: Shard, items: Sequence[Planned], marks: Sequence[bool], now: datetime
) -> Mapping[UUID, bool]:
    """Write items whose owner's lease holds; give the ids of those that were new, and whether they are marked."""
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
    """Find what an earlier try has written; give the ids, and whether they are marked."""
    rows = await tx.fetch(
        _SQL["reread_reserved"],
        shard=shard,
        ids=[item.id for item in items],
        owners=[item.owner for item in items],
        fences=[item.fence for item in items],
    )
    return {row["id"]: row["marked"] for row in rows}


async def mark_items(tx: Tx, *, shard: Shard, wanted: Sequence[Wanted], now: datetime) -> Mapping[UUID, Payload]:
    """Mark what may be called; give the frozen payload of each item that was marked."""
    rows = await tx.fetch(
        _SQL["mark_items"],
        shard=shard,
        ids=[one.item.id for one in wanted],
        owners=[one.item.owner for one in wanted],
        fences=[one.fence for one in wanted],
        attempt_numbers=[one.attempt for one in wanted],
        attempts=[one.item.attempts + 1 for one in wanted],
        payloads=[one.payload for one in wanted],
        again=[one.again for one in wanted],
        now=now,
    )
    return {row["id"]: row["payload"] for row in rows}


async def unmark_items(tx: Tx, *, shard: Shard, items: Sequence[Unstarted], now: datetime) -> set[UUID]:
    """Take back the marks of calls that never started."""
    rows = await tx.fetch(
        _SQL["unmark_items"],
        shard=shard,
        ids=[one.item.id for one in items],
        owners=[one.item.owner for one in items],
        fences=[one.item.fence for one in items],
        attempt_numbers=[one.item.attempt for one in items],
        doubtful=[one.doubtful for one in items],
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
    """Skip or fail items that were never called; give the ids of those it still could."""
    rows = await tx.fetch(
        _SQL["settle_unmarked_items"], shard=shard, ids=ids, statuses=statuses, errors=errors, now=now
    )
    return {row["id"] for row in rows}
