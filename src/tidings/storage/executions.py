"""Executions as people list and read them. Reached from resources/executions.py. Never writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.paging import Span
from tidings.domain.words import ShownStatus
from tidings.storage.database import Row, Tx
from tidings.storage.observe import ShownAttempt
from tidings.storage.statements import load

_SQL = load("executions")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FoundExecution:
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


@dataclass(frozen=True, slots=True)
class LoggedNode:
    """What a node other than a send did."""

    node: str
    status: str
    saw: Json | None
    output: Json | None
    error: str | None
    started_at: datetime | None
    at: datetime
    seen: Sequence[str] | None
    """Of the results it saw, those of nodes that do not lead to it."""


@dataclass(frozen=True, slots=True)
class LoggedItem:
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
    created_at: datetime
    first_marked_at: datetime | None
    finalized_at: datetime | None
    seen: Sequence[str] | None
    """As of LoggedNode."""


async def show_executions(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, ids: Sequence[UUID]
) -> list[FoundExecution]:
    """Those of one shard and workspace that are there."""
    rows = await tx.fetch(_SQL["show_executions"], shard=shard, tenant=tenant, workspace=workspace, ids=ids)
    return [_execution(row) for row in rows]


async def list_executions(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    status: str | None,
    workflow_id: UUID | None,
    span: Span,
    limit: int,
) -> list[FoundExecution]:
    """One shard's executions, newest first; `status` is a stored one that has ended."""
    rows = await tx.fetch(
        _SQL["list_executions"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        status=status,
        workflow_id=workflow_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_execution(row) for row in rows]


async def list_live_executions(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    status: str,
    workflow_id: UUID | None,
    span: Span,
    limit: int,
) -> list[FoundExecution]:
    """One shard's executions that have not ended and are shown with this status, newest first."""
    rows = await tx.fetch(
        _SQL["list_live_executions"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        status=status,
        workflow_id=workflow_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_execution(row) for row in rows]


async def list_executions_of_contact(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    contact_id: UUID,
    status: str | None,
    workflow_id: UUID | None,
    span: Span,
    limit: int,
) -> list[FoundExecution]:
    """One shard's executions for a contact, newest first; `status` is one that is shown."""
    rows = await tx.fetch(
        _SQL["list_executions_of_contact"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        contact_id=contact_id,
        status=status,
        workflow_id=workflow_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_execution(row) for row in rows]


async def list_failed_executions(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    workflow_id: UUID | None,
    error: str | None,
    node: str | None,
    ids: Sequence[UUID] | None,
    span: Span,
    limit: int,
) -> list[FoundExecution]:
    """One shard's dead letters, newest first."""
    rows = await tx.fetch(
        _SQL["list_failed_executions"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        workflow_id=workflow_id,
        error=error,
        node=node,
        ids=ids,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_execution(row) for row in rows]


async def list_open_providers(tx: Tx, *, shard: Shard, ids: Sequence[UUID], now: datetime) -> list[tuple[UUID, str]]:
    """Each execution with the provider of each of its items that are due."""
    rows = await tx.fetch(_SQL["list_open_providers"], shard=shard, ids=ids, now=now)
    return [(row["execution_id"], row["provider"]) for row in rows]


async def list_execution_log(tx: Tx, *, shard: Shard, execution_id: UUID) -> list[LoggedNode]:
    """What the nodes that are not sends did, in order."""
    rows = await tx.fetch(_SQL["list_execution_log"], shard=shard, execution_id=execution_id)
    return [
        LoggedNode(
            node=row["node"],
            status=row["status"],
            saw=row["saw"],
            output=row["output"],
            error=row["error"],
            started_at=row["started_at"],
            at=row["at"],
            seen=row["seen"],
        )
        for row in rows
    ]


async def list_execution_items(tx: Tx, *, shard: Shard, execution_id: UUID) -> list[LoggedItem]:
    """Every item of an execution, in the order they were reserved."""
    rows = await tx.fetch(_SQL["list_execution_items"], shard=shard, execution_id=execution_id)
    return [_item(row) for row in rows]


async def list_execution_attempts(tx: Tx, *, shard: Shard, execution_id: UUID) -> Mapping[UUID, list[ShownAttempt]]:
    """What went wrong with each item of an execution, in order."""
    rows = await tx.fetch(_SQL["list_execution_attempts"], shard=shard, execution_id=execution_id)
    found: dict[UUID, list[ShownAttempt]] = {}
    for row in rows:
        attempt = ShownAttempt(row["attempt"], row["outcome"], row["error"], row["started_at"], row["ended_at"])
        found.setdefault(row["item_id"], []).append(attempt)
    return found


def _execution(row: Row) -> FoundExecution:
    return FoundExecution(
        id=row["id"],
        workflow_id=row["workflow_id"],
        workflow_name=row["workflow_name"],
        version_id=row["version_id"],
        version=row["number"],
        total_steps=row["total_steps"],
        status=ShownStatus(row["status"]),
        cursor=row["cursor"],
        input=row["input"],
        vars=row["vars"],
        attempts=row["attempts"],
        error=row["error"],
        error_node=row["error_node"],
        triggered_by=row["triggered_by"],
        idempotency_key=row["idempotency_key"],
        contact_id=row["contact_id"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        due_at=row["due_at"],
        leased=bool(row["leased"]),
        stop=row["stop"],
    )


def _item(row: Row) -> LoggedItem:
    return LoggedItem(
        id=row["id"],
        node=row["node"],
        ordinal=row["ordinal"],
        channel=row["channel"],
        provider=row["provider"],
        recipient=row["recipient"],
        payload=row["payload"],
        status=row["status"],
        in_doubt=row["in_doubt"],
        attempts=row["attempts"],
        message_id=row["provider_message_id"],
        error=row["error"],
        result=row["result"],
        created_at=row["created_at"],
        first_marked_at=row["first_marked_at"],
        finalized_at=row["finalized_at"],
        seen=row["seen"],
    )
