"""Enrollments and their steps' items as people read them. Reached from resources/enrollments.py. Never writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.execution import Frontier
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus
from tidings.domain.paging import Span
from tidings.domain.words import ShownStatus
from tidings.storage.database import Row, Tx
from tidings.storage.load import frontier_from_json
from tidings.storage.statements import load
from tidings.views.executions import Attempt

_SQL = load("enrollments")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StoredEnrollment:
    """An enrollment with its sequence's name and its place in the queue."""

    id: UUID
    contact_id: UUID
    sequence_id: UUID
    sequence_name: str
    sequence_paused: bool
    version_id: UUID
    version: int
    status: ShownStatus
    frontier: Frontier
    error: str | None
    error_node: str | None
    number: int
    triggered_by: str | None
    created_at: datetime
    ended_at: datetime | None
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class StepItem:
    """One message of a step, and what became of it."""

    id: UUID
    enrollment_id: UUID
    contact_id: UUID | None
    step_id: str
    channel: str
    recipient: str
    payload: Json | None
    status: ItemStatus
    in_doubt: bool
    attempts: int
    error: str | None
    retry_at: datetime | None
    created_at: datetime
    first_marked_at: datetime | None
    finalized_at: datetime | None


@dataclass(frozen=True, slots=True)
class StepTally:
    """How many messages of an enrollment have come to a status, and the newest reason among them."""

    status: ItemStatus
    messages: int
    error: str | None


async def show_enrollments(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, ids: Sequence[UUID]
) -> list[StoredEnrollment]:
    """Those of one shard and workspace that are there."""
    rows = await tx.fetch(_SQL["show_enrollments"], shard=shard, tenant=tenant, workspace=workspace, ids=ids)
    return [_enrollment(row) for row in rows]


async def list_enrollments(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    workflow_id: UUID,
    statuses: Sequence[str] | None,
    cursors: Sequence[str] | None,
    span: Span,
    limit: int,
) -> list[StoredEnrollment]:
    """One shard's enrollments in a sequence, newest first."""
    rows = await tx.fetch(
        _SQL["list_enrollments"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        workflow_id=workflow_id,
        statuses=statuses,
        cursors=cursors,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_enrollment(row) for row in rows]


async def list_enrollments_of_contact(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    contact_id: UUID,
    workflow_id: UUID | None,
    statuses: Sequence[str] | None,
    span: Span,
    limit: int,
) -> list[StoredEnrollment]:
    """A contact's enrollments, newest first."""
    rows = await tx.fetch(
        _SQL["list_enrollments_of_contact"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        contact_id=contact_id,
        workflow_id=workflow_id,
        statuses=statuses,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_enrollment(row) for row in rows]


async def list_step_items(tx: Tx, *, shard: Shard, execution_id: UUID) -> list[StepItem]:
    """Every item of an enrollment, in the order they were reserved."""
    return [_item(row) for row in await tx.fetch(_SQL["list_step_items"], shard=shard, execution_id=execution_id)]


async def tally_messages(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, list[StepTally]]:
    """What the messages of these enrollments have come to; one without any is not in the answer."""
    found: dict[UUID, list[StepTally]] = {}
    for row in await tx.fetch(_SQL["tally_messages"], shard=shard, ids=ids):
        tally = StepTally(ItemStatus(row["status"]), row["messages"], row["error"])
        found.setdefault(row["execution_id"], []).append(tally)
    return found


async def list_step_items_of_contact(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, contact_id: UUID, span: Span, limit: int
) -> list[StepItem]:
    """What sequences made for a contact, newest first."""
    rows = await tx.fetch(
        _SQL["list_step_items_of_contact"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        contact_id=contact_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_item(row) for row in rows]


async def list_step_items_of_step(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    step_id: str,
    span: Span,
    limit: int,
) -> list[StepItem]:
    """One shard's items of a step, newest first."""
    rows = await tx.fetch(
        _SQL["list_step_items_of_step"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        step_id=step_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_item(row) for row in rows]


@_SQL.statement
async def list_failed_attempts(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, list[Attempt]]:
    """What went wrong with each of these items, in order."""


def _enrollment(row: Row) -> StoredEnrollment:
    return StoredEnrollment(
        id=row["id"],
        contact_id=row["contact_id"],
        sequence_id=row["workflow_id"],
        sequence_name=row["sequence_name"],
        sequence_paused=row["paused"],
        version_id=row["version_id"],
        version=row["number"],
        status=ShownStatus(row["status"]),
        frontier=frontier_from_json(row["frontier"]),
        error=row["error"],
        error_node=row["error_node"],
        number=int(row["idempotency_key"].rpartition(":")[2]),
        triggered_by=row["triggered_by"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        due_at=row["due_at"],
    )


def _item(row: Row) -> StepItem:
    return StepItem(
        id=row["id"],
        enrollment_id=row["execution_id"],
        contact_id=row["contact_id"],
        step_id=row["node"],
        channel=row["channel"],
        recipient=row["recipient"],
        payload=row["payload"],
        status=ItemStatus(row["status"]),
        in_doubt=row["in_doubt"],
        attempts=row["attempts"],
        error=row["error"],
        retry_at=row["retry_at"],
        created_at=row["created_at"],
        first_marked_at=row["first_marked_at"],
        finalized_at=row["finalized_at"],
    )
