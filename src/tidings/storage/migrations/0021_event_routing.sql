-- What an item was planned for is kept when it has ended, and the fallbacks of host applications are known to everybody.

alter table outbox add column planned_at timestamptz;          -- when its last call was to be made, if not at once

-- What host applications do where there is no rule: whoever starts with some writes them down, so that whoever takes an event
-- knows of them. No workspace's own: a fallback holds for all.
create table fallbacks (
    trigger  text        not null,
    channel  text        not null,
    audience text        not null,
    since    timestamptz not null,
    primary key (trigger, channel, audience),
    constraint fallbacks_channel_check check (channel in ('email', 'whatsapp', 'sms', 'push', 'voice')),
    constraint fallbacks_audience_check check (audience in ('lead', 'partner', 'agent'))
);

-- Nobody reads them with SQL: they are the operator's.
alter table fallbacks enable row level security;

-- The outbox in the words of 000. A fallback is of kind `function`.
create or replace view notification_outbox as
select id, tenant_id, workspace_id, event_id, channel as kind, channel || '_send' as template, recipient, payload,
       case when in_doubt then 'in_doubt'
            when status = 'queued' and marked_at is not null then 'processing'
            when status = 'queued' then 'pending'
            when status in ('sent', 'called', 'posted') then 'succeeded'
            else status end as status,
       (attempts + case when in_doubt then (
           -- The worker died in its last call: that attempt is given back, but it is the one in doubt.
           select count(*) from attempts a
            where a.shard = outbox.shard and a.item_id = outbox.id and a.attempt = outbox.marked_attempt
              and a.outcome = 'crashed'
       ) else 0 end)::smallint as attempt_count,
       coalesce(max_attempts, 5) as max_attempts, coalesce(retry_at, planned_at, created_at) as run_at,
       error as last_error, created_at, finalized_at
  from outbox
 where event_id is not null;

-- Replacing a view takes back what was set for it.
do $$
begin
    if current_setting('server_version_num')::integer >= 150000
       and exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        alter view notification_outbox set (security_invoker = true);
    end if;
end
$$;

-- Sending an event from SQL: stored with the caller's transaction, or never there; routed by the worker that claims it.
-- The same key again gives the same event. As read_event in domain/rules/event.py and check_event in domain/rules/routing.py, but
-- for addresses: one that is none is skipped with the reason when the event is routed. Whoever says to be a contact, by its
-- id or its external id, is one of the workspace, and templates see what the contact has where the event gives nothing.
create or replace function event(
    trigger text,
    lead jsonb default null,
    partner jsonb default null,
    agent jsonb default null,
    variables jsonb default '{}',
    idempotency_key text default null,
    workspace text default 'default',
    tenant text default 'default'
) returns uuid
    language plpgsql volatile security definer
    set search_path = tidings, pg_temp as
$$
#variable_conflict use_column
declare
    moment timestamptz := clock_timestamp();
    its_key text := coalesce(event.idempotency_key, gen_random_uuid()::text);
    its_bucket integer := bucket_of(event.tenant, event.workspace, its_key);
    its_shard smallint := its_bucket % shard_count();
    its_id uuid := new_id(its_bucket, moment);
    its_job uuid := new_id(its_bucket, moment);
    given jsonb := jsonb_build_object('lead', event.lead, 'partner', event.partner, 'agent', event.agent,
                                      'variables', coalesce(event.variables, '{}'));
    seen jsonb;
    wrong text;
    missing text;
    existing uuid;
    person record;
    its_contact uuid;
    contact jsonb;
    strangers text;
    audiences text[] := '{}';
    contacts uuid[] := '{}';
begin
    if event.trigger is null or event.trigger !~ '^[A-Za-z0-9_.:-]{1,100}$' then
        raise exception using errcode = 'TD422', message = format('%L is no trigger', left(event.trigger, 50)),
            hint = 'Use 1 to 100 letters, digits, dots, colons, dashes and underscores.';
    end if;
    perform check_trigger(given, its_key);
    select string_agg(t.name, ', ' order by t.name)
      into wrong
      from jsonb_each(given) as t(name, value)
     where jsonb_typeof(t.value) not in ('object', 'null');
    if wrong is not null then
        raise exception using errcode = 'TD422', message = format('%s: not an object', wrong),
            hint = 'Give jsonb_build_object(''email'', …), or leave it out.';
    end if;
    select string_agg(t.name, ', ' order by t.name)
      into wrong
      from jsonb_object_keys(given -> 'variables') as t(name)
     where t.name in ('lead', 'partner', 'agent', 'trigger');
    if wrong is not null then
        raise exception using errcode = 'TD422', message = format('variables hold %s, which stand beside them', wrong),
            hint = 'Use other names.';
    end if;

    seen := (given -> 'variables') || jsonb_build_object('trigger', event.trigger)
            || (select coalesce(jsonb_object_agg(t.name, t.value), '{}')
                  from jsonb_each(given - 'variables') as t(name, value)
                 where jsonb_typeof(t.value) = 'object');
    for person in
        select t.name as audience, t.value as given,
               coalesce(nullif(t.value ->> 'contactId', ''), nullif(t.value ->> 'contact_id', '')) as named,
               jsonb_typeof(coalesce(nullif(t.value -> 'contactId', 'null'), t.value -> 'contact_id')) = 'string' as is_text
          from jsonb_each(given - 'variables') as t(name, value)
         where jsonb_typeof(t.value) = 'object'
    loop
        continue when person.named is null;
        its_contact := null;
        -- What is a contact's id is never taken for an external id, as in contact_id().
        if person.is_text and person.named ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then
            select c.id
              into its_contact
              from contacts c
             where c.shard = shard_of(person.named::uuid) and c.id = person.named::uuid
               and c.tenant_id = event.tenant and c.workspace_id = event.workspace and c.deleted_at is null;
        end if;
        if person.is_text and its_contact is null then
            select c.id
              into its_contact
              from contacts c
             where c.shard = contact_bucket(event.tenant, event.workspace, person.named) % shard_count()
               and c.tenant_id = event.tenant and c.workspace_id = event.workspace and c.external_id = person.named;
        end if;
        if its_contact is null then
            strangers := concat_ws(', ', strangers, person.audience || '.contactId');
            continue;
        end if;
        if person.named <> its_contact::text then
            given := jsonb_set(given, array[person.audience],
                               person.given - 'contact_id' || jsonb_build_object('contactId', its_contact));
        end if;
        select jsonb_build_object(
                   'id', c.id, 'externalId', c.external_id, 'name', c.name, 'email', c.email, 'phone', c.phone,
                   'whatsapp', c.whatsapp, 'pushTokens', c.push_tokens, 'company', c.company, 'status', c.status,
                   'timeZone', c.time_zone, 'locale', c.locale, 'tags', c.tags, 'attributes', c.attributes
               )
          into contact
          from contacts c
         where c.shard = shard_of(its_contact) and c.id = its_contact;
        audiences := audiences || person.audience;
        contacts := contacts || its_contact;
        seen := seen || jsonb_build_object(person.audience, contact || person.given);
    end loop;

    select string_agg(distinct t.path, ', ')
      into missing
      from rules r
     cross join jsonb_array_elements_text(r.required) as t(path)
     where r.tenant_id = event.tenant and r.workspace_id = event.workspace and r.trigger = event.trigger and r.enabled
       and not has_path(seen, t.path);
    -- What is missing concerns the decisions about those rules alone, as long as something else comes of the event.
    if missing is not null and (
        exists (select 1 from rules r
                 where r.tenant_id = event.tenant and r.workspace_id = event.workspace and r.trigger = event.trigger
                   and r.enabled
                   and not exists (select 1 from jsonb_array_elements_text(r.required) as t(path)
                                    where not has_path(seen, t.path)))
        or exists (select 1 from fallbacks b
                    where b.trigger = event.trigger
                      and not exists (select 1 from rules r
                                       where r.tenant_id = event.tenant and r.workspace_id = event.workspace
                                         and r.trigger = b.trigger and r.channel = b.channel
                                         and r.audience = b.audience and not r.enabled))
    ) then
        missing := null;
    end if;

    if missing is null and strangers is null then
        -- The unique index decides who was first. A transaction that holds the key and has not ended is waited for.
        insert into events (shard, id, tenant_id, workspace_id, trigger, idempotency_key, data, job_id, source, created_at)
        values (its_shard, its_id, event.tenant, event.workspace, event.trigger, its_key, given, its_job, 'sql', moment)
        on conflict (shard, tenant_id, workspace_id, trigger, idempotency_key) do nothing;
        if found then
            insert into jobs (shard, id, event_id, tenant_id, workspace_id, job_type, status, planned, created_at)
            values (its_shard, its_job, its_id, event.tenant, event.workspace, 'event', 'queued', 0, moment);
            insert into event_contacts (shard, contact_id, audience, event_id)
            select its_shard, t.contact_id, t.audience, its_id
              from unnest(contacts, audiences) as t(contact_id, audience);
            insert into queue (shard, id, kind, lane, due_at) values (its_shard, its_job, 'job', 0, moment);
            if current_setting('tidings.notify', true) is distinct from 'off' then
                perform pg_notify('tidings', its_shard || ':0');
            end if;
            return its_id;
        end if;
    end if;

    select e.id
      into existing
      from events e
     where e.shard = its_shard and e.tenant_id = event.tenant and e.workspace_id = event.workspace
       and e.trigger = event.trigger and e.idempotency_key = its_key;
    if found then
        return existing;
    end if;
    if strangers is not null then
        raise exception using errcode = 'TD422', message = format('%s: there is no such contact', strangers),
            hint = 'Give the id or the external id of a contact of this workspace as a string, or leave it out.';
    end if;
    raise exception using errcode = 'TD422', message = format('Missing template variables: %s', missing),
        detail = format('The rules for %L print them, and the event does not have them.', event.trigger),
        hint = 'Give each of them; null will do. A name with a dot is a path: {"quote": {"number": 7}} has quote.number.';
end
$$;
