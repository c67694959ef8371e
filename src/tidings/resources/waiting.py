"""Explain why work waits that nobody can do: no worker runs, or no live worker serves its provider.

Computed on reading: one look at the workers, and for a page of executions one statement in each of their shards.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from uuid import UUID

from tidings.domain.flow.graph import Doer
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.readiness import NO_WORKER, Staff
from tidings.kernel.flow.claim import next_due
from tidings.kernel.graphs import graph_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import find_unrouted, live_staff, live_workers, staff_of
from tidings.storage import executions, load, routes
from tidings.storage.acting import for_everyone
from tidings.storage.executions import FoundExecution
from tidings.storage.workers import ListedWorker

NO_STAFF = Staff(frozenset(), frozenset())
PATIENCE = timedelta(seconds=5)
"""How long work may be due before it counts as waiting: a worker may be about to claim it."""


@dataclass(frozen=True, slots=True)
class System:
    """The live workers, how many of them serve each provider that is set up, and what nobody can do."""

    workers: Sequence[ListedWorker]
    serving: Mapping[str, int]
    waiting: Sequence[str]


class Waiting:
    """Finds the work that nobody can do, in the whole installation."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._seen: tuple[float, System] | None = None

    @for_everyone
    async def look(self, seconds_old: float = 0.0) -> System:
        """Return the state of the installation, at most this old; callers that ask often pass an age."""
        if self._seen and monotonic() - self._seen[0] < seconds_old:
            return self._seen[1]
        self._seen = monotonic(), await self._look()
        return self._seen[1]

    @for_everyone
    async def own(self, providers: Iterable[str]) -> Sequence[str]:
        """Return what no live worker can do for one who uses these providers, whatever waits there for others."""
        staff = await live_staff(self._kernel)
        reasons = [staff.lack_of_lane(*Lane), *(staff.lack_of(name) for name in providers)]
        return list(dict.fromkeys(filter(None, reasons)))

    async def _look(self) -> System:
        """Read the small tables, and the first due row of each lane in each shard."""
        live, routed = await live_workers(self._kernel), await self._kernel.db.persist(routes.list_routes, alone=True)
        staff = staff_of(live)
        served = [name for worker in live for name in worker.serves]
        serving = {name: served.count(name) for name in sorted({*served, *(one.provider for one in routed)})}
        reasons = [staff.lack_of_lane(lane) for lane in await self._overdue()]
        if live:
            reasons += [staff.lack_of(one.provider) for one in routed]
        return System(live, serving, list(dict.fromkeys(filter(None, reasons))))

    async def _overdue(self) -> list[Lane]:
        now = await self._kernel.clock.now()
        shards = await asyncio.gather(*(next_due(self._kernel, shard) for shard in self._kernel.every_shard()))
        return sorted({lane for due in shards for lane, at in due.items() if at <= now - PATIENCE})


async def why_executions_wait(
    kernel: Kernel, workspace: Workspace, found: Sequence[FoundExecution]
) -> Mapping[UUID, str]:
    """Return, for executions that go on, why no worker can do what comes next."""
    now = await kernel.clock.now()
    live = {one.id: one for one in found if one.due_at and not (one.ended_at or one.leased or one.stop)}
    if not live:
        return {}
    # What no worker has held yet has no items, and only what has some, or is overdue, can lack a worker.
    open_at = await _open_providers(kernel, [id for id, one in live.items() if one.started_at], now)
    can_lack = open_at or any(one.due_at and one.due_at <= now - PATIENCE for one in live.values())
    staff = await live_staff(kernel) if can_lack else NO_STAFF
    unrouted = await _unrouted(kernel, workspace, [one for id, one in live.items() if id not in open_at])
    reasons = {id: unrouted.get(id) or _reason(staff, one, open_at.get(id, ()), now) for id, one in live.items()}
    return {id: reason for id, reason in reasons.items() if reason}


async def _unrouted(kernel: Kernel, workspace: Workspace, found: Sequence[FoundExecution]) -> Mapping[UUID, str]:
    """Return those at a node whose channel has lost its provider since they were started."""
    missing = {one.version_id for one in found} - kernel.graphs.keys()
    definitions = await kernel.db.persist(partial(load.load_versions, ids=list(missing)), alone=True) if missing else {}
    for id, definition in definitions.items():
        graph_of(kernel, id, definition)
    nodes = {one.id: kernel.graphs[one.version_id].nodes.get(one.cursor or "") for one in found}
    channels = {id: node.channel for id, node in nodes.items() if isinstance(node, Doer)}
    lost = await find_unrouted(kernel, workspace, channels.values())
    return {id: f"no provider is set up for {channel}" for id, channel in channels.items() if channel in lost}


def _reason(staff: Staff, one: FoundExecution, providers: Iterable[str], now: datetime) -> str | None:
    for provider in sorted(providers):
        if lack := staff.lack_of(provider):
            return lack
    return NO_WORKER if not staff.lanes and one.due_at and one.due_at <= now - PATIENCE else None


async def _open_providers(kernel: Kernel, ids: Iterable[UUID], now: datetime) -> Mapping[UUID, set[str]]:
    by_shard: dict[Shard, list[UUID]] = defaultdict(list)
    for id in ids:
        by_shard[kernel.shard_of(id)].append(id)
    found = await asyncio.gather(
        *(
            kernel.db.persist(partial(executions.list_open_providers, shard=shard, ids=ids, now=now), alone=True)
            for shard, ids in by_shard.items()
        )
    )
    providers: dict[UUID, set[str]] = defaultdict(set)
    for id, provider in (pair for pairs in found for pair in pairs):
        providers[id].add(provider)
    return providers
