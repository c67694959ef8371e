-- part: run_columns
id, campaign_id, idempotency_key, channel, provider, content_id, content, scheduled_for,
rate_per_minute as rate, status, paused, cancelled, planned, retry_of, source, data, send_hour, max_lateness,
is_test, created_at, started_at, ended_at

-- name: show_runs
-- Runs of a workspace by id, as a person sees them.
select {run_columns}
  from runs
 where shard = :shard and id = any(:ids::uuid[]) and tenant_id = :tenant and workspace_id = :workspace;

-- name: list_runs
-- One shard's runs of a workspace, newest first.
select {run_columns}
  from runs
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace
   and (:status::text is null or status = :status)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_runs_of_campaign
-- One shard's runs of one campaign, newest first.
select {run_columns}
  from runs
 where shard = :shard and campaign_id = :campaign_id and tenant_id = :tenant and workspace_id = :workspace
   and (:status::text is null or status = :status)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: sum_jobs_of_runs
-- What has become of runs in one shard: the sums of their jobs.
select run_id, count(*) as jobs, sum(planned) as planned, sum(sent) as sent, sum(called) as called,
       sum(posted) as posted, sum(failed) as failed, sum(skipped) as skipped
  from jobs
 where shard = :shard and run_id = any(:run_ids::uuid[])
 group by run_id;

-- name: sum_doubt_of_runs
-- How many items of runs are in doubt in one shard, and since when; reads only the index of those.
select run_id, count(*) as items, min(first_marked_at) as since
  from outbox
 where shard = :shard and in_doubt and run_id = any(:run_ids::uuid[])
 group by run_id;

-- name: list_jobs
-- One shard's jobs of a run, in the order they were written.
select j.id, j.run_id, j.job_type, j.status, j.attempts, j.planned, j.sent, j.called, j.posted, j.failed, j.skipped,
       j.error, j.created_at, j.started_at, j.ended_at, q.due_at, coalesce(q.leased, false) as leased
  from jobs j
  left join queue q on q.shard = :shard and q.id = j.id
 where j.shard = :shard and j.run_id = :run_id and j.id >= :since and j.id < :before
   and (not :open_only::boolean or j.ended_at is null)
 order by j.id
 limit :limit;

-- name: list_job_history
-- One shard's lines about the jobs of a run, or about one of them, in the order of events.
with told as materialized (
    -- By its own index first: in the order of events, the search would walk through those of all other runs.
    select a.id, a.subject_id as job_id, a.event, a.actor, a.detail, a.at
      from jobs j
      join audit_log a on a.shard = :shard and a.subject_id = j.id
     where j.shard = :shard and j.run_id = :run_id and (:job_id::uuid is null or j.id = :job_id)
)
select id, job_id, event, actor, detail, at
  from told
 where id >= :since and id < :before
 order by id
 limit :limit;

-- name: list_items_of_jobs
-- The items of some jobs of a run, for reading the whole run job by job.
select id, execution_id, run_id, job_id, event_id, node, channel, provider, recipient, contact_id, status, in_doubt,
       attempts, retry_at, first_marked_at as first_called_at, provider_message_id, error,
       encode(idempotency_key, 'hex') as idempotency_key, created_at, finalized_at
  from outbox
 where shard = :shard and run_id = :run_id and job_id = any(:job_ids::uuid[])
   and (:status::text is null or status = :status)
   and (:in_doubt::boolean is null or in_doubt = :in_doubt)
 order by job_id, id;
