-- name: list_weights
-- Every weight that is not 1: of tenants (the workspace is null), and of workspaces among those of their tenant.
select tenant_id as tenant, null as workspace, weight from tenants where weight <> 1
union all
select tenant_id, workspace_id, weight from workspaces where weight <> 1;
