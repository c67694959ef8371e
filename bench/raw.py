"""The ceiling: the rows the kernel writes, in the same batches, by plain SQL and nothing else.

No planning, no rendering, no provider, no fence: claim a batch, insert its items, mark them, finalize them, move their
owners. What the kernel loses against this is what its promise costs.
"""

import asyncio
import os
import time
from hashlib import sha256
from uuid import UUID, uuid4

import asyncpg

CLAIM = """
with due as materialized (
    select id from queue where shard = $1 and lane = $2 and due_at <= $3 order by due_at limit $4 for update skip locked
)
update queue q set due_at = $5, fence = q.fence + 1, leased = true from due
 where q.shard = $1 and q.id = due.id returning q.id
"""
INSERT = """
insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, provider,
                    recipient, payload, status, idempotency_key, created_at)
select $1, t.id, 'default', 'default', t.owner, 'hello', 1, 0, 'email', 'null', 'someone@example.com',
       '{"subject": "Hello someone", "body": "Good to see you, someone."}', 'queued', t.key, $5
  from unnest($2::uuid[], $3::uuid[], $4::bytea[]) as t(id, owner, key)
"""
MARK = """
update outbox o set marked_attempt = 1, marked_fence = 1, marked_at = $3, first_marked_at = $3, attempts = 1
  from unnest($2::uuid[]) as t(id) where o.shard = $1 and o.id = t.id
"""
FINALIZE = """
update outbox o set status = 'sent', provider_message_id = encode(o.idempotency_key, 'hex'), finalized_at = $3
  from unnest($2::uuid[]) as t(id) where o.shard = $1 and o.id = t.id
"""
MOVE = """
with moved as (
    update executions e set status = 'completed', frontier = '{"ready": [], "arrived": [], "dead": []}', cursor = null,
           vars = '{"hello": {"status": "sent", "at": "2026-01-01T00:00:00"}}', started_at = $3, ended_at = $3
      from unnest($2::uuid[]) as t(id) where e.shard = $1 and e.id = t.id
)
delete from queue q using unnest($2::uuid[]) as t(id) where q.shard = $1 and q.id = t.id
"""


async def run_raw(dsn: str, shards: int, batch: int, connections: int) -> float:
    """Move every due execution by plain SQL; give the seconds it took."""
    pool = await asyncpg.create_pool(
        dsn, min_size=connections, max_size=connections, server_settings={"search_path": "tidings, public"}
    )
    started = time.perf_counter()
    await asyncio.gather(*(_loop(pool, number, shards, batch) for number in range(connections)))
    elapsed = time.perf_counter() - started
    await pool.close()
    return elapsed


async def _loop(pool: "asyncpg.Pool[asyncpg.Record]", number: int, shards: int, batch: int) -> None:
    empty = 0
    shard = number
    async with pool.acquire() as connection:
        while empty < shards:
            shard = (shard + 1) % shards
            empty = 0 if await _batch(connection, shard, batch) else empty + 1


async def _batch(connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]", shard: int, batch: int) -> bool:
    now = await connection.fetchval("select clock_timestamp()")
    later = await connection.fetchval("select $1::timestamptz + interval '5 minutes'", now)
    owners: list[UUID] = [row["id"] for row in await connection.fetch(CLAIM, shard, 0, now, batch, later)]
    if not owners:
        return False
    ids = [_sibling(owner) for owner in owners]
    keys = [sha256(id.bytes).digest() for id in ids]
    await connection.execute(INSERT, shard, ids, owners, keys, now)
    await connection.execute(MARK, shard, ids, now)
    await connection.execute(FINALIZE, shard, ids, now)
    await connection.execute(MOVE, shard, owners, now)
    return True


def _sibling(owner: UUID) -> UUID:
    """An id in the same bucket."""
    return UUID(int=(owner.int >> 62 << 62) | (uuid4().int & (1 << 62) - 1))


async def _main() -> None:
    elapsed = await run_raw(os.environ["DATABASE_URL"], int(os.environ["SHARDS"]), 100, int(os.environ["CONNECTIONS"]))
    print(elapsed)


if __name__ == "__main__":
    asyncio.run(_main())
