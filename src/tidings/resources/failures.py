"""What has failed, grouped by what went wrong, and starting a whole group again.

Nothing here decides what may be tried again: executions are reopened as dead letters are (kernel/manage/replay.py), and
messages of campaigns go out in retries of their runs (run_retry.py), each under the keys that keep it from going twice.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, InputInvalid, NotFound
from tidings.domain.flow.failure_text import failure_id, failure_text
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import DEFAULT_LIMIT, check_limit
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.replay import replay_executions
from tidings.kernel.process.breaks import Breaks
from tidings.resources.failure_shown import Moment, page_of_failures, shown_groups
from tidings.resources.run_retry import RetryFilter, plan_retry, start_retry
from tidings.storage import failures
from tidings.storage.acting import for_caller
from tidings.storage.failures import FoundFailure
from tidings.views.failures import Failure, FailureGroups, FailureReplay
from tidings.views.pages import Page

DEFAULT_SPAN = timedelta(days=7)
READ_AT_ONCE = 1_000
MOST_READ = 20_000
"""The most failures that one answer looks at, over all shards: the latest of each."""
MOST_REPLAYED = 10_000
REPLAY_BATCH = 100
FASTEST_PER_MINUTE = 1_000_000
OF_AN_EVENT = "it is of an event, whose messages are not tried again; send the event under a new key if it must be"
WENT_ON = "its execution went on without it"
BEFORE = "it was tried again before"


@dataclass(slots=True)
class _Found:
    """What of a group may be tried again, and what not."""

    executions: list[UUID] = field(default_factory=list)
    items: dict[UUID, list[UUID]] = field(default_factory=lambda: defaultdict(list))
    """Those of each run."""
    refused: Counter[str] = field(default_factory=Counter)
    is_all: bool = True

    def add(self, one: FoundFailure) -> None:
        """Put a failure where it belongs."""
        if one.item_id is None:
            self.executions.append(one.id)
        elif one.run_id is not None:
            self.items[one.run_id].append(one.id)
        else:
            self.refused[OF_AN_EVENT if one.event_id else WENT_ON] += 1


@for_caller
class Failures:
    """The failures of every workspace."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def groups(self, workspace: Workspace, since: datetime | None = None) -> FailureGroups:
        """Return what has failed since then (a week, unless given), grouped by what went wrong, the latest first."""
        since = since or await self._a_week_ago()
        found = await asyncio.gather(*(self._latest(workspace, shard, since) for shard in self._kernel.every_shard()))
        breaks, by_text = Breaks(), defaultdict[str, list[FoundFailure]](list)
        for one in (one for some, _ in found for one in some):
            await breaks.take_if_due()
            by_text[failure_text(one.error)].append(one)
        groups = await shown_groups(self._kernel, workspace, by_text)
        return FailureGroups(items=groups, since=since, complete=all(is_all for _, is_all in found))

    async def items(
        self,
        workspace: Workspace,
        id: UUID,
        since: datetime | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
    ) -> Page[Failure]:
        """Return the failures of one group, the latest first; a page may be short where others stand between them."""
        check_limit(limit)
        since, start = since or await self._a_week_ago(), Moment.read(cursor)
        found = await asyncio.gather(
            *(self._of_group(workspace, shard, id, since, start, limit) for shard in self._kernel.every_shard())
        )
        page = await page_of_failures(self._kernel, workspace, found, limit)
        if cursor is None and page.next_cursor is None and not page.items:
            raise _nothing(id, since)
        return page

    async def replay(
        self,
        caller: Caller,
        id: UUID,
        since: datetime | None = None,
        *,
        per_minute: int | None = None,
        dry_run: bool = False,
    ) -> FailureReplay:
        """Start again what of a group may be, at most so many a minute, or only say what would be."""
        if per_minute is not None and not 1 <= per_minute <= FASTEST_PER_MINUTE:
            raise InputInvalid(f"perMinute {per_minute}: use 1 to {FASTEST_PER_MINUTE:,}")
        found = await self._find(caller.workspace, id, since or await self._a_week_ago())
        reopened, last_at = await self._reopen(caller, found, per_minute, dry_run=dry_run)
        count, runs = 0, list[UUID]()
        for run_id, ids in found.items.items():
            retried, run = await self._retry(caller, run_id, ids, per_minute, found.refused, dry_run=dry_run)
            count += retried
            runs += [run] if run else []
        return FailureReplay(
            executions=reopened,
            items=count,
            runs=runs,
            refused=dict(found.refused.most_common()),
            last_at=last_at,
            complete=found.is_all,
            dry_run=dry_run,
        )

    async def _a_week_ago(self) -> datetime:
        return await self._kernel.clock.now() - DEFAULT_SPAN

    async def _find(self, workspace: Workspace, id: UUID, since: datetime) -> _Found:
        found, count = _Found(), 0
        for shard in self._kernel.every_shard():
            async for batch in self._batches(workspace, shard, since, Moment()):
                for one in batch:
                    if failure_id(failure_text(one.error)) == id:
                        count += 1
                        found.add(one)
                if count >= MOST_REPLAYED:
                    found.is_all = False
                    return found
        if not count:
            raise _nothing(id, since)
        return found

    async def _reopen(
        self, caller: Caller, found: _Found, per_minute: int | None, *, dry_run: bool
    ) -> tuple[int, datetime | None]:
        """Reopen executions; with a rate each is due when its turn comes."""
        now, count, last_at = await self._kernel.clock.now(), 0, None
        by_shard: dict[Shard, list[UUID]] = defaultdict(list)
        for id in found.executions:
            by_shard[self._kernel.shard_of(id)].append(id)
        for shard, ids in by_shard.items():
            for first in range(0, len(ids), REPLAY_BATCH):
                batch = ids[first : first + REPLAY_BATCH]
                pause = timedelta(minutes=1) / per_minute if per_minute else timedelta()
                due_at = {id: now + (count + place) * pause for place, id in enumerate(batch)}
                done = await replay_executions(self._kernel, caller, shard, batch, due_at=due_at, dry_run=dry_run)
                count += len(done.reopened)
                found.refused.update(done.refused.values())
                last_at = max([due_at[id] for id in done.reopened], default=last_at)
        return count, last_at if per_minute else None

    async def _retry(
        self,
        caller: Caller,
        run_id: UUID,
        ids: Sequence[UUID],
        per_minute: int | None,
        refused: Counter[str],
        *,
        dry_run: bool,
    ) -> tuple[int, UUID | None]:
        """Retry items of one run; return how many, and the new run."""
        where = RetryFilter(ids=tuple(ids))
        plan = await plan_retry(self._kernel, caller.workspace, run_id, where)
        refused[BEFORE] += plan.retried_before
        if not plan.retried_before:
            del refused[BEFORE]
        if dry_run or not plan.count:
            return plan.count, None
        try:
            started, done = await start_retry(self._kernel, caller, run_id, where, None, per_minute)
        except Conflict as error:
            refused[str(error)] += plan.count
            return 0, None
        return done.count, started.id

    async def _latest(self, workspace: Workspace, shard: Shard, since: datetime) -> tuple[list[FoundFailure], bool]:
        """Return the latest failures of one shard, and whether they are all."""
        found: list[FoundFailure] = []
        async for batch in self._batches(workspace, shard, since, Moment()):
            found += batch
            if len(found) >= MOST_READ // self._kernel.shards:
                return found, False
        return found, True

    async def _of_group(
        self, workspace: Workspace, shard: Shard, id: UUID, since: datetime, start: Moment, limit: int
    ) -> tuple[list[FoundFailure], Moment | None]:
        """Return some of a group's failures in one shard, and up to where was looked if that is not the end."""
        found: list[FoundFailure] = []
        looked = 0
        async for batch in self._batches(workspace, shard, since, start):
            looked += len(batch)
            found += [one for one in batch if failure_id(failure_text(one.error)) == id]
            if len(found) > limit or looked >= MOST_READ // self._kernel.shards:
                return found, Moment(batch[-1].at, batch[-1].id)
        return found, None

    async def _batches(
        self, workspace: Workspace, shard: Shard, since: datetime, start: Moment
    ) -> AsyncIterator[Sequence[FoundFailure]]:
        """Yield what has failed in one shard, the latest first."""
        while True:
            read = partial(
                failures.list_failures,
                shard=shard,
                workspace=workspace,
                failed_since=since,
                failed_before=start.at,
                before=start.id,
                limit=READ_AT_ONCE,
            )
            batch = await self._kernel.db.persist(read, alone=True)
            if own := [one for one in batch if not one.is_repeated]:
                yield own
            if len(batch) < READ_AT_ONCE:
                return
            start = Moment(batch[-1].at, batch[-1].id)


def _nothing(id: UUID, since: datetime) -> NotFound:
    return NotFound(f"nothing has failed in the way {id} since {since:%Y-%m-%d %H:%M:%S}Z")
