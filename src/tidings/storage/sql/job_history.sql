-- name: insert_job_history
-- Writes an entry for each of some jobs, in the transaction that changes them. An event's job has no history.
insert into audit_log (shard, id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, detail, at)
select j.shard, t.entry, j.tenant_id, j.workspace_id, 'job', j.id, t.event, :actor, t.detail, :now
  from unnest(:ids::uuid[], :entries::uuid[], :events::text[], :details::jsonb[]) as t(id, entry, event, detail)
  join jobs j on j.shard = :shard and j.id = t.id
 where j.shard = :shard and j.run_id is not null;
