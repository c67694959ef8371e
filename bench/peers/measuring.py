"""Give every peer the same table on a fresh database, let it work, and read the rate from the table."""

import asyncio
import os
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg

from bench.peers.catalogue import CATALOGUE, Peer, Ready
from bench.peers.installing import CannotInstall, run

RESULTS = Path(__file__).parent.parent / "results"
DEADLINE_SECONDS = 60.0
ENQUEUE_SECONDS = 180.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.2

MESSAGE_LOG = """
create table message_log (
    id bigint generated always as identity primary key,
    idempotency_key text not null unique,
    recipient text not null,
    subject text not null,
    body text not null,
    status text not null,
    message_id text,
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz
)
"""
PROGRESS = "select count(*) from message_log where status = 'sent'"
OUTCOME = """
select count(*) as rows, count(*) filter (where status = 'sent' and message_id is not null) as sent,
       coalesce(extract(epoch from max(finished_at) - min(created_at)), 0)::float8 as seconds
  from message_log
"""


@dataclass(frozen=True, slots=True)
class PeerResult:
    """What one peer did with some number of worker processes; `skipped` or `error` says why there is no figure."""

    name: str
    version: str
    processes: int
    note: str
    items: int = 0
    seconds: float = 0.0
    enqueue_rate: float | None = None
    skipped: str | None = None
    error: str | None = None

    @property
    def rate(self) -> float:
        """Items a second, from the first log row to the last mark."""
        return self.items / self.seconds if self.seconds else 0.0


class PeerFailed(Exception):
    """A peer ran but did not do the work; the message says what is missing."""


async def measure_peers(
    server_dsn: str,
    processes: Sequence[int],
    on_progress: Callable[[str], None],
    only: Collection[str] = (),
) -> list[PeerResult]:
    """Measure every peer (or those of `only`) with each number of worker processes; never raises for a peer."""
    results: list[PeerResult] = []
    for peer in CATALOGUE:
        if not only or peer.key in only:
            results += await _measure_peer(server_dsn, peer, processes, on_progress)
    return results


async def _measure_peer(
    server_dsn: str, peer: Peer, processes: Sequence[int], on_progress: Callable[[str], None]
) -> list[PeerResult]:
    results: list[PeerResult] = []
    for count in processes:
        if results and results[-1].skipped:
            results.append(replace(results[-1], processes=count))
            continue
        on_progress(f"{peer.name}, {count} process(es)")
        results.append(await _measure(server_dsn, peer, count))
    return results


async def _measure(server_dsn: str, peer: Peer, processes: int) -> PeerResult:
    blank = PeerResult(peer.name, peer.version, processes, peer.note)
    try:
        async with peer.prepare() as ready, _fresh_database(server_dsn) as dsn:
            return await _run(dsn, peer, ready, replace(blank, note=peer.note + ready.note))
    except CannotInstall as error:
        return replace(blank, skipped=str(error))
    except (PeerFailed, OSError, ValueError, asyncpg.PostgresError) as error:
        return replace(blank, error=str(error))


async def _run(dsn: str, peer: Peer, ready: Ready, blank: PeerResult) -> PeerResult:
    items = int(os.environ.get("PEER_ITEMS", peer.items))
    environ = os.environ | ready.environ | {"DATABASE_URL": dsn, "ITEMS": str(items)}
    enqueue_seconds = float(await _ask(ready, environ, "enqueue"))
    async with _connected(dsn) as connection:
        await connection.execute("vacuum analyze")
        workers = [await _start(ready, environ, number) for number in range(blank.processes)]
        try:
            in_time = await _until_sent(connection, items, workers)
            remaining = int(await _ask(ready, environ, "remaining")) if in_time else 0
        finally:
            await _stop(workers)
        [(rows, sent, seconds)] = await connection.fetch(OUTCOME)
    if in_time and (rows, sent, remaining) != (items, items, 0):
        raise PeerFailed(f"{items} queued, {rows} log rows, {sent} of them sent, {remaining} jobs not completed")
    note = blank.note if in_time else f"did not finish {items} in {DEADLINE_SECONDS:.0f} s; {blank.note}"
    return replace(blank, items=sent, seconds=seconds, enqueue_rate=items / enqueue_seconds, note=note)


async def _until_sent(connection: "asyncpg.Connection[asyncpg.Record]", items: int, workers: Sequence[Process]) -> bool:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        if await connection.fetchval(PROGRESS) >= items:
            return True
        if any(worker.returncode is not None for worker in workers):
            raise PeerFailed("a worker ended by itself; see bench/results/peers.log")
        await asyncio.sleep(POLL_SECONDS)
    return False


async def _ask(ready: Ready, environ: dict[str, str], verb: str) -> str:
    try:
        return await run([*ready.command, verb], environ=environ, timeout=ENQUEUE_SECONDS)
    except CannotInstall as error:
        raise PeerFailed(str(error)) from error


async def _start(ready: Ready, environ: dict[str, str], number: int) -> Process:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "peers.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *ready.command, "work", env=environ | {"WORKER": str(number)}, stdout=log, stderr=log
        )


async def _stop(workers: Sequence[Process]) -> None:
    for worker in workers:
        if worker.returncode is None:
            worker.terminate()
    try:
        await asyncio.wait_for(asyncio.gather(*(worker.wait() for worker in workers)), STOP_SECONDS)
    except TimeoutError:
        for worker in workers:
            if worker.returncode is None:
                worker.kill()
        await asyncio.gather(*(worker.wait() for worker in workers))


@asynccontextmanager
async def _fresh_database(server_dsn: str) -> AsyncIterator[str]:
    name = f"peer_{uuid4().hex[:8]}"
    dsn = urlunsplit(urlsplit(server_dsn)._replace(path=f"/{name}"))
    async with _connected(server_dsn) as server:
        await server.execute(f"create database {name}")
        try:
            async with _connected(dsn) as connection:
                await connection.execute(MESSAGE_LOG)
            yield dsn
        finally:
            await server.execute(f"drop database {name} with (force)")


@asynccontextmanager
async def _connected(dsn: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()
