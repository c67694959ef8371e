-- name: count_audience
-- How many of one shard's contacts an audience has.
select count(*) as people
  from contacts c
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
   and ((:filtered
         and (:company::text is null or lower(c.company) = lower(:company::text))
         and (:status::text is null or c.status = :status)
         and (:tag::text is null or lower(c.tags::text)::text[] @> array[lower(:tag::text)]))
        or c.id = any(:contact_ids::uuid[]))
   and not c.id = any(:exclude_contact_ids::uuid[]);

-- name: sample_audience
-- Some of them, as if drawn by lot: whoever has the lowest draws of every shard together is drawn from all of them. The
-- same seed draws the same people, whatever else is in the table. It reads them all and keeps a few.
select c.id, c.external_id, c.name, c.email, c.phone, c.whatsapp, c.push_tokens, c.company, c.status, c.time_zone,
       c.locale, c.tags, c.attributes, c.consent, c.suppressions, c.created_at, c.updated_at,
       md5(c.id::text || :seed) as draw
  from contacts c
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
   and ((:filtered
         and (:company::text is null or lower(c.company) = lower(:company::text))
         and (:status::text is null or c.status = :status)
         and (:tag::text is null or lower(c.tags::text)::text[] @> array[lower(:tag::text)]))
        or c.id = any(:contact_ids::uuid[]))
   and not c.id = any(:exclude_contact_ids::uuid[])
 order by draw
 limit :limit;

-- name: list_outgoing
-- Every item of one shard, in the order of ids; for a scratch database, where all of them are the simulation's.
select id, coalesce(execution_id, run_id) as owner, contact_id, coalesce(node, '') as step, channel, recipient,
       coalesce(payload, '{}') as payload, status, error as reason, coalesce(finalized_at, created_at) as at
  from outbox
 where shard = :shard and id > :after
 order by id
 limit :limit;

-- name: list_walks
-- Every execution of one shard, and every run, likewise. What failed of a run is told by its items.
select id, contact_id, status, error, error_node, ended_at
  from executions
 where shard = :shard and id > :after
 union all
select id, null, status, null, '', ended_at
  from runs
 where shard = :shard and id > :after
 order by id
 limit :limit;
