"""Executions as people list and read them. Reached from resources/executions.py. Never writes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.executions import Attempt, ShownStatus

_SQL = load("executions")
Json = Mapping[str, object]


class FoundExecution(Struct, frozen=True, kw_only=True):
    """An execution with the names of its workflow and its place in the queue."""

    id: UUID
    workflow_id: UUID
    workflow_name: str
    version_id: UUID
    version: int
    total_steps: int
    status: ShownStatus
    cursor: str | None
    input: Json
    vars: Json
    attempts: int
    error: str | None
    error_node: str | None
    triggered_by: str | None
    idempotency_key: str
    contact_id: UUID | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    leased: bool
    stop: str | None


class LoggedNode(Struct, frozen=True, kw_only=True):
    """What a node other than a send did."""

    node: str
    status: str
    saw: Json | None
    output: Json | None
    error: str | None
    started_at: datetime | None
    at: datetime
    seen: Sequence[str] | None
    """The results it saw of nodes that do not lead to it."""


class LoggedItem(Struct, frozen=True, kw_only=True):
    """One message or call of a node, and what became of it."""

    id: UUID
    node: str
    ordinal: int
    channel: str
    provider: str
    recipient: str
    payload: Json | None
    status: str
    in_doubt: bool
    attempts: int
    message_id: str | None
    error: str | None
    result: object
    retry_at: datetime | None
    created_at: datetime
    first_marked_at: datetime | None
    finalized_at: datetime | None
    seen: Sequence[str] | None
    """The results it saw of nodes that do not lead to it."""


@_SQL.statement
async def show_executions(tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]) -> list[FoundExecution]:
    """The executions of one shard and workspace with these ids, as far as they exist."""


@_SQL.statement
async def list_executions(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    status: str | None,
    workflow_id: UUID | None,
    span: Span,
    limit: int,
) -> list[FoundExecution]:
    """One shard's executions, newest first; `status` is a stored final one."""


@_SQL.statement
async def list_live_executions(
    tx: Tx, *, shard: Shard, workspace: Workspace, status: str, workflow_id: UUID | None, span: Span, limit: int
) -> list[FoundExecution]:
    """One shard's executions that have not ended and have this shown status, newest first."""


@_SQL.statement
async def list_executions_of_contact(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    contact_id: UUID,
    status: str | None,
    workflow_id: UUID | None,
    error: str | None,
    span: Span,
    limit: int,
) -> list[FoundExecution]:
    """One shard's executions for a contact, newest first; `status` is a shown one."""


@_SQL.statement
async def list_failed_executions(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    workflow_id: UUID | None,
    error: str | None,
    node: str | None,
    ids: Sequence[UUID] | None,
    span: Span,
    limit: int,
) -> list[FoundExecution]:
    """One shard's dead letters, newest first."""


@_SQL.statement
async def list_open_providers(tx: Tx, *, shard: Shard, ids: Sequence[UUID], now: datetime) -> list[tuple[UUID, str]]:
    """Each execution with the provider of each of its items that are due."""


@_SQL.statement
async def list_execution_log(tx: Tx, *, shard: Shard, execution_id: UUID) -> list[LoggedNode]:
    """What the nodes that are not sends did, in order."""


@_SQL.statement
async def list_execution_items(tx: Tx, *, shard: Shard, execution_id: UUID) -> list[LoggedItem]:
    """Every item of an execution, in the order they were reserved."""


@_SQL.statement
async def list_execution_attempts(tx: Tx, *, shard: Shard, execution_id: UUID) -> Mapping[UUID, list[Attempt]]:
    """What went wrong with each item of an execution, in order."""
