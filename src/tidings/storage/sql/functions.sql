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
(select tenant_id as tenant, workspace_id as workspace, name as function, secret as sealed
   from functions where secret is not null
  order by updated_at, tenant_id, workspace_id, name limit :most)
 union
(select tenant_id, workspace_id, name, secret
   from functions where secret is not null
  order by updated_at desc, tenant_id, workspace_id, name limit :most)
 order by tenant, workspace, function;

-- name: forget_secret
-- Removes a secret, unless it has been set anew since it was read.
update functions
   set secret = null, updated_at = :now
 where tenant_id = :tenant and workspace_id = :workspace and name = :name and secret = :secret
returning name;

-- name: find_function
-- The row of a function, or else of the workspace's base ('*').
select name, url, secret as sealed
  from functions
 where tenant_id = :tenant and workspace_id = :workspace and name in (:name, '*')
 order by name = '*'
 limit 1;
