"""Read what a person wants to see; the only module that views, metrics and commands read through. Never writes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Lane
from tidings.domain.words import ShownStatus
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.executions import Attempt

_SQL = load("observe")
Json = Mapping[str, object]


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
class AuditEntry:
    """One line of history."""

    event: str
    actor: str
    detail: Json
    at: datetime


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """How much a lane holds."""

    live: int
    due: int
    leased: int


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


async def list_audit(tx: Tx, *, shard: Shard, subject_id: UUID) -> list[AuditEntry]:
    """What was done to one thing, in order."""
    rows = await tx.fetch(_SQL["list_audit"], shard=shard, subject_id=subject_id)
    return [AuditEntry(row["event"], row["actor"], row["detail"], row["at"]) for row in rows]


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
