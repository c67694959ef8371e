"""Whether those who sleep cost those who do not: the rate, and what a claim reads, among millions of sleepers."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg

from bench.bench import Bench
from bench.database import Fresh, Sql, Tell, person
from bench.report import Result
from bench.settings import BATCH, SHARDS
from bench.throughput import EXECUTIONS, measure_kernel
from bench.workers import Workers
from tidings.storage.database import SESSION_SETTINGS
from tidings.storage.statements import Statement, load

Plan: TypeAlias = Mapping[str, Any]
AT_ONCE = 50_000
CONNECTIONS = 2

# Copies of an execution that really sleeps, under ids of every bucket in turn, ordered by time as real ones are.
COPY = """
with model as materialized (
    select e.*, q.kind, q.lane, q.due_at, q.workspace_hash
      from executions e join queue q on q.shard = e.shard and q.id = e.id
     where e.id = $1
),
copy as materialized (
    select g, (lpad(to_hex((extract(epoch from $2::timestamptz) * 1000)::bigint + g / 100), 12, '0')
               || '7' || lpad(to_hex(g % 4096), 3, '0') || '8' || lpad(to_hex(g), 15, '0'))::uuid as id
      from generate_series($3::bigint, $4::bigint) g
),
slept as (
    insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key,
                            key_hash, status, frontier, cursor, input, vars, created_at)
    select (c.g % 4096 % shard_count())::smallint, c.id, m.tenant_id, m.workspace_id, m.workflow_id, m.version_id,
           'sleeper-' || lpad(c.g::text, 12, '0'), key_hash('', c.g::text), m.status,
           m.frontier, m.cursor, m.input, m.vars, m.created_at
      from copy c cross join model m
)
insert into queue (shard, id, kind, lane, due_at, workspace_hash)
select (c.g % 4096 % shard_count())::smallint, c.id, m.kind, m.lane, m.due_at + c.g * interval '1 microsecond',
       m.workspace_hash
  from copy c cross join model m
"""


async def measure_sleepers(bench: Bench) -> AsyncIterator[Result]:
    """The rate of one-send executions, again and again on a database that more and more executions sleep in."""
    async with Fresh(bench.dsn) as fresh, Workers(fresh, 1) as workers:
        started = await fresh.engine.trigger("sleeper", person(0), "model")
        asleep = 0
        first: float | None = None
        for sleepers in bench.settings.sleepers:
            workers.freeze()
            await _add(fresh, started.id, asleep, sleepers, bench.step(f"{sleepers:,} sleepers: storing", sleepers))
            asleep = sleepers
            workers.thaw()
            result = await _measure_among(bench, fresh, workers, sleepers)
            first = first or result.rate
            of_first = (result.rate or 0) / (first or 1)
            note = f"{of_first:.0%} of the first; {result.note}"
            yield replace(result, note=note, seen={**result.seen, "of_first": of_first})


async def _measure_among(bench: Bench, fresh: Fresh, workers: Workers, sleepers: int) -> Result:
    buffers: dict[str, float] = {}

    async def look_at_claim() -> None:
        buffers.update(await claim_buffers(fresh))

    result = await measure_kernel(
        *(bench, fresh, workers, EXECUTIONS, bench.settings.items),
        once_stored=look_at_claim,
        prefix=f"among-{sleepers}",
    )
    found, total = buffers["to_find"], buffers["in_all"]
    return replace(
        result,
        measurement="sleepers",
        what=f"one send, {sleepers:,} sleepers",
        note=f"a claim: {found:.1f} buffers a row to find, {total:.1f} in all",
        seen={"sleepers": sleepers, "claim_buffers_to_find": found, "claim_buffers": total},
    )


async def _add(fresh: Fresh, model: UUID, asleep: int, wanted: int, tell: Tell) -> None:
    """Store sleepers up to a number, by a few connections at once."""
    began_at = await fresh.now()
    chunks = iter([(first, min(first + AT_ONCE, wanted) - 1) for first in range(asleep, wanted, AT_ONCE)])
    done = asleep

    async def store() -> None:
        nonlocal done
        connection = await asyncpg.connect(
            fresh.dsn, server_settings={"search_path": "tidings, public", "synchronous_commit": "off"}
        )
        for first, last in chunks:
            await connection.execute(COPY, model, began_at, first, last, timeout=600)
            done += last - first + 1
            tell(done)
        await connection.close()

    await asyncio.gather(*(store() for _ in range(CONNECTIONS)))


async def claim_buffers(fresh: Fresh) -> dict[str, float]:
    """What a claim of a whole batch touches for each row, as a worker's session plans it; nothing stays claimed."""
    session = await asyncpg.connect(fresh.dsn, server_settings=SESSION_SETTINGS, command_timeout=120)
    try:
        now = await fresh.now()
        values = {
            "shard": str(SHARDS - 1),
            "lane": "0",
            "since": "1970-01-01",
            "now": now.isoformat(),
            "limit": str(BATCH),
            "lease_until": (now + timedelta(minutes=5)).isoformat(),
        }
        plan = await _explain(session, load("claim")["claim_due"], values)
    finally:
        await session.close()
    rows = max(int(plan["Actual Rows"]), 1)
    scans = [part for part in _parts(plan) if part.get("Relation Name") and "Scan" in part["Node Type"]]
    return {"to_find": sum(map(_buffers, scans)) / rows, "in_all": _buffers(plan) / rows}


async def _explain(session: Sql, statement: Statement, values: Mapping[str, str]) -> Plan:
    arguments = ", ".join(f"'{values[name]}'" for name in statement.parameters)
    await session.execute("set plan_cache_mode = force_generic_plan")  # what a prepared statement comes to
    transaction = session.transaction()
    await transaction.start()
    try:
        await session.execute(f"prepare explained as {statement.text}")
        explained = await session.fetchval(f"explain (analyze, buffers, format json) execute explained({arguments})")
    finally:
        await transaction.rollback()
    plan: Plan = json.loads(explained)[0]["Plan"]
    return plan


def _parts(plan: Plan) -> Iterator[Plan]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _parts(inner)


def _buffers(plan: Plan) -> int:
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])
