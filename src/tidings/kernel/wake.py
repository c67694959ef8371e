"""Tell workers of work that is due now: after the commit, the first at once, then at most every 10 ms (rule 11).

Nothing depends on it but speed: workers also look by themselves.
"""

import asyncio
from collections.abc import Callable

import structlog

from tidings.domain.ids import Shard
from tidings.domain.queue import Lane
from tidings.storage import wake
from tidings.storage.database import Database, TransientFailure

log = structlog.get_logger()
QUIET_SECONDS = 0.01


class Notifier:
    """Gathers what has work and sends it in few notifications."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._due: set[tuple[Shard, Lane]] = set()
        self._sending: asyncio.Task[None] | None = None

    def tell(self, shard: Shard, lane: Lane) -> None:
        """Note that a lane has work; returns at once."""
        self._due.add((shard, lane))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def close(self) -> None:
        """Send what is left."""
        if self._sending:
            await self._sending

    async def _send(self) -> None:
        while self._due:
            due, self._due = self._due, set()
            try:
                async with self._db.autocommit() as tx:
                    await wake.notify(tx, payload=as_payload(due))
            except TransientFailure as failure:
                log.info("notify_lost", reason=str(failure))
            await asyncio.sleep(QUIET_SECONDS)


async def listen(db: Database, heard: Callable[[set[tuple[Shard, Lane]] | None], None]) -> None:
    """Call `heard` with what has work, for ever; with None when something may have been missed."""
    await wake.listen(db.dsn, lambda payload: heard(from_payload(payload) if payload else None))


def as_payload(due: set[tuple[Shard, Lane]]) -> str:
    """What a notification says."""
    return ",".join(f"{shard}:{lane.value}" for shard, lane in sorted(due))


def from_payload(payload: str) -> set[tuple[Shard, Lane]]:
    """What a notification means; whatever cannot be read means nothing."""
    found = set()
    for part in payload.split(","):
        shard, _, lane = part.partition(":")
        if shard.isdigit() and lane.isdigit() and int(lane) in set(Lane):
            found.add((Shard(int(shard)), Lane(int(lane))))
    return found
