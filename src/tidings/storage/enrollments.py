"""Enrollments and their steps' items as people read them. Reached from resources/enrollments.py. Never writes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import ItemStatus
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.executions import Attempt, ShownStatus

_SQL = load("enrollments")
Json = Mapping[str, object]


class StoredEnrollment(Struct, frozen=True, kw_only=True):
    """An enrollment with its sequence's name, and the node it comes to next."""

    id: UUID
    contact_id: UUID
    sequence_id: UUID
    sequence_name: str
    sequence_paused: bool
    version_id: UUID
    version: int
    status: ShownStatus
    next_node: str | None
    """The node of a step, or of the wait for it; None at the end."""
    next_at: datetime | None
    error: str | None
    error_node: str | None
    idempotency_key: str
    created_at: datetime
    ended_at: datetime | None

    @property
    def number(self) -> int:
        """Which of the contact's enrollments in the sequence it is, from 1 on."""
        return int(self.idempotency_key.rpartition(":")[2])


class StepItem(Struct, frozen=True, kw_only=True):
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
    finalized_at: datetime | None


class StepTally(Struct, frozen=True, kw_only=True):
    """How many messages of an enrollment have come to a status, and the newest reason among them."""

    status: ItemStatus
    messages: int
    error: str | None


@_SQL.statement
async def show_enrollments(
    tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]
) -> list[StoredEnrollment]:
    """The enrollments of one shard and workspace with these ids, as far as they exist."""


@_SQL.statement
async def list_enrollments(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    workflow_id: UUID,
    statuses: Sequence[str] | None,
    cursors: Sequence[str] | None,
    span: Span,
    limit: int,
) -> list[StoredEnrollment]:
    """One shard's enrollments in a sequence, newest first."""


@_SQL.statement
async def list_enrollments_of_contact(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    contact_id: UUID,
    workflow_id: UUID | None,
    statuses: Sequence[str] | None,
    span: Span,
    limit: int,
) -> list[StoredEnrollment]:
    """A contact's enrollments, newest first."""


@_SQL.statement
async def list_step_items(tx: Tx, *, shard: Shard, execution_id: UUID) -> list[StepItem]:
    """Every item of an enrollment, in the order they were reserved."""


@_SQL.statement
async def tally_messages(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, list[StepTally]]:
    """The messages of these enrollments by status; an enrollment without any is not in the answer."""


@_SQL.statement
async def list_step_items_of_contact(
    tx: Tx, *, shard: Shard, workspace: Workspace, contact_id: UUID, span: Span, limit: int
) -> list[StepItem]:
    """What sequences made for a contact, newest first."""


@_SQL.statement
async def list_step_items_of_step(
    tx: Tx, *, shard: Shard, workspace: Workspace, step_id: str, span: Span, limit: int
) -> list[StepItem]:
    """One shard's items of a step, newest first."""


@_SQL.statement
async def list_failed_attempts(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, list[Attempt]]:
    """What went wrong with each of these items, in order."""
