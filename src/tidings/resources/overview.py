"""What happens in a workspace just now, for a screen that asks every few seconds.

However much has been sent, it reads ranges of indexes that hold only what goes on, is in doubt or has failed, and the
counts of calls by the minute. An answer is kept for two seconds, so that many screens cost what one does.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane
from tidings.kernel.kernel import Kernel
from tidings.resources.connections import Connections
from tidings.resources.kept_briefly import KeptBriefly
from tidings.resources.waiting import Waiting
from tidings.storage import overview
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.overview import OwnQueue
from tidings.views.overview import REACHED, Overview, Resting

DEFAULT_MINUTES = 60
MOST_MINUTES = 24 * 60
MOST_COUNTED = 10_000
"""In each shard, of what is counted row by row."""
KEPT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _InShard:
    """What one shard holds of a workspace."""

    queue: Sequence[OwnQueue]
    in_doubt: int
    failures: int


@for_caller
class Overviews:
    """The overview of every workspace."""

    def __init__(self, kernel: Kernel, connections: Connections, waiting: Waiting) -> None:
        self._kernel, self._connections, self._waiting = kernel, connections, waiting
        self._kept: KeptBriefly[tuple[Workspace, int], Overview] = KeptBriefly(KEPT_SECONDS)

    async def get(self, workspace: Workspace, minutes: int = DEFAULT_MINUTES) -> Overview:
        """Return what happens in a workspace just now, and its calls of the last minutes; at most two seconds old."""
        if not 1 <= minutes <= MOST_MINUTES:
            raise InputInvalid(f"minutes {minutes}: use 1 to {MOST_MINUTES:,}")
        return await self._kept.get((workspace, minutes), partial(self._look, workspace, minutes))

    async def _look(self, workspace: Workspace, minutes: int) -> Overview:
        now = await self._kernel.clock.now()
        await self._kernel.call_counts.write()  # what this process knows, everybody who asks it knows
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        first = (now - timedelta(minutes=minutes - 1)).replace(second=0, microsecond=0)
        shards = await asyncio.gather(
            *(self._in_shard(workspace, shard, now, midnight) for shard in self._kernel.every_shard())
        )
        persist = partial(self._kernel.db.persist, alone=True)
        calls = await persist(partial(overview.list_call_counts, workspace=workspace, minute=first))
        today = await persist(partial(overview.sum_call_counts, workspace=workspace, minute=midnight))
        resting, waiting = await self._obstacles(workspace)
        queue = [lane for shard in shards for lane in shard.queue]
        return Overview(
            at=now,
            minutes=calls,
            lag_seconds=_lag_seconds(queue, now),
            queued=sum(one.due for one in queue),
            in_doubt=sum(one.in_doubt for one in shards),
            sent_today=sum(today.get(outcome, 0) for outcome in REACHED),
            failed_today=sum(one.failures for one in shards),
            executions_open=sum(one.live for one in queue if one.lane is not Lane.RUNS),
            runs_open=sum(one.live for one in queue if one.lane is Lane.RUNS),
            resting=resting,
            waiting=waiting,
        )

    async def _in_shard(self, workspace: Workspace, shard: Shard, now: datetime, since: datetime) -> _InShard:
        look = partial(overview.look_at_own_queue, shard=shard, workspace=workspace, most=MOST_COUNTED)
        doubt = partial(overview.count_own_doubt, shard=shard, workspace=workspace, most=MOST_COUNTED)
        failures = partial(overview.count_own_failures, shard=shard, workspace=workspace, most=MOST_COUNTED)

        async def read(tx: Tx) -> _InShard:
            return _InShard(
                await look(tx, lanes=[*Lane], now=now), await doubt(tx), await failures(tx, failed_since=since)
            )

        return await self._kernel.db.persist(read)

    async def _obstacles(self, workspace: Workspace) -> tuple[list[Resting], Sequence[str]]:
        """Return which of a workspace's providers rest, and what no worker can do."""
        shown = [one for one in await self._connections.list(workspace) if one.enabled]
        resting = [
            Resting(provider=one.name, reason=one.reason, until=one.rests_until) for one in shown if one.rests_until
        ]
        missing = [f"no worker serves {one.name}" for one in shown if one.state == "unserved"]
        idle = await self._waiting.own(())
        return resting, list(dict.fromkeys(idle or missing))


def _lag_seconds(queue: Sequence[OwnQueue], now: datetime) -> float:
    since = min((one.due_since for one in queue if one.due_since), default=now)
    return max((now - since).total_seconds(), 0.0)
