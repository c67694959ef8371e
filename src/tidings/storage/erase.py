"""Remove a contact from the work that was done for it. Reached from kernel/people/erase.py; safe to repeat."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.rules import RuleAudience

_SQL = load("erase")


class ErasedEvent(NamedTuple):
    """What erasing knows of an event; `decisions` is None until it is routed."""

    id: UUID
    job_id: UUID | None
    decisions: Sequence[Mapping[str, object]] | None


async def list_executions_to_erase(
    tx: Tx, *, shard: Shard, contact_id: UUID, after: UUID | None, limit: int
) -> list[UUID]:
    """A page of a contact's executions in one shard."""
    rows = await tx.fetch(
        _SQL["list_executions_to_erase"], shard=shard, contact_id=contact_id, after=after, limit=limit
    )
    return [row["id"] for row in rows]


async def list_items_to_erase(tx: Tx, *, shard: Shard, contact_id: UUID, after: UUID | None, limit: int) -> list[UUID]:
    """A page of a contact's items in one shard."""
    rows = await tx.fetch(_SQL["list_items_to_erase"], shard=shard, contact_id=contact_id, after=after, limit=limit)
    return [row["id"] for row in rows]


class ShownTest(NamedTuple):
    """A test that shows a contact; `id` is its item, if it has one yet."""

    run_id: UUID
    ordinal: int
    id: UUID | None


async def list_shown_tests(
    tx: Tx, *, shard: Shard, contact_id: UUID, limit: int, after: tuple[UUID, int] = (UUID(int=0), 0)
) -> list[ShownTest]:
    """A page of the tests in one shard that show a contact and are not erased."""
    rows = await tx.fetch(
        _SQL["list_shown_tests"],
        shard=shard,
        contact_id=contact_id,
        after_run=after[0],
        after_ordinal=after[1],
        limit=limit,
    )
    return [ShownTest(row["run_id"], row["ordinal"], row["id"]) for row in rows]


async def erase_audience(tx: Tx, *, shard: Shard, places: Sequence[tuple[UUID, int]]) -> None:
    """Empty people of plain lists, by run and ordinal."""
    await tx.fetch(
        _SQL["erase_audience"],
        shard=shard,
        run_ids=[run_id for run_id, _ in places],
        ordinals=[ordinal for _, ordinal in places],
    )


async def find_items_of_executions(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> list[UUID]:
    """Every item of these executions."""
    return [row["id"] for row in await tx.fetch(_SQL["find_items_of_executions"], shard=shard, ids=ids)]


async def list_events_to_erase(
    tx: Tx, *, shard: Shard, contact_id: UUID, audience: RuleAudience, after: UUID | None, limit: int
) -> list[UUID]:
    """A page of events that name a contact."""
    rows = await tx.fetch(
        _SQL["list_events_to_erase"], shard=shard, contact_id=contact_id, audience=audience, after=after, limit=limit
    )
    return [row["id"] for row in rows]


async def find_events_to_erase(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> list[ErasedEvent]:
    """The events with these ids, as they are stored."""
    rows = await tx.fetch(_SQL["find_events_to_erase"], shard=shard, ids=ids)
    return [ErasedEvent(row["id"], row["job_id"], row["decisions"]) for row in rows]


async def find_items_of_events(tx: Tx, *, shard: Shard, ids: Sequence[UUID], fallbacks_only: bool) -> list[UUID]:
    """The items of events, or the calls of their fallbacks."""
    rows = await tx.fetch(_SQL["find_items_of_events"], shard=shard, ids=ids, fallbacks_only=fallbacks_only)
    return [row["id"] for row in rows]


async def erase_events(tx: Tx, *, shard: Shard, events: Sequence[ErasedEvent], audience: RuleAudience | None) -> None:
    """Empty events of one of their people, or (None) of all."""
    await tx.fetch(
        _SQL["erase_events"],
        shard=shard,
        ids=[one.id for one in events],
        audiences=[audience] * len(events),
        # Each in an object: the driver takes a list of lists for an array of two dimensions.
        kept=[None if one.decisions is None else {"decisions": one.decisions} for one in events],
    )


async def stop_work(tx: Tx, *, shard: Shard, ids: Sequence[UUID], now: datetime) -> None:
    """Ask executions and jobs under way to end."""
    await tx.fetch(_SQL["stop_work"], shard=shard, ids=ids, now=now)


async def wake_owners(tx: Tx, *, shard: Shard, ids: Sequence[UUID], now: datetime) -> None:
    """Make the owners of items due."""
    await tx.fetch(_SQL["wake_owners"], shard=shard, ids=ids, now=now)


async def erase_executions(tx: Tx, *, shard: Shard, ids: Sequence[UUID], deleted: str, erased: str) -> None:
    """Empty executions; an error is replaced by `erased`, unless it is `deleted`."""
    await tx.fetch(_SQL["erase_executions"], shard=shard, ids=ids, deleted=deleted, erased=erased)


async def erase_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID], deleted: str, erased: str) -> None:
    """Empty items; an error is replaced by `erased`, unless it is `deleted`."""
    await tx.fetch(_SQL["erase_items"], shard=shard, ids=ids, deleted=deleted, erased=erased)


async def erase_attempts(tx: Tx, *, shard: Shard, ids: Sequence[UUID], erased: str) -> None:
    """Empty the failed attempts of items."""
    await tx.fetch(_SQL["erase_attempts"], shard=shard, ids=ids, erased=erased)


async def erase_log(tx: Tx, *, shard: Shard, ids: Sequence[UUID], erased: str) -> None:
    """Empty the log of executions."""
    await tx.fetch(_SQL["erase_log"], shard=shard, ids=ids, erased=erased)


async def erase_history(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> None:
    """Empty what the audit log has about executions or items."""
    await tx.fetch(_SQL["erase_history"], shard=shard, ids=ids)
