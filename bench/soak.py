"""Whether it keeps its pace when nothing can be cleaned up: a steady load, and a reader that holds the horizon.

While a snapshot is open, no dead row younger than it can be removed, from any table: what a long report or a forgotten
session does to a queue in PostgreSQL.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from bench.bench import Bench
from bench.database import Fresh, connect
from bench.latency import rate_of_executions
from bench.meter import Cost, Meter
from bench.report import Result
from bench.workers import Workers

TICK_SECONDS = 0.1
WINDOW_SHARE = 10
"""The first and the last tenth of the soak are compared."""

SIZES = """
select c.relname, pg_relation_size(c.oid) as bytes
  from pg_class c where c.relnamespace = 'tidings'::regnamespace and c.relkind in ('r', 'i') order by 1
"""
DELIVERED = """
select count(*) as items, percentile_cont(0.5) within group (order by age) * 1000 as p50_ms,
       percentile_cont(0.99) within group (order by age) * 1000 as p99_ms
  from (select extract(epoch from o.finalized_at - e.created_at) as age
          from outbox o join executions e on e.shard = o.shard and e.id = o.execution_id
         where o.finalized_at >= $1 and o.finalized_at < $2) d
"""
WAITING = "select count(*) from queue where due_at <= now()"


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of the soak."""

    rate: float
    p50_ms: float
    p99_ms: float
    python_us: float
    postgres_us: float


async def measure_soak(bench: Bench) -> AsyncIterator[Result]:
    """Half of what one process can do, for as long as the settings say."""
    rate, seconds = await rate_of_executions(bench) / 2, bench.settings.soak_seconds
    async with Fresh(bench.dsn) as fresh, Workers(fresh, 1) as workers:
        meter = Meter(fresh.sql, bench.postmaster, workers.pids)
        await fresh.settle()
        sizes = [await _sizes(fresh)]
        began_at, before = await fresh.now(), await meter.read()
        async with _open_snapshot(fresh):
            feeding = asyncio.create_task(_feed(bench, fresh, rate, seconds))
            first = await _window(fresh, meter, seconds / WINDOW_SHARE)
            await asyncio.sleep(seconds * (1 - 2 / WINDOW_SHARE))
            last = await _window(fresh, meter, seconds / WINDOW_SHARE)
            items = await feeding
            waiting = await fresh.sql.fetchval(WAITING)
            await fresh.until_done(bench.step("soak: what is left", None))
            sizes.append(await _sizes(fresh))
        cost = await meter.read() - before
        await fresh.settle()
        sizes.append(await _sizes(fresh))
        took = await fresh.span(began_at, items)
    yield replace(
        _result(items, took, cost, (first, last), waiting, sizes), what=f"soak of {seconds:g} s under a snapshot"
    )


@asynccontextmanager
async def _open_snapshot(fresh: Fresh) -> AsyncIterator[None]:
    reader = await connect(fresh.dsn)
    try:
        async with reader.transaction(isolation="repeatable_read", readonly=True):
            await reader.fetchval("select count(*) from queue")
            yield
    finally:
        await reader.close()


async def _feed(bench: Bench, fresh: Fresh, rate: float, seconds: float) -> int:
    """Trigger at a steady rate, by the plan and not after the last answer; give how many."""
    tell = bench.step(f"soak: {rate:,.0f} triggers a second", int(rate * seconds))
    began, stored = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        due = int(rate * passed)
        if due > stored:
            await fresh.trigger("one", "soak", range(stored, due))
            stored = due
            tell(stored)
        await asyncio.sleep(TICK_SECONDS)
    return stored


async def _window(fresh: Fresh, meter: Meter, seconds: float) -> Window:
    since, before = await fresh.now(), await meter.read()
    await asyncio.sleep(seconds)
    until, cost = await fresh.now(), await meter.read() - before
    return await _seen(fresh, since, until, cost)


async def _seen(fresh: Fresh, since: datetime, until: datetime, cost: Cost) -> Window:
    row = await fresh.sql.fetchrow(DELIVERED, since, until)
    if row is None or not row["items"]:
        raise AssertionError("nothing was delivered in a whole window of the soak")
    each = cost.for_each(row["items"])
    rate = row["items"] / (until - since).total_seconds()
    return Window(rate, row["p50_ms"], row["p99_ms"], each["python_us"], each["postgres_us"])


async def _sizes(fresh: Fresh) -> dict[str, int]:
    return {row["relname"]: row["bytes"] for row in await fresh.sql.fetch(SIZES)}


def _result(
    items: int,
    seconds: float,
    cost: Cost,
    windows: tuple[Window, Window],
    waiting: int,
    sizes: list[dict[str, int]],
) -> Result:
    first, last = windows
    grown = {name: [each.get(name, 0) for each in sizes] for name in sizes[0] if sizes[1][name] > sizes[0][name]}
    notes = [
        f"{first.rate:,.0f}/s at first, {last.rate:,.0f}/s at last, {waiting:,} waiting at the end",
        f"p99 {first.p99_ms:,.0f} ms at first, {last.p99_ms:,.0f} ms at last",
        f"PostgreSQL {first.postgres_us:,.0f} µs/item at first, {last.postgres_us:,.0f} at last",
        *(_growth(name, grown) for name in ("queue", "idx_queue_due_at", "queue_pkey", "executions", "outbox")),
    ]
    return Result(
        "soak",
        "soak under an open snapshot",
        processes=1,
        items=items,
        seconds=seconds,
        **cost.for_each(items),
        note="\n".join(notes),
        seen={"first": _fields(first), "last": _fields(last), "waiting": waiting, "bytes": grown},
    )


def _growth(name: str, grown: Mapping[str, list[int]]) -> str:
    """A relation's megabytes before, at the end, and after the reader left and a vacuum."""
    before, after, cleaned = (value / 1e6 for value in grown.get(name, [0, 0, 0]))
    return f"{name}: {before:.1f} → {after:.1f} MB, {cleaned:.1f} MB after vacuum"


def _fields(window: Window) -> dict[str, float]:
    return {name: getattr(window, name) for name in Window.__slots__}
