"""Runs and their jobs as people list and show them. Reached from resources/runs.py. Never writes."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tidings.domain.campaigns.run import JobCounts, JobStatus, RunStatus, Source
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.outbox import Item

_SQL = load("runs")
Json = Mapping[str, object]


class FoundRun(Struct, frozen=True, kw_only=True):
    """A run as it is stored, without its counts: those are the sums of its jobs."""

    id: UUID
    campaign_id: UUID
    idempotency_key: str
    channel: Channel
    provider: str
    content_id: str
    content: Mapping[str, object]
    scheduled_for: datetime | None
    rate: int | None
    status: RunStatus
    paused: bool
    cancelled: bool
    planned: int | None
    retry_of: UUID | None
    source: Source
    data: Json
    send_hour: int | None
    max_lateness: timedelta | None
    is_test: bool
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class Doubt(Struct, frozen=True):
    """Items in doubt, and since when the first of them is."""

    items: int
    since: datetime | None


class CountedJobs(Struct, frozen=True, kw_only=True):
    """What has become of the items of a job, or of several."""

    planned: int
    sent: int
    called: int
    posted: int
    failed: int
    skipped: int

    @property
    def counts(self) -> JobCounts:
        """The counts alone."""
        return JobCounts(self.planned, self.sent, self.called, self.posted, self.failed, self.skipped)


class JobsOfRun(CountedJobs, frozen=True, kw_only=True):
    """How many jobs a run has in one shard, and what has become of their items."""

    jobs: int


class FoundJob(CountedJobs, frozen=True, kw_only=True):
    """A job with its place in the queue."""

    id: UUID
    run_id: UUID
    job_type: str
    status: JobStatus
    attempts: int
    error: str | None
    due_at: datetime | None
    leased: bool
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class FoundJobChange(Struct, frozen=True, kw_only=True):
    """A change of a job's state."""

    id: UUID
    job_id: UUID
    event: str
    actor: str
    detail: Json
    at: datetime


@_SQL.statement
async def show_runs(tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]) -> list[FoundRun]:
    """The runs of one shard and workspace with these ids, as far as they exist."""


@_SQL.statement
async def list_runs(
    tx: Tx, *, shard: Shard, workspace: Workspace, status: str | None, span: Span, limit: int
) -> list[FoundRun]:
    """One shard's runs, newest first."""


@_SQL.statement
async def list_runs_of_campaign(
    tx: Tx, *, shard: Shard, workspace: Workspace, campaign_id: UUID, status: str | None, span: Span, limit: int
) -> list[FoundRun]:
    """One shard's runs of a campaign, newest first."""


@_SQL.statement
async def sum_jobs_of_runs(tx: Tx, *, shard: Shard, run_ids: Sequence[UUID]) -> Mapping[UUID, JobsOfRun]:
    """How many jobs runs have in one shard, and what has become of their items."""


@_SQL.statement
async def sum_doubt_of_runs(tx: Tx, *, shard: Shard, run_ids: Sequence[UUID]) -> Mapping[UUID, Doubt]:
    """The items of runs that are in doubt in one shard."""


@_SQL.statement
async def list_jobs(
    tx: Tx, *, shard: Shard, run_id: UUID, span: Span, limit: int, open_only: bool = False
) -> list[FoundJob]:
    """Jobs of a run in one shard, oldest first; optionally only those that have not ended."""


@_SQL.statement
async def list_job_history(
    tx: Tx, *, shard: Shard, run_id: UUID, job_id: UUID | None, span: Span, limit: int
) -> list[FoundJobChange]:
    """The history of the jobs of a run in one shard, oldest first."""


@_SQL.statement
async def list_items_of_jobs(
    tx: Tx, *, shard: Shard, run_id: UUID, job_ids: Sequence[UUID], status: str | None, in_doubt: bool | None
) -> list[Item]:
    """Items of some jobs, job by job."""
