"""Runs as people watch and control them: counts that add up, pause, resume, cancel, and the end of doubt in bulk.

Only the engine changes a run's status (kernel/campaigns/rollup.py); what is asked for here is in the audit log.
run_retry.py tries the failed ones again, run_trace.py reads a whole run.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import partial
from heapq import merge
from typing import Protocol
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import OPEN_RUNS, Counts, RunStatus
from tidings.domain.errors import Conflict, NotFound
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.queue import Lane, Stop
from tidings.domain.flow.readiness import LIVE_FOR, is_printing
from tidings.domain.paging import (
    ANY_TIME,
    DEFAULT_LIMIT,
    Created,
    Span,
    check_limit,
    newest_first,
    oldest_first,
    page_of,
)
from tidings.kernel.calls.readiness import staff_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.observe import show_history
from tidings.kernel.manage.resolve import Resolution, resolve_item, stop_run
from tidings.resources.outbox import Outbox, OutboxFilter
from tidings.resources.run_retry import RetryFilter, RetryPlan, plan_retry, start_retry
from tidings.resources.run_trace import TraceFilter, TraceLine, trace
from tidings.resources.waiting import PATIENCE
from tidings.storage import runs, workers
from tidings.storage.database import Tx
from tidings.storage.items import ShownItem
from tidings.storage.names import name_definitions
from tidings.storage.observe import AuditEntry
from tidings.storage.runs import Doubt, FoundRun, JobEntry, ShownJob
from tidings.views.pages import Page

__all__ = [
    "JobEntry",
    "Resolved",
    "RetryFilter",
    "RetryPlan",
    "RunCounts",
    "Runs",
    "ShownJob",
    "ShownRun",
    "TraceFilter",
    "TraceLine",
]

RESOLVE_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class RunCounts:
    """planned = queued + sent + called + posted + failed + skipped + in_doubt, at every moment."""

    planned: int
    queued: int
    sent: int
    called: int
    posted: int
    failed: int
    skipped: int
    in_doubt: int


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run as a person sees it."""

    id: UUID
    campaign_id: UUID
    campaign_name: str | None
    """None for one that a program deployed without a stored campaign."""
    channel: Channel
    provider: str
    status: RunStatus
    status_text: str
    """What the status alone would hide: `running, 3 in doubt`, `paused`, `planning`."""
    paused: bool
    cancelled: bool
    planning: bool
    """Whether its people are still being turned into items; `counts` has those that are."""
    retry_of: UUID | None
    test: bool
    counts: RunCounts
    jobs: int
    in_doubt_since: datetime | None
    scheduled_for: datetime | None
    send_hour: int | None
    rate: int | None
    max_lateness: timedelta | None
    idempotency_key: str
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    printed: bool
    """Whether its messages are only printed, because that was asked for."""
    waiting: str | None
    """Why nobody can do what is left of it: `no worker serves smtp`, say."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.status not in OPEN_RUNS

    @property
    def repeat_note(self) -> str | None:
        """What whoever deploys again must know, when this run is the answer."""
        if not self.cancelled:
            return None
        return (
            "this run was cancelled, and deploying the same again answers it; to start a new run, give a key that was "
            "not used before (--key, idempotencyKey)"
        )


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of the items in doubt that a person decided about."""

    resolved: int
    refused: int
    """Of which a call was in the air, or whose doubt had ended by itself."""


Shown = list[ShownRun]
History = list[AuditEntry]


class _ListInShard(Protocol):
    async def __call__(
        self, tx: Tx, *, shard: Shard, tenant: str, workspace: str, span: Span, limit: int
    ) -> list[FoundRun]: ...


class Runs:
    """The runs of every workspace; what is another's is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._outbox = Outbox(kernel)

    async def get(self, workspace: Workspace, id: UUID) -> ShownRun:
        """One run with its counts, or NotFound."""
        now = await self._kernel.clock.now()
        async with self._kernel.db.transaction(snapshot=True) as tx:
            found = await runs.show_runs(
                tx, shard=self._kernel.shard_of(id), tenant=workspace.tenant, workspace=workspace.name, ids=[id]
            )
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
    ) -> Page[ShownRun]:
        """Runs, newest first: one query in each shard, merged by id."""
        check_limit(limit)
        list_in_shard: _ListInShard = partial(runs.list_runs, status=status)
        if campaign_id is not None:
            list_in_shard = partial(runs.list_runs_of_campaign, campaign_id=campaign_id, status=status)
        find = partial(
            list_in_shard,
            tenant=workspace.tenant,
            workspace=workspace.name,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        now = await self._kernel.clock.now()
        async with self._kernel.db.transaction(snapshot=True) as tx:
            shards = [await find(tx, shard=shard) for shard in self._kernel.every_shard()]
            found = [*merge(*shards, key=lambda one: one.id, reverse=True)]
            shown = await self._shown(tx, workspace, found[: limit + 1], now)
        return page_of(shown, limit, lambda one: one.id)

    async def jobs(
        self,
        workspace: Workspace,
        id: UUID,
        *,
        open_only: bool = False,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownJob]:
        """The jobs of a run, in the order they were written."""
        check_limit(limit)
        await self.get(workspace, id)
        find = partial(
            runs.list_jobs, run_id=id, span=oldest_first(cursor, created), limit=limit + 1, open_only=open_only
        )
        shards = await asyncio.gather(
            *(self._kernel.db.persist(partial(find, shard=shard), alone=True) for shard in self._kernel.every_shard())
        )
        found = [*merge(*shards, key=lambda one: one.id)]
        return page_of(found[: limit + 1], limit, lambda one: one.id)

    async def items(
        self,
        workspace: Workspace,
        id: UUID,
        where: OutboxFilter | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownItem]:
        """The items of a run, newest first."""
        await self.get(workspace, id)
        given = where or OutboxFilter()
        asked = OutboxFilter(given.status, given.channel, given.in_doubt, run_id=id)
        return await self._outbox.list(workspace, asked, limit=limit, created=created, cursor=cursor)

    async def history(self, workspace: Workspace, id: UUID) -> History:
        """Every change of a run's state and every person's action on it."""
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
    ) -> Page[JobEntry]:
        """Every change of the state of a run's jobs, or of one of them, in the order it happened."""
        check_limit(limit)
        await self.get(workspace, id)
        find = partial(
            runs.list_job_history, run_id=id, job_id=job_id, span=oldest_first(cursor, created), limit=limit + 1
        )
        shards = await asyncio.gather(
            *(self._kernel.db.persist(partial(find, shard=shard), alone=True) for shard in self._kernel.every_shard())
        )
        found = [*merge(*shards, key=lambda one: one.id)]
        return page_of(found[: limit + 1], limit, lambda one: one.id)

    async def trace(
        self, workspace: Workspace, id: UUID, where: TraceFilter | None = None
    ) -> AsyncIterator[Sequence[TraceLine]]:
        """Everything about a run, job by job and some hundred lines at a time; however large, little is held."""
        run = await self.get(workspace, id)
        async for lines in trace(self._kernel, run.id, run.campaign_id, run.status, where or TraceFilter()):
            yield lines

    async def changes(self, workspace: Workspace, id: UUID, *, poll_seconds: float = 0.5) -> AsyncIterator[ShownRun]:
        """The run now, again whenever it has changed, and a last time when it has ended."""
        shown = await self.get(workspace, id)
        yield shown
        while not shown.has_ended:
            await asyncio.sleep(poll_seconds)
            last, shown = shown, await self.get(workspace, id)
            if shown != last:
                yield shown

    async def pause(self, caller: Caller, id: UUID) -> ShownRun:
        """Let nothing more of a run leave until it is resumed."""
        return await self._stop(caller, id, Stop.PAUSE)

    async def resume(self, caller: Caller, id: UUID) -> ShownRun:
        """Let a paused run go on."""
        return await self._stop(caller, id, None)

    async def cancel(self, caller: Caller, id: UUID) -> ShownRun:
        """Skip whatever of a run has not been called for."""
        return await self._stop(caller, id, Stop.CANCEL)

    async def plan_retry(self, workspace: Workspace, id: UUID, where: RetryFilter) -> RetryPlan:
        """What a retry would send again, without doing it."""
        return await plan_retry(self._kernel, workspace, (await self.get(workspace, id)).id, where)

    async def retry(
        self, caller: Caller, id: UUID, where: RetryFilter, *, idempotency_key: str | None = None
    ) -> tuple[ShownRun, RetryPlan, bool]:
        """Start a run of the failed items that match; tell whether it had been started under this key."""
        await self.get(caller.workspace, id)
        started, plan = await start_retry(self._kernel, caller, id, where, idempotency_key)
        return await self.get(caller.workspace, started.id), plan, started.duplicate

    async def resolve(
        self, caller: Caller, id: UUID, outcome: Resolution, note: str, ids: Sequence[UUID] | None = None
    ) -> Resolved:
        """End the doubt about every item of a run that is in doubt, or about those of them that are named."""
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
                return Resolved(done[True], done[False])

    async def _resolve_one(self, caller: Caller, id: UUID, outcome: Resolution, note: str) -> bool:
        try:
            await resolve_item(self._kernel, caller, id, outcome, note)
        except Conflict:
            return False
        return True

    async def _stop(self, caller: Caller, id: UUID, stop: Stop | None) -> ShownRun:
        await stop_run(self._kernel, caller, id, stop)
        return await self.get(caller.workspace, id)

    async def _shown(self, tx: Tx, workspace: Workspace, found: Sequence[FoundRun], now: datetime) -> Shown:
        ids = [one.id for one in found]
        campaigns = await name_definitions(tx, tenant=workspace.tenant, ids=[one.campaign_id for one in found])
        counts = {id: Counts(0) for id in ids}
        doubts = {id: Doubt(0, None) for id in ids}
        jobs: Counter[UUID] = Counter()
        for shard in self._kernel.every_shard() if ids else ():
            for id, (number, sums) in (await runs.sum_jobs_of_runs(tx, shard=shard, run_ids=ids)).items():
                jobs[id] += number
                counts[id] += sums
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
    """Of runs that should be going on: why nobody can do what is left of them, if so; by one look at the workers."""
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


def _shown_run(
    run: FoundRun, counts: Counts, doubt: Doubt, *, jobs: int, campaign: str | None, waiting: str | None
) -> ShownRun:
    if counts.open == doubt.items and run.planned is not None:
        waiting = None  # nothing is left that a worker could do
    same = {field.name: getattr(run, field.name) for field in fields(ShownRun) if hasattr(run, field.name)}
    given = {
        **same,
        "campaign_name": campaign,
        "status_text": _status_text(run, doubt, waiting),
        "planning": run.planned is None and not run.ended_at,
        "test": run.is_test,
        "counts": RunCounts(
            planned=counts.planned,
            queued=counts.open - doubt.items,
            sent=counts.sent,
            called=counts.called,
            posted=counts.posted,
            failed=counts.failed,
            skipped=counts.skipped,
            in_doubt=doubt.items,
        ),
        "jobs": jobs,
        "in_doubt_since": doubt.since,
        "completed_at": run.ended_at,
        "printed": is_printing(run.provider),
        "waiting": waiting,
    }
    return ShownRun(**given)


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
