"""Publish that this worker is alive and what it can call: a row in the database, renewed every few seconds.

Started and ended by worker/loop.py. Others read it to report work that waits for an absent worker; nothing that could
send twice or lose anything depends on it.
"""

import asyncio
import os
import socket
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial

from msgspec.structs import replace

from tidings.domain.connections.connection import connection_id
from tidings.domain.connections.vendors import CALLS_AT_ONCE
from tidings.domain.flow.item import Channel
from tidings.domain.flow.provider import CLASS_NAMES
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.readiness import FUNCTIONS, Service, every_of_kind
from tidings.domain.rules.key import fallback_name
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import workers
from tidings.storage.database import TransientFailure
from tidings.storage.workers import ListedWorker
from tidings.version import __version__

BEAT_SECONDS = 5.0
"""Six beats may be lost, or come late from a busy process, before this worker counts as gone."""
FORGET_AFTER = timedelta(hours=1)
BEATS_BETWEEN_CLEANINGS = 12
LONGEST_FAREWELL_SECONDS = 5.0


class Presence:
    """This worker's row, from start to end."""

    def __init__(self, kernel: Kernel, lanes: Sequence[Lane]) -> None:
        self._kernel, self._lanes = kernel, lanes
        self._beating: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start a task that renews the row."""
        self._beating = asyncio.create_task(self._beat_for_ever())

    async def end(self) -> None:
        """Remove the row. A beat under way is cancelled first: it must not write the row again."""
        if self._beating:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        try:
            async with asyncio.timeout(LONGEST_FAREWELL_SECONDS):
                remove = partial(workers.remove_worker, id=self._kernel.shares.worker_id)
                await self._kernel.db.persist(remove, alone=True)
        except (TimeoutError, TransientFailure):
            log.warning("worker_not_removed", remedy="nobody counts on a worker that is not seen for 30 s")

    async def _beat_for_ever(self) -> None:
        me, beats = await self._introduce(), 0
        while True:
            try:
                me = replace(me, last_seen_at=await self._kernel.clock.now())
                await self._beat(me, is_cleaning=beats % BEATS_BETWEEN_CLEANINGS == 0)
            except Exception as error:  # whatever it is, the next beat may succeed
                log.warning("heartbeat_lost", reason=str(error) or type(error).__name__)
            beats += 1
            await asyncio.sleep(BEAT_SECONDS)

    async def _beat(self, me: ListedWorker, *, is_cleaning: bool) -> None:
        async with self._kernel.db.autocommit() as tx:
            await workers.beat_worker(tx, worker=me)
            if is_cleaning:
                await workers.forget_workers(tx, before=me.last_seen_at - FORGET_AFTER)

    async def _introduce(self) -> ListedWorker:
        now = await self._kernel.clock.now()
        return ListedWorker(
            id=self._kernel.shares.worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            lanes=list(self._lanes),
            serves=services_of(self._kernel),
            started_at=now,
            last_seen_at=now,
        )


def services_of(kernel: Kernel) -> dict[str, Service]:
    """What this process can call, by provider, and the channels that its own settings route there."""
    limits = kernel.limits.provider_concurrency
    own = {
        name: Service(
            provider_class=CLASS_NAMES[type(provider.provider_class)],
            channels=_channels_of(kernel, name),
            concurrency=provider.concurrency,
            limit=limits.get(name),
        )
        for name, provider in kernel.providers.items()
        if connection_id(name) is None
    }
    return own | {every_of_kind(kind): Service("", (), CALLS_AT_ONCE, None) for kind in _kinds_of(kernel)}


def _kinds_of(kernel: Kernel) -> Iterable[str]:
    """The kinds of connections that this process serves: without a key it could not even open their credentials."""
    return kernel.vendors.kinds if kernel.vault.has_key else ()


def _channels_of(kernel: Kernel, name: str) -> tuple[Channel, ...]:
    routes = {Channel.FUNCTION: FUNCTIONS, **kernel.routes}
    calls = {routes[Channel.FUNCTION], kernel.once(routes[Channel.FUNCTION]), *map(fallback_name, kernel.fallbacks)}
    sends = [channel for channel, one in routes.items() if one == name and channel is not Channel.FUNCTION]
    return (*sends, Channel.FUNCTION) if name in calls else tuple(sends)
