-- Keys to the API, and row-level security as the second line behind it.

-- A key is shown once, when it is made; what is kept is its sha256, which opens nothing.
create table api_keys (
    id           uuid        primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    role         text        not null
        check (role in ('workflowManager', 'triggerOperator', 'systemAdmin', 'workerService')),
    name         text        not null,
    hash         bytea       not null unique check (octet_length(hash) = 32),
    prefix       text        not null,                         -- its first characters, to tell keys apart
    created_at   timestamptz not null,
    created_by   text        not null,
    expires_at   timestamptz,
    last_used_at timestamptz,                                  -- to the minute
    revoked_at   timestamptz
);
create index api_keys_listed on api_keys (tenant_id, id);

create index audit_log_listed on audit_log (shard, tenant_id, id);

-- Whoever does not own the tables sees the rows of the workspace that the session names, and none when it names none.
-- The engine owns them and is not subject to this: its workers serve every tenant.
create function is_own(tenant text, workspace text) returns boolean
    language sql stable parallel safe
    return tenant = current_setting('tidings.tenant', true)
       and workspace = current_setting('tidings.workspace', true);

alter table workflows enable row level security;
create policy own_workspace on workflows for select using (is_own(tenant_id, workspace_id));
alter table executions enable row level security;
create policy own_workspace on executions for select using (is_own(tenant_id, workspace_id));
alter table runs enable row level security;
create policy own_workspace on runs for select using (is_own(tenant_id, workspace_id));
alter table jobs enable row level security;
create policy own_workspace on jobs for select using (is_own(tenant_id, workspace_id));
alter table outbox enable row level security;
create policy own_workspace on outbox for select using (is_own(tenant_id, workspace_id));
alter table audit_log enable row level security;
create policy own_workspace on audit_log for select using (is_own(tenant_id, workspace_id));

-- These hang on a row above, and are seen with it.
alter table workflow_versions enable row level security;
create policy own_workspace on workflow_versions for select
    using (exists (select 1 from workflows w where w.id = workflow_id));
alter table execution_log enable row level security;
create policy own_workspace on execution_log for select
    using (exists (select 1 from executions e where e.shard = execution_log.shard and e.id = execution_id));
alter table attempts enable row level security;
create policy own_workspace on attempts for select
    using (exists (select 1 from outbox o where o.shard = attempts.shard and o.id = item_id));

-- Nobody but the owner.
alter table api_keys enable row level security;
alter table audience enable row level security;
alter table run_parts enable row level security;
alter table queue enable row level security;

-- The role that such a reader is a member of. Roles belong to the whole server: another database may have made it, and a
-- hosted one may not let us; then its administrator makes it and grants the same.
do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        create role tidings_reader nologin;
    end if;
exception
    when duplicate_object or unique_violation or insufficient_privilege then null;
end
$$;

do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        return;
    end if;
    grant usage on schema tidings to tidings_reader;
    grant select on workflows, workflow_versions, executions, execution_log, runs, jobs, outbox, attempts, audit_log
        to tidings_reader;
    -- Before 15 a view reads with its owner's rights, which would show everything.
    if current_setting('server_version_num')::integer >= 150000 then
        alter view campaign_runs set (security_invoker = true);
        alter view job_queue set (security_invoker = true);
        alter view channel_outbox set (security_invoker = true);
        alter view campaign_audit_log set (security_invoker = true);
        grant select on campaign_runs, job_queue, channel_outbox, campaign_audit_log to tidings_reader;
    end if;
end
$$;
