"""Deploying a campaign to contacts: people a second, beside a plain INSERT … SELECT of the same items.

The plain one writes the outbox rows alone, in one statement for each shard: no jobs, no queue, no cursor to go on from,
and keys of two parts. It is what PostgreSQL can take.
"""

import os
import time
from collections.abc import AsyncIterator
from functools import partial

from bench.bench import Bench
from bench.database import Fresh, Tell
from bench.importing import COLUMNS, WORKSPACE, Work, rows
from bench.meter import Meter
from bench.report import Result
from tidings.domain.caller import Caller
from tidings.domain.queue import Lane

BY = Caller(WORKSPACE, "bench")
PLAIN = """
insert into outbox (
    shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient, contact_id, status,
    idempotency_key, created_at
)
select shard, id, tenant_id, workspace_id, $2, $2, row_number() over (order by id), 'email', 'null', email, id,
       'queued', sha256(id::text::bytea), now()
  from contacts
 where shard = $1 and tenant_id = 'default' and workspace_id = 'default' and deleted_at is null
"""


async def measure_deploying(bench: Bench) -> AsyncIterator[Result]:
    """The plain statement first, then a deploy to the same people."""
    count = bench.settings.items * 4
    async with Fresh(bench.dsn) as fresh:
        await fresh.sql.copy_records_to_table(
            "contacts", records=[*rows(count)], columns=COLUMNS, schema_name="tidings"
        )
        await fresh.sql.execute("vacuum analyze contacts")
        plain = await _measured(bench, fresh, "INSERT … SELECT of items", count, partial(_plain, fresh), None)
        yield plain
        await fresh.sql.execute("truncate outbox")
        what = "deploy of a campaign to contacts"
        work = partial(_deploy, fresh, bench.step(what, count))
        yield await _measured(bench, fresh, what, count, work, plain.rate)


async def _measured(bench: Bench, fresh: Fresh, what: str, count: int, work: Work, ceiling: float | None) -> Result:
    await fresh.settle()
    meter = Meter(fresh.sql, bench.postmaster, [os.getpid()])
    before, began = await meter.read(), time.monotonic()
    await work()
    seconds = time.monotonic() - began
    cost = await meter.read() - before
    planned = await fresh.sql.fetchval("select count(*) from outbox")
    if planned != count:
        raise AssertionError(f"{count} items should have been planned, not {planned}")
    of_ceiling = 1.0 if ceiling is None else count / seconds / ceiling
    return Result("deploying", what, 1, count, seconds, of_ceiling, **cost.for_each(count))


async def _plain(fresh: Fresh) -> None:
    for shard in fresh.engine.kernel.every_shard():
        await fresh.sql.execute(PLAIN, shard, await fresh.sql.fetchval("select gen_random_uuid()"))


async def _deploy(fresh: Fresh, tell: Tell) -> None:
    """The run's own work until everybody is planned; nothing is sent."""
    content = {"subject": "Hello {{ contact.name }}", "body": "Good to see you."}
    given = {"name": "bench", "channel": "email", "content": content, "audience": {"all": True}}
    made = await fresh.engine.campaigns.create(BY, given)
    run = (await fresh.engine.campaigns.deploy(BY, made.id)).id
    while True:
        for shard in fresh.engine.kernel.every_shard():
            await fresh.engine.work(shard, Lane.RUNS)
        shown = await fresh.engine.runs.get(WORKSPACE, run)
        tell(shown.counts.planned)
        if not shown.planning:
            return
