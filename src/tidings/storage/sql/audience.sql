-- name: pick_contacts
-- The next contacts of a workspace in one shard, oldest first, as they were made up to a moment.
select id, time_zone
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and created_at <= :made_by and (:after::uuid is null or id > :after)
 order by id
 limit :limit;

-- name: pick_contacts_of_status
-- The same of those with a status.
select id, time_zone
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and status = :status and created_at <= :made_by and (:after::uuid is null or id > :after)
 order by id
 limit :limit;

-- name: pick_contacts_of_company
-- The same of those of a company, and perhaps of one status among them.
select id, time_zone
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and lower(company) = lower(:company::text)
   and (:status::text is null or status = :status)
   and created_at <= :made_by and (:after::uuid is null or id > :after)
 order by id
 limit :limit;

-- name: pick_contacts_with_tag
-- The same of those with a tag, and perhaps of one company or status among them.
select c.id, c.time_zone
  from contact_tags t
  join contacts c on c.shard = :shard and c.id = t.contact_id
 where t.shard = :shard and t.tenant_id = :tenant and t.workspace_id = :workspace and t.tag = lower(:tag::text)
   and c.deleted_at is null and lower(c.tags::text)::text[] @> array[lower(:tag::text)]
   and (:company::text is null or lower(c.company) = lower(:company::text))
   and (:status::text is null or c.status = :status)
   and c.created_at <= :made_by and (:after::uuid is null or t.contact_id > :after)
 order by t.contact_id
 limit :limit;

-- name: pick_named_contacts
-- Those of a workspace among contacts that are named one by one.
select id, time_zone
  from contacts
 where shard = :shard and id = any(:ids::uuid[]) and tenant_id = :tenant and workspace_id = :workspace
   and deleted_at is null and created_at <= :made_by;

-- name: count_reachable
-- Of some contacts: how many have an address for a channel, and how many of those may not be written to over it.
select count(*) filter (where c.address is not null) as reachable,
       count(*) filter (where c.address is not null
                          and (c.suppressions ? :channel or c.consent -> :channel ->> 'status' = 'withdrawn')) as refused
  from (
        select case :channel when 'email' then email
                             when 'push' then push_tokens[1]
                             when 'whatsapp' then coalesce(whatsapp, phone)
                             else phone end as address,
               suppressions, consent
          from contacts
         where shard = :shard and id = any(:ids::uuid[])
       ) c;

-- name: count_lacking
-- Of some contacts: how many lack an attribute, by its dotted path. A null counts as there.
select t.path, count(*) as contacts
  from unnest(:paths::text[]) as t(path)
  join contacts c on c.shard = :shard and c.id = any(:ids::uuid[])
 where c.shard = :shard and c.attributes #> string_to_array(t.path, '.') is null
 group by t.path;
