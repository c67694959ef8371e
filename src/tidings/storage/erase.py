"""Take a person out of the work that was done for it. Reached from kernel/erase.py; safe to repeat."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("erase")


async def list_executions_to_erase(
    tx: Tx, *, shard: Shard, contact_id: UUID, after: UUID | None, limit: int
) -> list[UUID]:
    """The next of a contact's executions in one shard."""
    rows = await tx.fetch(
        _SQL["list_executions_to_erase"], shard=shard, contact_id=contact_id, after=after, limit=limit
    )
    return [row["id"] for row in rows]


async def list_items_to_erase(tx: Tx, *, shard: Shard, contact_id: UUID, after: UUID | None, limit: int) -> list[UUID]:
    """The next of a contact's items in one shard."""
    rows = await tx.fetch(_SQL["list_items_to_erase"], shard=shard, contact_id=contact_id, after=after, limit=limit)
    return [row["id"] for row in rows]


async def find_items_of_executions(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> list[UUID]:
    """Every item of these executions."""
    return [row["id"] for row in await tx.fetch(_SQL["find_items_of_executions"], shard=shard, ids=ids)]


async def stop_executions(tx: Tx, *, shard: Shard, ids: Sequence[UUID], now: datetime) -> None:
    """Ask those that go on to end."""
    await tx.fetch(_SQL["stop_executions"], shard=shard, ids=ids, now=now)


async def wake_owners(tx: Tx, *, shard: Shard, ids: Sequence[UUID], now: datetime) -> None:
    """Let the owners of items look again."""
    await tx.fetch(_SQL["wake_owners"], shard=shard, ids=ids, now=now)


async def erase_executions(tx: Tx, *, shard: Shard, ids: Sequence[UUID], deleted: str, erased: str) -> None:
    """Empty executions; an error is replaced by `erased`, unless it is `deleted`."""
    await tx.fetch(_SQL["erase_executions"], shard=shard, ids=ids, deleted=deleted, erased=erased)


async def erase_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID], erased: str) -> None:
    """Empty items."""
    await tx.fetch(_SQL["erase_items"], shard=shard, ids=ids, erased=erased)


async def erase_attempts(tx: Tx, *, shard: Shard, ids: Sequence[UUID], erased: str) -> None:
    """Empty the failed attempts of items."""
    await tx.fetch(_SQL["erase_attempts"], shard=shard, ids=ids, erased=erased)


async def erase_log(tx: Tx, *, shard: Shard, ids: Sequence[UUID], erased: str) -> None:
    """Empty the log of executions."""
    await tx.fetch(_SQL["erase_log"], shard=shard, ids=ids, erased=erased)


async def erase_history(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> None:
    """Empty what the audit log has about executions or items."""
    await tx.fetch(_SQL["erase_history"], shard=shard, ids=ids)
