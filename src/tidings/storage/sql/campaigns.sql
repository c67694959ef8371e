-- part: campaign_columns
id, name, channel, content, version, audience, data, send_hour, time_zone,
rate_per_minute as rate, max_lateness, created_at, updated_at

-- name: insert_campaign
-- Makes a campaign.
insert into campaigns (
    id, tenant_id, workspace_id, name, channel, content, audience, data, send_hour, time_zone, rate_per_minute,
    max_lateness, created_at, updated_at
)
values (
    :id, :tenant, :workspace, :name, :channel, :content::jsonb, :audience::jsonb, :data::jsonb, :send_hour, :time_zone,
    :rate_per_minute, :max_lateness, :now, :now
)
    on conflict (id) do nothing;

-- name: change_campaign
-- Writes what a campaign is now, unless it changed since it was read; every change increments its version.
update campaigns
   set name = :name, channel = :channel, content = :content::jsonb, audience = :audience::jsonb, data = :data::jsonb,
       send_hour = :send_hour, time_zone = :time_zone, rate_per_minute = :rate_per_minute,
       max_lateness = :max_lateness, version = :version, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null and version = :read_version
returning id;

-- name: show_campaign
-- One campaign.
select {campaign_columns}
  from campaigns
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null;

-- name: list_campaigns
-- The campaigns of a workspace, newest first.
select {campaign_columns}
  from campaigns
 where tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and (:name::text is null or name = :name)
   and (:channel::text is null or channel = :channel)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: delete_campaign
-- Hides a campaign for ever; its runs keep what they need of it.
update campaigns set deleted_at = :now, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
returning id;

-- name: insert_segment
-- Makes a segment; the unique index decides whether its name is free.
insert into segments (id, tenant_id, workspace_id, name, audience, created_at, updated_at)
values (:id, :tenant, :workspace, :name, :audience::jsonb, :now, :now)
    on conflict (id) do nothing;

-- name: change_segment
-- Changes a segment's name and audience.
update segments set name = :name, audience = :audience::jsonb, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
returning id;

-- name: show_segment
-- One segment, by id or by name.
select id, name, audience, created_at, updated_at
  from segments
 where tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and (id = :id::uuid or name = :name::text)
 limit 1;

-- name: list_segments
-- The segments of a workspace, newest first.
select id, name, audience, created_at, updated_at
  from segments
 where tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: find_segment_users
-- The campaigns that name a segment.
select name from campaigns
 where tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and audience ->> 'segmentId' = :segment_id
 order by id
 limit :limit;

-- name: delete_segment
-- Hides a segment for ever and frees its name.
update segments set deleted_at = :now, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
returning id;
