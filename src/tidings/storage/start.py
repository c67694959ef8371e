"""Write what starts work: executions, runs and the people of a run. Reached from kernel/start/trigger.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.keys import key_hashes
from tidings.domain.flow.queue import Lane
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("start")
Json = Mapping[str, object]


@_SQL.statement
async def start_executions(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    workspace_hash: int,
    workflow_id: UUID,
    version_id: UUID,
    frontier: Json,
    cursor: str,
    triggered_by: str | None,
    ids: Sequence[UUID],
    keys: Sequence[str],
    hashes: Sequence[bytes],
    workspace_hashes: Sequence[bytes],
    inputs: Sequence[Json],
    contact_ids: Sequence[UUID | None],
    now: datetime,
    lane: Lane,
    due_at: datetime,
) -> Mapping[str, UUID]:
    """Insert the executions whose key is free, and make them due; return their ids by key. Commits alone."""


async def find_executions_by_key(
    tx: Tx, *, shard: Shard, workspace: Workspace, workflow_id: UUID, keys: Sequence[str]
) -> Mapping[str, UUID]:
    """The ids of executions that took these keys, by key."""
    hashes = key_hashes(workspace, str(workflow_id), keys)
    given = {"shard": shard, "tenant": workspace.tenant, "workspace": workspace.name, "keys": keys, "hashes": hashes}
    rows = await tx.fetch(_SQL["find_executions_by_key"], workflow_id=workflow_id, **given)
    return {row["idempotency_key"]: row["id"] for row in rows}


async def find_correlated_executions(
    tx: Tx, *, shard: Shard, workspace: Workspace, keys: Sequence[str]
) -> Mapping[str, UUID]:
    """The ids of executions that took these keys for the whole workspace, by key."""
    hashes = key_hashes(workspace, "", keys)
    given = {"shard": shard, "tenant": workspace.tenant, "workspace": workspace.name, "keys": keys, "hashes": hashes}
    rows = await tx.fetch(_SQL["find_correlated_executions"], **given)
    return {row["idempotency_key"]: row["id"] for row in rows}


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be started, with everything it will need of its campaign."""

    id: UUID
    campaign_id: UUID
    key: str
    channel: str
    provider: str
    content_id: str
    content: Json
    source: str
    scheduled_for: datetime | None = None
    rate_per_minute: int | None = None
    retry_of: UUID | None = None
    audience: Json | None = None
    retry_where: Json | None = None
    data: Json = field(default_factory=dict)
    send_hour: int | None = None
    time_zone: str = "contact"
    max_lateness: timedelta | None = None
    is_test: bool = False


async def insert_run(tx: Tx, *, shard: Shard, tenant: str, workspace: str, run: NewRun, now: datetime) -> bool:
    """Insert a run unless its key is taken; return whether it was inserted."""
    given = {each.name: getattr(run, each.name) for each in fields(run)}
    row = await tx.fetch_one(_SQL["insert_run"], shard=shard, tenant=tenant, workspace=workspace, now=now, **given)
    return row is not None


async def find_run_by_key(tx: Tx, *, shard: Shard, tenant: str, workspace: str, key: str) -> UUID | None:
    """The run that took the key, if any."""
    row = await tx.fetch_one(_SQL["find_run_by_key"], shard=shard, tenant=tenant, workspace=workspace, key=key)
    return row["id"] if row else None


@_SQL.statement
async def last_retry(tx: Tx, *, shard: Shard, id: UUID) -> UUID | None:
    """The last run that tried a run's failed items again, if any."""


async def take_retry(tx: Tx, *, shard: Shard, id: UUID, after: UUID | None, retry_id: UUID) -> bool:
    """Make a run the last retry of another; False when that is no longer the one that was read."""
    return await tx.fetch_one(_SQL["take_retry"], shard=shard, id=id, after=after, retry_id=retry_id) is not None


@_SQL.statement
async def insert_audience(
    tx: Tx,
    *,
    shard: Shard,
    run_id: UUID,
    ordinals: Sequence[int],
    recipients: Sequence[str],
    data: Sequence[Json],
    contact_ids: Sequence[UUID | None],
) -> None:
    """Add people to one shard's part of a run."""


@_SQL.statement
async def delete_audience(tx: Tx, *, shard: Shard, run_id: UUID) -> None:
    """Remove one shard's part of a run that never came to be."""


@_SQL.statement
async def insert_run_part(tx: Tx, *, shard: Shard, run_id: UUID) -> None:
    """Open one shard's part of a run."""


@_SQL.statement
async def enqueue_run(tx: Tx, *, shard: Shard, lane: Lane, due_at: datetime, id: UUID) -> None:
    """Make a new run due."""
