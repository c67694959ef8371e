-- name: list_functions
-- A workspace's functions by name; that a secret is there may be known, what it is may not.
select {function_columns}
  from functions
 where tenant_id = :tenant and workspace_id = :workspace
 order by name;

-- name: upsert_function
-- Sets where a function is. Without a new secret the old one stays, but only with its address: it must not be sent to
-- another.
insert into functions (tenant_id, workspace_id, name, url, secret, created_at, updated_at)
values (:tenant, :workspace, :name, :url, :sealed, :now, :now)
    on conflict (tenant_id, workspace_id, name) do update
   set url = excluded.url,
       secret = case when excluded.secret is null and functions.url = excluded.url then functions.secret
                     else excluded.secret end,
       updated_at = excluded.updated_at
returning {function_columns};

-- name: delete_function
-- Forgets where a function is.
delete from functions
 where tenant_id = :tenant and workspace_id = :workspace and name = :name
returning name;

-- name: list_sealed
-- The oldest and the newest sealed secrets of all workspaces, up to :most of each: what a key that was dropped has sealed
-- is among the oldest, what a wrong key has sealed among the newest.
(select tenant_id as tenant, workspace_id as workspace, name as function, null::uuid as connection, secret as sealed
   from functions where secret is not null
  order by updated_at, tenant_id, workspace_id, name limit :most)
 union
(select tenant_id, workspace_id, name, null::uuid, secret
   from functions where secret is not null
  order by updated_at desc, tenant_id, workspace_id, name limit :most)
 union
(select tenant_id, workspace_id, '.', null::uuid, secret
   from signing_secrets order by created_at, tenant_id, workspace_id limit :most)
 union
(select tenant_id, workspace_id, '.', null::uuid, secret
   from signing_secrets order by created_at desc, tenant_id, workspace_id limit :most)
 union
(select tenant_id, workspace_id, name, id, credentials
   from connections where credentials is not null
  order by updated_at, tenant_id, workspace_id, id limit :most)
 union
(select tenant_id, workspace_id, name, id, credentials
   from connections where credentials is not null
  order by updated_at desc, tenant_id, workspace_id, id limit :most)
 order by tenant, workspace, function;

-- name: forget_secret
-- Removes a secret, unless it has been set anew since it was read.
update functions
   set secret = null, updated_at = :now
 where tenant_id = :tenant and workspace_id = :workspace and name = :name and secret = :secret
returning name;

-- name: find_function
-- The row of a function, or else of the workspace's base ('*'), if there is one; and what holds for all its calls.
select f.name, f.url, f.secret as sealed, coalesce(w.private_addresses, '{}') as private_addresses,
       s.secret as signing, case when s.before_until > :now then s.before end as signing_before
  from (select 1) as one
  left join (select name, url, secret
               from functions
              where tenant_id = :tenant and workspace_id = :workspace and name in (:name, '*')
              order by name = '*'
              limit 1) as f on true
  left join workspaces w on w.tenant_id = :tenant and w.workspace_id = :workspace
  left join signing_secrets s on s.tenant_id = :tenant and s.workspace_id = :workspace;

-- name: read_signing_secret
-- When a workspace's signing secret was made, and until when the one before is valid.
select created_at, case when before_until > :now then before_until end as previous_until
  from signing_secrets
 where tenant_id = :tenant and workspace_id = :workspace;

-- name: put_signing_secret
-- A new signing secret; the one before stays valid for a while. The same again, after a lost answer, changes nothing.
insert into signing_secrets (tenant_id, workspace_id, secret, created_at)
values (:tenant, :workspace, :sealed, :now)
    on conflict (tenant_id, workspace_id) do update
   set secret = excluded.secret, created_at = excluded.created_at, before_until = :before_until,
       before = case when :before_until::timestamptz is null then null else signing_secrets.secret end
 where signing_secrets.secret <> excluded.secret;

-- name: forget_signing_secret
-- Removes a workspace's signing secrets, unless they have been replaced since they were read.
delete from signing_secrets
 where tenant_id = :tenant and workspace_id = :workspace and :secret in (secret, before)
returning workspace_id;
