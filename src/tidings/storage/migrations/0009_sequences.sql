-- Sequences: drafts, their steps, and what publishing freezes.

alter table workflows
    add column kind text not null default 'workflow' check (kind in ('workflow', 'sequence')),
    add column paused boolean not null default false;

-- A workflow and a sequence may have the same name.
drop index workflows_name;
create unique index workflows_name on workflows (tenant_id, workspace_id, kind, name) where deleted_at is null;
drop index workflows_listed;
create index workflows_listed on workflows (tenant_id, workspace_id, kind, id) where deleted_at is null;

alter table workflow_versions drop constraint workflow_versions_form_check;
alter table workflow_versions add constraint workflow_versions_form_check check (form in ('graph', 'steps', 'sequence'));

alter table audit_log drop constraint audit_log_subject_kind_check, add constraint audit_log_subject_kind_check check (
    subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter', 'contact', 'sequence')
);

create table sequences (
    id       uuid  primary key references workflows,
    settings jsonb not null
);

create table sequence_steps (
    sequence_id  uuid        not null references sequences,
    id           uuid        not null,                         -- the same in every version
    day_offset   integer     not null check (day_offset >= 0),
    step_order   integer     not null check (step_order >= 0), -- unique when it is published, not while it is edited
    send_hour    smallint    check (send_hour between 0 and 23),
    channel      text        not null check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice')),
    subject      text,
    content      text        not null,
    max_lateness interval,
    created_at   timestamptz not null,
    primary key (sequence_id, id)
);

alter table sequences enable row level security;
create policy own_workspace on sequences for select
    using (exists (select 1 from workflows w where w.id = sequences.id));
alter table sequence_steps enable row level security;
create policy own_workspace on sequence_steps for select
    using (exists (select 1 from workflows w where w.id = sequence_id));

do $$
begin
    if exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        grant select on sequences, sequence_steps to tidings_reader;
    end if;
end
$$;

-- Nothing triggers a sequence.
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
    is_known boolean;
    due timestamptz;
    existing uuid;
begin
    perform check_trigger(trigger.data, trigger.idempotency_key);

    select w.id as workflow_id, w.active, v.id, v.entry, v.entry_wait, v.lane, v.required
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
