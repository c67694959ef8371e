-- part: connection_columns
id, tenant_id as tenant, workspace_id as workspace, name, channel, kind, settings, credential_names, limits, position, weight,
is_sticky, is_enabled, is_removed, version

-- name: take_connection_version
-- The version of a change that is about to be made. Its row stays locked until that commits.
insert into connection_changes as known (id, version)
values (true, 1)
    on conflict (id) do update
   set version = known.version + 1
returning version;

-- name: list_changed_connections
-- Every connection that was changed after a version, in the order of the changes, with its credentials as they are stored.
select {connection_columns}, credentials as sealed, set_up_anew_at
  from connections
 where version > :after
 order by version;

-- name: list_connections
-- A workspace's connections, in the order in which they are tried.
select {connection_columns}, created_at, updated_at
  from connections
 where tenant_id = :tenant and workspace_id = :workspace and not is_removed
 order by channel, position, name;

-- name: lock_connection
-- One connection with its credentials as they are stored, locked until it is changed.
select {connection_columns}, credentials as sealed, set_up_anew_at
  from connections
 where tenant_id = :tenant and workspace_id = :workspace and id = :id and not is_removed
   for update;

-- name: insert_connection
-- A new connection. The same again, after a lost answer, changes nothing.
insert into connections (
    tenant_id, workspace_id, id, name, channel, kind, settings, credential_names, credentials, limits, position, weight,
    is_sticky, is_enabled, is_removed, version, created_at, updated_at
)
values (
    :tenant, :workspace, :id, :name, :channel, :kind, :settings::jsonb, :credential_names, :credentials, :limits::jsonb,
    :position, :weight, :is_sticky, :is_enabled, false, :version, :now, :now
)
    on conflict (tenant_id, workspace_id, id) do nothing;

-- name: change_connection
-- Everything about a connection but its channel and its kind.
update connections
   set name = :name, settings = :settings::jsonb, credential_names = :credential_names, credentials = :credentials,
       limits = :limits::jsonb, position = :position, weight = :weight, is_sticky = :is_sticky, is_enabled = :is_enabled,
       version = :version, set_up_anew_at = :set_up_anew_at, updated_at = :now
 where tenant_id = :tenant and workspace_id = :workspace and id = :id and not is_removed
returning id;

-- name: remove_connection
-- Takes a connection out of use for good, and forgets all but its name: every process keeps what is left.
update connections
   set is_removed = true, is_enabled = false, credentials = null, credential_names = '{}', settings = '{}', limits = '{}',
       version = :version, updated_at = :now
 where tenant_id = :tenant and workspace_id = :workspace and id = :id and not is_removed
returning id;

-- name: name_connections
-- The names of some connections of a workspace, also of those that were removed.
select id, name
  from connections
 where tenant_id = :tenant and workspace_id = :workspace and id = any(:ids::uuid[]);

-- name: forget_credentials
-- Removes credentials that no key opens, unless they have been set anew since they were read.
update connections
   set credentials = null, credential_names = '{}', version = :version, updated_at = :now
 where tenant_id = :tenant and workspace_id = :workspace and id = :id and credentials = :sealed
returning id;

-- name: read_dialogue
-- What was said in the last call of a test.
select result
  from outbox
 where shard = :shard and id = :id and tenant_id = :tenant and workspace_id = :workspace;

-- name: sum_up_provider
-- What became, in one shard, of the items of a connection that are not older than an id.
select count(*) filter (where o.status in ('sent', 'called', 'posted')) as sent,
       count(*) filter (where o.status = 'failed') as failed,
       coalesce(sum(extract(epoch from o.finalized_at - o.marked_at))
                    filter (where o.status in ('sent', 'called', 'posted')), 0)::float8 as seconds
  from outbox o
 where o.shard = :shard and o.id >= :since and o.provider = :provider
   and o.tenant_id = :tenant and o.workspace_id = :workspace;

-- name: count_doubt_of_provider
-- The items of a connection that are in doubt, in one shard.
select count(*)
  from outbox
 where shard = :shard and in_doubt and provider = :provider and tenant_id = :tenant and workspace_id = :workspace;

-- name: list_errors_of_provider
-- The last attempts with a connection that did not succeed, in one shard, of items not older than an id.
select attempt, provider, outcome, error, started_at, ended_at
  from attempts
 where shard = :shard and item_id >= :since and provider = :provider and tenant_id = :tenant and workspace_id = :workspace
 order by item_id desc, attempt desc
 limit :limit;
