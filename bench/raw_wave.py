"""The ceiling of a wave of enrollments: as raw.py for executions with one send, to the contact's own address.

An enrollment stands at the wait before its step, so the commit that ends it also logs that wait.
"""

from bench.raw import Connection, Round, move_all

SEQUENCES = 1

# The node that waits is named after its step, which is the node that sends.
RESERVE = """
insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, provider,
                    recipient, contact_id, payload, status, idempotency_key, created_at, marked_attempt, marked_fence,
                    marked_at, first_marked_at, attempts)
select $1, t.id, 'default', 'default', e.id, substr(e.cursor, 6), 1, 0, 'email', 'null', c.email, c.id,
       '{"subject": "Hello Person 12345", "body": "Good to see you, Person 12345."}', 'queued', t.key, $5, 1, 1, $5,
       $5, 1
  from unnest($2::uuid[], $3::uuid[], $4::bytea[]) as t(id, owner, key)
  join executions e on e.shard = $1 and e.id = t.owner
  join contacts c on c.shard = $1 and c.id = e.contact_id
"""
MOVE = """
with standing as materialized (
    select e.id, e.cursor, t.key
      from unnest($2::uuid[], $3::bytea[]) as t(id, key) join executions e on e.shard = $1 and e.id = t.id
),
moved as (
    update executions e
       set status = 'completed', cursor = null, frontier = '{"arrived": [0]}',
           vars = jsonb_build_object(
               s.cursor, '{"status": "completed"}'::jsonb,
               substr(s.cursor, 6), jsonb_build_object(
                   'at', $4::timestamptz, 'status', 'sent', 'messageId', encode(s.key, 'hex'))),
           attempts = 1, started_at = $4, ended_at = $4
      from standing s
     where e.shard = $1 and e.id = s.id
),
logged as (
    insert into execution_log (shard, execution_id, tenant_id, workspace_id, node, visit, status, output, at, saw)
    select $1, id, 'default', 'default', cursor, 1, 'completed', '{"status": "completed"}', $4,
           '{"hour": null, "zone": "UTC", "day_offset": 0, "offset_from": "enrollment"}'
      from standing
)
delete from queue q using standing s where q.shard = $1 and q.id = s.id
"""
WAVE = Round(SEQUENCES, RESERVE, MOVE)


async def move_enrollments(connection: Connection, number: int) -> None:
    """Send every due enrollment its step and end it."""
    await move_all(connection, number, WAVE)
