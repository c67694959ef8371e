-- name: insert_workflow
-- Makes a workflow unless its name is taken.
insert into workflows (id, tenant_id, workspace_id, kind, name, description, active, created_by, created_at, updated_at)
values (:id, :tenant, :workspace, :kind, :name, :description, :active, :created_by, :now, :now)
    on conflict (tenant_id, workspace_id, kind, name) where deleted_at is null do nothing;

-- name: lock_workflow
-- Locks a workflow, by name or by id: only one process writes versions at a time.
select id, name from workflows
 where tenant_id = :tenant and workspace_id = :workspace and kind = :kind and (id = :id::uuid or name = :name::text)
   and deleted_at is null
   for update;

-- name: latest_version
-- The newest version of a workflow.
select id, number, definition from workflow_versions
 where workflow_id = :workflow_id
 order by number desc
 limit 1;

-- name: insert_version
-- Freezes a definition under the next number, with what starting an execution needs to know of it.
insert into workflow_versions (
    id, tenant_id, workspace_id, workflow_id, number, definition, form, required, entry, entry_wait, total_steps, lane,
    channels, created_at
)
values (
    :id, :tenant, :workspace, :workflow_id, :number, :definition::jsonb, :form, :required::jsonb, :entry, :entry_wait, :total_steps, :lane,
    :channels::text[], :now
);

-- name: touch_workflow
-- A new version is a change of the workflow.
update workflows set updated_at = :now where id = :workflow_id;

-- name: find_workflow
-- A workflow by name with its newest version, as a trigger needs it; nothing triggers a sequence.
select w.id, w.name, w.active, v.id as version_id, v.number, v.total_steps, v.definition
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
 where w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'workflow' and w.name = :name
   and w.deleted_at is null
 order by v.number desc
 limit 1;

-- name: find_workflow_by_id
-- A workflow by id with its newest version.
select w.id, w.name, w.active, v.id as version_id, v.number, v.total_steps, v.definition
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
 where w.id = :id and w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'workflow'
   and w.deleted_at is null
 order by v.number desc
 limit 1;
