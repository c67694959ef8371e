-- Teach the planner what it would learn in the first minutes anyway. Without statistics it takes one shard for one
-- part in two hundred, reads whole shards where it should look up keys, and keeps that plan while the tables grow.
-- So each hot table holds a thousand rows for a moment, is analyzed, and is empty again; the statistics stay.

create temporary table sample on commit drop as
select number, bucket, (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000' || lpad(to_hex(number), 12, '0'))::uuid as id
  from (select number, (number * 37) % 4096 as bucket from generate_series(1, 1000) as number) as numbers;

insert into queue (shard, id, kind, lane, due_at)
select shard, id, 'execution', number % 3, timestamptz '2026-01-01' + number * interval '1 minute' from sample;

insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, status, frontier,
                        input, created_at)
select shard, id, 'default', 'default', id, id, number::text, 'enqueued', '{}', '{}', timestamptz '2026-01-01' from sample;

insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, created_at)
select shard, id, id, 'default', 'default', 'email_send_batch', 'queued', 1, timestamptz '2026-01-01' from sample;

insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, run_id, job_id, ordinal, channel,
                    provider, recipient, status, idempotency_key, created_at)
select shard, id, 'default', 'default', case when odd then id end, case when odd then 'node' end, case when odd then 1 end,
       case when not odd then id end, case when not odd then id end, number, 'email', 'provider',
       number || '@example.com', 'queued', sha256(number::text::bytea), timestamptz '2026-01-01'
  from (select *, number % 2 = 1 as odd from sample) as halves;

insert into audience (shard, run_id, ordinal, recipient)
select shard, id, number, number || '@example.com' from sample;

analyze queue;
analyze executions;
analyze jobs;
analyze outbox;
analyze audience;

delete from queue;
delete from executions;
delete from jobs;
delete from outbox;
delete from audience;
