-- The kernel's tables. Narrow and hot (queue) apart from wide and cold; every hot table's keys begin with `shard`,
-- and a CHECK ties `shard` to the bucket inside the id, so the same key cannot hide on another shard.

-- The bucket inside an id: the 12 bits after the version of a UUID v7.
create function bucket_of_id(id uuid) returns integer
    language sql immutable strict parallel safe
    return ((get_byte(uuid_send(id), 6) & 15) << 8) | get_byte(uuid_send(id), 7);

-- The shard an id lives in. shard_count() is made when the database is initialised.
create function shard_of(id uuid) returns smallint
    language sql immutable strict parallel safe
    return (bucket_of_id(id) % shard_count())::smallint;

-- The bucket of what must be unique in a workspace: the first 12 bits of sha256 over length-prefixed parts.
create function bucket_of(tenant text, workspace text, unique_name text) returns integer
    language plpgsql immutable parallel safe as
$$
declare
    part text;
    encoded bytea := '';
    digest bytea;
begin
    foreach part in array array[tenant, workspace, unique_name] loop
        part := coalesce(part, '');
        encoded := encoded || int4send(octet_length(convert_to(part, 'UTF8'))) || convert_to(part, 'UTF8');
    end loop;
    digest := sha256(encoded);
    return (get_byte(digest, 0) << 4) | (get_byte(digest, 1) >> 4);
end
$$;

-- One row for each shard: where a batch insert has no other row of its shard to start from, it starts here.
create table shards (
    shard smallint primary key
);
insert into shards (shard) select generate_series(0, shard_count() - 1);

-- Definitions: small, read often, changed rarely.

create table workflows (
    id           uuid        primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    name         text        not null,
    active       boolean     not null default true,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    deleted_at   timestamptz,
    description  text
);
create unique index workflows_name on workflows (tenant_id, workspace_id, name) where deleted_at is null;

-- A version never changes: an execution names its version for ever.
create table workflow_versions (
    id          uuid        primary key,
    workflow_id uuid        not null references workflows,
    number      integer     not null check (number > 0),
    definition  jsonb       not null,
    created_at  timestamptz not null,
    -- Filled when a version is frozen, so that a trigger in plain SQL can check and start it.
    form        text        not null default 'graph' check (form in ('graph', 'steps')),
    required    jsonb       not null default '[]',             -- dotted paths that every trigger must give
    entry       text,
    entry_wait  interval    not null default '0',
    total_steps integer     not null default 1,
    unique (workflow_id, number)
);

-- A provider that keeps timing out or says "not so fast" rests for everyone.
create table provider_pauses (
    provider     text        primary key,
    paused_until timestamptz not null,
    reason       text        not null
);

-- The only time-indexed table: one narrow row for each live execution, job or run. due_at means all of ready,
-- sleeping, waiting for a retry, and lease expiry. Finished work has no row here.
create table queue (
    shard   smallint    not null,
    id      uuid        not null,
    kind    text        not null check (kind in ('execution', 'job', 'run')),
    lane    smallint    not null check (lane between 0 and 3), -- 0 transactional, 1 sequences, 2 campaigns, 3 runs
    due_at  timestamptz not null,
    fence   bigint      not null default 0,
    leased  boolean     not null default false,
    wake    boolean     not null default false,                -- look again as soon as this lease ends
    stop    text        check (stop in ('pause', 'cancel')),
    crashes smallint    not null default 0,
    primary key (shard, id),
    constraint queue_shard_check check (shard = shard_of(id))
);
create index queue_due on queue (shard, lane, due_at);

create table executions (
    shard           smallint    not null,
    id              uuid        not null,
    tenant_id       text        not null,
    workspace_id    text        not null,
    workflow_id     uuid        not null,
    version_id      uuid        not null,
    idempotency_key text        not null,
    status          text        not null,
    frontier        jsonb       not null,
    cursor          text,
    input           jsonb       not null,
    vars            jsonb       not null default '{}',
    attempts        smallint    not null default 0,
    error           text,
    error_node      text,
    triggered_by    text,
    created_at      timestamptz not null,
    started_at      timestamptz,
    ended_at        timestamptz,
    primary key (shard, id),
    constraint executions_idempotency_key unique (shard, tenant_id, workspace_id, workflow_id, idempotency_key),
    constraint executions_shard_check check (shard = shard_of(id)),
    constraint executions_status_check
        check (status in ('enqueued', 'paused', 'completed', 'failed', 'cancelled')),
    constraint executions_ended_check
        check ((ended_at is null) = (status in ('enqueued', 'paused')))
) with (fillfactor = 80);
-- A workspace's executions, newest first.
create index executions_listed on executions (shard, tenant_id, workspace_id, id);

create table runs (
    shard           smallint    not null,
    id              uuid        not null,
    tenant_id       text        not null,
    workspace_id    text        not null,
    campaign_id     uuid        not null,
    idempotency_key text        not null,
    channel         text        not null,
    provider        text        not null,
    content_id      text        not null,                      -- the asset, or the version of a voice script
    content         jsonb       not null,
    scheduled_for   timestamptz,
    rate_per_minute integer     check (rate_per_minute > 0),
    status          text        not null,
    paused          boolean     not null default false,
    cancelled       boolean     not null default false,
    planned         integer,                                   -- null until the last chunk of the audience
    retry_of        uuid,
    created_at      timestamptz not null,
    started_at      timestamptz,
    ended_at        timestamptz,
    primary key (shard, id),
    constraint runs_idempotency_key unique (shard, tenant_id, workspace_id, idempotency_key),
    constraint runs_shard_check check (shard = shard_of(id)),
    constraint runs_status_check check (status in ('queued', 'running', 'completed', 'partial', 'failed')),
    constraint runs_ended_check check ((ended_at is null) = (status in ('queued', 'running'))),
    constraint runs_planned_check check (ended_at is null or planned is not null)
) with (fillfactor = 80);

-- How far one shard's share of a run's audience has been turned into jobs and items.
create table run_parts (
    shard    smallint not null,
    run_id   uuid     not null,
    cursor   bigint   not null default 0,
    planned  integer  not null default 0,
    finished boolean  not null default false,
    primary key (shard, run_id)
);

-- The people of a run that was deployed to a plain list, as they were at that moment.
create table audience (
    shard     smallint not null,
    run_id    uuid     not null,
    ordinal   bigint   not null check (ordinal > 0),
    recipient text     not null,
    data      jsonb    not null default '{}',
    primary key (shard, run_id, ordinal)
);

create table jobs (
    shard        smallint    not null,
    id           uuid        not null,
    run_id       uuid        not null,
    tenant_id    text        not null,
    workspace_id text        not null,
    job_type     text        not null,
    status       text        not null,
    attempts     smallint    not null default 0,
    planned      integer     not null,
    sent         integer     not null default 0,
    called       integer     not null default 0,
    posted       integer     not null default 0,
    failed       integer     not null default 0,
    skipped      integer     not null default 0,
    error        text,
    created_at   timestamptz not null,
    started_at   timestamptz,
    ended_at     timestamptz,
    primary key (shard, id),
    constraint jobs_shard_check check (shard = shard_of(id)),
    constraint jobs_status_check
        check (status in ('queued', 'locked', 'completed', 'partial', 'failed', 'dead')),
    constraint jobs_ended_check check ((ended_at is null) = (status in ('queued', 'locked'))),
    constraint jobs_counts_check check (sent + called + posted + failed + skipped <= planned),
    constraint jobs_terminal_check
        check (status in ('queued', 'locked') or sent + called + posted + failed + skipped = planned)
) with (fillfactor = 80);
create index jobs_run on jobs (shard, run_id);

-- One row for each intended provider action; the only door out. It belongs to an execution's node or to a run's job.
create table outbox (
    shard               smallint    not null,
    id                  uuid        not null,
    tenant_id           text        not null,
    workspace_id        text        not null,
    execution_id        uuid,
    node                text,
    visit               smallint,
    run_id              uuid,
    job_id              uuid,
    ordinal             bigint      not null,
    channel             text        not null,
    provider            text        not null,
    recipient           text        not null,
    payload             jsonb,                                 -- frozen by the first mark
    status              text        not null,
    skipped             boolean     not null default false,
    in_doubt            boolean     not null default false,
    idempotency_key     bytea       not null,
    attempts            smallint    not null default 0,        -- calls that used an attempt
    retry_at            timestamptz,
    marked_attempt      smallint    not null default 0,        -- marks ever made; a fact names its own
    marked_fence        bigint,
    marked_at           timestamptz,
    first_marked_at     timestamptz,
    provider_message_id text,
    error               text,
    created_at          timestamptz not null,
    finalized_at        timestamptz,
    result              jsonb,                                 -- what a function gave
    primary key (shard, id),
    constraint outbox_idempotency_key unique (shard, tenant_id, workspace_id, idempotency_key),
    constraint outbox_shard_check check (shard = shard_of(id)),
    constraint outbox_idempotency_key_check check (octet_length(idempotency_key) = 32),
    constraint outbox_status_check check (status in ('queued', 'sent', 'called', 'posted', 'failed', 'skipped')),
    constraint outbox_skipped_status_check check (skipped = (status = 'skipped')),
    constraint outbox_in_doubt_check check (not in_doubt or status = 'queued'),
    constraint outbox_finalized_check check ((finalized_at is null) = (status = 'queued')),
    constraint outbox_payload_check check (marked_at is null or payload is not null),
    constraint outbox_owner_check check (
        (execution_id is not null and node is not null and visit is not null and run_id is null and job_id is null)
        or (run_id is not null and job_id is not null and execution_id is null and node is null and visit is null)
    )
) with (fillfactor = 70);
create index outbox_execution on outbox (shard, execution_id) where execution_id is not null;
create index outbox_run on outbox (shard, run_id, job_id) where run_id is not null;
create index outbox_in_doubt on outbox (shard, id) where in_doubt;

-- An attempt that did not succeed leaves a short row of its own.
create table attempts (
    shard      smallint    not null,
    item_id    uuid        not null,
    attempt    smallint    not null,
    outcome    text        not null check (outcome in ('rejected', 'retry_later', 'unknown', 'crashed')),
    error      text        not null,
    started_at timestamptz not null,
    ended_at   timestamptz not null,
    primary key (shard, item_id, attempt)
);

-- What a node other than a send did; what a send did, the outbox says.
create table execution_log (
    shard        smallint    not null,
    execution_id uuid        not null,
    node         text        not null,
    visit        smallint    not null,
    status       text        not null,
    output       jsonb,
    error        text,
    at           timestamptz not null,
    saw          jsonb,
    started_at   timestamptz,
    primary key (shard, execution_id, node, visit)
);

-- Every change of state of a run, and every person's action.
create table audit_log (
    shard        smallint    not null,
    id           uuid        not null,
    tenant_id    text        not null,
    workspace_id text        not null,
    subject_kind text        not null check (
        subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function')
    ),
    subject_id   uuid        not null,
    event        text        not null,
    actor        text        not null,
    detail       jsonb       not null default '{}',
    at           timestamptz not null,
    primary key (shard, id),
    constraint audit_log_shard_check check (shard = shard_of(id))
);
create index audit_log_subject on audit_log (shard, subject_id);

-- The names of contract 002, so that its trace query runs as printed.

create view campaign_runs as
select id, campaign_id, tenant_id, workspace_id, status, channel, paused, cancelled, planned, retry_of,
       created_at, started_at, ended_at as completed_at
  from runs;

create view job_queue as
select id, run_id, tenant_id, workspace_id, job_type, status, attempts, planned, sent, called, posted, failed,
       skipped, created_at, started_at as locked_at, ended_at as completed_at
  from jobs;

create view channel_outbox as
select id, tenant_id, workspace_id, run_id, job_id, channel, provider, recipient, payload, status, skipped, in_doubt,
       idempotency_key, provider_message_id, attempts, error, created_at, finalized_at
  from outbox;

create view campaign_audit_log as
select id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, detail, at as created_at
  from audit_log
 where subject_kind in ('run', 'job', 'item');
