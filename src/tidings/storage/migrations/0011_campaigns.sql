-- Campaigns and segments, and runs whose people are contacts.

-- Campaigns: what is said, to whom, when and how fast. A run keeps what it needs of one, so a change never reaches it.
create table campaigns (
    id              uuid        primary key,
    tenant_id       text        not null,
    workspace_id    text        not null,
    name            text        not null,
    channel         text        not null check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'social')),
    content         jsonb       not null,
    version         integer     not null default 1 check (version > 0), -- counts changes
    audience        jsonb,                                     -- null for social, which is for nobody in particular
    data            jsonb       not null default '{}',         -- what templates see beside the contact
    send_hour       smallint    check (send_hour between 0 and 23),
    time_zone       text        not null default 'contact',    -- whose hour that is
    rate_per_minute integer     check (rate_per_minute > 0),
    max_lateness    interval,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    deleted_at      timestamptz
);
create index campaigns_listed on campaigns (tenant_id, workspace_id, id) where deleted_at is null;

-- An audience under a name.
create table segments (
    id           uuid        primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    name         text        not null,
    audience     jsonb       not null,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    deleted_at   timestamptz
);
create unique index segments_name on segments (tenant_id, workspace_id, name) where deleted_at is null;
create index segments_listed on segments (tenant_id, workspace_id, id) where deleted_at is null;

-- Where a run's people come from: a plain list, contacts, or the failed items of another run. All of it is a snapshot.
alter table runs add column source text not null default 'list' check (source in ('list', 'contacts', 'retry'));
alter table runs add column audience jsonb;
alter table runs add column retry_where jsonb;
alter table runs add column data jsonb not null default '{}';
alter table runs add column send_hour smallint;
alter table runs add column time_zone text not null default 'contact';
alter table runs add column max_lateness interval;
alter table runs add column is_test boolean not null default false;
create index runs_listed on runs (shard, tenant_id, workspace_id, id);
create index runs_campaign on runs (shard, campaign_id, id);

-- A run's jobs are read in their order.
drop index jobs_run;
create index jobs_run on jobs (shard, run_id, id);

-- Contacts and items are followed by id. `paced_until` is when the run's rate has room again in this shard.
alter table run_parts add column cursor_id uuid;
alter table run_parts add column paced_until timestamptz;

-- The key of a campaign's item: as campaign_key in domain/flow/keys.py, which makes what stands before and after the recipient
-- once for all items of a run.
create function campaign_key(head bytea, recipient text, tail bytea) returns bytea
    language sql immutable strict parallel safe
    return sha256(head || int4send(octet_length(recipient)) || convert_to(recipient, 'UTF8') || tail);

alter table audit_log drop constraint audit_log_subject_kind_check;
alter table audit_log add constraint audit_log_subject_kind_check check (
    subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter', 'contact',
                     'sequence', 'enrollment', 'campaign', 'segment')
);

create or replace view campaign_audit_log as
select id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, detail, at as created_at
  from audit_log
 where subject_kind in ('run', 'job', 'item', 'campaign');

-- 002's trace, one row for each item of a run and one for a job that has none.
create view campaign_trace as
select cr.campaign_id, cr.id as run_id, cr.status as run_status, cr.retry_of, jq.id as job_id, jq.job_type,
       jq.status as job_status, jq.attempts as job_attempts, co.id as outbox_id, co.contact_id, co.channel, co.provider,
       co.recipient, co.status as outbox_status, co.in_doubt, co.attempts, co.provider_message_id, co.error,
       cr.created_at as run_created_at, jq.created_at as job_created_at, co.created_at, co.finalized_at,
       cr.tenant_id, cr.workspace_id
  from runs cr
  join jobs jq on jq.run_id = cr.id
  left join outbox co on co.shard = jq.shard and co.run_id = jq.run_id and co.job_id = jq.id;

alter table campaigns enable row level security;
create policy own_workspace on campaigns for select using (is_own(tenant_id, workspace_id));
alter table segments enable row level security;
create policy own_workspace on segments for select using (is_own(tenant_id, workspace_id));

do $$
begin
    if exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        grant select on campaigns, segments to tidings_reader;
        if current_setting('server_version_num')::integer >= 150000 then
            alter view campaign_audit_log set (security_invoker = true);
            alter view campaign_trace set (security_invoker = true);
            grant select on campaign_trace to tidings_reader;
        end if;
    end if;
end
$$;
