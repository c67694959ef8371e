-- Everything that Tidings keeps in a database, by subject (§): tables from tenancy to the audit log, which channels they take,
-- functions, views, who may read, and what the planner is told.
--
-- Narrow and hot (queue) apart from wide and cold; every hot table's keys begin with `shard`, and a CHECK ties `shard` to the
-- bucket inside the id: a row is where its id says, and nowhere else. Within a shard the database refuses the same idempotency
-- key twice, and a CHECK ties an item's key to the bucket of its id: the same key cannot be anywhere else.
--
-- Names: <table>_pkey, <table>_<what>_key for all that is unique, <table>_<what>_fkey, <table>_<what>_check and
-- idx_<table>_<what>, where a column says what as far as one does. Those of the outbox carry the name that the execution
-- contract has for it, channel_outbox: whoever knows the contract's names finds them in the database's errors.


-- § Where a row is

-- The bucket inside an id: the 12 bits after the version of a UUID v7.
create function bucket_of_id(id uuid) returns integer
    language sql immutable strict parallel safe
    return ((get_byte(uuid_send(id), 6) & 15) << 8) | get_byte(uuid_send(id), 7);

-- The shard an id lives in. shard_count() is made when the database is initialised.
create function shard_of(id uuid) returns smallint
    language sql immutable strict parallel safe
    return (bucket_of_id(id) % shard_count())::smallint;

-- The place of an id: its time and its bucket. The idempotency keys of items begin with that of their owner, or, in a run,
-- with the run's time and the bucket of its part: domain/flow/keys.py.
create function place_of(id uuid) returns bytea
    language sql immutable strict parallel safe
    return substr(uuid_send(id), 1, 8);

create function places_of(ids uuid[]) returns bytea[]
    language sql immutable strict parallel safe
    return array(select substr(uuid_send(t.id), 1, 8) from unnest(ids) as t(id));

-- Parts as bytes that no other list of parts has; as length_prefixed in domain/flow/ids.py.
create function length_prefixed(parts text[]) returns bytea
    language plpgsql immutable parallel safe as
$$
declare
    part text;
    encoded bytea := '';
begin
    foreach part in array parts loop
        part := coalesce(part, '');
        encoded := encoded || int4send(octet_length(convert_to(part, 'UTF8'))) || convert_to(part, 'UTF8');
    end loop;
    return encoded;
end
$$;

-- What an index holds of a caller's own key, which may be long and is in no order: 16 bytes of sha256 over the parts of its
-- scope (key_scope in domain/flow/keys.py) and the key. The key itself is stored, and compared wherever a hash is found.
create function key_hash(scope bytea, key text) returns bytea
    language sql stable strict parallel safe
    return substr(sha256(scope || int4send(octet_length(convert_to(key, 'UTF8'))) || convert_to(key, 'UTF8')), 1, 16);

-- The bucket of what must be unique in a workspace: the first 12 bits of sha256 over length-prefixed parts.
create function bucket_of(tenant text, workspace text, unique_name text) returns integer
    language plpgsql immutable parallel safe as
$$
declare
    digest bytea := sha256(length_prefixed(array[tenant, workspace, unique_name]));
begin
    return (get_byte(digest, 0) << 4) | (get_byte(digest, 1) >> 4);
end
$$;

-- The shard of what has no id but a hash: from the hash's first 12 bits.
create function shard_of_hash(hash bytea) returns smallint
    language sql immutable strict parallel safe
    return (((get_byte(hash, 0) << 4) | (get_byte(hash, 1) >> 4)) % shard_count())::smallint;

-- Whose work a row of the queue is, as a number: the first half says the tenant, the second the workspace. Two that share
-- one by chance share their turns, and nothing else depends on it.
create function workspace_hash(tenant text, workspace text) returns bigint
    language plpgsql immutable parallel safe as
$$
declare
    its_tenant bytea := int4send(octet_length(convert_to(tenant, 'UTF8'))) || convert_to(tenant, 'UTF8');
    its_own bytea := its_tenant || int4send(octet_length(convert_to(workspace, 'UTF8'))) || convert_to(workspace, 'UTF8');
begin
    return ('x' || encode(substr(sha256(its_tenant), 1, 4) || substr(sha256(its_own), 1, 4), 'hex'))::bit(64)::bigint;
end
$$;

-- § What filters on contacts compare, as domain/comparison.py and domain/timing.py read the same values. Each gives null
-- for what cannot be read in its way. They are inlined, and so take what a contact has twice: `written`, its text (for JSON
-- what ->> gives), which tells most values apart for a fraction of what the pattern costs, and the value itself.

-- The number that a value is, or is written as. A pattern with counted repetitions would take as long as all the rest.
create function number_in(written text, value jsonb) returns numeric
    language sql immutable parallel safe
    return case
        when octet_length(written) < 16 and written ~ '^-?[0-9]+(\.[0-9]+)?$' then written::numeric
        when jsonb_typeof(value) = 'number' then value::numeric
        when jsonb_typeof(value) = 'string' and written ~ '^-?[0-9]{1,15}(\.[0-9]{1,15})?$' then written::numeric
    end;

-- The truth that a value is, or is written as.
create function truth_in(written text) returns boolean
    language sql immutable parallel safe
    return case lower(written) when 'true' then true when 'false' then false end;

-- The days of every year, as 01-31, and the last three places of a year, as 027-. Constants, which a plan looks up by hash.
create function days_of_a_year() returns text[]
    language sql immutable parallel safe
    return array(select to_char(date '2001-01-01' + t.day, 'MM-DD') from generate_series(0, 364) as t(day));

create function ends_of_years() returns text[]
    language sql immutable parallel safe
    return array(select lpad(t.year::text, 3, '0') || '-' from generate_series(0, 999) as t(year));

-- Whether a string begins with a day from the year 1000 to 8999, but for the 29th of February.
create function begins_with_a_day(written text) returns boolean
    language sql immutable parallel safe
    return substr(written, 6, 5) = any(days_of_a_year()) and substr(written, 2, 4) = any(ends_of_years())
           and left(written, 1) = any('{1,2,3,4,5,6,7,8}');

-- The time that a string is; without an offset it is UTC. The pattern lets through only days that exist, with the 29th of
-- February in leap years, so that no cast fails; a function that caught failures would cost twenty times as much.
create function moment_in(written text, value jsonb) returns timestamptz
    language sql stable parallel safe
    return case
        when octet_length(written) = 10 and begins_with_a_day(written) then written::date::timestamp at time zone 'UTC'
        when jsonb_typeof(value) = 'string'
         and written ~ ('^([1-8][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])'
                               '|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))'
                               '|([1-8][0-9](0[48]|[2468][048]|[13579][26])|(1[26]|[2468][048]|[357][26])00)-02-29)'
                               '([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?'
                               '(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?)?$')
        then case
            when length(written) = 10 then written::date::timestamp at time zone 'UTC'
            when right(written, 1) = 'Z' or strpos(substr(written, 11), '+') > 0 or strpos(substr(written, 11), '-') > 0
            then written::timestamptz
            else written::timestamp at time zone 'UTC'
        end
    end;

-- Whether a list has a string among its own, in any case; the one sought is in small letters.
create function has_text(list jsonb, wanted text) returns boolean
    language plpgsql immutable parallel safe as
$$
begin
    return exists (select from jsonb_array_elements(list) as t(one)
                    where jsonb_typeof(t.one) = 'string' and lower(t.one #>> '{}') = wanted);
end
$$;

-- Whether a list has a number among its own.
create function has_number(list jsonb, wanted numeric) returns boolean
    language plpgsql immutable parallel safe as
$$
begin
    return exists (select from jsonb_array_elements(list) as t(one) where number_in(t.one #>> '{}', t.one) = wanted);
end
$$;

-- Whether a list has true or false among its own.
create function has_truth(list jsonb, wanted boolean) returns boolean
    language plpgsql immutable parallel safe as
$$
begin
    return exists (select from jsonb_array_elements(list) as t(one) where truth_in(t.one #>> '{}') = wanted);
end
$$;

-- One row for each shard: where a batch insert has no other row of its shard to start from, it starts here.
create table shards (
    shard smallint constraint shards_pkey primary key
);
insert into shards (shard) select generate_series(0, shard_count() - 1);


-- § Tenancy: keys to the API, people and their sessions

-- A key is shown once, when it is made; what is kept is its sha256, which opens nothing.
create table api_keys (
    id           uuid        constraint api_keys_pkey primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    role         text        not null,
    name         text        not null,
    hash         bytea       not null constraint api_keys_hash_key unique,
    prefix       text        not null,                         -- its first characters, to tell keys apart
    created_at   timestamptz not null,
    created_by   text        not null,
    expires_at   timestamptz,
    last_used_at timestamptz,                                  -- to the minute
    revoked_at   timestamptz,
    workflows    text[]      not null default '{}',            -- of a publishable key: those it may start
    origins      text[]      not null default '{}',            -- and the web pages it may be used from
    constraint api_keys_role_check
        check (role in ('workflowManager', 'triggerOperator', 'systemAdmin', 'workerService', 'operator',
                        'publishable', 'reader')),
    constraint api_keys_workflows_check check ((role = 'publishable') = (cardinality(workflows) > 0)),
    constraint api_keys_origins_check check (role = 'publishable' or cardinality(origins) = 0),
    constraint api_keys_hash_check check (octet_length(hash) = 32)
);
create index idx_api_keys_listed on api_keys (tenant_id, id);

-- People who sign in. An e-mail address is stored in small letters. Of a one-time link its sha256 is kept, and only of the
-- newest: it is gone once it was used.
create table users (
    id              uuid        constraint users_pkey primary key,
    tenant_id       text        not null,
    email           text,                                      -- null until the first operator gives one
    name            text        not null,
    password_hash   text,                                      -- argon2id; null until it is set
    link_hash       bytea,
    link_expires_at timestamptz,
    created_at      timestamptz not null,
    created_by      text        not null,
    signed_in_at    timestamptz,
    disabled_at     timestamptz,
    constraint users_email_key unique (tenant_id, email),
    constraint users_link_hash_check check (octet_length(link_hash) = 32),
    constraint users_link_expires_at_check check ((link_hash is null) = (link_expires_at is null))
);
create index idx_users_listed on users (tenant_id, id);
create index idx_users_link_hash on users (link_hash);

-- What a person may do in a workspace: all that any of the roles may.
create table memberships (
    tenant_id    text   not null,
    user_id      uuid   not null constraint memberships_user_id_fkey references users on delete cascade,
    workspace_id text   not null,
    roles        text[] not null,
    constraint memberships_pkey primary key (user_id, workspace_id),
    constraint memberships_roles_check
        check (cardinality(roles) > 0
               and roles <@ array['workflowManager', 'triggerOperator', 'systemAdmin', 'operator', 'reader'])
);
create index idx_memberships_workspace_id on memberships (tenant_id, workspace_id);

-- Where people are signed in. What a browser holds is 32 random bytes; what is kept is their sha256, which opens nothing.
create table sessions (
    id         uuid        constraint sessions_pkey primary key,
    tenant_id  text        not null,
    user_id    uuid        not null constraint sessions_user_id_fkey references users on delete cascade,
    hash       bytea       not null constraint sessions_hash_key unique,
    via        text        not null,                           -- password, link, or oidc: and the provider's name
    user_agent text        not null,
    created_at timestamptz not null,
    used_at    timestamptz not null,                           -- to the minute
    idle_after interval    not null,                           -- it ends when it was not used for so long
    expires_at timestamptz not null,                           -- and then in any case
    constraint sessions_hash_check check (octet_length(hash) = 32)
);
create index idx_sessions_user_id on sessions (user_id);

-- What the operator set for a tenant; one without a row has the defaults. Weights share out what is scarce: among tenants
-- first, and then among the workspaces of one.
create table tenants (
    tenant_id  text        constraint tenants_pkey primary key,
    weight     integer     not null default 1,
    updated_at timestamptz not null,
    constraint tenants_weight_check check (weight between 1 and 1000)
);

-- The same for a workspace, and which private addresses its functions may have.
create table workspaces (
    tenant_id         text        not null,
    workspace_id      text        not null,
    weight            integer     not null default 1,
    private_addresses text[]      not null default '{}',       -- networks, addresses and host names
    phone_region      text,                                    -- whose numbers come without a country's code
    updated_at        timestamptz not null,
    constraint workspaces_pkey primary key (tenant_id, workspace_id),
    constraint workspaces_phone_region_check check (phone_region ~ '^[A-Z]{2}$'),
    constraint workspaces_weight_check check (weight between 1 and 1000)
);


-- § Definitions: small, read often, changed rarely

-- Workflows, and sequences, which are workflows of their own kind.
create table workflows (
    id           uuid        constraint workflows_pkey primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    kind         text        not null default 'workflow',
    name         text        not null,
    description  text,
    active       boolean     not null default true,
    paused       boolean     not null default false,           -- a sequence: nothing of it is sent meanwhile
    created_by   text,                                         -- null where nobody said
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    deleted_at   timestamptz,
    constraint workflows_kind_check check (kind in ('workflow', 'sequence'))
);
-- A workflow and a sequence may have the same name, and a name is free again once its workflow is deleted.
create unique index workflows_name_key on workflows (tenant_id, workspace_id, kind, name) where deleted_at is null;
create index idx_workflows_listed on workflows (tenant_id, workspace_id, kind, id) where deleted_at is null;

-- A version never changes: an execution names its version for ever.
create table workflow_versions (
    id           uuid        constraint workflow_versions_pkey primary key,
    tenant_id    text        not null,                         -- of its workflow, so that a policy needs no other table
    workspace_id text        not null,
    workflow_id  uuid        not null constraint workflow_versions_workflow_id_fkey references workflows,
    number       integer     not null,
    definition   jsonb       not null,
    created_at   timestamptz not null,
    -- What starting an execution needs to know without reading the definition.
    form         text        not null,
    required     jsonb       not null default '[]',            -- dotted paths that every trigger must give
    entry        text        not null,
    entry_wait   interval,
    total_steps  integer     not null,
    lane         smallint    not null default 0,
    channels     text[]      not null default '{}',            -- those that need a route; calls of functions need none
    constraint workflow_versions_number_key unique (workflow_id, number),
    constraint workflow_versions_number_check check (number > 0),
    constraint workflow_versions_form_check check (form in ('graph', 'steps', 'sequence')),
    constraint workflow_versions_lane_check check (lane between 0 and 3)
);

-- What is being changed about a workflow, valid or not; publishing freezes it. Of one that was never published it is all
-- there is.
create table workflow_drafts (
    workflow_id  uuid        constraint workflow_drafts_pkey primary key
                             constraint workflow_drafts_workflow_id_fkey references workflows on delete cascade,
    tenant_id    text        not null,
    workspace_id text        not null,
    definition   jsonb       not null,
    base         integer     not null,                         -- the version it was begun from; 0 before the first
    revision     integer     not null,                         -- rises whenever it is saved
    saved_by     text,
    saved_at     timestamptz not null,
    created_at   timestamptz not null,
    constraint workflow_drafts_base_check check (base >= 0),
    constraint workflow_drafts_revision_check check (revision > 0)
);
create index idx_workflow_drafts_listed on workflow_drafts (tenant_id, workspace_id, workflow_id);

-- The draft of a sequence, which its author works on; publishing freezes it as a version.
create table sequences (
    id           uuid  constraint sequences_pkey primary key constraint sequences_id_fkey references workflows,
    tenant_id    text  not null,
    workspace_id text  not null,
    settings     jsonb not null
);

create table sequence_steps (
    sequence_id  uuid        not null constraint sequence_steps_sequence_id_fkey references sequences,
    id           uuid        not null,                         -- the same in every version
    tenant_id    text        not null,
    workspace_id text        not null,
    day_offset   integer     not null,
    step_order   integer     not null,                         -- unique when it is published, not while it is edited
    send_hour    smallint,
    channel      text        not null,
    "to"         text[],                                       -- where a chat or webhook goes; null: the contact, or default
    subject      text,
    content      jsonb       not null,                         -- a text, or an object with the fields of its channel
    max_lateness interval,
    created_at   timestamptz not null,
    constraint sequence_steps_pkey primary key (sequence_id, id),
    constraint sequence_steps_day_offset_check check (day_offset >= 0),
    constraint sequence_steps_step_order_check check (step_order >= 0),
    constraint sequence_steps_send_hour_check check (send_hour between 0 and 23)
);

-- What is written once and rendered in many messages, or wraps them.
create table templates (
    id           uuid        constraint templates_pkey primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    name         text        not null,
    kind         text        not null,
    description  text,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    deleted_at   timestamptz,
    constraint templates_kind_check check (kind in ('partial', 'layout'))
);
create unique index templates_name_key on templates (tenant_id, workspace_id, name) where deleted_at is null;
create index idx_templates_listed on templates (tenant_id, workspace_id, id) where deleted_at is null;

-- A version never changes. What is published with it keeps a copy, so nothing that runs reads here.
create table template_versions (
    template_id  uuid        not null constraint template_versions_template_id_fkey references templates,
    number       integer     not null,
    tenant_id    text        not null,                         -- of its template, so that a policy needs no other table
    workspace_id text        not null,
    format       text        not null,
    text         text        not null,
    renders      text[]      not null default '{}',            -- the names of the templates in it
    created_by   text,                                         -- null where nobody said
    created_at   timestamptz not null,
    constraint template_versions_pkey primary key (template_id, number),
    constraint template_versions_number_check check (number > 0),
    constraint template_versions_format_check check (format in ('html', 'text'))
);

-- Whom messages are from: a name shown with the address, and an address or number for each channel.
create table senders (
    id           uuid        constraint senders_pkey primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    name         text        not null,
    display_name text,
    addresses    jsonb       not null,                         -- by channel
    reply_to     text,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    constraint senders_name_key unique (tenant_id, workspace_id, name)
);

-- Whom messages are from that name nobody: one sender for each channel.
create table default_senders (
    tenant_id    text not null,
    workspace_id text not null,
    channel      text not null,
    sender_id    uuid not null constraint default_senders_sender_id_fkey references senders on delete cascade,
    constraint default_senders_pkey primary key (tenant_id, workspace_id, channel)
);

-- Where a workspace's functions are: one row for each with an address of its own, and '*' for the base of all others.
-- The secret is sealed by the engine; its key is not in the database.
create table functions (
    tenant_id    text        not null,
    workspace_id text        not null,
    name         text        not null,
    url          text        not null,
    secret       bytea,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    constraint functions_pkey primary key (tenant_id, workspace_id, name)
);

-- What signs the calls of a workspace's functions, sealed likewise; the one before is valid for a while, so that those who
-- are called can change over.
create table signing_secrets (
    tenant_id    text        not null,
    workspace_id text        not null,
    secret       bytea       not null,
    created_at   timestamptz not null,
    before       bytea,
    before_until timestamptz,
    constraint signing_secrets_pkey primary key (tenant_id, workspace_id),
    constraint signing_secrets_before_check check ((before is null) = (before_until is null))
);


-- § People

-- The bucket of a contact: of an external id that is itself an id, the one it carries; else of its hash. A contact made
-- without an external id has its id for one, and is found by it like any other. As contact_bucket in domain/people/contact.py.
create function contact_bucket(tenant text, workspace text, external_id text) returns integer
    language sql immutable parallel safe
    return case when external_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
                then bucket_of_id(external_id::uuid)
                else bucket_of(tenant, workspace, external_id) end;

-- The bucket of a contact comes from its external id, so the same external id cannot be on two shards. A deleted contact
-- stays as a row without anything about the person: what was sent to it still counts.
create table contacts (
    shard        smallint    not null,
    id           uuid        not null,
    tenant_id    text        not null,
    workspace_id text        not null,
    external_id  text,                                         -- null once it is deleted; never changed otherwise
    name         text,
    email        text,
    phone        text,
    whatsapp     text,
    push_tokens  text[]      not null default '{}',
    company      text,
    status       text        not null default 'active',
    time_zone    text,
    locale       text,
    tags         text[]      not null default '{}',
    attributes   jsonb       not null default '{}',
    consent      jsonb       not null default '{}',            -- by channel: granted or withdrawn, when, and where
    suppressions jsonb       not null default '{}',            -- by channel: why nothing may be sent, and since when
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    deleted_at   timestamptz,
    constraint contacts_pkey primary key (shard, id),
    constraint contacts_external_id_key unique (shard, tenant_id, workspace_id, external_id),
    constraint contacts_shard_check check (shard = shard_of(id)),
    constraint contacts_bucket_check
        check (external_id is null or bucket_of_id(id) = contact_bucket(tenant_id, workspace_id, external_id)),
    constraint contacts_deleted_check check ((deleted_at is not null) = (external_id is null)),
    constraint contacts_erased_check check (
        deleted_at is null
        or (num_nonnulls(name, email, phone, whatsapp, company, time_zone, locale) = 0
            and push_tokens = '{}' and tags = '{}' and attributes = '{}' and consent = '{}' and suppressions = '{}')
    )
) with (fillfactor = 90);
create index idx_contacts_listed on contacts (shard, tenant_id, workspace_id, id) where deleted_at is null;
create index idx_contacts_status on contacts (shard, tenant_id, workspace_id, status, id) where deleted_at is null;
-- Companies compare without case.
create index idx_contacts_company on contacts (shard, tenant_id, workspace_id, lower(company), id) where company is not null;

-- Who has a tag, newest first, however rare or common it is. The truth is contacts.tags; whoever reads here looks there.
-- Tags compare without case: here they are in lower case, there as they were given.
create table contact_tags (
    shard        smallint not null,
    tenant_id    text     not null,
    workspace_id text     not null,
    tag          text     not null,
    contact_id   uuid     not null,
    constraint contact_tags_pkey primary key (shard, tenant_id, workspace_id, tag, contact_id)
);

-- What is left of people who were deleted and wanted nothing more: no address, only its hash, so that the same address
-- that comes again is known. As suppression_hash in domain/people/contact.py; the shard comes from the hash.
create table suppressed_addresses (
    shard  smallint    not null,
    hash   bytea       not null,
    reason text        not null,
    since  timestamptz not null,
    constraint suppressed_addresses_pkey primary key (shard, hash),
    constraint suppressed_addresses_shard_check check (shard = shard_of_hash(hash)),
    constraint suppressed_addresses_hash_check check (octet_length(hash) = 32)
);

-- An audience under a name.
create table segments (
    id           uuid        constraint segments_pkey primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    name         text        not null,
    audience     jsonb       not null,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    deleted_at   timestamptz
);
create unique index segments_name_key on segments (tenant_id, workspace_id, name) where deleted_at is null;
create index idx_segments_listed on segments (tenant_id, workspace_id, id) where deleted_at is null;


-- § The queue

-- The only time-indexed table: one narrow row for each live execution, job or run. due_at means all of ready,
-- sleeping, waiting for a retry, and lease expiry. Finished work has no row here.
create table queue (
    shard      smallint    not null,
    id         uuid        not null,
    kind       text        not null,
    lane       smallint    not null,                           -- 0 transactional, 1 sequences, 2 campaigns, 3 runs
    due_at     timestamptz not null,
    fence      bigint      not null default 0,
    leased     boolean     not null default false,
    wake       boolean     not null default false,             -- look again as soon as this lease ends
    stop       text,
    crashes    smallint    not null default 0,
    started_at timestamptz,                                    -- when it was first claimed to be worked on
    workspace_hash bigint  not null,                           -- whose turn it is
    constraint queue_pkey primary key (shard, id),
    constraint queue_shard_check check (shard = shard_of(id)),
    constraint queue_kind_check check (kind in ('execution', 'job', 'run')),
    constraint queue_lane_check check (lane between 0 and 3),
    constraint queue_stop_check check (stop in ('pause', 'cancel'))
);
create index idx_queue_due_at on queue (shard, lane, due_at);
-- Where many wait, each workspace's work is found without reading past that of others.
create index idx_queue_workspace_hash on queue (shard, lane, workspace_hash, due_at);


-- § Executions

-- One walk through a version. An enrollment is an execution with a contact, in the contact's bucket.
create table executions (
    created_at      timestamptz not null,
    shard           smallint    not null,
    id              uuid        not null,
    tenant_id       text        not null,
    workspace_id    text        not null,
    workflow_id     uuid        not null,
    version_id      uuid        not null,
    idempotency_key text        not null,
    key_hash        bytea       not null,                      -- of the key in its workflow
    workspace_key_hash bytea,                                  -- and in its workspace, where it is unique in all of that
    contact_id      uuid,                                      -- whom it walks for, if for anybody
    triggered_by    text,
    input           jsonb       not null,
    reopened_at     timestamptz,                               -- by a replay, which gives it its whole time again
    started_at      timestamptz,
    ended_at        timestamptz,
    attempts        smallint    not null default 0,
    status          text        not null,
    cursor          text,
    frontier        jsonb       not null,
    vars            jsonb       not null default '{}',
    error           text,
    error_node      text,
    failed_at       timestamptz generated always as (case when status = 'failed' then ended_at end) stored,
    constraint executions_pkey primary key (shard, id),
    constraint executions_idempotency_key unique (shard, key_hash),
    constraint executions_key_hash_check check (octet_length(key_hash) = 16),
    constraint executions_shard_check check (shard = shard_of(id)),
    constraint executions_status_check
        check (status in ('enqueued', 'paused', 'completed', 'failed', 'cancelled')),
    constraint executions_ended_check
        check ((ended_at is null) = (status in ('enqueued', 'paused')))
) with (fillfactor = 40); -- a row is written at least twice: with room on its own page an update adds nothing to the indexes
create index idx_executions_listed on executions (shard, tenant_id, workspace_id, id);
-- Dead letters. Only a failure sets error_node, so an execution that succeeds is still updated in place.
create index idx_executions_error_node on executions (shard, tenant_id, workspace_id, id) where error_node is not null;
-- The same by the time of the failure.
create index idx_executions_failed_at on executions (shard, tenant_id, workspace_id, failed_at, id)
    where failed_at is not null;
-- A contact never changes, so what moves an execution still updates it in place.
create index idx_executions_contact_id on executions (shard, contact_id, id) where contact_id is not null;
create index idx_executions_workflow_id on executions (shard, workflow_id, id) where contact_id is not null;
-- A correlation id is unique in its workspace. The bucket of a key is made without its workflow, so one shard can tell.
create unique index executions_workspace_key_hash_key on executions (shard, workspace_key_hash)
    where workspace_key_hash is not null;

-- What a node other than a send did; what a send did, the outbox says.
create table execution_log (
    shard        smallint    not null,
    execution_id uuid        not null,
    tenant_id    text        not null,                         -- as of workflow_versions
    workspace_id text        not null,
    node         text        not null,
    visit        smallint    not null,
    status       text        not null,
    output       jsonb,
    error        text,
    saw          jsonb,
    seen         jsonb,                                        -- as of the outbox
    started_at   timestamptz,
    at           timestamptz not null,
    constraint execution_log_pkey primary key (shard, execution_id, node, visit)
);


-- § Campaigns, their runs and jobs

-- What is said, to whom, when and how fast. A run keeps what it needs of its campaign, so a change never reaches it.
create table campaigns (
    id              uuid        constraint campaigns_pkey primary key,
    tenant_id       text        not null,
    workspace_id    text        not null,
    name            text        not null,
    channel         text        not null,
    content         jsonb       not null,
    version         integer     not null default 1,            -- counts changes
    audience        jsonb,                                     -- null for social, which is for nobody in particular
    data            jsonb       not null default '{}',         -- what templates see beside the contact
    send_hour       smallint,
    time_zone       text        not null default 'contact',    -- whose hour that is
    rate_per_minute integer,
    max_lateness    interval,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    deleted_at      timestamptz,
    constraint campaigns_version_check check (version > 0),
    constraint campaigns_send_hour_check check (send_hour between 0 and 23),
    constraint campaigns_rate_per_minute_check check (rate_per_minute > 0)
);
create index idx_campaigns_listed on campaigns (tenant_id, workspace_id, id) where deleted_at is null;

-- One deployment of a campaign: all it needs, as it was at that moment.
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
    data            jsonb       not null default '{}',
    -- Where its people come from: a plain list, contacts, or the failed items of another run. All of it is a snapshot.
    source          text        not null default 'list',
    audience        jsonb,
    retry_of        uuid,
    retry_where     jsonb,
    retried_by      uuid,                                      -- the last run to try its failed items again
    is_test         boolean     not null default false,
    scheduled_for   timestamptz,
    send_hour       smallint,
    time_zone       text        not null default 'contact',
    max_lateness    interval,
    rate_per_minute integer,
    status          text        not null,
    paused          boolean     not null default false,
    cancelled       boolean     not null default false,
    planned         integer,                                   -- null until the last chunk of the audience
    created_at      timestamptz not null,
    started_at      timestamptz,
    ended_at        timestamptz,
    constraint runs_pkey primary key (shard, id),
    constraint runs_idempotency_key unique (shard, tenant_id, workspace_id, idempotency_key),
    constraint runs_shard_check check (shard = shard_of(id)),
    constraint runs_source_check check (source in ('list', 'contacts', 'retry')),
    constraint runs_rate_per_minute_check check (rate_per_minute > 0),
    constraint runs_status_check check (status in ('queued', 'running', 'completed', 'partial', 'failed')),
    constraint runs_ended_check check ((ended_at is null) = (status in ('queued', 'running'))),
    constraint runs_planned_check check (ended_at is null or planned is not null)
) with (fillfactor = 80);
create index idx_runs_listed on runs (shard, tenant_id, workspace_id, id);
create index idx_runs_campaign_id on runs (shard, campaign_id, id);

-- How far one shard's share of a run's audience has been turned into jobs and items.
create table run_parts (
    shard       smallint    not null,
    run_id      uuid        not null,
    cursor      bigint      not null default 0,
    cursor_id   uuid,                                          -- contacts and items are followed by id
    planned     integer     not null default 0,
    finished    boolean     not null default false,
    paced_until timestamptz,                                   -- when the run's rate has room again in this shard
    constraint run_parts_pkey primary key (shard, run_id)
);

-- The people of a run that was deployed to a plain list, as they were at that moment.
create table audience (
    shard      smallint not null,
    run_id     uuid     not null,
    ordinal    bigint   not null,
    recipient  text     not null,                              -- empty once the person is erased
    data       jsonb    not null default '{}',
    contact_id uuid,                                           -- whose data a test shows: read when it is rendered, never copied
    constraint audience_pkey primary key (shard, run_id, ordinal),
    constraint audience_ordinal_check check (ordinal > 0)
);
create index idx_audience_contact_id on audience (shard, contact_id, run_id, ordinal) where contact_id is not null;

-- Some items of a run, or all of an event, and how many of them ended in which way.
create table jobs (
    shard        smallint    not null,
    id           uuid        not null,
    run_id       uuid,                                         -- a run's, or
    event_id     uuid,                                         -- an event's
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
    constraint jobs_pkey primary key (shard, id),
    constraint jobs_shard_check check (shard = shard_of(id)),
    constraint jobs_owner_check check ((run_id is null) <> (event_id is null)),
    constraint jobs_status_check
        check (status in ('queued', 'locked', 'completed', 'partial', 'failed', 'dead')),
    constraint jobs_ended_check check ((ended_at is null) = (status in ('queued', 'locked'))),
    constraint jobs_counts_check check (sent + called + posted + failed + skipped <= planned),
    constraint jobs_terminal_check
        check (status in ('queued', 'locked') or sent + called + posted + failed + skipped = planned)
) with (fillfactor = 80);
create index idx_jobs_run_id on jobs (shard, run_id, id);


-- § Events and rules

-- What is sent when something happens, over one channel, to one audience. Small and read often, so it has no shard.
create table rules (
    id           uuid        constraint rules_pkey primary key,
    tenant_id    text        not null,
    workspace_id text        not null,
    trigger      text        not null,
    channel      text        not null,
    audience     text        not null,
    enabled      boolean     not null,
    steps        jsonb       not null,
    templates    jsonb       not null default '{}',            -- those that its steps render, as they were
    required     jsonb       not null default '[]',            -- dotted paths that every event must give
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    constraint rules_trigger_key unique (tenant_id, workspace_id, trigger, channel, audience),
    constraint rules_audience_check check (audience in ('lead', 'partner', 'agent'))
);
create index idx_rules_listed on rules (tenant_id, workspace_id, id);

-- Something that happened, under the key that makes it happen once. Its items belong to one job, without a run.
create table events (
    shard           smallint    not null,
    id              uuid        not null,
    tenant_id       text        not null,
    workspace_id    text        not null,
    trigger         text        not null,
    idempotency_key text        not null,
    key_hash        bytea       not null,                      -- of the key for its trigger
    data            jsonb       not null,                      -- lead, partner, agent and variables
    decisions       jsonb,                                     -- null until a worker has routed what SQL stored
    job_id          uuid,                                      -- null where there is nothing to send
    source          text        not null,
    created_at      timestamptz not null,
    routed_at       timestamptz,
    constraint events_pkey primary key (shard, id),
    constraint events_idempotency_key unique (shard, key_hash),
    constraint events_key_hash_check check (octet_length(key_hash) = 16),
    constraint events_shard_check check (shard = shard_of(id)),
    constraint events_routed_check check ((routed_at is null) = (decisions is null)),
    constraint events_unrouted_check check (routed_at is not null or job_id is not null)
);
create index idx_events_listed on events (shard, tenant_id, workspace_id, id);

-- Which of an event's people are contacts, so that deleting a contact finds the events about it. In the event's shard.
create table event_contacts (
    shard      smallint not null,
    contact_id uuid     not null,
    audience   text     not null,                              -- as which of its people
    event_id   uuid     not null,
    constraint event_contacts_pkey primary key (shard, contact_id, audience, event_id),
    constraint event_contacts_shard_check check (shard = shard_of(event_id)),
    constraint event_contacts_audience_check check (audience in ('lead', 'partner', 'agent'))
);

-- What host applications do where there is no rule: whoever starts with some writes them down, so that whoever takes an event
-- knows of them. No workspace's own: a fallback holds for all.
create table fallbacks (
    trigger  text        not null,
    channel  text        not null,
    audience text        not null,
    since    timestamptz not null,
    constraint fallbacks_pkey primary key (trigger, channel, audience),
    constraint fallbacks_audience_check check (audience in ('lead', 'partner', 'agent'))
);


-- § The outbox and its attempts

-- One row for each intended provider action; the only door out. It belongs to an execution's node, or to the job of a run
-- or of an event. What a fact changes stands last and together: PostgreSQL logs an update from the first byte that differs to
-- the last. So it does in executions.
create table outbox (
    created_at          timestamptz not null,
    ordinal             bigint      not null,
    shard               smallint    not null,
    id                  uuid        not null,
    tenant_id           text        not null,
    workspace_id        text        not null,
    execution_id        uuid,
    node                text,
    visit               smallint,
    run_id              uuid,
    event_id            uuid,
    job_id              uuid,
    channel             text        not null,
    provider            text        not null,
    recipient           text        not null,
    contact_id          uuid,                                  -- whom it is meant for, if that is a contact
    max_attempts        smallint,                              -- of a rule's item, where it is not the usual five
    idempotency_key     bytea       not null,
    payload             jsonb,                                 -- frozen by the first mark
    seen                jsonb,                                 -- what its node saw of nodes that do not lead to it
    first_marked_at     timestamptz,
    marked_fence        bigint,
    marked_at           timestamptz,
    planned_at          timestamptz,                           -- when its last call was to be made, if not at once
    retry_at            timestamptz,
    finalized_at        timestamptz,
    attempts            smallint    not null default 0,        -- calls that used an attempt
    marked_attempt      smallint    not null default 0,        -- marks ever made; a fact names its own
    skipped             boolean     not null default false,
    in_doubt            boolean     not null default false,
    status              text        not null,
    provider_message_id text,
    error               text,
    result              jsonb,                                 -- what a function answered
    failed_at           timestamptz generated always as (case when status = 'failed' then finalized_at end) stored,
    constraint channel_outbox_pkey primary key (shard, id),
    constraint channel_outbox_shard_check check (shard = shard_of(id)),
    -- Its bucket is the id's: what has the same key is in the same shard, whose index refuses it.
    constraint channel_outbox_idempotency_key_check
        check (octet_length(idempotency_key) = 32 and substr(idempotency_key, 7, 2) = substr(uuid_send(id), 7, 2)),
    constraint channel_outbox_status_check check (status in ('queued', 'sent', 'called', 'posted', 'failed', 'skipped')),
    constraint channel_outbox_skipped_status_check check (skipped = (status = 'skipped')),
    constraint channel_outbox_in_doubt_check check (not in_doubt or status = 'queued'),
    constraint channel_outbox_finalized_check check ((finalized_at is null) = (status = 'queued')),
    constraint channel_outbox_payload_check check (marked_at is null or payload is not null),
    constraint channel_outbox_owner_check check (
        (execution_id is not null and node is not null and visit is not null and run_id is null and job_id is null
         and event_id is null)
        or (run_id is not null and job_id is not null and execution_id is null and node is null and visit is null
            and event_id is null)
        or (event_id is not null and job_id is not null and execution_id is null and node is null and visit is null
            and run_id is null)
    )
) with (fillfactor = 44); -- a row is written twice, reserved with its mark and then with its fact; as of executions
-- In two parts, of which the first finds the items of an execution or an event: place_of(its id).
create unique index channel_outbox_idempotency_key
    on outbox (shard, substr(idempotency_key, 1, 8), substr(idempotency_key, 9));
create index idx_channel_outbox_run_id on outbox (shard, run_id, job_id) where run_id is not null;
create index idx_channel_outbox_contact_id on outbox (shard, contact_id, id) where contact_id is not null;
create index idx_channel_outbox_node on outbox (shard, node, id) where contact_id is not null and node is not null;
create index idx_channel_outbox_in_doubt on outbox (shard, id) where in_doubt;
-- Failures by their time. Only a failure has one, so an item that is sent is still updated in place.
create index idx_channel_outbox_failed_at on outbox (shard, tenant_id, workspace_id, failed_at, id)
    where failed_at is not null;

-- An attempt that did not succeed leaves a short row of its own.
create table attempts (
    shard        smallint    not null,
    item_id      uuid        not null,
    tenant_id    text        not null,                         -- as of workflow_versions
    workspace_id text        not null,
    attempt      smallint    not null,
    provider     text        not null,
    outcome      text        not null,
    error        text        not null,
    started_at   timestamptz not null,
    ended_at     timestamptz not null,
    constraint attempts_pkey primary key (shard, item_id, attempt),
    constraint attempts_outcome_check check (outcome in ('rejected', 'retry_later', 'unknown', 'crashed', 'unavailable'))
);


-- § Providers, routes and workers

-- Which provider serves a channel: configuration, never liveness. Without a tenant and a workspace, which no workspace is
-- called, it holds for every workspace; a workspace's own row comes before that.
create table routes (
    tenant_id    text        not null,
    workspace_id text        not null,
    channel      text        not null,
    provider     text        not null,
    source       text        not null,                         -- who said so
    since        timestamptz not null,
    constraint routes_pkey primary key (tenant_id, workspace_id, channel),
    constraint routes_provider_check check (provider <> ''),
    constraint routes_workspace_check check ((tenant_id = '') = (workspace_id = ''))
);

-- What a workspace sends through, under names of its own: where it has some for a channel, they come before every route.
-- Credentials are sealed like the secrets of functions. One that was removed stays without them, for the items that name it.
create table connections (
    tenant_id        text        not null,
    workspace_id     text        not null,
    id               uuid        not null,
    name             text        not null,
    channel          text        not null,
    kind             text        not null,                     -- the vendor; items know it as kind/id
    settings         jsonb       not null,
    credential_names text[]      not null,                     -- which are set
    credentials      bytea,                                    -- all of them, sealed together
    limits           jsonb       not null,
    position         integer     not null,                     -- the smallest is tried first
    weight           integer     not null,                     -- beside others of the same position
    is_sticky        boolean     not null,                     -- its messages wait for it, and take no other way
    is_enabled       boolean     not null,
    is_removed       boolean     not null,
    version          bigint      not null,                     -- of the last change, over all connections
    set_up_anew_at   timestamptz,                              -- the last change of settings or credentials: another account?
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    constraint connections_pkey primary key (tenant_id, workspace_id, id),
    constraint connections_weight_check check (weight between 1 and 1000),
    constraint connections_position_check check (position between 1 and 1000),
    constraint connections_removed_check check (not is_removed or (credentials is null and not is_enabled))
);
create unique index connections_name_key on connections (tenant_id, workspace_id, name) where not is_removed;
create index idx_connections_version on connections (version);

-- The version of the last change of any connection. A change takes the next one and holds on to this row until it commits, so
-- that they become visible in their order, and who knows all up to one misses none by asking for those after it.
create table connection_changes (
    id      boolean constraint connection_changes_pkey primary key,
    version bigint  not null,
    constraint connection_changes_id_check check (id)
);

-- How many messages have left through connections with a limit, in parts of a second, a minute or a day: `take_places` below.
create table connection_use (
    provider text        not null,
    domain   text        not null,                             -- of recipients; '' is every message
    period   text        not null,
    last     bigint      not null,                             -- the number of the newest part, counted from 1970
    counts   integer[]   not null,                             -- places taken in it and in those before, the oldest first
    since    timestamptz not null,                             -- the first place: a warm-up counts its days from here
    constraint connection_use_pkey primary key (provider, domain, period),
    constraint connection_use_period_check check (period in ('second', 'minute', 'day'))
);

-- The workers, and what each can call; one that was not seen for a while does not live any more.
create table workers (
    id           uuid        constraint workers_pkey primary key,
    host         text        not null,
    pid          integer     not null,
    version      text        not null,
    lanes        smallint[]  not null,
    serves       jsonb       not null,                         -- by provider: its class, channels, calls at once
    started_at   timestamptz not null,
    last_seen_at timestamptz not null
);

-- How many calls ended in which way, minute by minute: what a plot of the last hours shows. Each worker writes its own rows,
-- about once a second, so that no two wait for each other; one that is killed takes its last second with it.
create table call_counts (
    tenant_id    text        not null,
    workspace_id text        not null,
    minute       timestamptz not null,
    worker_id    uuid        not null,
    channel      text        not null,
    outcome      text        not null,
    calls        integer     not null,
    constraint call_counts_pkey primary key (tenant_id, workspace_id, minute, worker_id, channel, outcome),
    constraint call_counts_calls_check check (calls > 0)
);
create index idx_call_counts_minute on call_counts (minute);

-- A provider that keeps timing out or says "not so fast" rests for everyone; so does one that cannot be used at all, which
-- keeps its row until a call to it is answered.
create table provider_pauses (
    provider     text        constraint provider_pauses_pkey primary key,
    paused_until timestamptz not null,
    reason       text        not null,
    since        timestamptz,                                  -- when it could first not be used; null if it can be
    times        integer     not null default 0,               -- rests since then
    refused      boolean     not null default false,           -- it refuses our settings: a person must mend them
    rested_at    timestamptz,                                  -- when the last of these rests began
    tried_at     timestamptz                                   -- when somebody began to try whether it is back
);

-- How many calls each worker may have in the air where all workers together have a limit: one row to hold on to for each
-- provider with such a limit.
create table limited_providers (
    provider text constraint limited_providers_pkey primary key
);

-- Who holds how many of a provider's slots, and until when. The unexpired slots of a provider never add up to more than
-- its limit, but for the time that it takes to make a limit smaller.
create table provider_shares (
    provider       text        not null,
    worker_id      uuid        not null,
    slots          integer     not null,
    wanted         integer     not null,                       -- calls it would make at once if it could; 0 is idle
    provider_limit integer     not null,                       -- as it was told; the smallest is in force
    until          timestamptz not null,                       -- from then on its slots are free
    constraint provider_shares_pkey primary key (provider, worker_id),
    constraint provider_shares_slots_check check (slots >= 0),
    constraint provider_shares_wanted_check check (wanted >= 0),
    constraint provider_shares_provider_limit_check check (provider_limit > 0)
);


-- § The audit log

-- Every change of state of a run, and every person's action.
create table audit_log (
    shard        smallint    not null,
    id           uuid        not null,
    tenant_id    text        not null,
    workspace_id text        not null,
    subject_kind text        not null,
    subject_id   uuid        not null,
    event        text        not null,
    actor        text        not null,
    detail       jsonb       not null default '{}',
    at           timestamptz not null,
    constraint audit_log_pkey primary key (shard, id),
    constraint audit_log_shard_check check (shard = shard_of(id)),
    constraint audit_log_subject_kind_check check (
        subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter', 'contact',
                         'sequence', 'enrollment', 'campaign', 'segment', 'rule', 'event', 'route', 'tenant', 'workspace',
                         'connection', 'template', 'sender', 'user')
    )
);
create index idx_audit_log_subject_id on audit_log (shard, subject_id);
-- A run has hundreds of jobs, whose changes of state are read with the run: here they would hide what people did.
create index idx_audit_log_listed on audit_log (shard, tenant_id, id) where subject_kind <> 'job';


-- § Channels: which of them each table takes

-- What no code can send is refused when it is written, not found when it is due.
alter table outbox add constraint channel_outbox_channel_check
    check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'social', 'chat', 'webhook', 'function'));
alter table routes add constraint routes_channel_check
    check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'social', 'chat', 'webhook', 'function'));
alter table campaigns add constraint campaigns_channel_check
    check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'social', 'chat', 'webhook'));
alter table sequence_steps add constraint sequence_steps_channel_check
    check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'chat', 'webhook'));
alter table rules add constraint rules_channel_check
    check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'chat', 'webhook'));
alter table fallbacks add constraint fallbacks_channel_check
    check (channel in ('email', 'sms', 'whatsapp', 'push', 'voice', 'chat', 'webhook'));


-- § Functions: what is computed alike in SQL and in Python

-- An id as domain/flow/ids.py makes one: milliseconds, the version, the bucket, the variant and 62 random bits.
create function new_id(bucket integer, moment timestamptz) returns uuid
    language sql volatile strict parallel safe
    return (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || '7'
            || lpad(to_hex(bucket), 3, '0') || substr(gen_random_uuid()::text, 20))::uuid;

-- The id of a contact's n-th enrollment, as one call makes it: milliseconds, the version, the contact's bucket, the variant
-- and 60 bits of a hash; the same at each try of the call, which has a salt of its own. As enrollment_id in domain/flow/ids.py.
create function enrollment_id(milliseconds bigint, contact_id uuid, number text, salt text) returns uuid
    language sql immutable strict parallel safe
    return (lpad(to_hex(milliseconds), 12, '0') || '7' || substr(contact_id::text, 16, 3) || '8'
            || left(md5(contact_id::text || ':' || number || ':' || salt), 15))::uuid;

-- The key of a campaign's item: as campaign_key in domain/flow/keys.py, which makes its place, and what stands before and after
-- the recipient, once for all items of a run's part.
create function campaign_key(place bytea, head bytea, recipient text, tail bytea) returns bytea
    language sql stable strict parallel safe
    return place || substr(sha256(head || int4send(octet_length(recipient)) || convert_to(recipient, 'UTF8') || tail), 1, 24);

-- A time as Python writes it into JSON.
create function iso_format(moment timestamptz) returns text
    language sql stable strict parallel safe
    return replace(to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '.000000', '') || '+00:00';

-- Whether data has a dotted path; a null at its end counts. As has_path in domain/content/template.py.
create function has_path(data jsonb, path text) returns boolean
    language plpgsql immutable strict parallel safe as
$$
declare
    reached jsonb := data;
    name text;
begin
    foreach name in array regexp_split_to_array(path, '[.]') loop
        if jsonb_typeof(reached) <> 'object' or not reached ? name then
            return false;
        end if;
        reached := reached -> name;
    end loop;
    return true;
end
$$;

-- The state a person sees. A pause holds from the moment it is asked for: nothing more can be marked. What has started
-- stays so, whatever it waits for. domain/words.py has each product's words for it.
create function shown_status(status text, stop text, started_at timestamptz) returns text
    language sql immutable parallel safe
    return case when status in ('completed', 'failed', 'cancelled') then status
                when stop = 'pause' then 'paused'
                when started_at is not null then 'processing'
                else 'enqueued' end;

-- The context of an execution, as workflow_executions shows it: the caller's data, and of steps what each has given, by its
-- number and, as far as neither the data nor another step has such a name, by its own fields. As Graph.accumulated in
-- domain/flow/graph.py.
create function execution_context(definition jsonb, input jsonb, vars jsonb) returns jsonb
    language sql immutable parallel safe
    return (
        with walked as (
            select s.number - 1 as number, s.step ->> 'name' as name, vars -> (s.step ->> 'name') as result
              from jsonb_array_elements(case when definition ? 'steps' then definition -> 'steps' else '[]' end)
                   with ordinality as s(step, number)
             where vars ? (s.step ->> 'name')
        ),
        judged as (
            select number, name, result,
                   coalesce(result ->> 'status' = 'failed' and result ?& array['error', 'messageId', 'at'], false) as failed
              from walked
        ),
        given as (
            select j.number, f.name, f.value
              from judged j
             cross join jsonb_each(case when jsonb_typeof(j.result) = 'object' and not j.failed then j.result else '{}' end)
                   as f(name, value)
        )
        select coalesce((select jsonb_object_agg(name, value order by number) from given), '{}')
               || (vars - coalesce((select array_agg(name) from judged where failed), '{}'))
               || coalesce((select jsonb_object_agg('step_' || number || '_result', result) from judged where not failed), '{}')
               || coalesce((select jsonb_object_agg('step_' || number || '_error', result -> 'error') from judged where failed),
                           '{}')
               || input
    );


-- Whether words mention an address: the needle is found quickly, the pattern decides. As domain/people/sought.py makes them.
create function mentions(words text, needle text, filling text, pattern text) returns boolean
    language sql immutable parallel safe
    return coalesce(strpos(translate(replace(lower(words), '(0)', ''), filling, ''), needle) > 0 and words ~* pattern, false);

-- The same of data, and of data and words without the addresses they mention: what stands around them stays.
create function mentions(data jsonb, needle text, filling text, pattern text) returns boolean
    language sql immutable parallel safe
    return mentions(data::text, needle, filling, pattern);

create function without_mentions(words text, pattern text) returns text
    language sql immutable strict parallel safe
    return regexp_replace(words, pattern, '(erased)', 'gi');

create function without_mentions(data jsonb, pattern text) returns jsonb
    language plpgsql immutable strict parallel safe as
$$
begin
    return regexp_replace(data::text, pattern, '(erased)', 'gi')::jsonb;
end
$$;


-- § Functions: a worker's share of a provider's slots

-- Renews a worker's share. What it keeps (its calls, and those it may begin meanwhile) is never taken away; it grows up to
-- its fair part as far as there are free slots, and is told that part, so that it keeps to less next time.
--
-- A function and not a statement: after waiting for the provider's row, each statement below sees what the last holder of
-- that row has committed, while a single one would add up the shares as they were before it waited.
create function beat_share(
    provider text, worker_id uuid, provider_limit integer, kept integer, wanted integer, turn text, at timestamptz,
    lease_until timestamptz
) returns table (slots integer, fair integer, until timestamptz)
    language plpgsql volatile as
$$
#variable_conflict use_column
declare
    mine      record;
    one       record;
    in_force  integer;
    left_over integer;
    workers   integer;
    spare     integer;
    elsewhere integer;
    part      integer;
begin
    insert into limited_providers (provider) values (beat_share.provider) on conflict do nothing;
    perform 1 from limited_providers p where p.provider = beat_share.provider for update;

    delete from provider_shares s where s.provider = beat_share.provider and s.until <= beat_share.at;

    select s.slots, s.until into mine
      from provider_shares s
     where s.provider = beat_share.provider and s.worker_id = beat_share.worker_id;
    if mine.until > beat_share.lease_until then
        -- A beat that was long on its way: a later one has been answered, and the worker relies on that.
        return query select mine.slots, mine.slots, mine.until;
        return;
    end if;

    insert into provider_shares (provider, worker_id, slots, wanted, provider_limit, until)
    values (beat_share.provider, beat_share.worker_id, 0, beat_share.wanted, beat_share.provider_limit,
            beat_share.lease_until)
        on conflict (provider, worker_id) do update
       set wanted = excluded.wanted, provider_limit = excluded.provider_limit, until = excluded.until;

    -- The idle keep one slot each if that costs the others little or nothing.
    select min(s.provider_limit), count(*),
           coalesce(sum(s.slots) filter (where s.worker_id <> beat_share.worker_id), 0),
           case when count(*) filter (where s.wanted = 0) * 4 <= min(s.provider_limit)
                  or sum(greatest(s.wanted, 1)) <= min(s.provider_limit) then 1 else 0 end
      into in_force, workers, elsewhere, spare
      from provider_shares s
     where s.provider = beat_share.provider;

    -- Whoever wants little gets it, and the others share what is left; who of two equals gets the odd one goes by turns.
    left_over := in_force;
    for one in select s.worker_id, greatest(s.wanted, spare) as wanted
                 from provider_shares s
                where s.provider = beat_share.provider
                order by greatest(s.wanted, spare), md5(s.worker_id::text || beat_share.turn)
    loop
        part := least(one.wanted, left_over / workers);
        exit when one.worker_id = beat_share.worker_id;
        left_over := left_over - part;
        workers := workers - 1;
    end loop;

    return query
    update provider_shares s
       set slots = greatest(least(s.slots, beat_share.kept), least(part, in_force - elsewhere))
     where s.provider = beat_share.provider and s.worker_id = beat_share.worker_id
    returning s.slots, part, s.until;
end
$$;


-- § Functions: places in a connection's limits

-- Takes places for messages that are about to leave, as many as every limit allows, and says when the next is free. A limit
-- holds over all of its parts together, which are two more than make up its period: one because the period begins within
-- a part, and one because a call begins within a part after its place was taken, or not at all. So no period of any length
-- that a limit names has more calls than it allows, whoever makes them.
--
-- A function, one at a time for a connection, for the same reason as beat_share. A place that is not used is lost.
create function take_places(
    provider text, domains text[], wanted integer[], of_domains text[], periods text[], most integer[], part_ms bigint[],
    parts integer[], warm_up integer[], at timestamptz
) returns table (domain text, granted integer, free_at timestamptz)
    language plpgsql volatile as
$$
#variable_conflict use_column
declare
    rule         record;
    number       integer;
    taken        integer;
    milliseconds bigint := floor(extract(epoch from at) * 1000); -- whole: at the moment that a place comes free it is free
begin
    insert into limited_providers (provider) values (take_places.provider) on conflict do nothing;
    perform 1 from limited_providers p where p.provider = take_places.provider for update;

    for rule in select * from unnest(of_domains, periods, part_ms, parts) as r(domain, period, part_ms, parts) loop
        number := rule.parts;
        insert into connection_use (provider, domain, period, last, counts, since)
        values (take_places.provider, rule.domain, rule.period, milliseconds / rule.part_ms, array_fill(0, array[number]),
                take_places.at)
            on conflict do nothing;
        update connection_use u
           set counts = u.counts[least(n.newest - u.last, number) + 1:number]
                        || array_fill(0, array[least(n.newest - u.last, number)::integer]),
               last = n.newest
          from (select milliseconds / rule.part_ms as newest) as n
         where u.provider = take_places.provider and u.domain = rule.domain and u.period = rule.period
           and u.last < n.newest;
    end loop;

    for number in 1 .. cardinality(domains) loop
        -- What is left of each limit that concerns these messages, and when its oldest places come free.
        select greatest(0, least(wanted[number], min(l.allowed - l.used))),
               max(to_timestamp(l.frees_at_ms / 1000.0)) filter (where l.allowed - l.used < wanted[number])
          into taken, free_at
          from (
              select case when r.period = 'day' and r.domain = ''
                          then least(r.most, coalesce(warm_up[floor(extract(epoch from take_places.at - u.since) / 86400) + 1],
                                                      r.most))
                          else r.most end as allowed,
                     (select sum(c) from unnest(u.counts) as c) as used,
                     coalesce((select u.last + min(p.place)
                                 from unnest(u.counts) with ordinality as p(count, place) where p.count > 0),
                              u.last + r.parts) * r.part_ms as frees_at_ms
                from unnest(of_domains, periods, most, part_ms, parts) as r(domain, period, most, part_ms, parts)
                join connection_use u on u.provider = take_places.provider and u.domain = r.domain and u.period = r.period
               where r.domain in ('', domains[number])
          ) as l;
        update connection_use u
           set counts[cardinality(u.counts)] = u.counts[cardinality(u.counts)] + taken
          from unnest(of_domains, periods) as r(domain, period)
         where u.provider = take_places.provider and u.domain = r.domain and u.period = r.period
           and r.domain in ('', domains[number]) and taken > 0;
        domain := domains[number];
        granted := taken;
        return next;
    end loop;
end
$$;


-- § Functions: what is written to several tables in one round trip, and commits alone
--
-- Each is the engine's own, with the caller's rights, and writes to the one shard that it is given. Functions and not
-- statements, because a cluster refuses an INSERT under WITH.

-- Starts executions of one version and makes them due; returns those whose key was free. The queue gets only these: what an
-- earlier try of the same call has started may have ended since.
create function start_executions(
    its_shard smallint, tenant text, workspace text, workspace_hash bigint, workflow_id uuid, version_id uuid, frontier jsonb,
    cursor_at text, triggered_by text, ids uuid[], keys text[], hashes bytea[], workspace_hashes bytea[], inputs jsonb[],
    contact_ids uuid[], moment timestamptz, its_lane smallint, due timestamptz
) returns table (idempotency_key text, id uuid)
    language plpgsql volatile as
$$
#variable_conflict use_column
declare
    started uuid[] := '{}';
begin
    for idempotency_key, id in
        insert into executions as e (
            shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, key_hash, workspace_key_hash,
            status, frontier, cursor, input, triggered_by, created_at, contact_id
        )
        select s.shard, t.id, start_executions.tenant, start_executions.workspace, start_executions.workflow_id,
               start_executions.version_id, t.key, t.key_hash, t.workspace_key_hash, 'enqueued', start_executions.frontier,
               cursor_at, t.input, start_executions.triggered_by, moment, t.contact_id
          from shards s
         cross join unnest(ids, keys, hashes, workspace_hashes, inputs, contact_ids)
               as t(id, key, key_hash, workspace_key_hash, input, contact_id)
         where s.shard = its_shard
            on conflict do nothing
        returning e.idempotency_key, e.id
    loop
        started := started || start_executions.id;
        return next;
    end loop;

    insert into queue (shard, id, kind, lane, due_at, workspace_hash)
    select s.shard, t.id, 'execution', its_lane, due, start_executions.workspace_hash
      from shards s
     cross join unnest(started) as t(id)
     where s.shard = its_shard;
end
$$;

-- Adds a contact, given as its row, with its tags and the entry of the audit log; false if its external id is taken.
create function add_contact(its_shard smallint, given jsonb, audit_id uuid, actor text, detail jsonb) returns boolean
    language plpgsql volatile as
$$
declare
    new contacts := jsonb_populate_record(null::contacts, given);
begin
    insert into contacts (
        shard, id, tenant_id, workspace_id, external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone,
        locale, tags, attributes, consent, suppressions, created_at, updated_at
    )
    select s.shard, new.id, new.tenant_id, new.workspace_id, new.external_id, new.name, new.email, new.phone, new.whatsapp,
           new.push_tokens, new.company, new.status, new.time_zone, new.locale, new.tags, new.attributes, new.consent,
           new.suppressions, new.created_at, new.updated_at
      from shards s
     where s.shard = its_shard
        on conflict (shard, tenant_id, workspace_id, external_id) do nothing;
    if not found then
        return false;
    end if;

    insert into contact_tags (shard, tenant_id, workspace_id, tag, contact_id)
    select s.shard, new.tenant_id, new.workspace_id, lower(t.tag), new.id
      from shards s
     cross join unnest(new.tags) as t(tag)
     where s.shard = its_shard
        on conflict do nothing;

    insert into audit_log (shard, id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, detail, at)
    select s.shard, audit_id, new.tenant_id, new.workspace_id, 'contact', new.id, 'created', add_contact.actor,
           add_contact.detail, new.created_at
      from shards s
     where s.shard = its_shard;
    return true;
end
$$;

-- Writes what an event's rules want sent, rendered; who cannot be reached is there with the reason.
create function add_event_items(
    its_shard smallint, its_job uuid, moment timestamptz, ids uuid[], ordinals bigint[], channels text[], providers text[],
    recipients text[], payloads jsonb[], statuses text[], keys bytea[], planned_at timestamptz[], max_attempts smallint[],
    errors text[], contact_ids uuid[]
) returns void
    language plpgsql volatile as
$$
#variable_conflict use_column
begin
    insert into outbox (
        shard, id, tenant_id, workspace_id, event_id, job_id, ordinal, channel, provider, recipient, payload, status,
        skipped, idempotency_key, retry_at, max_attempts, error, contact_id, created_at, finalized_at, planned_at
    )
    select j.shard, t.id, j.tenant_id, j.workspace_id, j.event_id, j.id, t.ordinal, t.channel, t.provider, t.recipient,
           t.payload, t.status, t.status = 'skipped', t.key, case when t.status = 'queued' then t.planned_at end,
           t.max_attempts, t.error, t.contact_id, moment, case when t.status <> 'queued' then moment end, t.planned_at
      from jobs j
     cross join unnest(
               ids, ordinals, channels, providers, recipients, payloads, statuses, keys, add_event_items.planned_at,
               add_event_items.max_attempts, errors, contact_ids
           ) as t(id, ordinal, channel, provider, recipient, payload, status, key, planned_at, max_attempts, error,
                  contact_id)
     where j.shard = its_shard and j.id = its_job;
end
$$;

-- Stores an event, given as its row, with its contacts, its job and that job's items, and makes the job due unless nothing is
-- left to do; false if its key is taken.
create function add_event(
    its_shard smallint, given jsonb, hash bytea, contact_ids uuid[], audiences text[], job_status text, failed integer, skipped integer,
    its_lane smallint, due timestamptz, ids uuid[], ordinals bigint[], channels text[], providers text[], recipients text[],
    payloads jsonb[], statuses text[], keys bytea[], planned_at timestamptz[], max_attempts smallint[], errors text[],
    of_contacts uuid[]
) returns boolean
    language plpgsql volatile as
$$
#variable_conflict use_column
declare
    new events := jsonb_populate_record(null::events, given);
begin
    insert into events (
        shard, id, tenant_id, workspace_id, trigger, idempotency_key, key_hash, data, decisions, job_id, source, created_at,
        routed_at
    )
    select s.shard, new.id, new.tenant_id, new.workspace_id, new.trigger, new.idempotency_key, hash, new.data, new.decisions,
           new.job_id, new.source, new.created_at, new.routed_at
      from shards s
     where s.shard = its_shard
        on conflict (shard, key_hash) do nothing;
    if not found then
        return false;
    end if;

    if contact_ids <> '{}' then
        insert into event_contacts (shard, contact_id, audience, event_id)
        select s.shard, t.contact_id, t.audience, new.id
          from shards s
         cross join unnest(add_event.contact_ids, audiences) as t(contact_id, audience)
         where s.shard = its_shard;
    end if;
    if new.job_id is null then
        return true;
    end if;

    -- What is settled at once is counted at once, and a job with nothing left is done.
    insert into jobs (
        shard, id, event_id, tenant_id, workspace_id, job_type, status, planned, failed, skipped, created_at, ended_at
    )
    select s.shard, new.job_id, new.id, new.tenant_id, new.workspace_id, 'event', job_status, cardinality(ids),
           add_event.failed, add_event.skipped, new.created_at, case when job_status <> 'queued' then new.created_at end
      from shards s
     where s.shard = its_shard;
    perform add_event_items(
        its_shard, new.job_id, new.created_at, ids, ordinals, channels, providers, recipients, payloads, statuses, keys,
        add_event.planned_at, add_event.max_attempts, errors, of_contacts
    );
    if due is not null then
        insert into queue (shard, id, kind, lane, due_at, workspace_hash)
        select s.shard, new.job_id, 'job', its_lane, due, workspace_hash(new.tenant_id, new.workspace_id)
          from shards s
         where s.shard = its_shard;
    end if;
    return true;
end
$$;


-- § Functions: starting work from SQL, in any language, inside the caller's own transaction

-- Makes a transaction act for one workspace, and returns for whom it acted: these functions have their owner's rights, and
-- where row security is forced it holds the owner, too. What is set ends with the function (act_as_before), or with its
-- error. A plain owner may not attach such settings to a function.
create function act_for(tenant text, workspace text) returns text[]
    language plpgsql volatile as
$$
declare
    before text[] := array[current_setting('tidings.acts_for', true), current_setting('tidings.tenant', true),
                           current_setting('tidings.workspace', true)];
begin
    perform set_config('tidings.acts_for', '', true), set_config('tidings.tenant', coalesce(tenant, ''), true),
            set_config('tidings.workspace', coalesce(workspace, ''), true);
    return before;
end
$$;

create function act_as_before(before text[]) returns void
    language plpgsql volatile as
$$
begin
    perform set_config('tidings.acts_for', coalesce(before[1], ''), true),
            set_config('tidings.tenant', coalesce(before[2], ''), true),
            set_config('tidings.workspace', coalesce(before[3], ''), true);
end
$$;

-- Refuses what could not be stored, or what no worker could read again. As check_key and check_data in
-- kernel/start/check.py; what jsonb refuses by itself is not looked for.
create function check_trigger(data jsonb, idempotency_key text) returns void
    language plpgsql stable parallel safe as
$$
begin
    if coalesce(length(idempotency_key), 0) not between 1 and 500 then
        raise exception using errcode = 'TD422',
            message = format('idempotency_key %L: use 1 to 500 characters', left(idempotency_key, 50)),
            hint = 'Name what must happen once: the number of an order, say.';
    end if;
    if data is null or jsonb_typeof(data) <> 'object' then
        raise exception using errcode = 'TD422', message = 'data is not an object',
            hint = 'Give jsonb_build_object(''name'', value, …), or ''{}'' if the workflow needs nothing.';
    end if;
    if jsonb_path_exists(data, 'strict $.**{100 to last} ? (@.type() == "object" || @.type() == "array")') then
        raise exception using errcode = 'TD422', message = 'data is nested too deeply: use at most 100 levels';
    end if;
    if jsonb_path_exists(data, 'strict $.** ? (@.type() == "number" && (@ > 1e308 || @ < -1e308))') then
        raise exception using errcode = 'TD422', message = 'data has a number beyond 1e308', hint = 'Give it as a text.';
    end if;
end
$$;

-- Starts one execution and gives its id: committed with the caller's transaction, or never there. The same key again
-- gives the same execution, even if the workflow was deactivated since or the data lacks something now. It does what
-- kernel/start/trigger.py does, with its owner's rights: whoever may execute it can start work, and read or write nothing else.
create function trigger(
    workflow text, data jsonb, idempotency_key text, workspace text default 'default', tenant text default 'default',
    contact_id uuid default null
) returns uuid
    language plpgsql volatile security definer
    set search_path = tidings, pg_temp as
$$
#variable_conflict use_column
declare
    acted text[] := act_for(trigger.tenant, trigger.workspace);
    moment timestamptz := clock_timestamp();
    its_bucket integer := bucket_of(trigger.tenant, trigger.workspace, trigger.idempotency_key);
    its_shard smallint := its_bucket % shard_count();
    its_id uuid := new_id(its_bucket, moment);
    its_hash bytea;
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

    its_hash := key_hash(length_prefixed(array[trigger.tenant, trigger.workspace, version.workflow_id::text]),
                         trigger.idempotency_key);

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
            shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, key_hash, status, frontier,
            cursor, input, triggered_by, created_at, contact_id
        ) values (
            its_shard, its_id, trigger.tenant, trigger.workspace, version.workflow_id, version.id,
            trigger.idempotency_key, its_hash, 'enqueued',
            jsonb_build_object('ready', jsonb_build_array(jsonb_build_array(version.entry, iso_format(due)))),
            version.entry, trigger.data, 'sql', moment, trigger.contact_id
        )
        on conflict (shard, key_hash) do nothing;
        if found then
            insert into queue (shard, id, kind, lane, due_at, workspace_hash)
            values (its_shard, its_id, 'execution', version.lane, due, workspace_hash(trigger.tenant, trigger.workspace));
            -- Heard when the caller commits. Such commits wait for each other, so a caller can do without.
            if current_setting('tidings.notify', true) is distinct from 'off' then
                perform pg_notify('tidings', its_shard || ':' || version.lane);
            end if;
            perform act_as_before(acted);
            return its_id;
        end if;
    end if;

    select e.id
      into existing
      from executions e
     where e.shard = its_shard and e.key_hash = its_hash and e.tenant_id = trigger.tenant
       and e.workspace_id = trigger.workspace and e.workflow_id = version.workflow_id
       and e.idempotency_key = trigger.idempotency_key;
    if found then
        perform act_as_before(acted);
        return existing;
    end if;
    if exists (select 1 from executions e where e.shard = its_shard and e.key_hash = its_hash) then
        raise exception using errcode = 'TD409',
            message = format('idempotency_key %L cannot be told from another one', trigger.idempotency_key),
            hint = 'Use another key.';
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

-- The id of a contact that is named by its id or by its external id, for whoever starts work for it from SQL:
-- trigger(…, contact_id => contact_id('crm-1815')). What is a contact's id is never taken for an external id. As
-- find_contacts in kernel/people/references.py; it reads with its owner's rights, and tells nothing but the id.
create function contact_id(contact text, workspace text default 'default', tenant text default 'default') returns uuid
    language plpgsql stable security definer
    set search_path = tidings, pg_temp as
$$
#variable_conflict use_column
declare
    acted text[] := act_for(contact_id.tenant, contact_id.workspace);
    its_id uuid;
begin
    if contact_id.contact ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then
        select c.id
          into its_id
          from contacts c
         where c.shard = shard_of(contact_id.contact::uuid) and c.id = contact_id.contact::uuid
           and c.tenant_id = contact_id.tenant and c.workspace_id = contact_id.workspace and c.deleted_at is null;
    end if;
    if its_id is null then
        select c.id
          into its_id
          from contacts c
         where c.shard = contact_bucket(contact_id.tenant, contact_id.workspace, contact_id.contact) % shard_count()
           and c.tenant_id = contact_id.tenant and c.workspace_id = contact_id.workspace
           and c.external_id = contact_id.contact;
    end if;
    if its_id is null then
        raise exception using errcode = 'TD422',
            message = format('there is no contact %L in workspace %L', contact_id.contact, contact_id.workspace),
            hint = 'Create it first, or name its workspace and tenant.';
    end if;
    perform act_as_before(acted);
    return its_id;
end
$$;

-- Sending an event from SQL: stored with the caller's transaction, or never there; routed by the worker that claims it.
-- The same key again gives the same event. As read_event in domain/rules/event.py and check_event in
-- domain/rules/routing.py, but for addresses: one that is none is skipped with the reason when the event is routed. Whoever
-- says to be a contact, by its id or its external id, is one of the workspace, and templates see what the contact has where
-- the event gives nothing.
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
    acted text[] := act_for(event.tenant, event.workspace);
    moment timestamptz := clock_timestamp();
    its_key text := coalesce(event.idempotency_key, gen_random_uuid()::text);
    its_hash bytea := key_hash(length_prefixed(array[event.tenant, event.workspace, event.trigger]), its_key);
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
        insert into events (shard, id, tenant_id, workspace_id, trigger, idempotency_key, key_hash, data, job_id, source,
                            created_at)
        values (its_shard, its_id, event.tenant, event.workspace, event.trigger, its_key, its_hash, given, its_job, 'sql',
                moment)
        on conflict (shard, key_hash) do nothing;
        if found then
            insert into jobs (shard, id, event_id, tenant_id, workspace_id, job_type, status, planned, created_at)
            values (its_shard, its_job, its_id, event.tenant, event.workspace, 'event', 'queued', 0, moment);
            insert into event_contacts (shard, contact_id, audience, event_id)
            select its_shard, t.contact_id, t.audience, its_id
              from unnest(contacts, audiences) as t(contact_id, audience);
            insert into queue (shard, id, kind, lane, due_at, workspace_hash)
            values (its_shard, its_job, 'job', 0, moment, workspace_hash(event.tenant, event.workspace));
            if current_setting('tidings.notify', true) is distinct from 'off' then
                perform pg_notify('tidings', its_shard || ':0');
            end if;
            perform act_as_before(acted);
            return its_id;
        end if;
    end if;

    select e.id
      into existing
      from events e
     where e.shard = its_shard and e.key_hash = its_hash and e.tenant_id = event.tenant
       and e.workspace_id = event.workspace and e.trigger = event.trigger and e.idempotency_key = its_key;
    if found then
        perform act_as_before(acted);
        return existing;
    end if;
    if exists (select 1 from events e where e.shard = its_shard and e.key_hash = its_hash) then
        raise exception using errcode = 'TD409',
            message = format('idempotency_key %L cannot be told from another one', its_key), hint = 'Use another key.';
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


-- § Views: the names of the execution contract, so that its trace query runs as printed

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
 where subject_kind in ('run', 'job', 'item', 'campaign');

-- The contract's trace, one row for each item of a run and one for a job that has none.
create view campaign_trace as
select cr.campaign_id, cr.id as run_id, cr.status as run_status, cr.retry_of, jq.id as job_id, jq.job_type,
       jq.status as job_status, jq.attempts as job_attempts, co.id as outbox_id, co.contact_id, co.channel, co.provider,
       co.recipient, co.status as outbox_status, co.in_doubt, co.attempts, co.provider_message_id, co.error,
       cr.created_at as run_created_at, jq.created_at as job_created_at, co.created_at, co.finalized_at,
       cr.tenant_id, cr.workspace_id
  from runs cr
  join jobs jq on jq.run_id = cr.id
  left join outbox co on co.shard = jq.shard and co.run_id = jq.run_id and co.job_id = jq.id;


-- § Views: the names of event rules and of durable workflows, for whoever knows these tables from other systems

-- What came of events. A fallback is of kind `function`.
create view notification_outbox as
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

create view workflow_definitions as
select w.id, w.name, w.description, coalesce(v.definition -> 'steps', v.definition -> 'nodes') as steps,
       array(select jsonb_array_elements_text(
                 coalesce(v.definition -> 'requiredFields', v.definition -> 'required_fields', '[]'))) as required_fields,
       ceil(coalesce((coalesce(v.definition ->> 'timeoutSeconds', v.definition ->> 'timeout_seconds'))::numeric,
                     case when v.form = 'steps' then 300 end))::integer as timeout_seconds,
       ceil(coalesce((coalesce(v.definition ->> 'visibilityTimeout', v.definition ->> 'visibility_timeout'))::numeric,
                     60))::integer as visibility_timeout,
       coalesce((v.definition #>> '{retry,attempts}')::numeric - 1,
                (coalesce(v.definition ->> 'maxRetries', v.definition ->> 'max_retries'))::numeric,
                case when v.form = 'steps' then 3 else 2 end)::integer as max_retries,
       w.active, w.created_at, w.updated_at, w.created_by, v.number as version, w.tenant_id, w.workspace_id
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
 where w.kind = 'workflow' and w.deleted_at is null
   and v.number = (select max(n.number) from workflow_versions n where n.workflow_id = w.id);

create view workflow_executions as
select e.id, w.name as workflow_name, v.number as workflow_version,
       case when e.ended_at is not null then e.status
            when e.status = 'paused' or e.started_at is null then 'pending'
            else 'running' end as status,
       case when e.status = 'completed' then greatest(v.total_steps - 1, 0)
            else least((select count(*) from jsonb_object_keys(e.vars) as passed(node)
                         where passed.node is distinct from e.error_node)::integer,
                       greatest(v.total_steps - 1, 0)) end as current_step,
       v.total_steps, e.input as input_payload, execution_context(v.definition, e.input, e.vars) as context,
       coalesce(e.error, f.error) as error_message, coalesce(e.error_node, f.node) as error_step,
       greatest(e.attempts - 1, 0) as retry_count, e.created_at, e.started_at, e.ended_at as completed_at,
       e.idempotency_key as correlation_id, e.triggered_by, e.tenant_id, e.workspace_id
  from executions e
  join workflow_versions v on v.id = e.version_id
  join workflows w on w.id = e.workflow_id and w.kind = 'workflow'
  -- What is tried again says what went wrong the last time.
  left join lateral (
      select o.error, o.node from outbox o
       where o.shard = e.shard and substr(o.idempotency_key, 1, 8) = place_of(e.id) and o.execution_id = e.id
         and o.status = 'queued' and o.error is not null
       order by o.retry_at, o.id
       limit 1
  ) f on e.ended_at is null and e.attempts > 0;


-- § Who may read

-- Row-level security is the second line behind the API. A reader, who neither owns the tables nor works with them for the
-- engine, sees the rows of the workspace that the session names, and none when it names none.
create function is_own(tenant text, workspace text) returns boolean
    language sql stable parallel safe
    return tenant = current_setting('tidings.tenant', true)
       and workspace = current_setting('tidings.workspace', true);

alter table workflows enable row level security;
create policy own_workspace on workflows for select using (is_own(tenant_id, workspace_id));
alter table contacts enable row level security;
create policy own_workspace on contacts for select using (is_own(tenant_id, workspace_id));
alter table contact_tags enable row level security;
create policy own_workspace on contact_tags for select using (is_own(tenant_id, workspace_id));
alter table segments enable row level security;
create policy own_workspace on segments for select using (is_own(tenant_id, workspace_id));
alter table templates enable row level security;
create policy own_workspace on templates for select using (is_own(tenant_id, workspace_id));
alter table template_versions enable row level security;
create policy own_workspace on template_versions for select using (is_own(tenant_id, workspace_id));
alter table senders enable row level security;
create policy own_workspace on senders for select using (is_own(tenant_id, workspace_id));
alter table default_senders enable row level security;
create policy own_workspace on default_senders for select using (is_own(tenant_id, workspace_id));
alter table executions enable row level security;
create policy own_workspace on executions for select using (is_own(tenant_id, workspace_id));
alter table campaigns enable row level security;
create policy own_workspace on campaigns for select using (is_own(tenant_id, workspace_id));
alter table runs enable row level security;
create policy own_workspace on runs for select using (is_own(tenant_id, workspace_id));
alter table jobs enable row level security;
create policy own_workspace on jobs for select using (is_own(tenant_id, workspace_id));
alter table rules enable row level security;
create policy own_workspace on rules for select using (is_own(tenant_id, workspace_id));
alter table events enable row level security;
create policy own_workspace on events for select using (is_own(tenant_id, workspace_id));
alter table outbox enable row level security;
create policy own_workspace on outbox for select using (is_own(tenant_id, workspace_id));
alter table audit_log enable row level security;
create policy own_workspace on audit_log for select using (is_own(tenant_id, workspace_id));
alter table workflow_versions enable row level security;
create policy own_workspace on workflow_versions for select using (is_own(tenant_id, workspace_id));
alter table workflow_drafts enable row level security;
create policy own_workspace on workflow_drafts for select using (is_own(tenant_id, workspace_id));
alter table sequences enable row level security;
create policy own_workspace on sequences for select using (is_own(tenant_id, workspace_id));
alter table sequence_steps enable row level security;
create policy own_workspace on sequence_steps for select using (is_own(tenant_id, workspace_id));
alter table execution_log enable row level security;
create policy own_workspace on execution_log for select using (is_own(tenant_id, workspace_id));
alter table attempts enable row level security;
create policy own_workspace on attempts for select using (is_own(tenant_id, workspace_id));

-- Nobody but the owner: secrets, hashes, the kernel's own, and what is the operator's.
alter table api_keys enable row level security;
alter table users enable row level security;
alter table memberships enable row level security;
alter table sessions enable row level security;
alter table tenants enable row level security;
alter table workspaces enable row level security;
alter table functions enable row level security;
alter table signing_secrets enable row level security;
alter table suppressed_addresses enable row level security;
alter table queue enable row level security;
alter table run_parts enable row level security;
alter table audience enable row level security;
alter table event_contacts enable row level security;
alter table fallbacks enable row level security;
alter table routes enable row level security;
alter table connections enable row level security;
alter table workers enable row level security;
alter table call_counts enable row level security;

-- Starting work is for whoever is told so.
revoke all on function trigger from public;
revoke all on function contact_id from public;
revoke all on function event from public;

-- For whom a transaction of the engine acts, where row security is forced: a workspace, its whole tenant for the few tables
-- that are read by tenant, or everyone, as the kernel's own work does. storage/acting.py says which.
create function acts_for(tenant text, workspace text) returns boolean
    language sql stable parallel safe
    return current_setting('tidings.acts_for', true) = 'everyone'
        or (tenant = current_setting('tidings.tenant', true)
            and (workspace = current_setting('tidings.workspace', true)
                 or current_setting('tidings.acts_for', true) = 'tenant'));

create function acts_for_tenant(tenant text) returns boolean
    language sql stable parallel safe
    return current_setting('tidings.acts_for', true) = 'everyone' or tenant = current_setting('tidings.tenant', true);

-- Has the queue analyzed, unless another process does that now, for a role that may not do so itself.
create function analyze_queue() returns void
    language plpgsql volatile security definer
    set search_path = tidings, pg_temp as
$$
begin
    analyze (skip_locked) tidings.queue;
end
$$;

-- Roles belong to the whole server: another database may have made these, and a hosted one may not let us; then its
-- administrator makes them. `tidings_reader` reads one workspace; `tidings_app` works with rows and changes no table.
do $$
declare
    missing text;
begin
    for missing in select name from unnest(array['tidings_reader', 'tidings_app']) as t(name)
                    where name not in (select rolname from pg_roles) loop
        begin
            execute format('create role %I nologin', missing);
        exception
            when duplicate_object or unique_violation or insufficient_privilege then null;
        end;
    end loop;
end
$$;

-- Gives the roles that there are what they may do, with row security forced on the engine's own roles or not. Run by
-- whoever owns the tables, after each migration and when a role was made later. Not forced, the engine's policies say
-- `true`, which the planner forgets.
create function set_rights(forced boolean) returns void
    language plpgsql volatile
    set search_path = tidings, pg_temp as
$$
declare
    one record;
    ours text := (select quote_ident(pg_get_userbyid(nspowner)) from pg_namespace where nspname = 'tidings');
    reads text := 'public';
    permits text;
begin
    if exists (select 1 from pg_roles where rolname = 'tidings_app') then
        ours := ours || ', tidings_app';
        grant usage on schema tidings to tidings_app;
        grant select, insert, update, delete on all tables in schema tidings to tidings_app;
        revoke insert, update, delete on migrations from tidings_app;
        revoke insert, delete on shards from tidings_app; -- a row of it is locked to see whether anything can be written
        grant execute on function analyze_queue to tidings_app;
    end if;
    if exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        reads := 'tidings_reader';
        grant usage on schema tidings to tidings_reader;
        grant select on workflows, workflow_versions, sequences, sequence_steps, templates, template_versions, senders,
                        default_senders, contacts, contact_tags, segments, executions, execution_log, campaigns, runs, jobs, rules, events, outbox, attempts, audit_log
            to tidings_reader;
        -- Before 15 a view reads with its owner's rights, which would show everything.
        if current_setting('server_version_num')::integer >= 150000 then
            grant select on campaign_runs, job_queue, channel_outbox, campaign_audit_log, campaign_trace, notification_outbox,
                            workflow_definitions, workflow_executions
                to tidings_reader;
        end if;
    end if;
    for one in
        select c.oid::regclass as name, bool_or(a.attname = 'tenant_id') as of_tenant,
               bool_or(a.attname = 'workspace_id') and c.relname not in ('api_keys', 'audit_log') as of_workspace,
               exists (select 1 from pg_policy p where p.polrelid = c.oid and p.polname = 'own_workspace') as is_read
          from pg_class c
          join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where c.relnamespace = 'tidings'::regnamespace and c.relkind in ('r', 'p') and c.relrowsecurity
         group by c.oid, c.relname
    loop
        permits := case when not forced or not one.of_tenant then 'true'
                        when one.of_workspace then 'acts_for(tenant_id, workspace_id)'
                        else 'acts_for_tenant(tenant_id)' end;
        execute format('alter table %s %s row level security', one.name, case when forced then 'force' else 'no force' end);
        execute format('drop policy if exists engine on %s', one.name);
        execute format('create policy engine on %s to %s using (%s) with check (%s)', one.name, ours, permits, permits);
        if one.is_read then
            execute format('alter policy own_workspace on %s to %s', one.name, reads);
        end if;
    end loop;
    -- What holds for every workspace is everybody's to see, and the kernel's to change.
    drop policy if exists for_all on routes;
    execute format('create policy for_all on routes for select to %s using (tenant_id = %L)', ours, '');
end
$$;
revoke all on function set_rights from public;
revoke all on function analyze_queue from public;

do $$
begin
    if current_setting('server_version_num')::integer >= 150000 then
        alter view campaign_runs set (security_invoker = true);
        alter view job_queue set (security_invoker = true);
        alter view channel_outbox set (security_invoker = true);
        alter view campaign_audit_log set (security_invoker = true);
        alter view campaign_trace set (security_invoker = true);
        alter view notification_outbox set (security_invoker = true);
        alter view workflow_definitions set (security_invoker = true);
        alter view workflow_executions set (security_invoker = true);
    end if;
end
$$;


-- § What the planner is told

-- What it would learn in the first minutes anyway. Without statistics it takes one shard for one part in two hundred, reads
-- whole shards where it should look up keys, and keeps that plan while the tables grow. So each hot table holds some rows
-- for a moment, is analyzed, and is empty again; the statistics stay. Emptied by truncate and not by delete: pages of dead
-- rows would let it take every table for empty until autovacuum comes by, and compare each row of a batch with a whole shard.

-- What it learns later may be worse: among the first few rows of a table no two may share a shard or a workspace, and it
-- would take either for as good as a key until it looks again. So how many there are of these is said here, once for every
-- look: of shards as many as there are, of tenants and workspaces neither one nor as many as rows.
do $$
declare
    one record;
begin
    for one in
        select c.oid::regclass as name, a.attname as its,
               case a.attname when 'shard' then shard_count() else 3 end as different
          from pg_class c
          join pg_attribute a on a.attrelid = c.oid and a.attname in ('shard', 'tenant_id', 'workspace_id')
         where c.relnamespace = 'tidings'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'shards'
           and exists (select 1 from pg_attribute s where s.attrelid = c.oid and s.attname = 'shard')
    loop
        execute format('alter table %s alter column %I set (n_distinct = %s)', one.name, one.its, one.different);
    end loop;
end
$$;

create temporary table sample on commit drop as
select number, number % 2 = 1 as odd, number <= 1000 as few, (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000'
        || lpad(to_hex(number), 12, '0'))::uuid as id,
       ('00000000-0000-7000-8000-' || lpad(to_hex(number % 10), 12, '0'))::uuid as sequence_id,
       'workspace ' || number % 50 as workspace, timestamptz '2026-01-01' as at
  from (select number, (number * 37) % 4096 as bucket from generate_series(1, 2000) as number) as numbers;

-- Contacts are of many workspaces: taken for the only one, the first small workspace beside a large one would be listed by
-- reading past everybody else.
create temporary table sample_contacts on commit drop as
select number, workspace, at, (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000'
        || lpad(to_hex(number), 12, '0'))::uuid as id
  from (select *, bucket_of('default', workspace, number::text) as bucket from sample) as buckets;

insert into contacts (shard, id, tenant_id, workspace_id, external_id, email, company, status, tags, created_at, updated_at)
select shard, id, 'default', workspace, number::text, number || '@example.com', 'company ' || number % 100,
       'status ' || number % 5, array['tag ' || number % 20], at, at
  from sample_contacts;

insert into contact_tags (shard, tenant_id, workspace_id, tag, contact_id)
select shard, 'default', workspace, 'tag ' || number % 20, id from sample_contacts;

insert into queue (shard, id, kind, lane, due_at, workspace_hash)
select shard, id, 'execution', number % 3, at + number * interval '1 minute', workspace_hash('default', workspace)
  from sample where few;

-- Every other execution is an enrollment: many in one sequence, each of another contact.
insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, key_hash, status,
                        frontier, input, created_at, contact_id)
select shard, id, 'default', 'default', case when odd then sequence_id else id end,
       case when odd then sequence_id else id end, id::text, key_hash('', id::text), 'enqueued', '{}', '{}', at,
       case when odd then id end
  from sample;

insert into execution_log (shard, execution_id, tenant_id, workspace_id, node, visit, status, at)
select shard, id, 'default', workspace, 'node', 1, 'completed', at from sample where few;

insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, created_at)
select shard, id, id, 'default', 'default', 'email_send_batch', 'queued', 1, at from sample where few;

insert into audience (shard, run_id, ordinal, recipient)
select shard, id, number, number || '@example.com' from sample where few;

insert into events (shard, id, tenant_id, workspace_id, trigger, idempotency_key, key_hash, data, decisions, source,
                    created_at, routed_at)
select shard, id, 'default', workspace, 'trigger ' || number % 20, number::text, key_hash('', number::text), '{}', '[]', 'api', at, at
  from sample where few;

insert into event_contacts (shard, contact_id, audience, event_id)
select shard, id, 'lead', id from sample where few;

-- Half of the items belong to enrollments, half to runs.
insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, run_id, job_id, ordinal, channel,
                    provider, recipient, status, idempotency_key, created_at, contact_id)
select shard, id, 'default', 'default', case when odd then id end, case when odd then sequence_id::text end,
       case when odd then 1 end, case when not odd then id end, case when not odd then id end, number, 'email', 'provider',
       number || '@example.com', 'queued', place_of(id) || substr(sha256(id::text::bytea), 1, 24), at, case when odd then id end
  from sample;

analyze contacts;
analyze contact_tags;
analyze queue;
analyze execution_log;
analyze audience;
analyze events;
analyze event_contacts;
-- Without the columns that are null in the whole sample and looked for (workspace_key_hash, event_id of jobs): it would believe that no row
-- ever has them.
analyze executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, key_hash, status, frontier, cursor,
                    input, vars, attempts, error, error_node, triggered_by, contact_id, created_at, started_at, ended_at,
                    reopened_at);
analyze jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, attempts, planned, sent, called, posted, failed,
              skipped, error, created_at, started_at, ended_at);
analyze outbox;

truncate contacts, contact_tags, queue, executions, execution_log, jobs, audience, events, event_contacts, outbox;
