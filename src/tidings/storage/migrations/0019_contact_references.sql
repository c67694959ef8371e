-- Contacts by id or external id, from SQL.

-- The id of a contact that is named by its id or by its external id, for whoever starts work for it from SQL:
-- trigger(…, contact_id => contact_id('crm-1815')). What is a contact's id is never taken for an external id. As
-- find_contacts in kernel/people/references.py; it reads with its owner's rights, and tells nothing but the id.
create function contact_id(contact text, workspace text default 'default', tenant text default 'default') returns uuid
    language plpgsql stable security definer
    set search_path = tidings, pg_temp as
$$
#variable_conflict use_column
declare
    its_id uuid;
begin
    if contact_id.contact ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then
        select c.id
          into its_id
          from contacts c
         where c.shard = shard_of(contact_id.contact::uuid) and c.id = contact_id.contact::uuid
           and c.tenant_id = contact_id.tenant and c.workspace_id = contact_id.workspace and c.deleted_at is null;
    end if;
    if its_id is null then
        select c.id
          into its_id
          from contacts c
         where c.shard = contact_bucket(contact_id.tenant, contact_id.workspace, contact_id.contact) % shard_count()
           and c.tenant_id = contact_id.tenant and c.workspace_id = contact_id.workspace
           and c.external_id = contact_id.contact;
    end if;
    if its_id is null then
        raise exception using errcode = 'TD422',
            message = format('there is no contact %L in workspace %L', contact_id.contact, contact_id.workspace),
            hint = 'Create it first, or name its workspace and tenant.';
    end if;
    return its_id;
end
$$;
revoke all on function contact_id from public;
