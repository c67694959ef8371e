-- name: load_part
-- How far a run's share of one shard has come.
select cursor, planned, finished from run_parts where shard = :shard and run_id = :run_id;

-- name: read_audience
-- The next people of a run in one shard, in their order.
select ordinal, recipient from audience
 where shard = :shard and run_id = :run_id and ordinal > :after
 order by ordinal
 limit :limit;

-- name: advance_part
-- Moves the cursor from where it was read: of two workers on one chunk, one gets no row and writes nothing.
update run_parts
   set cursor = :next_cursor, planned = run_parts.planned + :added, finished = :finished
 where shard = :shard and run_id = :run_id and cursor = :cursor and not finished
returning planned;

-- name: insert_job
-- Writes the job of one chunk.
insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, created_at)
select p.shard, :id, p.run_id, :tenant, :workspace, :job_type, 'queued', :planned, :now
  from run_parts p
 where p.shard = :shard and p.run_id = :run_id;

-- name: insert_job_items
-- Writes the items of one chunk; they are rendered at their first mark.
insert into outbox (
    shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient, status,
    idempotency_key, created_at
)
select j.shard, t.id, j.tenant_id, j.workspace_id, j.run_id, j.id, t.ordinal, :channel, :provider, t.recipient, 'queued',
       t.idempotency_key, :now
  from jobs j
 cross join unnest(:ids::uuid[], :ordinals::bigint[], :recipients::text[], :keys::bytea[])
       as t(id, ordinal, recipient, idempotency_key)
 where j.shard = :shard and j.id = :job_id;

-- name: enqueue_job
-- Gives a new job its queue row.
insert into queue (shard, id, kind, lane, due_at, stop)
select j.shard, j.id, 'job', :lane, :due_at, :stop
  from jobs j
 where j.shard = :shard and j.id = :id;

-- name: sum_jobs
-- One shard's jobs of a run, by status.
select status, count(*) as jobs, sum(planned) as planned, sum(sent) as sent, sum(called) as called,
       sum(posted) as posted, sum(failed) as failed, sum(skipped) as skipped
  from jobs
 where shard = :shard and run_id = :run_id
 group by status;
