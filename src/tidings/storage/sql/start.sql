-- name: start_executions
-- Starts executions of one version in one shard, and makes them due; those whose key is taken, by one of their workflow or,
-- where they are unique in the workspace, by another such one, are left as they are. :contact_ids is empty where none is for a
-- contact, and so is :workspace_hashes where keys are only their workflow's.
select idempotency_key, id
  from start_executions(
      :shard, :tenant, :workspace, :workspace_hash, :workflow_id, :version_id, :frontier::jsonb, :cursor, :triggered_by,
      :ids::uuid[], :keys::text[], :hashes::bytea[], :workspace_hashes::bytea[], :inputs::jsonb[], :contact_ids::uuid[],
      :now, :lane, :due_at
  );

-- name: find_executions_by_key
-- The second half of get-or-create: what the insert did not return.
select idempotency_key, id
  from executions
 where shard = :shard and key_hash = any(:hashes::bytea[]) and tenant_id = :tenant and workspace_id = :workspace
   and workflow_id = :workflow_id and idempotency_key = any(:keys::text[]);

-- name: find_correlated_executions
-- The ids of executions that share these keys with the whole workspace.
select idempotency_key, id
  from executions
 where shard = :shard and workspace_key_hash = any(:hashes::bytea[]) and tenant_id = :tenant
   and workspace_id = :workspace and idempotency_key = any(:keys::text[]);

-- name: insert_run
-- Starts a run unless its key is taken; only the roll-up changes its status after this.
insert into runs as new (
    shard, id, tenant_id, workspace_id, campaign_id, idempotency_key, channel, provider, content_id, content,
    scheduled_for, rate_per_minute, status, retry_of, source, audience, retry_where, data, send_hour, time_zone,
    max_lateness, is_test, created_at
)
select s.shard, :id, :tenant, :workspace, :campaign_id, :key, :channel, :provider, :content_id, :content::jsonb,
       :scheduled_for, :rate_per_minute, 'queued', :retry_of, :source, :audience::jsonb, :retry_where::jsonb,
       :data::jsonb, :send_hour, :time_zone, :max_lateness, :is_test, :now
  from shards s
 where s.shard = :shard
    on conflict (shard, tenant_id, workspace_id, idempotency_key) do nothing
returning new.id;

-- name: find_run_by_key
-- The run that took the key first.
select id from runs
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and idempotency_key = :key;

-- name: last_retry
-- Which run was the last to try a run's failed items again.
select retried_by from runs where shard = :shard and id = :id;

-- name: take_retry
-- Makes a run the last to try another's failed items again, where that is still the one that was read: of two at once, one
-- gets no row. After an unknown commit it may be ours already.
update runs set retried_by = :retry_id
 where shard = :shard and id = :id
   and (retried_by is not distinct from :after::uuid or retried_by = :retry_id)
returning id;

-- name: insert_audience
-- Adds one shard's share of a run's people.
insert into audience (shard, run_id, ordinal, recipient, data, contact_id)
select s.shard, :run_id, t.ordinal, t.recipient, t.data, t.contact_id
  from shards s
 cross join unnest(:ordinals::bigint[], :recipients::text[], :data::jsonb[], :contact_ids::uuid[])
       as t(ordinal, recipient, data, contact_id)
 where s.shard = :shard
    on conflict do nothing;

-- name: delete_audience
-- Removes the people of a run that never came to be, because its key was taken meanwhile.
with part as (
    delete from run_parts where shard = :shard and run_id = :run_id
)
delete from audience where shard = :shard and run_id = :run_id;

-- name: insert_run_part
-- One shard's share of a run, with nothing planned yet.
insert into run_parts (shard, run_id)
select s.shard, :run_id from shards s where s.shard = :shard
    on conflict do nothing;

-- name: enqueue_run
-- Inserts the queue row of a new run.
insert into queue (shard, id, kind, lane, due_at, workspace_hash)
select r.shard, r.id, 'run', :lane, :due_at, workspace_hash(r.tenant_id, r.workspace_id)
  from runs r
 where r.shard = :shard and r.id = :id
    on conflict do nothing;
