-- name: list_sealed_values
-- Sealed values of one kind, in all workspaces, in the order of their places.
select tenant_id as tenant, workspace_id as workspace, {sealed_name} as name, {sealed_column} as sealed
  from {sealed_table}
 where {sealed_column} is not null
   and (tenant_id, workspace_id, {sealed_name}) > (:after_tenant::text, :after_workspace::text, :after_name::text)
 order by tenant_id, workspace_id, {sealed_name}
 limit :limit;

-- name: reseal_value
-- The same value sealed with another key, unless it has been set anew since it was read.
update {sealed_table}
   set {sealed_column} = :resealed
 where tenant_id = :tenant and workspace_id = :workspace and {sealed_name} = :name and {sealed_column} = :sealed
returning tenant_id;
