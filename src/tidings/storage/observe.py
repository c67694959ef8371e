"""Read what a person wants to see; the only module that views, metrics and commands read through. Never writes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Lane
from tidings.domain.words import ShownStatus
from tidings.storage.database import Tx
from tidings.storage.resolve import FoundItem, found_item
from tidings.storage.statements import load
from tidings.views.executions import Attempt
from tidings.views.outbox import HistoryLine

_SQL = load("observe")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which items to list."""

    status: ItemStatus | None = None
    in_doubt: bool | None = None
    run_id: UUID | None = None
    execution_id: UUID | None = None
    before: UUID | None = None


@dataclass(frozen=True, slots=True)
class StoredExecution:
    """An execution as it is stored, with its place in the queue; resources/ has what people see."""

    id: UUID
    tenant: str
    workspace: str
    workflow_id: UUID
    version_id: UUID
    idempotency_key: str
    status: ExecutionStatus
    cursor: str | None
    input: Json
    vars: Json
    attempts: int
    error: str | None
    error_node: str | None
    triggered_by: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    leased: bool
    stop: str | None


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run as a person sees it."""

    id: UUID
    tenant: str
    workspace: str
    campaign_id: UUID
    channel: str
    provider: str
    status: RunStatus
    paused: bool
    cancelled: bool
    planned: int | None
    retry_of: UUID | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """How much a lane holds."""

    live: int
    due: int
    leased: int


async def list_items(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, where: ItemFilter, limit: int
) -> list[FoundItem]:
    """One shard's items, newest first."""
    rows = await tx.fetch(
        _SQL["list_items"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        status=where.status,
        in_doubt=where.in_doubt,
        run_id=where.run_id,
        execution_id=where.execution_id,
        before=where.before,
        limit=limit,
    )
    return [found_item(row) for row in rows]


async def list_doubtful_items(tx: Tx, *, shard: Shard, tenant: str, workspace: str, limit: int) -> list[FoundItem]:
    """One shard's items in doubt, oldest first."""
    rows = await tx.fetch(_SQL["list_doubtful_items"], shard=shard, tenant=tenant, workspace=workspace, limit=limit)
    return [found_item(row) for row in rows]


async def count_doubtful_items(tx: Tx, *, shard: Shard, run_id: UUID) -> int:
    """How many of a run's items in one shard are in doubt."""
    row = await tx.fetch_one(_SQL["count_doubtful_items"], shard=shard, run_id=run_id)
    return row["items"] if row else 0


async def find_execution(tx: Tx, *, shard: Shard, id: UUID) -> StoredExecution | None:
    """One execution, if there is one."""
    row = await tx.fetch_one(_SQL["find_execution"], shard=shard, id=id)
    if row is None:
        return None
    return StoredExecution(
        id=row["id"],
        tenant=row["tenant_id"],
        workspace=row["workspace_id"],
        workflow_id=row["workflow_id"],
        version_id=row["version_id"],
        idempotency_key=row["idempotency_key"],
        status=ExecutionStatus(row["status"]),
        cursor=row["cursor"],
        input=row["input"],
        vars=row["vars"],
        attempts=row["attempts"],
        error=row["error"],
        error_node=row["error_node"],
        triggered_by=row["triggered_by"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        due_at=row["due_at"],
        leased=bool(row["leased"]),
        stop=row["stop"],
    )


async def find_run(tx: Tx, *, shard: Shard, id: UUID) -> ShownRun | None:
    """One run, if there is one."""
    row = await tx.fetch_one(_SQL["find_run"], shard=shard, id=id)
    if row is None:
        return None
    return ShownRun(
        id=row["id"],
        tenant=row["tenant_id"],
        workspace=row["workspace_id"],
        campaign_id=row["campaign_id"],
        channel=row["channel"],
        provider=row["provider"],
        status=RunStatus(row["status"]),
        paused=row["paused"],
        cancelled=row["cancelled"],
        planned=row["planned"],
        retry_of=row["retry_of"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
    )


@_SQL.statement
async def list_attempts(tx: Tx, *, shard: Shard, item_id: UUID) -> list[Attempt]:
    """What went wrong with one item, in order."""


@_SQL.statement
async def list_audit(tx: Tx, *, shard: Shard, subject_id: UUID) -> list[HistoryLine]:
    """What was done to one thing, in order."""


async def count_queue(tx: Tx, *, shard: Shard, now: datetime) -> Mapping[Lane, LaneLoad]:
    """How much each lane of one shard holds."""
    rows = await tx.fetch(_SQL["count_queue"], shard=shard, now=now)
    return {Lane(row["lane"]): LaneLoad(row["live"], row["due"], row["leased"]) for row in rows}


async def count_items(tx: Tx, *, shard: Shard) -> Sequence[tuple[ItemStatus, bool, int]]:
    """One shard's items by status and doubt."""
    rows = await tx.fetch(_SQL["count_items"], shard=shard)
    return [(ItemStatus(row["status"]), row["in_doubt"], row["items"]) for row in rows]


async def count_executions(tx: Tx, *, shard: Shard) -> Mapping[ShownStatus, int]:
    """One shard's executions by the state that people see."""
    rows = await tx.fetch(_SQL["count_executions"], shard=shard)
    sums = Counter[ShownStatus]()
    for row in rows:
        sums[ShownStatus(row["status"])] += row["executions"]
    return +sums  # without those that nothing is in
