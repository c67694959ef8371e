-- name: list_workspaces
-- Every workspace that has settings, keys, workflows or functions, of one tenant or of all: small tables.
select known.tenant_id as tenant, known.workspace_id as workspace, coalesce(w.weight, 1) as weight,
       coalesce(t.weight, 1) as tenant_weight, coalesce(w.private_addresses, '{}') as private_addresses,
       w.phone_region, greatest(w.updated_at, t.updated_at) as updated_at
  from (select tenant_id, workspace_id from workspaces
         union select tenant_id, workspace_id from api_keys
         union select tenant_id, workspace_id from workflows
         union select tenant_id, workspace_id from functions) as known
  left join workspaces w on w.tenant_id = known.tenant_id and w.workspace_id = known.workspace_id
  left join tenants t on t.tenant_id = known.tenant_id
 where :tenant::text is null or known.tenant_id = :tenant
 order by known.tenant_id, known.workspace_id;

-- name: read_workspace_settings
-- One workspace's settings; without rows, the defaults.
select coalesce(w.weight, 1) as weight, coalesce(t.weight, 1) as tenant_weight,
       coalesce(w.private_addresses, '{}') as private_addresses, w.phone_region, greatest(w.updated_at, t.updated_at) as updated_at
  from (select 1) as one
  left join workspaces w on w.tenant_id = :tenant and w.workspace_id = :workspace
  left join tenants t on t.tenant_id = :tenant;

-- name: put_workspace_settings
-- Sets what is given of a workspace's settings, and leaves the rest.
insert into workspaces (tenant_id, workspace_id, weight, private_addresses, phone_region, updated_at)
values (:tenant, :workspace, coalesce(:weight, 1), coalesce(:private_addresses::text[], '{}'),
        nullif(:phone_region::text, ''), :now)
    on conflict (tenant_id, workspace_id) do update
   set weight = coalesce(:weight, workspaces.weight),
       private_addresses = coalesce(:private_addresses::text[], workspaces.private_addresses),
       phone_region = nullif(coalesce(:phone_region::text, workspaces.phone_region), ''),
       updated_at = excluded.updated_at;

-- name: read_phone_regions
-- Of workspaces that have one: the country of their phone numbers.
select w.tenant_id, w.workspace_id, w.phone_region
  from unnest(:tenants::text[], :workspaces::text[]) as t(tenant_id, workspace_id)
  join workspaces w on w.tenant_id = t.tenant_id and w.workspace_id = t.workspace_id
 where w.phone_region is not null;

-- name: list_tenants
-- Every tenant that has settings, keys or workflows.
select known.tenant_id as tenant, coalesce(t.weight, 1) as weight, t.updated_at
  from (select tenant_id from tenants
         union select tenant_id from workspaces
         union select tenant_id from api_keys
         union select tenant_id from workflows) as known
  left join tenants t on t.tenant_id = known.tenant_id
 order by known.tenant_id;

-- name: put_tenant_weight
-- Sets a tenant's weight.
insert into tenants (tenant_id, weight, updated_at)
values (:tenant, :weight, :now)
    on conflict (tenant_id) do update
   set weight = excluded.weight, updated_at = excluded.updated_at
returning tenant_id as tenant, weight, updated_at;
