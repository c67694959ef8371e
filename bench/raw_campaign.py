"""The ceiling of a campaign: the rows of a run's jobs and items, in the kernel's commits, by plain SQL.

The run, its parts and its audience are there already, as for the kernel: `engine.deploy` has stored them. Then, as ONE
plain statement each, in its own implicit transaction:

    deploy     one chunk of 500 people: the part's cursor, the job, its items, its row in the queue
    claim      leases one job
    take       locks the job and finds its items
    mark       marks all of them, with their payload
    finalize   records the facts and adds them to the job's counts
    move       ends the job and its row in the queue
    wake       tells the run

and once, at the end, the run's own status, its audit rows and its row in the queue. The kernel also rolls a run up
while its jobs are under way, and reads what each person's templates need; neither is done here. Parts are deployed by
one connection for each shard, and every connection works on jobs from the beginning.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from bench.raw import CONNECTIONS, Connection, claim, key_of, new_id, now, sibling
from bench.settings import JOB, SHARDS

CAMPAIGNS = 2
NOTHING_YET_SECONDS = 0.002

RUN = "select id, shard from runs"
READ_AUDIENCE = """
select ordinal, recipient from audience where shard = $1 and run_id = $2 and ordinal > $3 order by ordinal limit $4
"""
DEPLOY = """
with part as (
    update run_parts set cursor = $3, planned = planned + $4, finished = $5 where shard = $1 and run_id = $2
),
job as (
    insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, created_at)
    values ($1, $6, $2, 'default', 'default', 'email_send_batch', 'queued', $4, $7)
),
items as (
    insert into outbox (shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient,
                        status, idempotency_key, created_at)
    select $1, t.id, 'default', 'default', $2, $6, t.ordinal, 'email', 'null', t.recipient, 'queued', t.key, $7
      from unnest($8::uuid[], $9::bigint[], $10::text[], $11::bytea[]) as t(id, ordinal, recipient, key)
)
insert into queue (shard, id, kind, lane, due_at, workspace_hash) values ($1, $6, 'job', 2, $7, 1)
"""
FINISH_PART = "update run_parts set finished = true where shard = $1 and run_id = $2"
TAKE = """
with taken as (
    update jobs set status = 'locked', attempts = attempts + 1, started_at = $3 where shard = $1 and id = $2
    returning run_id
)
select o.id from taken t join outbox o on o.shard = $1 and o.run_id = t.run_id and o.job_id = $2
"""
MARK = """
update outbox o
   set marked_attempt = 1, marked_fence = 1, marked_at = $3, first_marked_at = $3, attempts = 1,
       payload = '{"subject": "Hello P12345", "body": "Good to see you, P12345."}'
  from unnest($2::uuid[]) as t(id) where o.shard = $1 and o.id = t.id
"""
FINALIZE = """
with finalized as (
    update outbox o set status = 'sent', provider_message_id = encode(o.idempotency_key, 'hex'), finalized_at = $3
      from unnest($2::uuid[]) as t(id) where o.shard = $1 and o.id = t.id
)
update jobs set sent = sent + $5 where shard = $1 and id = $4
"""
MOVE = """
with ended as (
    update jobs set status = 'completed', ended_at = $3 where shard = $1 and id = $2
)
delete from queue where shard = $1 and id = $2
"""
WAKE = "update queue set due_at = least(due_at, $3) where shard = $1 and id = $2"
ROLL_UP = """
with ended as (
    update runs
       set status = 'completed', planned = (select sum(planned) from run_parts where run_id = $2), started_at = $3,
           ended_at = $3
     where shard = $1 and id = $2
),
told as (
    insert into audit_log (shard, id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, detail, at)
    select $1, t.id, 'default', 'default', 'run', $2, t.event, 'engine', '{"from": "queued", "planned": null}', $3
      from unnest($4::uuid[], '{running,completed}'::text[]) as t(id, event)
)
delete from queue where shard = $1 and id = $2
"""
ALL_PLANNED = """
select coalesce(bool_and(finished), true) from run_parts where shard = any($1::smallint[]) and run_id = $2
"""


@dataclass(frozen=True, slots=True)
class Run:
    """The only run of the database."""

    id: UUID
    shard: int


Deploy = Callable[[Connection, int, Run], Awaitable[None]]


async def deploy_and_send(connection: Connection, number: int) -> None:
    """A run of a plain list."""
    await deploy_by(connection, number, _deploy)


async def deploy_by(connection: Connection, number: int, deploy: Deploy) -> None:
    """Deploy this connection's share of the shards, if any, and send jobs until there will be no more."""
    row = await connection.fetchrow(RUN)
    if row is None:
        raise RuntimeError("there is no run; deploy one first")
    run = Run(**row)
    if number < CONNECTIONS:
        for shard in range(number, SHARDS, CONNECTIONS):
            await deploy(connection, shard, run)
    await _send_jobs(connection, number, run)
    if number == 0:
        ids = [sibling(run.id), sibling(run.id)]
        await connection.execute(ROLL_UP, run.shard, run.id, now(), ids)


async def _deploy(connection: Connection, shard: int, run: Run) -> None:
    cursor, people = 0, await connection.fetch(READ_AUDIENCE, shard, run.id, 0, JOB)
    while people:
        cursor = people[-1]["ordinal"]
        job = new_id(shard)
        ids = [sibling(job) for _ in people]
        await connection.execute(
            *(DEPLOY, shard, run.id, cursor, len(people), len(people) < JOB, job, now(), ids),
            [person["ordinal"] for person in people],
            [person["recipient"] for person in people],
            [key_of(id) for id in ids],
        )
        people = await connection.fetch(READ_AUDIENCE, shard, run.id, cursor, JOB)
    await connection.execute(FINISH_PART, shard, run.id)


async def _send_jobs(connection: Connection, number: int, run: Run) -> None:
    all_planned = False
    while True:
        sent = [await _send_job(connection, (number + shard) % SHARDS, run) for shard in range(SHARDS)]
        if any(sent):
            continue
        if all_planned:
            return
        all_planned = await connection.fetchval(ALL_PLANNED, list(range(SHARDS)), run.id)
        await asyncio.sleep(0 if all_planned else NOTHING_YET_SECONDS)


async def _send_job(connection: Connection, shard: int, run: Run) -> bool:
    for job in await claim(connection, shard, CAMPAIGNS, 1):
        ids = [row["id"] for row in await connection.fetch(TAKE, shard, job, now())]
        await connection.execute(MARK, shard, ids, now())
        await connection.execute(FINALIZE, shard, ids, now(), job, len(ids))
        await connection.execute(MOVE, shard, job, now())
        await connection.execute(WAKE, run.shard, run.id, now())
        return True
    return False
