"""The ceiling: the rows and marks the kernel writes, in the same commits and batches, by plain SQL and nothing else.

No planning, no rendering, no provider, no fence to prove, no time to wait for. Each commit of the kernel has one
counterpart here, as ONE plain statement in its own implicit transaction:

    claim      leases a batch of 100 executions
    reserve    inserts their items with their marks
    finalize   records the facts
    move       writes where the executions stand and ends their lease

An execution with one send makes this round once; one with three sends makes it three times, each round with a claim of
its own. What the kernel only reads is not read, save the node an execution stands at. `raw_wave.py` does the same for
enrollments, `raw_campaign.py` and `raw_contacts.py` for a run. As many connections work side by side as keep it
fastest. What the kernel loses against this is what its promise costs.

It is run as a process of its own (see programs.py).
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TypeAlias
from uuid import UUID, uuid4

import asyncpg
import uvloop

from bench.programs import told_to_begin, told_to_end
from bench.settings import BATCH, SHARDS

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
Work: TypeAlias = Callable[[Connection, int], Awaitable[None]]

CONNECTIONS = int(os.environ.get("BENCH_CONNECTIONS", "4"))
"""For each process; `make bench-full` tries several numbers and takes the fastest for the ceiling."""
LEASE = timedelta(minutes=5)
TRANSACTIONAL = 0

CLAIM = """
with due as materialized (
    select id from queue where shard = $1 and lane = $2 and due_at <= $3 order by due_at limit $4 for update skip locked
)
update queue q set due_at = $5, fence = q.fence + 1, leased = true
 where q.shard = $1 and q.id = any(array(select id from due)) returning q.id
"""
# The node is where the execution stands, so that one statement serves every round.
RESERVE = """
insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, provider,
                    recipient, payload, status, idempotency_key, created_at, marked_attempt, marked_fence, marked_at,
                    first_marked_at, attempts)
select $1, t.id, 'default', 'default', e.id, e.cursor, 1, 0, 'email', 'null', e.input ->> 'email',
       '{"subject": "Hello P12345", "body": "Good to see you, P12345."}', 'queued', t.key, $5, 1, 1, $5, $5, 1
  from unnest($2::uuid[], $3::uuid[], $4::bytea[]) as t(id, owner, key)
  join executions e on e.shard = $1 and e.id = t.owner
"""
FINALIZE = """
update outbox o set status = 'sent', provider_message_id = encode(o.idempotency_key, 'hex'), finalized_at = $3
  from unnest($2::uuid[]) as t(id) where o.shard = $1 and o.id = t.id
"""
MOVE = """
with moved as (
    update executions e
       set status = case when e.cursor in ('first', 'second') then 'enqueued' else 'completed' end,
           cursor = case e.cursor when 'first' then 'second' when 'second' then 'third' end,
           frontier = case e.cursor
               when 'first' then jsonb_build_object(
                   'arrived', '[0]'::jsonb,
                   'ready', jsonb_build_array(jsonb_build_array('second', $4::timestamptz)))
               when 'second' then jsonb_build_object(
                   'arrived', '[0, 1]'::jsonb,
                   'ready', jsonb_build_array(jsonb_build_array('third', $4::timestamptz)))
               when 'third' then '{"arrived": [0, 1]}'
               else '{}' end,
           vars = e.vars || jsonb_build_object(e.cursor, jsonb_build_object(
                      'at', $4::timestamptz, 'status', 'sent', 'messageId', encode(t.key, 'hex'))),
           attempts = 1, started_at = coalesce(e.started_at, $4),
           ended_at = case when e.cursor in ('first', 'second') then null else $4::timestamptz end
      from unnest($2::uuid[], $3::bytea[]) as t(id, key)
     where e.shard = $1 and e.id = t.id
    returning e.id, e.cursor as next
),
kept as (
    update queue q set due_at = $4, fence = q.fence + 1, leased = false
      from moved m where q.shard = $1 and q.id = m.id and m.next is not null
)
delete from queue q using moved m where q.shard = $1 and q.id = m.id and m.next is null
"""
# With one plan to find, as the kernel's sessions have it: the ceiling must not stumble over a plan for empty tables.
SESSION = {
    "search_path": "tidings, public",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "random_page_cost": "1.1",
}


def now() -> datetime:
    """The time to store: PostgreSQL's, which runs on the same machine."""
    return datetime.now(UTC)


def key_of(id: UUID) -> bytes:
    """A key as an item of this id may have it: of its place, and unique."""
    return id.bytes[:8] + sha256(id.bytes).digest()[:24]


def new_id(shard: int) -> UUID:
    """An id in some bucket of a shard, ordered by time as the kernel's are."""
    return UUID(int=int(time.time() * 1000) << 80 | 7 << 76 | shard << 64 | 2 << 62 | uuid4().int & (1 << 62) - 1)


def sibling(owner: UUID) -> UUID:
    """An id in the same bucket."""
    return UUID(int=(owner.int >> 62 << 62) | (uuid4().int & (1 << 62) - 1))


async def claim(connection: Connection, shard: int, lane: int, limit: int) -> list[UUID]:
    """Lease what is due."""
    at = now()
    return [row["id"] for row in await connection.fetch(CLAIM, shard, lane, at, limit, at + LEASE)]


@dataclass(frozen=True, slots=True)
class Round:
    """How a batch of one kind is moved: its lane, and the statements between claim and the next one."""

    lane: int
    reserve: str
    move: str


EXECUTIONS = Round(TRANSACTIONAL, RESERVE, MOVE)


async def move_executions(connection: Connection, number: int) -> None:
    """Move every due execution to its end."""
    await move_all(connection, number, EXECUTIONS)


async def move_all(connection: Connection, number: int, by: Round) -> None:
    """Go round until nothing is due anywhere; number after number begins with another shard."""
    empty, shard = 0, number
    while empty < SHARDS:
        shard = (shard + 1) % SHARDS
        empty = 0 if await _round(connection, shard, by) else empty + 1


async def _round(connection: Connection, shard: int, by: Round) -> bool:
    owners = await claim(connection, shard, by.lane, BATCH)
    if not owners:
        return False
    ids = [sibling(owner) for owner in owners]
    keys = [key_of(id) for id in ids]
    await connection.execute(by.reserve, shard, ids, owners, keys, now())
    await connection.execute(FINALIZE, shard, ids, now())
    await connection.execute(by.move, shard, owners, keys, now())
    return True


async def run(dsn: str, work: Work, process: int, go: Callable[[], Awaitable[None]]) -> None:
    """Let every connection work at once, from when it is told to."""
    pool = await asyncpg.create_pool(dsn, min_size=CONNECTIONS, max_size=CONNECTIONS, server_settings=SESSION)
    await go()
    first = process * CONNECTIONS
    await asyncio.gather(*(_lend(pool, work, first + number) for number in range(CONNECTIONS)))
    await pool.close()


async def _lend(pool: "asyncpg.Pool[asyncpg.Record]", work: Work, number: int) -> None:
    async with pool.acquire() as connection:
        await work(connection, number)


def _work_named(workload: str) -> Work:
    # These stand on this module.
    from bench.raw_campaign import deploy_and_send  # noqa: PLC0415
    from bench.raw_contacts import deploy_to_contacts_and_send  # noqa: PLC0415
    from bench.raw_wave import move_enrollments  # noqa: PLC0415

    special = {"campaign": deploy_and_send, "contacts": deploy_to_contacts_and_send, "wave": move_enrollments}
    return special.get(workload, move_executions)


async def _main(workload: str, process: int) -> None:
    await run(os.environ["DATABASE_URL"], _work_named(workload), process, told_to_begin)
    await told_to_end()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_main(sys.argv[1], int(sys.argv[2])))
