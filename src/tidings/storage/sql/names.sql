-- name: name_contacts
-- What contacts are called. One that was deleted has no name left.
select id, external_id, name, email
  from contacts
 where shard = :shard and id = any(:ids::uuid[]) and tenant_id = :tenant and deleted_at is null;

-- name: name_executions
-- The workflows or sequences that executions walk through.
select e.id, w.name
  from executions e
  left join workflows w on w.id = e.workflow_id -- as in record_parts.sql
 where e.shard = :shard and e.id = any(:ids::uuid[]) and e.tenant_id = :tenant;

-- name: name_runs
-- The campaigns of runs; one that was deployed from a program has none.
select r.id, c.name
  from runs r
  join campaigns c on c.id = r.campaign_id
 where r.shard = :shard and r.id = any(:ids::uuid[]) and r.tenant_id = :tenant;

-- name: name_events
-- The triggers of events.
select id, trigger as name
  from events
 where shard = :shard and id = any(:ids::uuid[]) and tenant_id = :tenant;

-- name: name_definitions
-- What people have written, whatever it is; also what was deleted since.
select id, name from workflows where id = any(:ids::uuid[]) and tenant_id = :tenant
union all
select id, name from campaigns where id = any(:ids::uuid[]) and tenant_id = :tenant
union all
select id, name from segments where id = any(:ids::uuid[]) and tenant_id = :tenant
union all
select id, name from connections where id = any(:ids::uuid[]) and tenant_id = :tenant
union all
select id, name from api_keys where id = any(:ids::uuid[]) and tenant_id = :tenant
union all
select id, coalesce(email, name) as name from users where id = any(:ids::uuid[]) and tenant_id = :tenant
union all
select id, trigger || ' ' || channel || ' ' || audience as name from rules where id = any(:ids::uuid[]) and tenant_id = :tenant;
