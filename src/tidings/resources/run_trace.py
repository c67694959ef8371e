"""Read a whole run, job by job, without holding it in memory: as a trace, or as CSV."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.item import ItemStatus
from tidings.domain.paging import EVERYTHING, Span, next_id
from tidings.kernel.kernel import Kernel
from tidings.storage import runs
from tidings.storage.runs import FoundJob
from tidings.views.outbox import Item
from tidings.views.runs import TraceLine

JOBS_AT_ONCE = 2
"""The number of jobs read at once: about a thousand items."""
_STEERING = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class TraceFilter:
    """Which items; every condition that is given must hold."""

    status: ItemStatus | None = None
    in_doubt: bool | None = None
    job_id: UUID | None = None


COLUMNS = TraceLine.__struct_fields__


async def trace(
    kernel: Kernel, run_id: UUID, campaign_id: UUID, run_status: RunStatus, where: TraceFilter
) -> AsyncIterator[Sequence[TraceLine]]:
    """Yield the lines of a run, some hundred at a time."""
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


def _line(campaign_id: UUID, run_status: RunStatus, job: FoundJob, item: Item) -> TraceLine:
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
    """Return the first line of an export."""
    return _csv([COLUMNS])


def csv_lines(lines: Iterable[TraceLine]) -> str:
    """Return lines of an export; no program that opens it takes a cell for a formula."""
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
