-- part: user_columns
id, tenant_id as tenant, email, name, password_hash is not null as has_password, disabled_at, created_at, created_by,
signed_in_at, case when link_expires_at > :now then link_expires_at end as link_expires_at

-- name: lock_first_user
-- Only one process at a time checks whether there is a person, and makes the first.
select pg_advisory_xact_lock(7263641131);

-- name: has_password_user
-- Whether anybody at all has ever set a password.
select exists (select 1 from users where password_hash is not null) as found;

-- name: find_first_user
-- The operator whom the first start made, unless that person was disabled or removed.
select u.id
  from users u
  join memberships m on m.user_id = u.id and m.tenant_id = u.tenant_id
 where u.tenant_id = :tenant and u.created_by = :created_by and u.disabled_at is null and 'operator' = any(m.roles)
 order by u.id
 limit 1;

-- name: insert_user
-- A new person; nothing where the address is taken.
insert into users (id, tenant_id, email, name, created_at, created_by)
values (:id, :tenant, :email, :name, :now, :created_by)
    on conflict do nothing
returning id;

-- name: list_users
-- A tenant's people, newest first.
select {user_columns}
  from users
 where tenant_id = :tenant and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: read_user
-- One person of a tenant.
select {user_columns}
  from users
 where tenant_id = :tenant and id = :id;

-- name: find_user
-- The person of a tenant with this address, in small letters.
select {user_columns}
  from users
 where tenant_id = :tenant and email = :email;

-- name: find_password
-- Whose password to compare, at a sign-in.
select id, password_hash
  from users
 where tenant_id = :tenant and email = :email and disabled_at is null and password_hash is not null;

-- name: read_password
-- The stored password of one person.
select password_hash from users where tenant_id = :tenant and id = :id;

-- name: list_memberships
-- The roles of some people of a tenant, in each of their workspaces.
select user_id, workspace_id as workspace, roles
  from memberships
 where tenant_id = :tenant and user_id = any(:user_ids::uuid[])
 order by workspace_id;

-- name: remove_memberships
-- Takes every role of a person.
delete from memberships where tenant_id = :tenant and user_id = :user_id;

-- name: insert_membership
-- Gives a person roles in a workspace.
insert into memberships (tenant_id, user_id, workspace_id, roles)
values (:tenant, :user_id, :workspace, :roles)
    on conflict (user_id, workspace_id) do update set roles = excluded.roles;

-- name: change_user
-- Sets what is given of a person, and leaves the rest.
update users
   set email = coalesce(:email, email), name = coalesce(:name, name)
 where tenant_id = :tenant and id = :id
returning id;

-- name: set_disabled
-- Lets a person sign in no more, or again.
update users
   set disabled_at = :disabled_at
 where tenant_id = :tenant and id = :id;

-- name: set_password
-- Sets a person's password; an open link ends with that.
update users
   set password_hash = :password_hash, link_hash = null, link_expires_at = null
 where tenant_id = :tenant and id = :id;

-- name: replace_hash
-- The same password hashed as passwords are now, unless it was changed meanwhile.
update users set password_hash = :password_hash where tenant_id = :tenant and id = :id and password_hash = :before;

-- name: set_link
-- Gives a person a one-time link in place of the one before.
update users
   set link_hash = :digest, link_expires_at = :expires_at
 where tenant_id = :tenant and id = :id and disabled_at is null
returning id;

-- name: drop_link
-- Ends a person's open link.
update users set link_hash = null, link_expires_at = null where tenant_id = :tenant and id = :id;

-- name: find_link
-- Whom a one-time link is for, as long as it opens something.
select {user_columns}
  from users
 where link_hash = :digest and link_expires_at > :now and disabled_at is null;

-- name: use_link
-- Ends a one-time link; nothing where another request has used it.
update users
   set link_hash = null, link_expires_at = null
 where link_hash = :digest and link_expires_at > :now and disabled_at is null
returning id;

-- name: remove_user
-- Removes a person, with roles and sessions.
delete from users where tenant_id = :tenant and id = :id returning id;
