-- part: draft_columns
w.id, w.name, w.description, d.base, d.revision, d.saved_by, d.saved_at, d.created_at,
       coalesce((select max(v.number) from workflow_versions v where v.workflow_id = w.id), 0) as version

-- name: show_draft
-- The draft of a workflow, by id or by name, with the number of the version that is the newest.
select {draft_columns}, d.definition
  from workflow_drafts d
  join workflows w on w.id = d.workflow_id
 where (d.workflow_id = :id::uuid or w.name = :name::text) and d.tenant_id = :tenant and d.workspace_id = :workspace and w.deleted_at is null;

-- name: list_drafts
-- The drafts of a workspace, newest workflow first, without their definitions.
select {draft_columns}
  from workflow_drafts d
  join workflows w on w.id = d.workflow_id
 where d.tenant_id = :tenant and d.workspace_id = :workspace and w.deleted_at is null
   and d.workflow_id >= :since and d.workflow_id < :before
 order by d.workflow_id desc
 limit :limit;

-- name: put_draft
-- Saves the draft of a workflow that the transaction has locked.
insert into workflow_drafts as d (
    workflow_id, tenant_id, workspace_id, definition, base, revision, saved_by, saved_at, created_at
)
values (:workflow_id, :tenant, :workspace, :definition::jsonb, :base, 1, :saved_by, :now, :now)
    on conflict (workflow_id) do update
   set definition = excluded.definition, base = excluded.base, revision = d.revision + 1, saved_by = excluded.saved_by,
       saved_at = excluded.saved_at;

-- name: remove_draft
-- Removes a draft, unless it was saved again meanwhile.
delete from workflow_drafts
 where workflow_id = :id and tenant_id = :tenant and workspace_id = :workspace
   and (:revision::integer is null or revision = :revision)
returning workflow_id;

-- name: remove_unpublished
-- Removes a workflow that has no version, so that its name is free.
delete from workflows w
 where w.id = :id and w.tenant_id = :tenant and w.workspace_id = :workspace
   and not exists (select 1 from workflow_versions v where v.workflow_id = w.id)
returning w.id;
