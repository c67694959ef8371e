"""Runs: watch and control them, with counts that add up, and end doubt in bulk.

Only the engine changes a run's status (kernel/campaigns/rollup.py); requests made here are in the audit log.
run_retry.py tries failed items again, run_trace.py reads a whole run.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec.structs import asdict, replace

from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import JobCounts, RunStatus
from tidings.domain.errors import Conflict, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.flow.readiness import LIVE_FOR, is_printing
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, newest_first, oldest_first
from tidings.domain.timing import format_duration
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.observe import show_history
from tidings.kernel.manage.resolve import Resolution, resolve_item, stop_run
from tidings.kernel.readiness import staff_of
from tidings.resources.outbox import Outbox, OutboxFilter
from tidings.resources.pages import ListInShard, newest_in_all_shards, oldest_in_all_shards
from tidings.resources.run_retry import RetryFilter, plan_retry, start_retry
from tidings.resources.run_trace import TraceFilter, trace
from tidings.resources.waiting import PATIENCE
from tidings.storage import runs, workers
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.names import name_definitions
from tidings.storage.runs import Doubt, FoundJob, FoundJobChange, FoundRun
from tidings.views.outbox import HistoryLine, Item, Resolved
from tidings.views.pages import Page
from tidings.views.runs import Counts, Job, JobHistoryLine, Retry, Run, StartedRun, TraceLine

__all__ = ["RetryFilter", "Runs", "TraceFilter"]

RESOLVE_BATCH = 1_000
CANCELLED_BEFORE = (
    "this run was cancelled, and deploying the same again answers it; to start a new run, give a key that was "
    "not used before (--key, idempotencyKey)"
)
Shown = list[Run]
History = list[HistoryLine]


@for_caller
class Runs:
    """The runs of every workspace; a run of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._outbox = Outbox(kernel)

    async def get(self, workspace: Workspace, id: UUID) -> Run:
        """Return one run with its counts, or raise NotFound."""
        now = await self._kernel.clock.now()
        async with self._kernel.db.transaction(snapshot=True) as tx:
            found = await runs.show_runs(tx, shard=self._kernel.shard_of(id), workspace=workspace, ids=[id])
            if not found:
                raise NotFound(f"there is no run {id}")
            [shown] = await self._shown(tx, workspace, found, now)
        return shown

    async def list(
        self,
        workspace: Workspace,
        *,
        campaign_id: UUID | None = None,
        status: RunStatus | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Run]:
        """Return runs, newest first."""
        list_in_shard: ListInShard[FoundRun] = partial(runs.list_runs, status=status)
        if campaign_id is not None:
            list_in_shard = partial(runs.list_runs_of_campaign, campaign_id=campaign_id, status=status)
        span = newest_first(cursor, created)
        page = await newest_in_all_shards(self._kernel, workspace, list_in_shard, span=span, limit=limit)
        now = await self._kernel.clock.now()
        async with self._kernel.db.transaction(snapshot=True) as tx:
            return Page(await self._shown(tx, workspace, page.items, now), page.next_cursor)

    async def jobs(
        self,
        workspace: Workspace,
        id: UUID,
        *,
        open_only: bool = False,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Job]:
        """Return the jobs of a run, in the order they were written."""
        await self.get(workspace, id)
        find = partial(runs.list_jobs, run_id=id, open_only=open_only)
        page = await oldest_in_all_shards(self._kernel, find, span=oldest_first(cursor, created), limit=limit)
        return Page([_shown_job(one) for one in page.items], page.next_cursor)

    async def items(
        self,
        workspace: Workspace,
        id: UUID,
        where: OutboxFilter | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Item]:
        """Return the items of a run, newest first."""
        await self.get(workspace, id)
        given = where or OutboxFilter()
        asked = OutboxFilter(given.status, given.channel, given.in_doubt, run_id=id)
        return await self._outbox.list(workspace, asked, limit=limit, created=created, cursor=cursor)

    async def history(self, workspace: Workspace, id: UUID) -> History:
        """Return every change of a run's state and every person's action on it."""
        await self.get(workspace, id)
        return await show_history(self._kernel, id)

    async def job_history(
        self,
        workspace: Workspace,
        id: UUID,
        *,
        job_id: UUID | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[JobHistoryLine]:
        """Return every change of the state of a run's jobs, or of one of them, in the order it happened."""
        await self.get(workspace, id)
        find = partial(runs.list_job_history, run_id=id, job_id=job_id)
        page = await oldest_in_all_shards(self._kernel, find, span=oldest_first(cursor, created), limit=limit)
        return Page([_shown_change(one) for one in page.items], page.next_cursor)

    async def trace(
        self, workspace: Workspace, id: UUID, where: TraceFilter | None = None
    ) -> AsyncIterator[Sequence[TraceLine]]:
        """Yield everything about a run, job by job, some hundred lines at a time, so that it needs little memory."""
        run = await self.get(workspace, id)
        async for lines in trace(self._kernel, run.id, run.campaign_id, run.status, where or TraceFilter()):
            yield lines

    async def changes(self, workspace: Workspace, id: UUID, *, poll_seconds: float = 0.5) -> AsyncIterator[Run]:
        """Yield the run now, again whenever it has changed, and a last time when it has ended."""
        shown = await self.get(workspace, id)
        yield shown
        while not shown.has_ended:
            await asyncio.sleep(poll_seconds)
            last, shown = shown, await self.get(workspace, id)
            if shown != last:
                yield shown

    async def pause(self, caller: Caller, id: UUID) -> Run:
        """Stop sending for a run until it is resumed."""
        return await self._stop(caller, id, Stop.PAUSE)

    async def resume(self, caller: Caller, id: UUID) -> Run:
        """Let a paused run go on."""
        return await self._stop(caller, id, None)

    async def cancel(self, caller: Caller, id: UUID) -> Run:
        """Skip every item of a run that has not been called yet."""
        return await self._stop(caller, id, Stop.CANCEL)

    async def plan_retry(self, workspace: Workspace, id: UUID, where: RetryFilter) -> Retry:
        """Return what a retry would send again, without doing it."""
        await self.get(workspace, id)
        return await plan_retry(self._kernel, workspace, id, where)

    async def retry(self, caller: Caller, id: UUID, where: RetryFilter, *, idempotency_key: str | None = None) -> Retry:
        """Start a run of the failed items that match; return also whether this key had started it before."""
        await self.get(caller.workspace, id)
        started, plan = await start_retry(self._kernel, caller, id, where, idempotency_key)
        run = await self.get(caller.workspace, started.id)
        return replace(plan, dry_run=False, run=run, duplicate=started.duplicate)

    async def resolve(
        self, caller: Caller, id: UUID, outcome: Resolution, note: str, ids: Sequence[UUID] | None = None
    ) -> Resolved:
        """End the doubt about every item of a run that is in doubt, or only about the named ones."""
        await self.get(caller.workspace, id)
        tried: set[UUID] = set()
        done: Counter[bool] = Counter()
        cursor: str | None = None
        while True:
            where = OutboxFilter(in_doubt=True, run_id=id)
            page = await self._outbox.list(caller.workspace, where, limit=RESOLVE_BATCH, cursor=cursor)
            for item in page.items:
                if item.id not in tried and (ids is None or item.id in ids):
                    tried.add(item.id)
                    done[await self._resolve_one(caller, item.id, outcome, note)] += 1
            cursor = page.next_cursor
            if cursor is None:
                return Resolved(resolved=done[True], refused=done[False])

    async def _resolve_one(self, caller: Caller, id: UUID, outcome: Resolution, note: str) -> bool:
        try:
            await resolve_item(self._kernel, caller, id, outcome, note)
        except Conflict:
            return False
        return True

    async def _stop(self, caller: Caller, id: UUID, stop: Stop | None) -> Run:
        await stop_run(self._kernel, caller, id, stop)
        return await self.get(caller.workspace, id)

    async def _shown(self, tx: Tx, workspace: Workspace, found: Sequence[FoundRun], now: datetime) -> Shown:
        ids = [one.id for one in found]
        campaigns = await name_definitions(tx, tenant=workspace.tenant, ids=[one.campaign_id for one in found])
        counts = {id: JobCounts(0) for id in ids}
        doubts = {id: Doubt(0, None) for id in ids}
        jobs: Counter[UUID] = Counter()
        for shard in self._kernel.every_shard() if ids else ():
            for id, found_jobs in (await runs.sum_jobs_of_runs(tx, shard=shard, run_ids=ids)).items():
                jobs[id] += found_jobs.jobs
                counts[id] += found_jobs.counts
            for id, doubt in (await runs.sum_doubt_of_runs(tx, shard=shard, run_ids=ids)).items():
                doubts[id] = _both(doubts[id], doubt)
        reasons = await _why_they_wait(tx, found, now)
        return [
            _shown_run(
                one,
                counts[one.id],
                doubts[one.id],
                jobs=jobs[one.id],
                campaign=campaigns.get(one.campaign_id),
                waiting=reasons.get(one.id),
            )
            for one in found
        ]


async def _why_they_wait(tx: Tx, found: Sequence[FoundRun], now: datetime) -> Mapping[UUID, str]:
    """Return, for runs that should go on, why no worker can do what is left; looks at the workers once."""
    going_on = [one for one in found if _is_going_on(one, now)]
    if not going_on:
        return {}
    staff = staff_of(await workers.list_workers(tx, since=now - LIVE_FOR))
    idle = staff.lack_of_lane(Lane.RUNS, Lane.CAMPAIGNS)
    reasons = {one.id: idle or staff.lack_of(one.provider, Lane.CAMPAIGNS) for one in going_on}
    return {id: reason for id, reason in reasons.items() if reason}


def _is_going_on(run: FoundRun, now: datetime) -> bool:
    is_open = run.ended_at is None and not (run.paused or run.cancelled)
    return is_open and now - max(run.created_at, run.scheduled_for or run.created_at) >= PATIENCE


def _both(one: Doubt, other: Doubt) -> Doubt:
    since = min((at for at in (one.since, other.since) if at), default=None)
    return Doubt(one.items + other.items, since)


def started_run(run: Run, *, duplicate: bool) -> StartedRun:
    """Return the answer to a deploy, with a note for the caller if the run existed before."""
    note = CANCELLED_BEFORE if duplicate and run.cancelled else None
    return StartedRun(**asdict(run), duplicate=duplicate, note=note)


def _shown_run(
    run: FoundRun, counts: JobCounts, doubt: Doubt, *, jobs: int, campaign: str | None, waiting: str | None
) -> Run:
    if counts.open == doubt.items and run.planned is not None:
        waiting = None  # nothing is left that a worker could do
    return Run(
        id=run.id,
        campaign_id=run.campaign_id,
        campaign_name=campaign,
        channel=run.channel,
        provider=run.provider,
        status=run.status,
        status_text=_status_text(run, doubt, waiting),
        paused=run.paused,
        cancelled=run.cancelled,
        planning=run.planned is None and not run.ended_at,
        retry_of=run.retry_of,
        test=run.is_test,
        counts=_shown_counts(counts, doubt),
        jobs=jobs,
        in_doubt_since=doubt.since,
        scheduled_for=run.scheduled_for,
        send_hour=run.send_hour,
        rate=run.rate,
        max_lateness=None if run.max_lateness is None else format_duration(run.max_lateness),
        idempotency_key=run.idempotency_key,
        created_at=run.created_at,
        started_at=run.started_at,
        completed_at=run.ended_at,
        printed=is_printing(run.provider),
        waiting=waiting,
    )


def _shown_counts(counts: JobCounts, doubt: Doubt) -> Counts:
    return Counts(**asdict(counts), queued=counts.open - doubt.items, in_doubt=doubt.items)


def _shown_job(job: FoundJob) -> Job:
    return Job(
        id=job.id,
        run_id=job.run_id,
        job_type=job.job_type,
        status=job.status,
        attempts=job.attempts,
        counts=job.counts,
        error=job.error,
        available_at=None if job.leased else job.due_at,
        created_at=job.created_at,
        started_at=job.started_at,
        completed_at=job.ended_at,
    )


def _shown_change(change: FoundJobChange) -> JobHistoryLine:
    return JobHistoryLine(
        event=change.event, actor=change.actor, detail=change.detail, at=change.at, job_id=change.job_id
    )


def _status_text(run: FoundRun, doubt: Doubt, waiting: str | None) -> str:
    words: list[str] = [run.status]
    if run.cancelled:
        words.append("cancelled")
    elif run.paused:
        words.append("paused")
    if run.planned is None and run.started_at and not run.ended_at:
        words.append("planning")
    if doubt.items:
        words.append(f"{doubt.items:,} in doubt")
    if is_printing(run.provider):
        words.append("printed, not sent")
    if waiting:
        words.append(f"waiting: {waiting}")
    return ", ".join(words)
