-- name: lock_admin_key
-- Only one process at a time checks whether there is an operator and makes the first key.
select pg_advisory_xact_lock(7263641130);

-- name: count_live_operators
-- How many keys of operators still open something.
select count(*) as keys
  from api_keys
 where role = 'operator' and revoked_at is null and (expires_at is null or expires_at > :now);

-- name: insert_key
-- A new key, of which only the hash is stored.
insert into api_keys (id, tenant_id, workspace_id, role, name, hash, prefix, created_at, created_by, expires_at, workflows,
                      origins)
values (:id, :tenant, :workspace, :role, :name, :digest, :prefix, :now, :created_by, :expires_at, :workflows, :origins)
    on conflict do nothing;

-- name: find_key
-- The key with this hash, revoked and expired ones too.
select {key_columns}
  from api_keys
 where hash = :digest;

-- name: list_live_hashes
-- The hashes of the keys and sessions that open something, those used last first.
select live.hash
  from (select hash, last_used_at
          from api_keys
         where revoked_at is null and (expires_at is null or expires_at > :now)
         union all
        select hash, used_at as last_used_at
          from sessions
         where expires_at > :now) as live
 order by last_used_at desc nulls last
 limit :limit;

-- name: list_keys
-- A tenant's keys, newest first.
select {key_columns}
  from api_keys
 where tenant_id = :tenant and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: read_key
-- One key of a tenant.
select {key_columns}
  from api_keys
 where tenant_id = :tenant and id = :id;

-- name: revoke_key
-- Ends a key for good; the first time stays written.
update api_keys set revoked_at = :now where id = :id and revoked_at is null returning id;

-- name: touch_key
-- When a key was last used, to the minute: more would be a write for every request.
update api_keys set last_used_at = :now where id = :id and (last_used_at is null or last_used_at < :before);

-- name: list_tenant_audit
-- One shard's history of a tenant, newest first; without that of jobs, which is read with their run.
select {audit_columns}
  from audit_log
 where shard = :shard and tenant_id = :tenant and subject_kind <> 'job'
   and id >= :since and id < :before
   and (:actor::text is null or strpos(lower(actor), lower(:actor)) > 0)
   and (:subject_kind::text is null or subject_kind = :subject_kind)
 order by id desc
 limit :limit;

-- name: list_subject_audit
-- One shard's history of one thing of a tenant, newest first; a job's, too.
with told as materialized (
    -- By its own index first: by id alone, the search for an old thing would walk through everything that came after it.
    select {audit_columns}
      from audit_log
     where shard = :shard and subject_id = :subject_id and tenant_id = :tenant
)
select id, workspace, subject_kind, subject_id, event, actor, detail, at
  from told
 where id >= :since and id < :before
   and (:actor::text is null or strpos(lower(actor), lower(:actor)) > 0)
   and (:subject_kind::text is null or subject_kind = :subject_kind)
 order by id desc
 limit :limit;

-- name: list_origins
-- The web pages from which some publishable key may be used: a browser asks before it sends one.
select distinct unnest(origins) as origin
  from api_keys
 where role = 'publishable' and revoked_at is null and (expires_at is null or expires_at > :now);
