-- name: resolve_item
-- A person's word on an item in doubt. Refused while a live lease has a call for it under way.
with resolved as (
    update outbox o
       set status = :status, in_doubt = false, retry_at = null, error = :error,
           -- The attempt of a worker that died in the call was not counted; now that its result is known, it counts.
           attempts = o.attempts + case when :status <> 'queued' then (
               select count(*) from attempts a
                where a.shard = :shard and a.item_id = o.id and a.attempt = o.marked_attempt and a.outcome = 'crashed'
           ) else 0 end,
           marked_at = case when :status = 'queued' then null else o.marked_at end,
           finalized_at = case when :status <> 'queued' then :now::timestamptz end
     where o.shard = :shard and o.id = :id and o.in_doubt
       and not exists (select 1 from queue q
                        where q.shard = :shard and q.id = coalesce(o.job_id, o.execution_id) and q.leased
                          and q.fence = o.marked_fence and o.marked_at is not null)
    returning o.id, o.job_id, o.execution_id, o.status
),
counted as (
    update jobs j
       set sent = j.sent + (r.status = 'sent')::integer, called = j.called + (r.status = 'called')::integer,
           posted = j.posted + (r.status = 'posted')::integer, failed = j.failed + (r.status = 'failed')::integer
      from resolved r
     where j.shard = :shard and j.id = r.job_id
    returning j.id
)
select id, job_id, execution_id from resolved;

-- name: reopen_execution
-- An ended execution has no queue row; an item of it that is to be sent again needs one. Its fence must be above every
-- earlier one, or a worker from before would take the new lease for its own.
insert into queue (shard, id, kind, lane, due_at, workspace_hash, fence)
select e.shard, e.id, 'execution', :lane, :now, workspace_hash(e.tenant_id, e.workspace_id), :fence
  from executions e
 where e.shard = :shard and e.id = :id
    on conflict do nothing;

-- name: insert_audit
-- Writes audit entries.
insert into audit_log (shard, id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, detail, at)
select s.shard, t.id, :tenant, :workspace, t.subject_kind, t.subject_id, t.event, :actor, t.detail, :now
  from shards s
 cross join unnest(:ids::uuid[], :subject_kinds::text[], :subject_ids::uuid[], :events::text[], :details::jsonb[])
       as t(id, subject_kind, subject_id, event, detail)
 where s.shard = :shard
    on conflict do nothing;

-- name: find_audit
-- Which audit entries exist: after an unknown commit this tells whether it was ours.
select id from audit_log where shard = :shard and id = any(:ids::uuid[]);

-- name: stop_owner
-- Asks an execution or run to pause or stop, or (null) to go on; the worker that claims it obeys. A cancel stays, whatever
-- is asked for after it.
update queue
   set stop = :stop, due_at = case when leased then due_at else :now end, wake = wake or leased
 where shard = :shard and id = :id and (stop is distinct from 'cancel' or :stop::text = 'cancel')
returning id;

-- name: flag_run
-- The flags beside a run's status.
update runs set paused = :paused, cancelled = cancelled or :cancelled
 where shard = :shard and id = :id and ended_at is null
returning id;

-- name: stop_of_run
-- What is asked of a run's jobs.
select case when cancelled then 'cancel' when paused then 'pause' end as stop
  from runs
 where shard = :shard and id = :id;

-- name: stop_jobs_of_run
-- The same request for every open job of a run in one shard. Returns those to which it is new, and which of them are being
-- worked on.
update queue q
   set stop = :stop, due_at = case when q.leased then q.due_at else :now end, wake = q.wake or q.leased
  from jobs j
 where j.shard = :shard and j.run_id = :run_id and j.ended_at is null and q.shard = :shard and q.id = j.id
   and q.stop is distinct from :stop
returning q.id, q.leased;

-- name: find_item
-- One item with its owner.
select id, tenant_id as tenant, workspace_id as workspace, execution_id, run_id, job_id, channel, recipient, status,
       in_doubt
  from outbox
 where shard = :shard and id = :id;
