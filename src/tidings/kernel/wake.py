"""Tell workers of work that is due now: after the commit, the first at once, then at most every 10 ms (rule 11).

They are also told what was asked to stop (stops.py), and that connections have changed, before the caller gets its
answer. Only speed depends on any of it: workers also look by themselves.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.kernel.process.connections import ConnectionTable
from tidings.kernel.process.stops import Stops
from tidings.log import log
from tidings.storage import wake
from tidings.storage.database import Database, TransientFailure

QUIET_SECONDS = 0.01
STOP = "stop:"
SEQUENCES = "sequences"
CONNECTIONS = "connections"
MOST_NAMED = 200
"""How many owners a notification names; it has room for 8,000 bytes."""


class Notifier:
    """Collects the lanes that have work and sends them in few notifications."""

    def __init__(self, db: Database, stops: Stops, connections: ConnectionTable) -> None:
        self._db, self._stops, self._connections = db, stops, connections
        self._due: set[tuple[Shard, Lane]] = set()
        self._sending: asyncio.Task[None] | None = None

    def tell(self, shard: Shard, lane: Lane) -> None:
        """Note that a lane has work; returns at once."""
        self._due.add((shard, lane))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def tell_stopped(self, owners: Sequence[UUID]) -> None:
        """Have the marks of these owners taken back where the call has not begun; returns once workers are notified."""
        self._stops.note(owners)
        for first in range(0, len(owners), MOST_NAMED):
            await self._notify(STOP + ",".join(map(str, owners[first : first + MOST_NAMED])))

    async def tell_sequences_stopped(self) -> None:
        """Have the marks of all enrollments taken back where no call has begun; a new mark decides which go on."""
        self._stops.note_sequences()
        await self._notify(STOP + SEQUENCES)

    async def tell_connections_changed(self) -> None:
        """Have connections read anew before their next use; returns once workers are notified."""
        self._connections.forget()
        await self._notify(CONNECTIONS)

    async def close(self) -> None:
        """Wait until everything is sent."""
        if self._sending:
            await self._sending

    async def _send(self) -> None:
        while self._due:
            due, self._due = self._due, set()
            await self._notify(as_payload(due))
            await asyncio.sleep(QUIET_SECONDS)

    async def _notify(self, payload: str) -> None:
        try:
            async with self._db.autocommit() as tx:
                await wake.notify(tx, payload=payload)
        except TransientFailure as failure:
            log.info("notify_lost", reason=str(failure))


async def listen(
    db: Database,
    stops: Stops,
    connections: ConnectionTable,
    heard: Callable[[set[tuple[Shard, Lane]] | None], None],
) -> None:
    """Call `heard` for ever with what has work, or with None when something may have been missed.

    Requests to stop, and that connections have changed, are noted at once.
    """

    def hear(payload: str) -> None:
        if payload.startswith(STOP):
            note_stopped(stops, payload)
        elif payload == CONNECTIONS:
            connections.forget()
        else:
            heard(from_payload(payload) if payload else None)

    await wake.listen(db.dsn, hear)


def note_stopped(stops: Stops, payload: str) -> None:
    """Note what a notification asks to stop; ignore one that cannot be read."""
    named = payload.removeprefix(STOP)
    if named == SEQUENCES:
        stops.note_sequences()
        return
    with suppress(ValueError):
        stops.note([UUID(id) for id in named.split(",")])


def as_payload(due: set[tuple[Shard, Lane]]) -> str:
    """Encode a notification."""
    return ",".join(f"{shard}:{lane.value}" for shard, lane in sorted(due))


def from_payload(payload: str) -> set[tuple[Shard, Lane]]:
    """Decode a notification; ignore parts that cannot be read."""
    found = set()
    for part in payload.split(","):
        shard, _, lane = part.partition(":")
        if shard.isdigit() and lane.isdigit() and int(lane) in set(Lane):
            found.add((Shard(int(shard)), Lane(int(lane))))
    return found
