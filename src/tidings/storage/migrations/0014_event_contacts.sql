-- The contacts among an event's people, and the history of a run's jobs.

-- Which of an event's people are contacts, so that deleting a contact finds the events about it. In the event's shard.
create table event_contacts (
    shard      smallint not null,
    contact_id uuid     not null,
    audience   text     not null,                              -- as which of its people
    event_id   uuid     not null,
    primary key (shard, contact_id, audience, event_id),
    constraint event_contacts_audience_check check (audience in ('lead', 'partner', 'agent')),
    constraint event_contacts_shard_check check (shard = shard_of(event_id))
);

-- Nobody reads it with SQL: it names people, and an event shows them.
alter table event_contacts enable row level security;

-- Sending an event from SQL: stored with the caller's transaction, or never there; routed by the worker that claims it.
-- The same key again gives the same event. As read_event in domain/rules/event.py and problems_of in domain/rules/routing.py, but
-- for addresses: one that is none is skipped with the reason when the event is routed. Whoever says to be a contact is one
-- of the workspace, and templates see what the contact has where the event gives nothing.
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
               coalesce(nullif(t.value ->> 'contactId', ''), nullif(t.value ->> 'contact_id', '')) as contact_id
          from jsonb_each(given - 'variables') as t(name, value)
         where jsonb_typeof(t.value) = 'object'
    loop
        contact := null;
        if person.contact_id ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then
            select jsonb_build_object(
                       'id', c.id, 'externalId', c.external_id, 'name', c.name, 'email', c.email, 'phone', c.phone,
                       'whatsapp', c.whatsapp, 'pushTokens', c.push_tokens, 'company', c.company, 'status', c.status,
                       'timeZone', c.time_zone, 'locale', c.locale, 'tags', c.tags, 'attributes', c.attributes
                   )
              into contact
              from contacts c
             where c.shard = shard_of(person.contact_id::uuid) and c.id = person.contact_id::uuid
               and c.tenant_id = event.tenant and c.workspace_id = event.workspace and c.deleted_at is null;
        end if;
        if contact is not null then
            audiences := audiences || person.audience;
            contacts := contacts || person.contact_id::uuid;
            seen := seen || jsonb_build_object(person.audience, contact || person.given);
        elsif person.contact_id is not null then
            strangers := concat_ws(', ', strangers, person.audience || '.contactId');
        end if;
    end loop;

    select string_agg(distinct t.path, ', ')
      into missing
      from rules r
     cross join jsonb_array_elements_text(r.required) as t(path)
     where r.tenant_id = event.tenant and r.workspace_id = event.workspace and r.trigger = event.trigger and r.enabled
       and not has_path(seen, t.path);

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
            hint = 'Give the id of a contact of this workspace, or leave it out.';
    end if;
    raise exception using errcode = 'TD422', message = format('Missing template variables: %s', missing),
        detail = format('The rules for %L print them, and the event does not have them.', event.trigger),
        hint = 'Give each of them; null will do. A name with a dot is a path: {"quote": {"number": 7}} has quote.number.';
end
$$;

-- A run has hundreds of jobs, whose changes of state are read with the run: here they would hide what people did.
drop index audit_log_listed;
create index audit_log_listed on audit_log (shard, tenant_id, id) where subject_kind <> 'job';

-- The planner's statistics before the first row, as in 0002.
create temporary table sample_event_contacts on commit drop as
select number, (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000' || lpad(to_hex(number), 12, '0'))::uuid as id
  from (select number, (number * 37) % 4096 as bucket from generate_series(1, 1000) as number) as numbers;

insert into event_contacts (shard, contact_id, audience, event_id)
select shard, id, 'lead', id from sample_event_contacts;

analyze event_contacts;

delete from event_contacts;
