"""What the kernel's tests have in common: workflows and campaigns, workers that die or freeze, lost answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from time import monotonic
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.queue import Claimed, Kind, Lane
from tidings.engine import Engine
from tidings.kernel.campaigns.rollup import work_runs
from tidings.kernel.campaigns.start_run import Deployment, Recipient
from tidings.kernel.flow.claim import claim_due
from tidings.kernel.flow.executions import work_executions
from tidings.kernel.flow.jobs import work_jobs
from tidings.kernel.start.trigger import Started
from tidings.kernel.wake import listen
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database, TransientFailure, Tx

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CAMPAIGN_ID = UUID(int=7)
MOST_ROUNDS = 60
PATIENCE_SECONDS = 20.0


def email(id: str = "hello", to: str | Sequence[str] = "ada@example.com", **more: object) -> dict[str, object]:
    """A node that needs no rendering: starting that process is most of a test's time."""
    return {"id": id, "type": "email", "to": to, "subject": "Hi", "body": f"This is {id}"} | more


def delay(id: str, duration: str) -> dict[str, object]:
    return {"id": id, "type": "delay", "duration": duration}


def graph(*nodes: Mapping[str, object], edges: Sequence[tuple[object, object]] | None = None) -> dict[str, object]:
    """A workflow of these nodes; one after the other unless edges are given."""
    ids = [node["id"] for node in nodes]
    pairs = list(pairwise(ids)) if edges is None else edges
    return {"entryNodeId": ids[0], "nodes": list(nodes), "edges": [{"from": a, "to": b} for a, b in pairs]}


async def start(engine: Engine, *nodes: Mapping[str, object], **data: object) -> UUID:
    """Define a workflow (one email unless nodes are given) and trigger it once."""
    await engine.define("flow", graph(*(nodes or [email()])))
    return (await engine.trigger("flow", data, "k1")).id


async def start_many(engine: Engine, count: int, *nodes: Mapping[str, object], same_shard: bool = False) -> list[UUID]:
    """Trigger a workflow so many times; in one shard if a test needs one batch."""
    await engine.define("flow", graph(*(nodes or [email()])))
    started: list[UUID] = []
    number = 0
    while len(started) < count:
        number += 1
        if same_shard and engine.kernel.shards > 1 and shard_of_key(engine, f"k{number}") != Shard(0):
            continue
        started.append((await engine.trigger("flow", {}, f"k{number}")).id)
    return started


def shard_of_key(engine: Engine, key: str) -> Shard:
    return Shard(Workspace().bucket_of(key) % engine.kernel.shards)


def campaign(count: int = 3, key: str = "c1", **more: object) -> Deployment:
    people = [Recipient(f"p{number}@example.com") for number in range(1, count + 1)]
    wish = Deployment(CAMPAIGN_ID, key, Channel.EMAIL, {"subject": "Hi", "body": "News"}, people)
    return replace(wish, **more)  # type: ignore[arg-type]


async def deploy(engine: Engine, count: int = 3, key: str = "c1", **more: object) -> UUID:
    started: Started = await engine.deploy(campaign(count, key, **more))
    return started.id


async def work(engine: Engine, limit: int = 100) -> int:
    """Move what is due until nothing is; a row that is due again at once for ever is a failure."""
    moved = 0
    for _ in range(MOST_ROUNDS):
        claimed = [await engine.work(*place, limit) for place in places(engine)]
        moved += sum(claimed)
        if not any(claimed):
            return moved
    raise AssertionError(f"something is still due after {MOST_ROUNDS} rounds: a hot loop")


def places(engine: Engine) -> list[tuple[Shard, Lane]]:
    return [(shard, lane) for shard in engine.kernel.every_shard() for lane in reversed(Lane)]


async def claim(engine: Engine, limit: int = 100) -> list[Claimed]:
    """Lease everything that is due and do nothing about it, as a worker does that dies right after."""
    return [lease for place in places(engine) for lease in await claim_due(engine.kernel, *place, limit)]


async def work_leases(engine: Engine, leases: Sequence[Claimed]) -> None:
    """Go on with what was claimed before, however long ago."""
    for lease in leases:
        shard = engine.kernel.shard_of(lease.id)
        match lease.kind:
            case Kind.EXECUTION:
                await work_executions(engine.kernel, shard, Lane.TRANSACTIONAL, [lease])
            case Kind.JOB:
                await work_jobs(engine.kernel, shard, Lane.CAMPAIGNS, [lease])
            case Kind.RUN:
                await work_runs(engine.kernel, shard, [lease])


async def until(condition: Callable[[], Awaitable[bool] | bool]) -> None:
    """Wait for a condition, up to a deadline."""
    deadline = monotonic() + PATIENCE_SECONDS
    while True:
        met = condition()
        if met if isinstance(met, bool) else await met:
            return
        if monotonic() > deadline:
            raise AssertionError("it did not come about in time")
        await asyncio.sleep(0.005)


async def plan_runs(engine: Engine) -> None:
    """Write the jobs and items of every run that is due, and call nobody."""
    for shard in engine.kernel.every_shard():
        await engine.work(shard, Lane.RUNS)


async def work_once(engine: Engine) -> None:
    """One look at every place where calls are made."""
    for shard, lane in places(engine):
        if lane is not Lane.RUNS:
            await engine.work(shard, lane)


@asynccontextmanager
async def frozen_in_call(engine: Engine, provider: FakeProvider, calls: int = 1) -> AsyncIterator[asyncio.Event]:
    """A worker whose calls hang. Set the event to let them be answered; else the worker dies with the block."""
    before = len(provider.calls)
    answered = provider.hang = asyncio.Event()
    task = asyncio.create_task(work_once(engine))
    try:
        await until(lambda: len(provider.calls) >= before + calls or task.done())
        provider.hang = None  # whoever calls from now on is answered
        yield answered
        if answered.is_set():
            await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def listening(engine: Engine) -> AsyncIterator[None]:
    """A worker that hears what others are told, from the beginning of the block on."""
    hears = asyncio.Event()
    kernel = engine.kernel
    task = asyncio.create_task(listen(kernel.db, kernel.stops, kernel.connections, lambda _: hears.set()))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await hears.wait()
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def crash_in_call(engine: Engine, provider: FakeProvider, calls: int = 1) -> None:
    """Let a worker die while its calls wait for an answer."""
    async with frozen_in_call(engine, provider, calls):
        pass


async def row(sql: Sql, query: str, *values: object) -> tuple[Any, ...]:
    """The only row of a query."""
    [found] = await sql.fetch(query, *values)
    return tuple(found)


async def assert_kept(engine: Engine) -> None:
    """Every promise holds, as far as the database can tell."""
    broken = {check.name: check.offences for check in await engine.verify() if check.offences}
    assert broken == {}


class LossyDatabase(Database):
    """A database whose answers get lost: the commit happened (`after`), or it did not (`before`)."""

    def __init__(self, db: Database, *, lose: Callable[[int], bool], when: str = "after") -> None:
        super().__init__(db._pool, db.dsn)
        self._lose, self._when, self._count = lose, when, 0

    def _is_lost(self) -> bool:
        self._count += 1
        return self._lose(self._count)

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Tx]:
        lost = self._is_lost()
        if lost and self._when == "before":
            raise TransientFailure("the connection was gone before the statement")
        async with super().autocommit() as tx:
            yield tx
        if lost:
            raise TransientFailure("the answer was lost")

    @asynccontextmanager
    async def transaction(self, *, snapshot: bool = False, may_be_long: bool = False) -> AsyncIterator[Tx]:
        lost = self._is_lost()
        async with super().transaction(snapshot=snapshot, may_be_long=may_be_long) as tx:
            yield tx
            if lost and self._when == "before":
                raise TransientFailure("the connection was gone before the commit")
        if lost:
            raise TransientFailure("the answer to the commit was lost")


def with_lossy_database(engine: Engine, *, lose: Callable[[int], bool], when: str = "after") -> Engine:
    """The same worker on a database whose answers get lost; what counts is counted, so notifications are not."""
    kernel = replace(engine.kernel, db=LossyDatabase(engine.kernel.db, lose=lose, when=when))
    object.__setattr__(kernel, "notifier", engine.kernel.notifier)
    return Engine(kernel)
