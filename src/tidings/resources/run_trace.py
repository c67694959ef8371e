"""Read a whole run, job by job, without holding it in memory: its trace, and the same as CSV."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.campaigns.run import JobStatus, RunStatus
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.paging import EVERYTHING, Span, next_id
from tidings.kernel.kernel import Kernel
from tidings.storage import runs
from tidings.storage.items import ShownItem
from tidings.storage.runs import ShownJob

JOBS_AT_ONCE = 2
"""How many jobs are read at once: about a thousand items."""
_STEERING = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class TraceFilter:
    """Which items; whatever is given must hold."""

    status: ItemStatus | None = None
    in_doubt: bool | None = None
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One item with its job and its run, named as in the view `campaign_trace`."""

    campaign_id: UUID
    run_id: UUID
    run_status: RunStatus
    job_id: UUID
    job_type: str
    job_status: JobStatus
    job_attempts: int
    outbox_id: UUID
    outbox_status: ItemStatus
    in_doubt: bool
    contact_id: UUID | None
    channel: Channel
    provider: str
    recipient: str
    attempts: int
    provider_message_id: str | None
    error: str | None
    created_at: datetime
    finalized_at: datetime | None


COLUMNS = tuple(field.name for field in fields(TraceLine))


async def trace(
    kernel: Kernel, run_id: UUID, campaign_id: UUID, run_status: RunStatus, where: TraceFilter
) -> AsyncIterator[Sequence[TraceLine]]:
    """The lines of a run, some hundred at a time."""
    for shard in kernel.every_shard():
        span = EVERYTHING
        while True:
            find = partial(runs.list_jobs, shard=shard, run_id=run_id, span=span, limit=JOBS_AT_ONCE)
            jobs = await kernel.db.persist(find, alone=True)
            wanted = {job.id: job for job in jobs if where.job_id in {None, job.id}}
            if wanted:
                read = partial(
                    runs.list_items_of_jobs,
                    shard=shard,
                    run_id=run_id,
                    job_ids=list(wanted),
                    status=where.status,
                    in_doubt=where.in_doubt,
                )
                items = await kernel.db.persist(read, alone=True)
                yield [_line(campaign_id, run_status, wanted[item.job_id], item) for item in items if item.job_id]
            if len(jobs) < JOBS_AT_ONCE:
                break
            span = Span(since=next_id(jobs[-1].id))


def _line(campaign_id: UUID, run_status: RunStatus, job: ShownJob, item: ShownItem) -> TraceLine:
    return TraceLine(
        campaign_id=campaign_id,
        run_id=job.run_id,
        run_status=run_status,
        job_id=job.id,
        job_type=job.job_type,
        job_status=job.status,
        job_attempts=job.attempts,
        outbox_id=item.id,
        outbox_status=item.status,
        in_doubt=item.in_doubt,
        contact_id=item.contact_id,
        channel=item.channel,
        provider=item.provider,
        recipient=item.recipient,
        attempts=item.attempts,
        provider_message_id=item.provider_message_id,
        error=item.error,
        created_at=item.created_at,
        finalized_at=item.finalized_at,
    )


def csv_header() -> str:
    """The first line of an export."""
    return _csv([COLUMNS])


def csv_lines(lines: Iterable[TraceLine]) -> str:
    """Lines of an export; no cell is taken for a formula by the program that opens it."""
    return _csv([[_cell(getattr(line, name)) for name in COLUMNS] for line in lines])


def _csv(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return f"'{text}" if text.startswith(_STEERING) else text
