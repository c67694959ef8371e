-- name: show_workflow
-- A workflow with its newest version, by id or by name.
select {workflow_columns}
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
 where w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'workflow' and w.deleted_at is null
   and (w.id = :id::uuid or w.name = :name::text)
 order by v.number desc
 limit 1;

-- name: list_workflows
-- The workflows of a workspace with their newest versions, newest workflow first.
select {workflow_columns}
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
   and v.number = (select max(n.number) from workflow_versions n where n.workflow_id = w.id)
 where w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'workflow' and w.deleted_at is null
   and (:name::text is null or w.name = :name)
   and (:active::boolean is null or w.active = :active)
   and w.id >= :since and w.id < :before
 order by w.id desc
 limit :limit;

-- name: list_versions
-- Every version of a workflow, newest first.
select id, number, definition, created_at from workflow_versions
 where workflow_id = :workflow_id and tenant_id = :tenant and workspace_id = :workspace
 order by number desc;

-- name: activate_workflow
-- Switches a workflow on or off; what runs already goes on.
update workflows set active = :active, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and kind = 'workflow' and deleted_at is null
   and active <> :active
   and exists (select 1 from workflow_versions v where v.workflow_id = workflows.id)
returning id;

-- name: has_executions
-- Whether one shard holds an execution of a workflow. No index says it, as only deleting asks: it reads what the workspace
-- has started since the workflow was made, up to the first of the workflow.
select (
    select id from executions
     where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and id >= :since
       and workflow_id = :workflow_id
     order by id -- so that it is the list of the workspace that is read, and not the whole shard
     limit 1
) is not null as found;

-- name: count_live_by_version
-- How many of a workflow's executions go on in one shard, by version: reads what the workspace has in the queue, and not the
-- many that ended. Rows are compared as the index has them (storage/sql/turns.sql).
select v.number, count(*) as count
  from queue q
  join executions e on e.shard = :shard and e.id = q.id
  join workflow_versions v on v.id = e.version_id
 where q.shard = :shard and q.lane = 0 and q.kind = 'execution' and q.stop is distinct from 'cancel'
   and (q.workspace_hash, q.due_at) >= (:workspace_hash, '-infinity'::timestamptz)
   and (q.workspace_hash, q.due_at) <= (:workspace_hash, 'infinity'::timestamptz)
   and e.shard = :shard and e.workflow_id = :workflow_id and e.tenant_id = :tenant and e.workspace_id = :workspace
 group by v.number;

-- name: delete_workflow
-- Hides a workflow for ever; its versions stay, because executions name them. Active ones that were used are refused.
update workflows set deleted_at = :now, active = false, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and kind = 'workflow' and deleted_at is null
   and not (active and :has_executions)
returning id;

-- name: rename_workflow
-- Renames a workflow; the unique index decides whether the name is free.
update workflows set name = :name, updated_at = :now where id = :id;

-- name: describe_workflow
-- Sets a workflow's description, in its author's words.
update workflows set description = :description, updated_at = :now
 where id = :id and description is distinct from :description
returning id;
