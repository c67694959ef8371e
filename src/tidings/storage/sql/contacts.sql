-- name: insert_contacts
-- New contacts of one shard; those whose external id is taken are left to change_contacts. An empty text is none.
insert into contacts (
    shard, id, tenant_id, workspace_id, external_id, name, email, phone, whatsapp, push_tokens, company, status,
    time_zone, locale, tags, attributes, consent, suppressions, created_at, updated_at
)
select s.shard, t.id, :tenant, :workspace, t.external_id, nullif(t.name, ''), nullif(t.email, ''), nullif(t.phone, ''),
       nullif(t.whatsapp, ''), coalesce(string_to_array(t.push_tokens, :separator), '{}'), nullif(t.company, ''),
       coalesce(nullif(t.status, ''), 'active'), nullif(t.time_zone, ''), nullif(t.locale, ''),
       coalesce(string_to_array(t.tags, :separator), '{}'), coalesce(t.attributes, '{}'), coalesce(t.consent, '{}'),
       coalesce(t.suppressions, '{}'), :now, :now
  from shards s
 cross join unnest(
           :ids::uuid[], :external_ids::text[], :names::text[], :emails::text[], :phones::text[], :whatsapps::text[],
           :push_tokens::text[], :companies::text[], :statuses::text[], :time_zones::text[], :locales::text[],
           :tags::text[], :attributes::jsonb[], :consents::jsonb[], :suppressions::jsonb[]
       ) as t(id, external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags,
              attributes, consent, suppressions)
 where s.shard = :shard
    on conflict (shard, tenant_id, workspace_id, external_id) do nothing
returning id, external_id;

-- name: change_contacts
-- Changes contacts by their external ids: null leaves a field as it is, an empty text clears it, and what is given of
-- attributes, consent and suppressions goes over what is there. Nothing is written where nothing is new.
with old as materialized (
    -- Locked, so that old_tags are those that the change is made from, whoever else is at it. What is given comes with
    -- each row: joined a second time it would be compared with every other.
    select c.id, c.tags as old_tags, t.external_id, t.name, t.email, t.phone, t.whatsapp,
           string_to_array(t.push_tokens, :separator) as push_tokens, t.company, t.status, t.time_zone, t.locale,
           string_to_array(t.tags, :separator) as tags, coalesce(t.attributes, '{}') as attributes,
           coalesce(t.consent, '{}') as consent, coalesce(t.suppressions, '{}') as suppressions,
           string_to_array(t.no_attributes, :separator) as no_attributes,
           string_to_array(t.no_consent, :separator) as no_consent,
           string_to_array(t.no_suppressions, :separator) as no_suppressions
      from unnest(
               :external_ids::text[], :names::text[], :emails::text[], :phones::text[], :whatsapps::text[],
               :push_tokens::text[], :companies::text[], :statuses::text[], :time_zones::text[], :locales::text[],
               :tags::text[], :attributes::jsonb[], :consents::jsonb[], :suppressions::jsonb[],
               :no_attributes::text[], :no_consents::text[], :no_suppressions::text[]
           ) as t(external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags,
                  attributes, consent, suppressions, no_attributes, no_consent, no_suppressions)
      join contacts c on c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace
                     and c.external_id = t.external_id
     where c.shard = :shard
       for update of c
),
changed as (
    update contacts c
       set name = nullif(coalesce(o.name, c.name), ''), email = nullif(coalesce(o.email, c.email), ''),
           phone = nullif(coalesce(o.phone, c.phone), ''), whatsapp = nullif(coalesce(o.whatsapp, c.whatsapp), ''),
           push_tokens = coalesce(o.push_tokens, c.push_tokens), company = nullif(coalesce(o.company, c.company), ''),
           status = coalesce(nullif(coalesce(o.status, c.status), ''), 'active'),
           time_zone = nullif(coalesce(o.time_zone, c.time_zone), ''),
           locale = nullif(coalesce(o.locale, c.locale), ''), tags = coalesce(o.tags, c.tags),
           attributes = (c.attributes || o.attributes) - o.no_attributes,
           consent = (c.consent || o.consent) - o.no_consent,
           suppressions = (c.suppressions || o.suppressions) - o.no_suppressions, updated_at = :now
      from old o
     where c.shard = :shard and c.id = o.id
       and (c.name, c.email, c.phone, c.whatsapp, c.push_tokens, c.company, c.status, c.time_zone, c.locale, c.tags,
            c.attributes, c.consent, c.suppressions)
           is distinct from
           (nullif(coalesce(o.name, c.name), ''), nullif(coalesce(o.email, c.email), ''),
            nullif(coalesce(o.phone, c.phone), ''), nullif(coalesce(o.whatsapp, c.whatsapp), ''),
            coalesce(o.push_tokens, c.push_tokens), nullif(coalesce(o.company, c.company), ''),
            coalesce(nullif(coalesce(o.status, c.status), ''), 'active'),
            nullif(coalesce(o.time_zone, c.time_zone), ''), nullif(coalesce(o.locale, c.locale), ''),
            coalesce(o.tags, c.tags), (c.attributes || o.attributes) - o.no_attributes,
            (c.consent || o.consent) - o.no_consent, (c.suppressions || o.suppressions) - o.no_suppressions)
    returning c.id, o.external_id, o.old_tags
)
select id, external_id, old_tags, false as changed from old
union all
select id, external_id, old_tags, true as changed from changed;

-- name: add_contact_tags
-- Makes contacts found by their tags, in whatever case one is asked for.
insert into contact_tags (shard, tenant_id, workspace_id, tag, contact_id)
select s.shard, :tenant, :workspace, lower(t.tag), t.contact_id
  from shards s
 cross join unnest(:tags::text[], :contact_ids::uuid[]) as t(tag, contact_id)
 where s.shard = :shard
    on conflict do nothing;

-- name: remove_contact_tags
-- Makes contacts found no more by tags that they had.
delete from contact_tags d
 using unnest(:tags::text[], :contact_ids::uuid[]) as t(tag, contact_id)
 where d.shard = :shard and d.tenant_id = :tenant and d.workspace_id = :workspace and d.tag = lower(t.tag)
   and d.contact_id = t.contact_id;

-- name: show_contacts
-- Contacts of a workspace by id.
select id, external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags, attributes,
       consent, suppressions, created_at, updated_at
  from contacts
 where shard = :shard and id = any(:ids::uuid[]) and tenant_id = :tenant and workspace_id = :workspace
   and deleted_at is null;

-- name: find_contact
-- The contact that has an external id.
select id, external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags, attributes,
       consent, suppressions, created_at, updated_at
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and external_id = :external_id;

-- name: list_contacts
-- One shard's contacts, newest first; a text is looked for in whatever people are known by.
select id, external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags, attributes,
       consent, suppressions, created_at, updated_at
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and (:text::text is null
        or strpos(lower(concat_ws(' ', name, email, phone, whatsapp, company, external_id)), lower(:text)) > 0)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_contacts_of_status
-- The same of those with a status.
select id, external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags, attributes,
       consent, suppressions, created_at, updated_at
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and status = :status
   and (:text::text is null
        or strpos(lower(concat_ws(' ', name, email, phone, whatsapp, company, external_id)), lower(:text)) > 0)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_contacts_of_company
-- The same of those of a company, and perhaps of one status among them.
select id, external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags, attributes,
       consent, suppressions, created_at, updated_at
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and lower(company) = lower(:company::text)
   and (:status::text is null or status = :status)
   and (:text::text is null
        or strpos(lower(concat_ws(' ', name, email, phone, whatsapp, company, external_id)), lower(:text)) > 0)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_contacts_with_tag
-- The same of those with a tag, and perhaps of one company or status among them.
select c.id, c.external_id, c.name, c.email, c.phone, c.whatsapp, c.push_tokens, c.company, c.status, c.time_zone,
       c.locale, c.tags, c.attributes, c.consent, c.suppressions, c.created_at, c.updated_at
  from contact_tags t
  join contacts c on c.shard = :shard and c.id = t.contact_id
 where t.shard = :shard and t.tenant_id = :tenant and t.workspace_id = :workspace and t.tag = lower(:tag::text)
   and c.deleted_at is null and lower(c.tags::text)::text[] @> array[lower(:tag::text)]
   and (:company::text is null or lower(c.company) = lower(:company::text))
   and (:status::text is null or c.status = :status)
   and (:text::text is null
        or strpos(lower(concat_ws(' ', c.name, c.email, c.phone, c.whatsapp, c.company, c.external_id)),
                  lower(:text)) > 0)
   and t.contact_id >= :since and t.contact_id < :before
 order by t.contact_id desc
 limit :limit;

-- name: erase_contact
-- Removes everything about a person; the row stays, because what was sent to it counts. Says what it refused, and where.
with old as materialized (
    select id, tags, email, phone, whatsapp, push_tokens, consent, suppressions, deleted_at
      from contacts
     where shard = :shard and id = :id and tenant_id = :tenant and workspace_id = :workspace
       for update
)
update contacts c
   set external_id = null, name = null, email = null, phone = null, whatsapp = null, push_tokens = '{}', company = null,
       status = 'deleted', time_zone = null, locale = null, tags = '{}', attributes = '{}', consent = '{}',
       suppressions = '{}', updated_at = coalesce(o.deleted_at, :now), deleted_at = coalesce(o.deleted_at, :now)
  from old o
 where c.shard = :shard and c.id = o.id
returning c.id, o.tags as old_tags, o.email as old_email, o.phone as old_phone, o.whatsapp as old_whatsapp,
          o.push_tokens as old_push_tokens, o.consent as old_consent, o.suppressions as old_suppressions,
          o.deleted_at is not null as was_deleted;
