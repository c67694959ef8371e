-- Work for a person: which contact an execution walks for, and which an item is meant for.

alter table executions add column contact_id uuid;
alter table outbox add column contact_id uuid;

-- None of these columns ever changes, so what moves an execution or an item still updates it in place.
create index executions_contact on executions (shard, contact_id, id) where contact_id is not null;
create index executions_enrolled on executions (shard, workflow_id, id) where contact_id is not null;
create index outbox_contact on outbox (shard, contact_id, id) where contact_id is not null;

-- What is left of people who were deleted and wanted nothing more: no address, only its hash, so that the same address
-- that comes again is known. As suppression_hash in domain/people/contact.py; the shard comes from the hash.
create function shard_of_hash(hash bytea) returns smallint
    language sql immutable strict parallel safe
    return (((get_byte(hash, 0) << 4) | (get_byte(hash, 1) >> 4)) % shard_count())::smallint;

create table suppressed_addresses (
    shard  smallint    not null,
    hash   bytea       not null check (octet_length(hash) = 32),
    reason text        not null,
    since  timestamptz not null,
    primary key (shard, hash),
    constraint suppressed_addresses_shard_check check (shard = shard_of_hash(hash))
);

-- Nobody but the owner.
alter table suppressed_addresses enable row level security;

-- tidings.trigger() for a contact. A function with one more parameter is another one, so the old one goes; whoever might
-- call it may call the new one.
create temporary table former_callers on commit drop as
select distinct case a.grantee when 0 then 'public' else quote_ident(r.rolname) end as name
  from pg_proc p
 cross join aclexplode(p.proacl) a
  left join pg_roles r on r.oid = a.grantee
 where p.pronamespace = 'tidings'::regnamespace and p.proname = 'trigger' and a.grantee <> p.proowner;

drop function trigger(text, jsonb, text, text, text);

create function trigger(
    workflow text, data jsonb, idempotency_key text, workspace text default 'default', tenant text default 'default',
    contact_id uuid default null
) returns uuid
    language plpgsql volatile security definer
    set search_path = tidings, pg_temp as
$$
#variable_conflict use_column
declare
    moment timestamptz := clock_timestamp();
    its_bucket integer := bucket_of(trigger.tenant, trigger.workspace, trigger.idempotency_key);
    its_shard smallint := its_bucket % shard_count();
    its_id uuid := new_id(its_bucket, moment);
    version record;
    missing text;
    is_known boolean;
    due timestamptz;
    existing uuid;
begin
    perform check_trigger(trigger.data, trigger.idempotency_key);

    select w.id as workflow_id, w.active, v.id, v.entry, v.entry_wait, v.lane, v.required
      into version
      from workflows w
      join workflow_versions v on v.workflow_id = w.id
     where w.tenant_id = trigger.tenant and w.workspace_id = trigger.workspace and w.name = trigger.workflow
       and w.deleted_at is null
     order by v.number desc
     limit 1;
    if not found then
        raise exception using errcode = 'TD404',
            message = format('there is no workflow %L in workspace %L', trigger.workflow, trigger.workspace),
            hint = 'Define it first, or name its workspace and tenant.';
    end if;

    select string_agg(t.path, ', ' order by t.path collate "C")
      into missing
      from jsonb_array_elements_text(version.required) as t(path)
     where not has_path(trigger.data, t.path)
       and (trigger.contact_id is null or split_part(t.path, '.', 1) <> 'contact');

    is_known := trigger.contact_id is null
        or exists (select 1 from contacts c
                    where c.shard = shard_of(trigger.contact_id) and c.id = trigger.contact_id
                      and c.tenant_id = trigger.tenant and c.workspace_id = trigger.workspace and c.deleted_at is null);

    if version.active and missing is null and is_known then
        -- Added in UTC: where clocks are changed for the summer, a day is not always 24 hours.
        due := (moment at time zone 'UTC' + coalesce(version.entry_wait, interval '0')) at time zone 'UTC';
        -- The unique index decides who was first. A transaction that holds the key and has not ended is waited for.
        insert into executions (
            shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, status, frontier, cursor,
            input, triggered_by, created_at, contact_id
        ) values (
            its_shard, its_id, trigger.tenant, trigger.workspace, version.workflow_id, version.id,
            trigger.idempotency_key, 'enqueued',
            jsonb_build_object(
                'ready', jsonb_build_array(jsonb_build_array(version.entry, iso_format(due))),
                'arrived', '[]'::jsonb, 'dead', '[]'::jsonb
            ),
            version.entry, trigger.data, 'sql', moment, trigger.contact_id
        )
        on conflict (shard, tenant_id, workspace_id, workflow_id, idempotency_key) do nothing;
        if found then
            insert into queue (shard, id, kind, lane, due_at)
            values (its_shard, its_id, 'execution', version.lane, due);
            -- Heard when the caller commits. Such commits wait for each other, so a caller can do without.
            if current_setting('tidings.notify', true) is distinct from 'off' then
                perform pg_notify('tidings', its_shard || ':' || version.lane);
            end if;
            return its_id;
        end if;
    end if;

    select e.id
      into existing
      from executions e
     where e.shard = its_shard and e.tenant_id = trigger.tenant and e.workspace_id = trigger.workspace
       and e.workflow_id = version.workflow_id and e.idempotency_key = trigger.idempotency_key;
    if found then
        return existing;
    end if;
    if not version.active then
        raise exception using errcode = 'TD409',
            message = format('workflow %L is not active, so it cannot be triggered', trigger.workflow),
            hint = 'Activate it first.';
    end if;
    if not is_known then
        raise exception using errcode = 'TD422',
            message = format('there is no contact %L in workspace %L', trigger.contact_id, trigger.workspace),
            hint = 'Create it first, or name its workspace and tenant.';
    end if;
    raise exception using errcode = 'TD422',
        message = format('Missing required fields or template variables: %s', missing),
        detail = format('Workflow %L needs them, and data does not have them.', trigger.workflow),
        hint = 'Give each of them; null will do. A name with a dot is a path: {"order": {"id": 7}} has order.id.';
end
$$;
revoke all on function trigger from public;

do $$
declare
    caller text;
begin
    for caller in select name from former_callers loop
        execute format('grant execute on function tidings.trigger to %s', caller);
    end loop;
end
$$;
