"""Store events with their items, route the events that SQL stored, and read both.

Reached from kernel/start/event.py and resources/.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec
from msgspec.structs import asdict

from tidings.domain.campaigns.run import JobStatus
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel, Fence, ItemStatus, Payload
from tidings.domain.flow.keys import key_hash, key_scope
from tidings.domain.flow.queue import Lane
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.load import LoadedItem, loaded_item
from tidings.storage.rows import reader_of
from tidings.storage.statements import load
from tidings.views.rules import RuleAudience

_SQL = load("events")
Json = Mapping[str, object]


class ItemsRefused(StorageUnavailable):
    """The database refused an event's items, and the transaction with them: nothing of the event is stored."""

    code = "items_refused"


@dataclass(frozen=True, slots=True)
class LoadedEvents:
    """The open items of some events; by item, how many attempts it may have and which rule it comes from, by rule,
    whether that is enabled (None: deleted)."""

    items: Sequence[LoadedItem]
    max_attempts: Mapping[UUID, int | None]
    rule_of: Mapping[UUID, UUID]
    enabled: Mapping[UUID, bool | None]


class NewEventItem(msgspec.Struct, frozen=True):
    """An item to write with its event; one that cannot be sent says why in `error`."""

    id: UUID
    ordinal: int
    channel: Channel
    provider: str
    recipient: str
    payload: Payload
    status: ItemStatus
    key: bytes
    planned_at: datetime | None = None
    max_attempts: int | None = None
    error: str | None = None
    contact_id: UUID | None = None


class StoredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as it is stored; `decisions` is None until it is routed."""

    id: UUID
    workspace: Workspace
    trigger: str
    idempotency_key: str
    data: Json
    decisions: Sequence[Json] | None
    job_id: UUID | None
    source: str
    created_at: datetime
    routed_at: datetime | None


_FOUND = reader_of(StoredEvent | None)


class FoundEventItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of an event as it is now."""

    event_id: UUID
    id: UUID
    ordinal: int
    channel: Channel
    provider: str
    recipient: str
    payload: Payload | None
    status: ItemStatus
    in_doubt: bool
    attempts: int
    max_attempts: int | None
    run_at: datetime
    marked_at: datetime | None
    message_id: str | None
    error: str | None
    contact_id: UUID | None
    created_at: datetime
    finalized_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewEventJob:
    """The job of an event that has something to send; `due_at` is None where all of it is settled already."""

    status: JobStatus
    failed: int
    skipped: int
    due_at: datetime | None
    items: Sequence[NewEventItem]


async def add_event(
    tx: Tx,
    *,
    shard: Shard,
    event: StoredEvent,
    contacts: Sequence[tuple[RuleAudience, UUID]],
    job: NewEventJob,
    lane: Lane,
) -> bool:
    """Store an event and its job; False when its key is taken. Commits alone.

    Raise ItemsRefused when the database will never accept it.
    """
    given = {name: value for name, value in asdict(event).items() if name != "workspace"}
    given |= {"tenant_id": event.workspace.tenant, "workspace_id": event.workspace.name}
    with _refused():
        row = await tx.fetch_one(
            _SQL["add_event"],
            shard=shard,
            given=given,
            hash=_hash(event.workspace, event.trigger, event.idempotency_key),
            event_contact_ids=[id for _, id in contacts],
            audiences=[audience for audience, _ in contacts],
            status=job.status,
            failed=job.failed,
            skipped=job.skipped,
            lane=lane,
            due_at=job.due_at,
            **_columns(job.items),
        )
    return row is not None and row["is_new"]


async def find_event_by_key(
    tx: Tx, *, shard: Shard, workspace: Workspace, trigger: str, key: str
) -> StoredEvent | None:
    """The event that has the key, if any."""
    given = {"tenant": workspace.tenant, "workspace": workspace.name, "trigger": trigger, "key": key}
    digest = _hash(workspace, trigger, key)
    found: StoredEvent | None = _FOUND(await tx.fetch(_SQL["find_event_by_key"], shard=shard, hash=digest, **given))
    return found


def _hash(workspace: Workspace, trigger: str, key: str) -> bytes:
    return key_hash(key_scope(workspace.tenant, workspace.name, trigger), key)


async def add_event_items(tx: Tx, *, shard: Shard, job_id: UUID, items: Sequence[NewEventItem], now: datetime) -> None:
    """Write an event's items; raise ItemsRefused when the database will never accept them."""
    with _refused():
        await tx.fetch(_SQL["add_event_items"], shard=shard, job_id=job_id, now=now, **_columns(items))


def _columns(items: Sequence[NewEventItem]) -> Mapping[str, object]:
    return {
        "ids": [item.id for item in items],
        "ordinals": [item.ordinal for item in items],
        "channels": [item.channel for item in items],
        "providers": [item.provider for item in items],
        "recipients": [item.recipient for item in items],
        "payloads": [item.payload for item in items],
        "statuses": [item.status for item in items],
        "keys": [item.key for item in items],
        "planned_at": [item.planned_at for item in items],
        "max_attempts": [item.max_attempts for item in items],
        "errors": [item.error for item in items],
        "contact_ids": [item.contact_id for item in items],
    }


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except (asyncpg.PostgresError, asyncpg.DataError) as error:
        raise ItemsRefused(_refusal(error)) from None  # the rest of the error names the row, and so the person


@_SQL.statement
async def load_unrouted_events(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> list[StoredEvent]:
    """Those of these events that are not routed yet."""


async def route_event(
    tx: Tx, *, shard: Shard, id: UUID, fence: Fence, decisions: Sequence[Json], now: datetime
) -> bool:
    """Store the decisions about an event; False when that was done before, or the lease is lost."""
    row = await tx.fetch_one(_SQL["route_event"], shard=shard, id=id, fence=fence, decisions=decisions, now=now)
    return row is not None


@_SQL.statement
async def plan_event_job(tx: Tx, *, shard: Shard, id: UUID, planned: int, failed: int, skipped: int) -> None:
    """Set the counts of the job of an event that was just routed."""


async def load_event_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> LoadedEvents:
    """The open items of these events, with what decides whether and how often each may be called."""
    rows = await tx.fetch(_SQL["load_event_items"], shard=shard, ids=ids)
    return LoadedEvents(
        [loaded_item(row, None) for row in rows],
        {row["id"]: row["max_attempts"] for row in rows},
        {row["id"]: row["rule_id"] for row in rows if row["rule_id"]},
        {row["rule_id"]: row["enabled"] for row in rows if row["rule_id"]},
    )


@_SQL.statement
async def find_event(tx: Tx, *, shard: Shard, workspace: Workspace, id: UUID) -> StoredEvent | None:
    """One event of a workspace, if there is one."""


@_SQL.statement
async def list_events(
    tx: Tx, *, shard: Shard, workspace: Workspace, trigger: str | None, span: Span, limit: int
) -> list[StoredEvent]:
    """One shard's events, newest first."""


@_SQL.statement
async def list_events_of_contact(
    tx: Tx, *, shard: Shard, workspace: Workspace, contact_id: UUID, trigger: str | None, span: Span, limit: int
) -> list[StoredEvent]:
    """One shard's events that name a contact, newest first."""


@_SQL.statement
async def list_event_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> list[FoundEventItem]:
    """The items of these events, in every status."""


def _refusal(error: Exception) -> str:
    """The database's error without its details, which name the row and the value."""
    said = str(error.args[0]) if isinstance(error, asyncpg.PostgresError) else type(error).__name__
    return " ".join(said.split())
