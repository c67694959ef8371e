-- name: list_routes
-- Every route, those for every workspace first: a handful.
select tenant_id, workspace_id, channel, provider, source, since
  from routes
 order by tenant_id, workspace_id, channel;

-- name: list_own_routes
-- The routes of one workspace alone; without names, those for every workspace.
select tenant_id, workspace_id, channel, provider, source, since
  from routes
 where tenant_id = :tenant and workspace_id = :workspace
 order by channel;

-- name: put_routes
-- Stores a process's routes for every workspace. A printing provider does not replace one that sends.
insert into routes as known (tenant_id, workspace_id, channel, provider, source, since)
select '', '', t.channel, t.provider, :source, :now
  from unnest(:channels::text[], :providers::text[]) as t(channel, provider)
    on conflict (tenant_id, workspace_id, channel) do update
   set provider = excluded.provider, source = excluded.source, since = excluded.since
 where known.provider <> excluded.provider
   and (starts_with(known.provider, :printing) or not starts_with(excluded.provider, :printing))
returning known.channel, known.provider;

-- name: remove_route
-- Takes the provider from a channel in every workspace.
delete from routes where tenant_id = '' and workspace_id = '' and channel = :channel
returning provider;
