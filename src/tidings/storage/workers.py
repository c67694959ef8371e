"""The live workers, and what each can call. Reached from kernel/presence.py, kernel/readiness.py and resources/."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.item import Channel
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.readiness import Service
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("workers")


class ListedWorker(Struct, frozen=True):
    """A worker: where it runs, what it works on, and what it can call, by provider."""

    id: UUID
    host: str
    pid: int
    version: str
    lanes: Sequence[Lane]
    serves: Mapping[str, Service]
    started_at: datetime
    last_seen_at: datetime


async def beat_worker(tx: Tx, *, worker: ListedWorker) -> None:
    """Write that a worker is alive."""
    serves = {
        name: {
            "class": one.provider_class,
            "channels": list(one.channels),
            "concurrency": one.concurrency,
            "limit": one.limit,
        }
        for name, one in worker.serves.items()
    }
    await tx.fetch(
        _SQL["beat_worker"],
        id=worker.id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        lanes=list(worker.lanes),
        serves=serves,
        started_at=worker.started_at,
        now=worker.last_seen_at,
    )


@_SQL.statement
async def remove_worker(tx: Tx, *, id: UUID) -> None:
    """Delete the row of a worker that ends."""


@_SQL.statement
async def forget_workers(tx: Tx, *, before: datetime) -> None:
    """Delete workers that were not seen since then."""


async def list_workers(tx: Tx, *, since: datetime) -> list[ListedWorker]:
    """The workers that were seen since then, the longest at work first."""
    return [_worker(row) for row in await tx.fetch(_SQL["list_workers"], since=since)]


def _worker(row: Row) -> ListedWorker:
    return ListedWorker(
        id=row["id"],
        host=row["host"],
        pid=row["pid"],
        version=row["version"],
        lanes=[Lane(lane) for lane in row["lanes"]],
        serves={name: _service(one) for name, one in sorted(row["serves"].items())},
        started_at=row["started_at"],
        last_seen_at=row["last_seen_at"],
    )


def _service(stored: Mapping[str, object]) -> Service:
    """Read a service as a worker of this or another version has written it."""
    channels, concurrency, limit = stored.get("channels"), stored.get("concurrency"), stored.get("limit")
    known = [Channel(one) for one in channels if one in set(Channel)] if isinstance(channels, list) else []
    return Service(
        str(stored.get("class")),
        tuple(known),
        concurrency if isinstance(concurrency, int) else 0,
        limit if isinstance(limit, int) else None,
    )
