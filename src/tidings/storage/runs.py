"""Runs and their jobs as people list and show them. Reached from resources/runs.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.campaigns.run import Counts, JobStatus, RunStatus, Source
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Channel
from tidings.domain.paging import Span
from tidings.storage.database import Row, Tx
from tidings.storage.items import ShownItem, shown_item
from tidings.storage.statements import load

_SQL = load("runs")


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run as it is stored, without its counts: those are the sums of its jobs."""

    id: UUID
    campaign_id: UUID
    idempotency_key: str
    channel: Channel
    provider: str
    content_id: str
    content: Mapping[str, str]
    scheduled_for: datetime | None
    rate: int | None
    status: RunStatus
    paused: bool
    cancelled: bool
    planned: int | None
    retry_of: UUID | None
    source: Source
    data: Mapping[str, object]
    send_hour: int | None
    max_lateness: timedelta | None
    is_test: bool
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Doubt:
    """Items in doubt, and since when the first of them is."""

    items: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A batch of a run's items as a person sees it."""

    id: UUID
    run_id: UUID
    job_type: str
    status: JobStatus
    attempts: int
    counts: Counts
    error: str | None
    available_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobEntry:
    """A change of a job's state."""

    id: UUID
    job_id: UUID
    event: str
    actor: str
    detail: Mapping[str, object]
    at: datetime


async def show_runs(tx: Tx, *, shard: Shard, tenant: str, workspace: str, ids: Sequence[UUID]) -> list[FoundRun]:
    """Runs by id."""
    rows = await tx.fetch(_SQL["show_runs"], shard=shard, tenant=tenant, workspace=workspace, ids=ids)
    return [_run(row) for row in rows]


async def list_runs(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, status: str | None, span: Span, limit: int
) -> list[FoundRun]:
    """Runs, newest first."""
    rows = await tx.fetch(
        _SQL["list_runs"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        status=status,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_run(row) for row in rows]


async def list_runs_of_campaign(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    campaign_id: UUID,
    status: str | None,
    span: Span,
    limit: int,
) -> list[FoundRun]:
    """Runs of one campaign, newest first."""
    rows = await tx.fetch(
        _SQL["list_runs_of_campaign"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        campaign_id=campaign_id,
        status=status,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_run(row) for row in rows]


async def sum_jobs_of_runs(tx: Tx, *, shard: Shard, run_ids: Sequence[UUID]) -> Mapping[UUID, tuple[int, Counts]]:
    """How many jobs runs have in one shard, and what has become of their items."""
    rows = await tx.fetch(_SQL["sum_jobs_of_runs"], shard=shard, run_ids=run_ids)
    return {row["run_id"]: (row["jobs"], _counts(row)) for row in rows}


async def sum_doubt_of_runs(tx: Tx, *, shard: Shard, run_ids: Sequence[UUID]) -> Mapping[UUID, Doubt]:
    """What of runs is in doubt in one shard."""
    rows = await tx.fetch(_SQL["sum_doubt_of_runs"], shard=shard, run_ids=run_ids)
    return {row["run_id"]: Doubt(row["items"], row["since"]) for row in rows}


async def list_jobs(
    tx: Tx, *, shard: Shard, run_id: UUID, span: Span, limit: int, open_only: bool = False
) -> list[ShownJob]:
    """Jobs of a run in one shard, oldest first; perhaps only those that have not ended."""
    rows = await tx.fetch(
        _SQL["list_jobs"],
        shard=shard,
        run_id=run_id,
        since=span.since,
        before=span.before,
        limit=limit,
        open_only=open_only,
    )
    return [_job(row) for row in rows]


async def list_job_history(
    tx: Tx, *, shard: Shard, run_id: UUID, job_id: UUID | None, span: Span, limit: int
) -> list[JobEntry]:
    """What happened to the jobs of a run in one shard, oldest first."""
    rows = await tx.fetch(
        _SQL["list_job_history"],
        shard=shard,
        run_id=run_id,
        job_id=job_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [JobEntry(row["id"], row["job_id"], row["event"], row["actor"], row["detail"], row["at"]) for row in rows]


async def list_items_of_jobs(
    tx: Tx,
    *,
    shard: Shard,
    run_id: UUID,
    job_ids: Sequence[UUID],
    status: str | None,
    in_doubt: bool | None,
) -> list[ShownItem]:
    """Items of some jobs, job by job."""
    rows = await tx.fetch(
        _SQL["list_items_of_jobs"], shard=shard, run_id=run_id, job_ids=job_ids, status=status, in_doubt=in_doubt
    )
    return [shown_item(row) for row in rows]


def _counts(row: Row) -> Counts:
    return Counts(row["planned"], row["sent"], row["called"], row["posted"], row["failed"], row["skipped"])


def _job(row: Row) -> ShownJob:
    return ShownJob(
        id=row["id"],
        run_id=row["run_id"],
        job_type=row["job_type"],
        status=JobStatus(row["status"]),
        attempts=row["attempts"],
        counts=_counts(row),
        error=row["error"],
        available_at=None if row["leased"] else row["due_at"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        completed_at=row["ended_at"],
    )


def _run(row: Row) -> FoundRun:
    return FoundRun(
        id=row["id"],
        campaign_id=row["campaign_id"],
        idempotency_key=row["idempotency_key"],
        channel=Channel(row["channel"]),
        provider=row["provider"],
        content_id=row["content_id"],
        content=row["content"],
        scheduled_for=row["scheduled_for"],
        rate=row["rate_per_minute"],
        status=RunStatus(row["status"]),
        paused=row["paused"],
        cancelled=row["cancelled"],
        planned=row["planned"],
        retry_of=row["retry_of"],
        source=Source(row["source"]),
        data=row["data"],
        send_hour=row["send_hour"],
        max_lateness=row["max_lateness"],
        is_test=row["is_test"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
    )
