"""Starting work: triggers a second, by the thousand and one by one, beside plain inserts of the same rows.

The ceiling inserts an execution and its row in the queue by ONE plain statement in its own implicit transaction: for
many, one statement for each shard of a batch, as the kernel has one transaction for each. It looks for no workflow,
checks no data and finds no duplicates. All of it runs in this process, but the API, which has one of its own; no worker
runs.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

import asyncpg

from bench.api import Api
from bench.bench import Bench
from bench.database import STORE_AT_ONCE, Fresh, Tell, person
from bench.meter import Meter
from bench.raw import SESSION, new_id, now
from bench.report import Result
from bench.settings import SHARDS

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
CALLERS = 10
"""Who trigger one by one, at the same time, each over a connection: as many as an engine has by default."""
ONE_BY_ONE = 5
"""One in so many of a run's items is triggered one by one."""

INSERT = """
with started as (
    insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key,
                            key_hash, status, frontier, cursor, input, created_at)
    select $1, t.id, 'default', 'default', $2, $3, t.key,
           key_hash(length_prefixed(array['default', 'default', $2::uuid::text]), t.key), 'enqueued',
           jsonb_build_object('ready', jsonb_build_array(jsonb_build_array('hello', $4::timestamptz))),
           'hello', t.input::jsonb, $4
      from unnest($5::uuid[], $6::text[], $7::text[]) as t(id, key, input)
)
insert into queue (shard, id, kind, lane, due_at, workspace_hash)
-- the number of default/default
select $1, t.id, 'execution', 0, $4, -283353126456915718 from unnest($5::uuid[]) as t(id)
"""
VERSION = """
select w.id as workflow_id, v.id as version_id
  from workflows w join workflow_versions v on v.workflow_id = w.id where w.name = 'one'
"""
CALL = "select tidings.trigger('one', $1, $2)"


@dataclass(frozen=True, slots=True)
class Scene:
    """A database to start work in, and connections to it that are not the engine's."""

    fresh: Fresh
    pool: Pool
    workflow_id: UUID
    version_id: UUID
    api: Api | None = None

    async def post(self, path: str, body: object) -> None:
        """Ask the API."""
        if self.api is None:
            raise AssertionError("this way asks no API")
        await self.api.post(path, body)

    async def insert(self, shard: int, numbers: Sequence[int]) -> None:
        """The rows of so many triggers, plainly."""
        await self.pool.execute(
            *(INSERT, shard, self.workflow_id, self.version_id, now(), [new_id(shard) for _ in numbers]),
            [f"k-{number}" for number in numbers],
            [json.dumps(person(number)) for number in numbers],
        )


@dataclass(frozen=True, slots=True)
class Way:
    """One way of starting work."""

    title: str
    start: Callable[[Scene, int, Tell], Awaitable[None]]
    session: Mapping[str, str] = field(default_factory=dict)
    asks_api: bool = False


async def _insert_many(scene: Scene, count: int, tell: Tell) -> None:
    for first in range(0, count, STORE_AT_ONCE):
        numbers = range(first, min(first + STORE_AT_ONCE, count))
        for shard in range(SHARDS):
            await scene.insert(shard, numbers[shard::SHARDS])
        tell(numbers.stop)


async def _trigger_many(scene: Scene, count: int, tell: Tell) -> None:
    await scene.fresh.trigger("one", "k", range(count), tell)


async def _insert_one_by_one(scene: Scene, count: int, tell: Tell) -> None:
    await _one_by_one(lambda number: scene.insert(number % SHARDS, [number]), count, tell)


async def _trigger_one_by_one(scene: Scene, count: int, tell: Tell) -> None:
    async def trigger(number: int) -> None:
        await scene.fresh.engine.trigger("one", person(number), f"k-{number}")

    await _one_by_one(trigger, count, tell)


async def _call_one_by_one(scene: Scene, count: int, tell: Tell) -> None:
    async def call(number: int) -> None:
        await scene.pool.fetchval(CALL, json.dumps(person(number)), f"k-{number}")

    await _one_by_one(call, count, tell)


async def _post_one_by_one(scene: Scene, count: int, tell: Tell) -> None:
    async def post(number: int) -> None:
        await scene.post("/v1/triggers", _wish(number))

    await _one_by_one(post, count, tell)


async def _post_many(scene: Scene, count: int, tell: Tell) -> None:
    for first in range(0, count, STORE_AT_ONCE):
        numbers = range(first, min(first + STORE_AT_ONCE, count))
        await scene.post("/v1/triggers/bulk", {"triggers": [_wish(number) for number in numbers]})
        tell(numbers.stop)


def _wish(number: int) -> Mapping[str, object]:
    return {"workflow": "one", "idempotencyKey": f"k-{number}", "data": person(number)}


async def _one_by_one(start: Callable[[int], Awaitable[None]], count: int, tell: Tell) -> None:
    """Several callers, each waiting for its answer before it asks again."""

    async def caller(first: int) -> None:
        for number in range(first, count, CALLERS):
            await start(number)
            if first == 0:
                tell(number)

    await asyncio.gather(*map(caller, range(CALLERS)))


RAW_MANY = Way(f"raw SQL for triggers, {STORE_AT_ONCE:,} at once", _insert_many)
MANY = Way(f"triggers, {STORE_AT_ONCE:,} at once", _trigger_many)
RAW_ONE = Way("raw SQL for triggers one by one", _insert_one_by_one)
ONE = Way("triggers one by one", _trigger_one_by_one)
FUNCTION = Way("tidings.trigger() one by one", _call_one_by_one)
QUIET_FUNCTION = Way("tidings.trigger() one by one, no notification", _call_one_by_one, {"tidings.notify": "off"})

POST = Way("POST /v1/triggers one by one", _post_one_by_one, asks_api=True)
POST_MANY = Way(f"POST /v1/triggers/bulk, {STORE_AT_ONCE:,} at once", _post_many, asks_api=True)


async def measure_starting(bench: Bench) -> AsyncIterator[Result]:
    """Each way on a database of its own, beside the ceiling of its kind."""
    for raw, ways, count in (
        (RAW_MANY, (MANY, POST_MANY), bench.settings.items),
        (RAW_ONE, (ONE, FUNCTION, QUIET_FUNCTION, POST), max(bench.settings.items // ONE_BY_ONE, CALLERS)),
    ):
        ceiling = await _measure(bench, raw, count, None)
        yield ceiling
        for way in ways:
            yield await _measure(bench, way, count, ceiling.rate)


async def _measure(bench: Bench, way: Way, count: int, ceiling: float | None) -> Result:
    tell = bench.step(way.title, count)
    async with AsyncExitStack() as stack:
        scene = await open_scene(stack, Fresh(bench.dsn), way)
        await way.start(scene, CALLERS, lambda _: None)  # connections, plans and caches
        await scene.fresh.sql.execute("truncate executions, queue")
        await scene.fresh.settle()
        meter = Meter(scene.fresh.sql, bench.postmaster, [scene.api.process.pid if scene.api else os.getpid()])
        before, began = await meter.read(), time.monotonic()
        await way.start(scene, count, tell)
        seconds = time.monotonic() - began
        cost = await meter.read() - before
        stored = await scene.fresh.sql.fetchval("select count(*) from executions join queue using (shard, id)")
    if stored != count:
        raise AssertionError(f"{count} triggers should have been stored, not {stored}")
    of_ceiling = 1.0 if ceiling is None else count / seconds / ceiling
    note = f"{CALLERS} callers" if "one by one" in way.title else ""
    return Result("starting", way.title, 1, count, seconds, of_ceiling, **cost.for_each(count), note=note)


async def open_scene(stack: AsyncExitStack, new: Fresh, way: Way) -> Scene:
    """A database with the benchmark's workflows, and a pool beside its engine."""
    fresh = await stack.enter_async_context(new)
    pool = await stack.enter_async_context(
        asyncpg.create_pool(fresh.dsn, min_size=CALLERS, max_size=CALLERS, server_settings={**SESSION, **way.session})
    )
    version = await fresh.sql.fetchrow(VERSION)
    if version is None:
        raise AssertionError("the benchmark's own workflow is not there")
    api = await stack.enter_async_context(Api(fresh.dsn, CALLERS)) if way.asks_api else None
    return Scene(fresh, pool, **version, api=api)
