-- name: load_executions
-- The fields of the executions just claimed that deciding needs.
select e.id, e.tenant_id, e.workspace_id, e.version_id, e.status, e.frontier, e.input, e.vars, e.attempts, e.error,
       e.error_node, e.created_at, e.reopened_at, e.ended_at, e.contact_id
  from executions e
 where e.shard = :shard and e.id = any(:ids::uuid[]);

-- name: load_execution_items
-- The items of the nodes that executions stand at, and whatever else of theirs is still open.
select o.id, o.execution_id as owner, o.node, o.ordinal, o.channel, o.provider, o.recipient, o.payload,
       o.status, o.in_doubt, o.idempotency_key, o.attempts, o.retry_at, o.marked_attempt, o.marked_at,
       o.first_marked_at, o.provider_message_id, o.error, o.result, o.tenant_id, o.workspace_id, o.contact_id
  from outbox o
 where o.shard = :shard and substr(o.idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and o.execution_id = any(:ids::uuid[]) and (o.status = 'queued' or o.node = any(:nodes::text[]))
 order by o.ordinal;

-- name: take_jobs
-- Marks the jobs just claimed as locked and says what they are.
update jobs
   set status = 'locked', started_at = coalesce(jobs.started_at, :now),
       -- The first try, and one more for each that was not ended: its worker was lost, or failed. A job that was
       -- released to wait for its rate, a retry or a resume goes on with the same try.
       attempts = jobs.attempts + (jobs.started_at is null or q.crashes > 0)::integer
  from unnest(:ids::uuid[], :fences::bigint[]) as t(id, fence)
  join queue q on q.shard = :shard and q.id = t.id and q.fence = t.fence
  join jobs before on before.shard = :shard and before.id = t.id
 where jobs.shard = :shard and jobs.id = t.id
   and jobs.ended_at is null
returning jobs.id, jobs.run_id, jobs.tenant_id, jobs.workspace_id, jobs.event_id, jobs.planned,
          before.started_at is null as is_first;

-- name: load_job_items
-- The open items of jobs; those not yet rendered come with their person's data.
select o.id, o.job_id as owner, '' as node, o.ordinal, o.channel, o.provider, o.recipient, o.payload,
       o.status, o.in_doubt, o.idempotency_key, o.attempts, o.retry_at, o.marked_attempt, o.marked_at,
       o.first_marked_at, o.provider_message_id, o.error, o.result, o.tenant_id, o.workspace_id, o.contact_id, a.data,
       a.contact_id as about
  from unnest(:ids::uuid[], :run_ids::uuid[]) as t(id, run_id)
  join outbox o on o.shard = :shard and o.run_id = t.run_id and o.job_id = t.id and o.status = 'queued'
  left join audience a
    on a.shard = :shard and a.run_id = o.run_id and a.ordinal = o.ordinal and o.payload is null;

-- name: load_runs
-- What deploying, rendering and rolling up need of runs.
select r.id, r.tenant_id, r.workspace_id, r.channel, r.provider, r.content_id, r.content, r.scheduled_for,
       r.rate_per_minute, r.status, r.paused, r.cancelled, r.planned, r.created_at, r.started_at, r.ended_at, r.source,
       r.campaign_id, r.retry_of, r.audience, r.retry_where, r.data, r.send_hour, r.time_zone, r.max_lateness,
       r.is_test
  from runs r
 where r.shard = :shard and r.id = any(:ids::uuid[]);

-- name: name_workflows
-- What the workflows of some versions are called now.
select v.id, w.name from workflow_versions v join workflows w on w.id = v.workflow_id where v.id = any(:versions::uuid[]);

-- name: load_versions
-- Frozen definitions.
select id, definition from workflow_versions where id = any(:ids::uuid[]);
