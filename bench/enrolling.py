"""Enrolling contacts in a sequence: a batch-enroll beside a plain INSERT … SELECT of the same rows.

The plain statements look for nobody who is there already, know one time for all, and ask nobody whether the sequence
takes contacts: they are what PostgreSQL can write. In one statement for all, and in one for each shard side by side, as
batch-enroll has its shards; the faster one is the ceiling.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from uuid import UUID

from bench.bench import Bench
from bench.contacts import BY, CONTENT, store_contacts
from bench.database import Fresh, Tell, connect
from bench.report import Result
from bench.settings import SHARDS
from bench.timed import Timed
from tidings.kernel.start.enroll import Enrolling
from tidings.views.sequences import SequenceStatus

STORED = "select count(*) from executions e join queue q on q.shard = e.shard and q.id = e.id"
# The key, the frontier and the time are those of an enrollment; ids are made as tidings.trigger() makes them.
PLAIN = """
with enrolled as (
    insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key,
                            key_hash, status, frontier, cursor, input, triggered_by, created_at, contact_id)
    select c.shard, new_id(bucket_of_id(c.id), now()), c.tenant_id, c.workspace_id, $1, $2, c.id::text || ':1',
           key_hash(length_prefixed(array['default', 'default', $1::uuid::text]), c.id::text || ':1'),
           'enqueued', $3::text::jsonb, $4, '{}', 'api', now(), c.id
      from contacts c
     where c.shard = any($5::smallint[]) and c.deleted_at is null
    returning shard, id
)
insert into queue (shard, id, kind, lane, due_at, workspace_hash)
select shard, id, 'execution', 1, now() + interval '90 days', 1 from enrolled
"""


async def measure_enrolling(bench: Bench) -> AsyncIterator[Result]:
    """The plain statements first, then the same people by batch-enroll, then nobody new."""
    count = bench.settings.people
    async with Fresh(bench.dsn) as fresh:
        bench.step(f"storing {count:,} contacts", None)
        await store_contacts(fresh, count)
        sequence = await make_sequence(fresh, day_offset=90)
        timed = Timed(bench, fresh, "enrolling", STORED)
        bench.step("plain INSERT … SELECT", None)
        one = partial(_plain, fresh, sequence, [list(range(SHARDS))])
        plain = await timed.measure("plain INSERT … SELECT", count, one)
        yield plain
        await _empty(fresh)
        side_by_side = partial(_plain, fresh, sequence, [[shard] for shard in range(SHARDS)])
        shards = await timed.measure("the same, a statement for each shard", count, side_by_side, plain.rate)
        yield shards
        await _empty(fresh)
        ceiling = max(plain.rate or 0, shards.rate or 0)
        tell = bench.step("batch-enroll", count)
        yield await timed.measure("batch-enroll", count, partial(enroll_all, fresh, sequence, count, tell), ceiling)
        again = partial(enroll_all, fresh, sequence, 0, tell)
        yield await timed.measure("the same again, nobody new", count, again, ceiling)


async def _empty(fresh: Fresh) -> None:
    await fresh.sql.execute("truncate executions, queue")


async def make_sequence(fresh: Fresh, day_offset: int) -> UUID:
    """An active sequence with one step."""
    step = {
        "dayOffset": day_offset,
        "channel": "email",
        "subject": CONTENT["subject"],
        "content": CONTENT["body"],
    }
    sequences = fresh.engine.sequences
    made = await sequences.create(BY, f"after {day_offset} days", steps=[step])
    await sequences.update(BY, made.id, status=SequenceStatus.ACTIVE)
    return made.id


async def enroll_all(fresh: Fresh, sequence: UUID, new: int, tell: Tell) -> None:
    """Enroll every contact, of whom so many must be new."""

    def told(done: Enrolling) -> None:
        tell(done.enrolled + done.skipped)

    done = await fresh.engine.enrollments.batch_enroll(BY, sequence, {"all": True}, on_progress=told)
    if done.enrolled != new:
        raise AssertionError(f"{new} should have been enrolled, not {done}")


async def _plain(fresh: Fresh, sequence: UUID, shares: list[list[int]]) -> None:
    published = await fresh.engine.sequences.published(BY.workspace, sequence)
    entry = published.graph.entry
    frontier = f'{{"ready": [["{entry}", "2026-01-01T00:00:00+00:00"]]}}'

    async def insert(share: list[int]) -> None:
        connection = await connect(fresh.dsn)
        try:
            await connection.execute(PLAIN, sequence, published.version_id, frontier, entry, share)
        finally:
            await connection.close()

    await asyncio.gather(*(insert(share) for share in shares))
