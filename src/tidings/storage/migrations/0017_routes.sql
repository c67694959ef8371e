-- Which provider serves a channel, and which workers there are: facts in the database, not of the process that asks.

-- Which provider serves a channel: configuration, never liveness. Without a tenant and a workspace, which no workspace is
-- called, it holds for every workspace; a workspace's own row comes before that.
create table routes (
    tenant_id    text        not null,
    workspace_id text        not null,
    channel      text        not null
        check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'social', 'function')),
    provider     text        not null check (provider <> ''),
    source       text        not null,                         -- who said so
    since        timestamptz not null,
    primary key (tenant_id, workspace_id, channel),
    check ((tenant_id = '') = (workspace_id = ''))
);

-- The workers, and what each can call; one that was not seen for a while does not live any more.
create table workers (
    id           uuid        primary key,
    host         text        not null,
    pid          integer     not null,
    version      text        not null,
    lanes        smallint[]  not null,
    serves       jsonb       not null,                         -- by provider: its class, channels, calls at once
    started_at   timestamptz not null,
    last_seen_at timestamptz not null
);

-- Nobody reads them with SQL: they are the operator's.
alter table routes enable row level security;
alter table workers enable row level security;

alter table audit_log drop constraint audit_log_subject_kind_check, add constraint audit_log_subject_kind_check check (
    subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter', 'contact',
                     'sequence', 'enrollment', 'campaign', 'segment', 'rule', 'event', 'route')
);

-- What a trigger needs a route for, without reading the definition. Versions are frozen, so what they say is read once here.
alter table workflow_versions add column channels text[] not null default '{}';
update workflow_versions v
   set channels = array(
           select distinct coalesce(t.node ->> 'type', t.node ->> 'channel')
             from jsonb_array_elements(
                      case v.form when 'graph' then v.definition -> 'nodes' else v.definition -> 'steps' end
                  ) as t(node)
            where coalesce(t.node ->> 'type', t.node ->> 'channel')
                  in ('email', 'sms', 'whatsapp', 'push', 'voice', 'social')
            order by 1
       )
 where v.form in ('graph', 'sequence');

-- Starts one execution and gives its id: committed with the caller's transaction, or never there. The same key again
-- gives the same execution, even if the workflow was deactivated since or the data lacks something now. It does what
-- kernel/start/trigger.py does, with its owner's rights: whoever may execute it can start work, and read or write nothing else.
create or replace function trigger(
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
    not_ready text;
    is_known boolean;
    due timestamptz;
    existing uuid;
begin
    perform check_trigger(trigger.data, trigger.idempotency_key);

    select w.id as workflow_id, w.active, v.id, v.entry, v.entry_wait, v.lane, v.required, v.channels
      into version
      from workflows w
      join workflow_versions v on v.workflow_id = w.id
     where w.tenant_id = trigger.tenant and w.workspace_id = trigger.workspace and w.kind = 'workflow'
       and w.name = trigger.workflow and w.deleted_at is null
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

    select string_agg(t.channel, ', ' order by t.channel collate "C")
      into not_ready
      from unnest(version.channels) as t(channel)
     where not exists (select 1 from routes r
                        where (r.tenant_id, r.workspace_id) in ((trigger.tenant, trigger.workspace), ('', ''))
                          and r.channel = t.channel);

    if version.active and missing is null and is_known and not_ready is null then
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
    if not_ready is not null then
        raise exception using errcode = 'TD409',
            message = format('no provider is set up for %s, which workflow %L needs', not_ready, trigger.workflow),
            detail = 'channel_not_ready',
            hint = 'Start a worker with a provider for it (TIDINGS_SMTP_URL for email, or --app), or with --print to '
                   'print messages instead of sending them. `tidings providers list` shows what is set up.';
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
