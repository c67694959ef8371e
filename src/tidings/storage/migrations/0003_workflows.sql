-- Workflows over HTTP: what a version needs at its start without being parsed, what functions give, what nodes saw.

alter table workflows add column description text;

-- Filled when a version is frozen, so that a trigger in plain SQL can check and start it.
alter table workflow_versions
    add column form        text     not null default 'graph' check (form in ('graph', 'steps')),
    add column required    jsonb    not null default '[]', -- dotted paths that every trigger must give
    add column entry       text,
    add column entry_wait  interval not null default '0',
    add column total_steps integer  not null default 1;

-- A workspace's executions, newest first.
create index executions_listed on executions (shard, tenant_id, workspace_id, id);

alter table outbox add column result jsonb;

alter table execution_log
    add column saw        jsonb,
    add column started_at timestamptz;

alter table audit_log
    drop constraint audit_log_subject_kind_check,
    add constraint audit_log_subject_kind_check check (
        subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function')
    );
