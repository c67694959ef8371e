"""Record facts by their mark, and doubt by the lease.

Reached from kernel/flow/finalize.py and kernel/manage/resolve.py.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Fence, ItemId, ItemStatus, Reserved
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("finalize")


class Fact(msgspec.Struct, frozen=True):
    """The result of one attempt, as it is stored."""

    id: ItemId
    fence: Fence
    attempt: int
    status: ItemStatus
    unknown: bool = False
    uses_attempt: bool = True
    retry_at: datetime | None = None
    message_id: str | None = None
    error: str | None = None
    result: object = None


class FailedAttempt(msgspec.Struct, frozen=True):
    """The short row of an attempt that did not succeed."""

    item_id: ItemId
    attempt: int
    outcome: str
    error: str
    started_at: datetime
    ended_at: datetime


async def finalize_items(tx: Tx, *, shard: Shard, facts: Sequence[Fact], now: datetime) -> int:
    """Record facts whose mark is unchanged; return how many items took one."""
    (row,) = await tx.fetch(
        _SQL["finalize_items"],
        shard=shard,
        ids=[fact.id for fact in facts],
        fences=[fact.fence for fact in facts],
        attempt_numbers=[fact.attempt for fact in facts],
        statuses=[fact.status for fact in facts],
        unknown=[fact.unknown for fact in facts],
        uses_attempt=[fact.uses_attempt for fact in facts],
        retry_at=[fact.retry_at for fact in facts],
        message_ids=[fact.message_id for fact in facts],
        errors=[fact.error for fact in facts],
        now=now,
    )
    return int(row["recorded"])


async def keep_results(tx: Tx, *, shard: Shard, facts: Sequence[Fact]) -> None:
    """Write the results of functions, before the facts that end their items."""
    await tx.fetch(
        _SQL["keep_results"],
        shard=shard,
        ids=[fact.id for fact in facts],
        attempt_numbers=[fact.attempt for fact in facts],
        results=[fact.result for fact in facts],
    )


async def insert_attempts(tx: Tx, *, shard: Shard, attempts: Sequence[FailedAttempt]) -> None:
    """Store the rows of failed attempts."""
    await tx.fetch(
        _SQL["insert_attempts"],
        shard=shard,
        ids=[one.item_id for one in attempts],
        attempt_numbers=[one.attempt for one in attempts],
        outcomes=[one.outcome for one in attempts],
        errors=[one.error for one in attempts],
        started_at=[one.started_at for one in attempts],
        ended_at=[one.ended_at for one in attempts],
    )


async def doubt_items(tx: Tx, *, shard: Shard, items: Sequence[Reserved], fences: Sequence[Fence]) -> set[UUID]:
    """Put items in doubt whose mark a crash left behind; each under its owner's lease."""
    rows = await tx.fetch(_SQL["doubt_items"], shard=shard, **_columns(items, fences))
    return {row["id"] for row in rows}


async def schedule_doubtful_items(
    tx: Tx,
    *,
    shard: Shard,
    items: Sequence[Reserved],
    fences: Sequence[Fence],
    retry_at: Sequence[datetime | None],
) -> None:
    """Set when items in doubt are looked at again; None leaves them to a fact or a person."""
    columns = {name: values for name, values in _columns(items, fences).items() if name != "attempt_numbers"}
    await tx.fetch(_SQL["schedule_doubtful_items"], shard=shard, retry_at=retry_at, **columns)


async def clear_doubtful_items(
    tx: Tx, *, shard: Shard, items: Sequence[Reserved], fences: Sequence[Fence]
) -> set[UUID]:
    """End doubt by evidence that nothing arrived."""
    rows = await tx.fetch(_SQL["clear_doubtful_items"], shard=shard, **_columns(items, fences))
    return {row["id"] for row in rows}


async def pause_provider(tx: Tx, *, provider: str, paused_until: datetime, reason: str) -> None:
    """Let a provider rest for every worker."""
    await tx.fetch(_SQL["pause_provider"], provider=provider, paused_until=paused_until, reason=reason)


def _columns(items: Sequence[Reserved], fences: Sequence[Fence]) -> dict[str, object]:
    return {
        "ids": [item.id for item in items],
        "owners": [item.owner for item in items],
        "fences": fences,
        "attempt_numbers": [item.marked_attempt for item in items],
    }
