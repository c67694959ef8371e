"""Enrolling contacts in a sequence: a batch-enroll beside a plain INSERT … SELECT of the same rows, and a due wave.

The plain statements look for nobody who is there already, know one time for all, and ask nobody whether the sequence
takes contacts: they are what PostgreSQL can write. In one statement for all, and in one for each shard side by side, as
batch-enroll has its shards; the faster one is the ceiling.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from uuid import UUID

from bench.bench import Bench
from bench.database import Fresh, Tell, connect
from bench.importing import COLUMNS, rows
from bench.meter import Meter
from bench.report import Result
from bench.settings import SHARDS
from bench.throughput import Workload, measure_kernel
from bench.workers import Workers
from tidings.domain.caller import Caller
from tidings.domain.ids import Workspace
from tidings.domain.sequence_form import SequenceStatus
from tidings.kernel.enroll import Enrolling

Work = Callable[[], Awaitable[None]]
CALLER = Caller(Workspace(), "bench")
WAVE_SHARE = 10
"""A wave is a tenth of those who are enrolled: each of them is sent something."""
# The key, the frontier and the time are those of an enrollment; ids are made as tidings.trigger() makes them.
PLAIN = """
with enrolled as (
    insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, status,
                            frontier, cursor, input, triggered_by, created_at, contact_id)
    select c.shard, new_id(bucket_of_id(c.id), now()), c.tenant_id, c.workspace_id, $1, $2, c.id::text || ':1',
           'enqueued', $3::text::jsonb, $4, '{}', 'api', now(), c.id
      from contacts c
     where c.shard = any($5::smallint[]) and c.deleted_at is null
    returning shard, id
)
insert into queue (shard, id, kind, lane, due_at)
select shard, id, 'execution', 1, now() + interval '90 days' from enrolled
"""


async def measure_enrolling(bench: Bench) -> AsyncIterator[Result]:
    """The plain statements first, then the same people by batch-enroll, then nobody new; last, a wave."""
    count = bench.settings.memory_items
    async with Fresh(bench.dsn) as fresh:
        await _store_contacts(bench, fresh, count)
        sequence = await make_sequence(fresh, day_offset=90)
        one = partial(_plain, fresh, sequence, [list(range(SHARDS))])
        plain = await _measured(bench, fresh, "plain INSERT … SELECT", count, one, None)
        yield plain
        side_by_side = partial(_plain, fresh, sequence, [[shard] for shard in range(SHARDS)])
        shards = await _measured(bench, fresh, "the same, a statement for each shard", count, side_by_side, plain.rate)
        yield shards
        ceiling = max(plain.rate or 0, shards.rate or 0)
        tell = bench.step("batch-enroll", count)
        enrolling = partial(_enroll, fresh, sequence, count, tell)
        yield await _measured(bench, fresh, "batch-enroll", count, enrolling, ceiling)
        again = partial(_enroll, fresh, sequence, 0, tell)
        yield await _measured(bench, fresh, "the same again, nobody new", count, again, ceiling, keep=True)
    yield await _wave(bench, count // WAVE_SHARE)


async def _store_contacts(bench: Bench, fresh: Fresh, count: int) -> None:
    bench.step(f"storing {count:,} contacts", None)
    await fresh.sql.copy_records_to_table("contacts", records=rows(count), columns=COLUMNS, schema_name="tidings")


async def make_sequence(fresh: Fresh, day_offset: int) -> UUID:
    """An active sequence with one step."""
    step = {
        "dayOffset": day_offset,
        "channel": "email",
        "subject": "Hello {{ contact.name }}",
        "content": "Good to see you, {{ contact.name }}.",
    }
    sequences = fresh.engine.sequences
    made = await sequences.create(CALLER, f"after {day_offset} days", steps=[step])
    await sequences.update(CALLER, made.id, status=SequenceStatus.ACTIVE)
    return made.id


async def _measured(
    bench: Bench, fresh: Fresh, what: str, count: int, work: Work, ceiling: float | None, *, keep: bool = False
) -> Result:
    if not keep:
        await fresh.sql.execute("truncate executions, queue")
    await fresh.settle()
    meter = Meter(fresh.sql, bench.postmaster, [os.getpid()])
    before, began = await meter.read(), time.monotonic()
    await work()
    seconds = time.monotonic() - began
    cost = await meter.read() - before
    stored = await fresh.sql.fetchval(
        "select count(*) from executions e join queue q on q.shard = e.shard and q.id = e.id"
    )
    if stored != count:
        raise AssertionError(f"{count} should be enrolled, not {stored}")
    of_ceiling = 1.0 if ceiling is None else count / seconds / ceiling
    return Result("enrolling", what, 1, count, seconds, of_ceiling, **cost.for_each(count))


async def _plain(fresh: Fresh, sequence: UUID, shares: list[list[int]]) -> None:
    published = await fresh.engine.sequences.published(CALLER.workspace, sequence)
    entry = published.graph.entry
    frontier = f'{{"ready": [["{entry}", "2026-01-01T00:00:00+00:00"]], "arrived": [], "dead": []}}'

    async def insert(share: list[int]) -> None:
        connection = await connect(fresh.dsn)
        try:
            await connection.execute(PLAIN, sequence, published.version_id, frontier, entry, share)
        finally:
            await connection.close()

    await asyncio.gather(*(insert(share) for share in shares))


async def _enroll(fresh: Fresh, sequence: UUID, new: int, tell: Tell) -> None:
    def told(done: Enrolling) -> None:
        tell(done.enrolled + done.skipped)

    done = await fresh.engine.enrollments.batch_enroll(CALLER, sequence, {"all": True}, on_progress=told)
    if done.enrolled != new:
        raise AssertionError(f"{new} should have been enrolled, not {done}")


async def _wave(bench: Bench, count: int) -> Result:
    """So many enrollments due at one moment, sent by one worker process."""

    async def store(fresh: Fresh, items: int, _prefix: str, tell: Tell) -> int:
        await _store_contacts(bench, fresh, items)
        await _enroll(fresh, await make_sequence(fresh, day_offset=0), items, tell)
        return items

    workload = Workload("enrolling", "a wave of due enrollments", store)
    async with Fresh(bench.dsn) as fresh, Workers(fresh, 1) as workers:
        return await measure_kernel(bench, fresh, workers, workload, count)
