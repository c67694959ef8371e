-- Event rules: what is sent when something happens, over one channel, to one audience; and what happened.

-- One rule for each trigger, channel and audience. Small and read often, so it has no shard.
create table rules (
    id           uuid        primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    trigger      text        not null,
    channel      text        not null,
    audience     text        not null,
    enabled      boolean     not null,
    steps        jsonb       not null,
    required     jsonb       not null default '[]',            -- dotted paths that every event must give
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    constraint rules_key unique (tenant_id, workspace_id, trigger, channel, audience),
    constraint rules_channel_check check (channel in ('email', 'whatsapp', 'sms', 'push', 'voice')),
    constraint rules_audience_check check (audience in ('lead', 'partner', 'agent'))
);
create index rules_listed on rules (tenant_id, workspace_id, id);

-- Something that happened, under the key that makes it happen once. Its items belong to one job, without a run.
create table events (
    shard           smallint    not null,
    id              uuid        not null,
    tenant_id       text        not null,
    workspace_id    text        not null,
    trigger         text        not null,
    idempotency_key text        not null,
    data            jsonb       not null,                      -- lead, partner, agent and variables
    decisions       jsonb,                                     -- null until a worker has routed what SQL stored
    job_id          uuid,                                      -- null where there is nothing to send
    source          text        not null,
    created_at      timestamptz not null,
    routed_at       timestamptz,
    primary key (shard, id),
    constraint events_idempotency_key unique (shard, tenant_id, workspace_id, trigger, idempotency_key),
    constraint events_shard_check check (shard = shard_of(id)),
    constraint events_routed_check check ((routed_at is null) = (decisions is null)),
    constraint events_unrouted_check check (routed_at is not null or job_id is not null)
);
create index events_listed on events (shard, tenant_id, workspace_id, id);

-- A job is a run's or an event's, and so are its items.
alter table jobs
    alter column run_id drop not null,
    add column event_id uuid,
    add constraint jobs_owner_check check ((run_id is null) <> (event_id is null));

alter table outbox
    add column event_id uuid,
    add column max_attempts smallint,                          -- of a rule's item, where it is not 000's five
    drop constraint outbox_owner_check,
    add constraint outbox_owner_check check (
        (execution_id is not null and node is not null and visit is not null and run_id is null and job_id is null
         and event_id is null)
        or (run_id is not null and job_id is not null and execution_id is null and node is null and visit is null
            and event_id is null)
        or (event_id is not null and job_id is not null and execution_id is null and node is null and visit is null
            and run_id is null)
    ),
    -- What no code can send is refused when it is written, not found when it is due.
    add constraint outbox_channel_check
        check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'social', 'function'));
create index outbox_event on outbox (shard, event_id) where event_id is not null;

-- The outbox in the words of 000. A fallback is of kind `function`.
create view notification_outbox as
select id, tenant_id, workspace_id, event_id, channel as kind, channel || '_send' as template, recipient, payload,
       case when in_doubt then 'in_doubt'
            when status = 'queued' and marked_at is not null then 'processing'
            when status = 'queued' then 'pending'
            when status in ('sent', 'called', 'posted') then 'succeeded'
            else status end as status,
       attempts as attempt_count, coalesce(max_attempts, 5) as max_attempts, coalesce(retry_at, created_at) as run_at,
       error as last_error, created_at, finalized_at
  from outbox
 where event_id is not null;

-- Sending an event from SQL: stored with the caller's transaction, or never there; routed by the worker that claims it.
-- The same key again gives the same event. As read_event in domain/rules/event.py and problems_of in domain/rules/routing.py, but
-- for addresses: one that is none is skipped with the reason when the event is routed.
create function event(
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
    select string_agg(distinct t.path, ', ')
      into missing
      from rules r
     cross join jsonb_array_elements_text(r.required) as t(path)
     where r.tenant_id = event.tenant and r.workspace_id = event.workspace and r.trigger = event.trigger and r.enabled
       and not has_path(seen, t.path);

    if missing is null then
        -- The unique index decides who was first. A transaction that holds the key and has not ended is waited for.
        insert into events (shard, id, tenant_id, workspace_id, trigger, idempotency_key, data, job_id, source, created_at)
        values (its_shard, its_id, event.tenant, event.workspace, event.trigger, its_key, given, its_job, 'sql', moment)
        on conflict (shard, tenant_id, workspace_id, trigger, idempotency_key) do nothing;
        if found then
            insert into jobs (shard, id, event_id, tenant_id, workspace_id, job_type, status, planned, created_at)
            values (its_shard, its_job, its_id, event.tenant, event.workspace, 'event', 'queued', 0, moment);
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
    raise exception using errcode = 'TD422', message = format('Missing template variables: %s', missing),
        detail = format('The rules for %L print them, and the event does not have them.', event.trigger),
        hint = 'Give each of them; null will do. A name with a dot is a path: {"quote": {"number": 7}} has quote.number.';
end
$$;
revoke all on function event from public;

alter table rules enable row level security;
create policy own_workspace on rules for select using (is_own(tenant_id, workspace_id));
alter table events enable row level security;
create policy own_workspace on events for select using (is_own(tenant_id, workspace_id));

do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        return;
    end if;
    grant select on rules, events to tidings_reader;
    -- Before 15 a view reads with its owner's rights, which would show everything.
    if current_setting('server_version_num')::integer >= 150000 then
        alter view notification_outbox set (security_invoker = true);
        grant select on notification_outbox to tidings_reader;
    end if;
end
$$;

alter table audit_log drop constraint audit_log_subject_kind_check, add constraint audit_log_subject_kind_check check (
    subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter', 'contact',
                     'sequence', 'enrollment', 'campaign', 'segment', 'rule', 'event')
);

-- The planner's statistics before the first row, as in 0002.
create temporary table sample_events on commit drop as
select number, (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000' || lpad(to_hex(number), 12, '0'))::uuid as id
  from (select number, (number * 37) % 4096 as bucket from generate_series(1, 1000) as number) as numbers;

insert into events (shard, id, tenant_id, workspace_id, trigger, idempotency_key, data, decisions, source, created_at, routed_at)
select shard, id, 'default', 'workspace ' || number % 50, 'trigger ' || number % 20, number::text, '{}', '[]', 'api',
       timestamptz '2026-01-01', timestamptz '2026-01-01'
  from sample_events;

analyze events;

delete from events;
