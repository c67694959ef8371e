"""The ceiling of a campaign to contacts: as raw_campaign.py, but the items come from the contacts by INSERT … SELECT.

As the kernel deploys, twenty jobs share a commit: one plain statement moves the part's cursor and writes the jobs,
their items and their rows in the queue. It picks and writes at once, and makes its keys of two parts.
"""

from bench.raw import Connection, new_id, now
from bench.raw_campaign import FINISH_PART, Run, deploy_by
from bench.settings import JOB
from tidings.kernel.campaigns.contact_chunks import JOBS_IN_A_CHUNK

NOBODY = "00000000-0000-0000-0000-000000000000"
TAIL_BITS = 48
DEPLOY = """
with picked as materialized (
    select id, email, row_number() over (order by id) - 1 as number
      from (select id, email from contacts
             where shard = $1 and tenant_id = 'default' and workspace_id = 'default' and deleted_at is null and id > $3
             order by id limit $4) next
),
reached as (
    select count(*) as people, (select id from picked order by id desc limit 1) as last from picked
),
part as (
    update run_parts p set cursor_id = r.last, planned = p.planned + r.people, finished = r.people < $4
      from reached r where p.shard = $1 and p.run_id = $2 and r.people > 0
),
items as (
    insert into outbox (shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient,
                        contact_id, status, idempotency_key, created_at)
    select $1, ($7 || lpad(to_hex($8::bigint + number), 12, '0'))::uuid, 'default', 'default', $2,
           ($5::uuid[])[1 + number / $6], $9::bigint + number + 1, 'email', 'null', email, id, 'queued',
           decode(left($7, 16), 'hex') || substr(sha256($2::uuid::text::bytea || id::text::bytea), 1, 24), $10
      from picked
),
jobs as (
    insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, created_at)
    select $1, ($5::uuid[])[1 + number / $6], $2, 'default', 'default', 'email_send_batch', 'queued', count(*), $10
      from picked group by 2
    returning id
),
queued as (
    insert into queue (shard, id, kind, lane, due_at, workspace_hash) select $1, id, 'job', 2, $10, 1 from jobs
)
select people, last from reached
"""


async def deploy_to_contacts_and_send(connection: Connection, number: int) -> None:
    """A run of every contact."""
    await deploy_by(connection, number, _deploy)


async def _deploy(connection: Connection, shard: int, run: Run) -> None:
    after, before, limit = NOBODY, 0, JOBS_IN_A_CHUNK * JOB
    while True:
        jobs = sorted(new_id(shard) for _ in range(JOBS_IN_A_CHUNK))
        first = new_id(shard).int >> TAIL_BITS - 1 << TAIL_BITS - 1  # counting up must not carry
        head, tail = f"{first >> TAIL_BITS:020x}", first & (1 << TAIL_BITS) - 1
        row = await connection.fetchrow(DEPLOY, shard, run.id, after, limit, jobs, JOB, head, tail, before, now())
        if row is None or row["people"] < limit:
            break
        after, before = str(row["last"]), before + row["people"]
    await connection.execute(FINISH_PART, shard, run.id)
