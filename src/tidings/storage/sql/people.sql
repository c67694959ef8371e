-- name: load_people
-- Contacts as templates see them. Those that were deleted, too: work that was begun for one must learn that it is gone.
select {contact_columns}, c.deleted_at is not null as is_deleted
  from contacts c
 where c.shard = :shard and c.id = any(:ids::uuid[]);

-- name: read_consents
-- What contacts allow, read before something is marked for them (rule 14); attributes may be large, and stay out.
select id, consent, suppressions, deleted_at is not null as is_deleted
  from contacts
 where shard = :shard and id = any(:ids::uuid[]);

-- name: find_named_contacts
-- The contacts of a workspace that have one of these ids, or one of these external ids. One that was deleted has no
-- external id left, and is found by its id.
select id, null::text as external_id, deleted_at is not null as is_deleted
  from contacts
 where shard = :shard and id = any(:ids::uuid[]) and tenant_id = :tenant and workspace_id = :workspace
union all
select id, external_id, false as is_deleted
  from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and external_id = any(:external_ids::text[]);

-- name: remove_push_token
-- Takes a token from a contact that its provider no longer knows.
update contacts
   set push_tokens = array_remove(push_tokens, :token), updated_at = :now
 where shard = :shard and id = :id and :token = any(push_tokens) and deleted_at is null
returning id;
