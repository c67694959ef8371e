"""Deploying a campaign to contacts: people a second, beside a plain INSERT … SELECT of the same items.

The plain one writes the outbox rows alone, in one statement for each shard: no jobs, no queue, no cursor to go on from,
and keys of two parts. It is what PostgreSQL can take. As the deploy, it has several shards side by side; one after the
other is shown as well.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from uuid import uuid4

from bench.bench import Bench
from bench.contacts import WORKSPACE, deploy_to_everybody, store_contacts
from bench.database import Fresh, Tell, connect
from bench.report import Result
from bench.settings import SHARDS
from bench.timed import Timed
from tidings.domain.flow.queue import Lane

PLAIN = """
insert into outbox (
    shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient, contact_id, status,
    idempotency_key, created_at
)
select shard, id, tenant_id, workspace_id, $2, $2, row_number() over (order by id), 'email', 'null', email, id,
       'queued', place_of(id) || substr(sha256(id::text::bytea), 1, 24), now()
  from contacts
 where shard = $1 and tenant_id = 'default' and workspace_id = 'default' and deleted_at is null
"""


async def measure_deploying(bench: Bench) -> AsyncIterator[Result]:
    """The plain statements first, then a deploy to the same people."""
    count = bench.settings.people
    async with Fresh(bench.dsn) as fresh:
        bench.step(f"storing {count:,} contacts", None)
        await store_contacts(fresh, count)
        timed = Timed(bench, fresh, "deploying", "select count(*) from outbox")
        plain: list[Result] = []
        for what, shares in (
            ("INSERT … SELECT of items", [list(range(SHARDS))]),
            ("the same, the shards side by side", [[shard] for shard in range(SHARDS)]),
        ):
            bench.step(what, None)
            plain.append(await timed.measure(what, count, partial(_plain, fresh, shares), _fastest(plain)))
            yield plain[-1]
            await fresh.sql.execute("truncate outbox")
        what = "deploy of a campaign to contacts"
        work = partial(_deploy, fresh, bench.step(what, count))
        yield await timed.measure(what, count, work, _fastest(plain))


def _fastest(plain: Sequence[Result]) -> float | None:
    return max((result.rate or 0 for result in plain), default=None)


async def _plain(fresh: Fresh, shares: Sequence[Sequence[int]]) -> None:
    async def insert(share: Sequence[int]) -> None:
        connection = await connect(fresh.dsn)
        try:
            for shard in share:
                await connection.execute(PLAIN, shard, uuid4())
        finally:
            await connection.close()

    await asyncio.gather(*map(insert, shares))


async def _deploy(fresh: Fresh, tell: Tell) -> None:
    """The run's own work until everybody is planned; nothing is sent."""
    run = await deploy_to_everybody(fresh)
    while True:
        for shard in fresh.engine.kernel.every_shard():
            await fresh.engine.work(shard, Lane.RUNS)
        shown = await fresh.engine.runs.get(WORKSPACE, run)
        tell(shown.counts.planned)
        if not shown.planning:
            return
