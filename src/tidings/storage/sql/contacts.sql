-- part: changed_columns
-- What becomes of contact c by what is given of it: null leaves a field as it is, an empty string clears it, and what is
-- given of attributes, consent and suppressions goes over what is there.
nullif(coalesce(t.name, c.name), '') as name, nullif(coalesce(t.email, c.email), '') as email,
nullif(coalesce(t.phone, c.phone), '') as phone, nullif(coalesce(t.whatsapp, c.whatsapp), '') as whatsapp,
coalesce(string_to_array(t.push_tokens, :separator), c.push_tokens) as push_tokens,
nullif(coalesce(t.company, c.company), '') as company,
coalesce(nullif(coalesce(t.status, c.status), ''), 'active') as status,
nullif(coalesce(t.time_zone, c.time_zone), '') as time_zone,
nullif(coalesce(t.locale, c.locale), '') as locale,
coalesce(string_to_array(t.tags, :separator), c.tags) as tags,
(c.attributes || coalesce(t.attributes, '{}')) - string_to_array(t.no_attributes, :separator) as attributes,
(c.consent || coalesce(t.consent, '{}')) - string_to_array(t.no_consent, :separator) as consent,
(c.suppressions || coalesce(t.suppressions, '{}')) - string_to_array(t.no_suppressions, :separator)
as suppressions

-- part: changed_contacts
-- The contacts with these external ids, each with what is given of it.
unnest({given_arrays}, :no_attributes::text[], :no_consent::text[], :no_suppressions::text[])
    as t({given_columns}, no_attributes, no_consent, no_suppressions)
  join contacts c on c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace
                 and c.external_id = t.external_id
 where c.shard = :shard

-- part: differs
-- Whether contact c is not yet as o has it.
(c.name, c.email, c.phone, c.whatsapp, c.push_tokens, c.company, c.status, c.time_zone, c.locale, c.tags,
 c.attributes, c.consent, c.suppressions)
is distinct from
(o.name, o.email, o.phone, o.whatsapp, o.push_tokens, o.company, o.status, o.time_zone, o.locale, o.tags,
 o.attributes, o.consent, o.suppressions)

-- name: insert_contacts
-- New contacts of one shard; those whose external id is taken are left to change_contacts. An empty string is none.
insert into contacts as new (shard, id, tenant_id, workspace_id, {given_columns}, created_at, updated_at)
select s.shard, t.id, :tenant, :workspace, t.external_id, nullif(t.name, ''), nullif(t.email, ''), nullif(t.phone, ''),
       nullif(t.whatsapp, ''), coalesce(string_to_array(t.push_tokens, :separator), '{}'), nullif(t.company, ''),
       coalesce(nullif(t.status, ''), 'active'), nullif(t.time_zone, ''), nullif(t.locale, ''),
       coalesce(string_to_array(t.tags, :separator), '{}'), coalesce(t.attributes, '{}'), coalesce(t.consent, '{}'),
       coalesce(t.suppressions, '{}'), :now, :now
  from shards s
 cross join unnest(:ids::uuid[], {given_arrays}) as t(id, {given_columns})
 where s.shard = :shard
    on conflict (shard, tenant_id, workspace_id, external_id) do nothing
returning new.id, new.external_id;

-- name: add_contact
-- One new contact with its tags and its entry in the audit log; nothing where its external id is taken.
select add_contact(:shard, :given::jsonb, :audit_id, :actor, :detail::jsonb) as is_new;

-- name: change_contacts
-- Changes contacts by their external ids. Nothing is written where nothing is new.
with old as materialized (
    -- Locked, so that old_tags are those the change starts from, despite concurrent changes. What becomes of each row
    -- comes with it: joined a second time, what is given would be compared with every other.
    select c.id, c.tags as old_tags, t.external_id,
           {changed_columns}
      from {changed_contacts}
       for update of c
),
changed as (
    update contacts c
       set name = o.name, email = o.email, phone = o.phone, whatsapp = o.whatsapp, push_tokens = o.push_tokens,
           company = o.company, status = o.status, time_zone = o.time_zone, locale = o.locale, tags = o.tags,
           attributes = o.attributes, consent = o.consent, suppressions = o.suppressions, updated_at = :now
      from old o
     where c.shard = :shard and c.id = o.id
       and {differs}
    returning c.id, o.external_id, o.old_tags
)
select id, external_id, old_tags, false as changed from old
union all
select id, external_id, old_tags, true as changed from changed;

-- name: compare_contacts
-- Those contacts that exist, and whether change_contacts would change them; locks and writes nothing.
with o as (
    select c.id, t.external_id,
           {changed_columns}
      from {changed_contacts}
)
select o.external_id, o.id, {differs} as changed
  from o
  join contacts c on c.shard = :shard and c.id = o.id;

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
select {contact_columns}
  from contacts c
 where c.shard = :shard and c.id = any(:ids::uuid[]) and c.tenant_id = :tenant and c.workspace_id = :workspace
   and c.deleted_at is null;

-- name: find_contact
-- The contact that has an external id.
select {contact_columns}
  from contacts c
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace and c.external_id = :external_id;

-- name: list_contacts
-- One shard's contacts that match, newest first.
select {contact_columns}
  from {found}
   and {matching}
 order by c.id desc
 limit :limit;

-- name: erase_contact
-- Removes everything about a person; the row stays, because what was sent to it counts. Returns what it was.
with old as materialized (
    -- Of one that was deleted before nothing is left, and its external id reads as empty.
    select {contact_columns}, c.deleted_at
      from contacts c
     where c.shard = :shard and c.id = :id and c.tenant_id = :tenant and c.workspace_id = :workspace
       for update
),
erased as (
    update contacts c
       set external_id = null, name = null, email = null, phone = null, whatsapp = null, push_tokens = '{}',
           company = null, status = 'deleted', time_zone = null, locale = null, tags = '{}', attributes = '{}',
           consent = '{}', suppressions = '{}', updated_at = coalesce(o.deleted_at, :now),
           deleted_at = coalesce(o.deleted_at, :now)
      from old o
     where c.shard = :shard and c.id = o.id
)
select {contact_columns}, c.deleted_at is not null as was_deleted from old c;
