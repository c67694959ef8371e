-- People. The bucket of a contact comes from its external id, so the same external id cannot be on two shards.

-- The bucket of a contact: of an external id that is itself an id, the one it carries; else of its hash. A contact made
-- without an external id has its id for one, and is found by it like any other. As contact_bucket in domain/people/contact.py.
create function contact_bucket(tenant text, workspace text, external_id text) returns integer
    language sql immutable parallel safe
    return case when external_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
                then bucket_of_id(external_id::uuid)
                else bucket_of(tenant, workspace, external_id) end;

-- A deleted contact stays as a row without anything about the person: what was sent to it still counts.
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
    primary key (shard, id),
    constraint contacts_external_id unique (shard, tenant_id, workspace_id, external_id),
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
create index contacts_listed on contacts (shard, tenant_id, workspace_id, id) where deleted_at is null;
create index contacts_status on contacts (shard, tenant_id, workspace_id, status, id) where deleted_at is null;
create index contacts_company on contacts (shard, tenant_id, workspace_id, company, id) where company is not null;

-- Who has a tag, newest first, however rare or common it is. The truth is contacts.tags; whoever reads here looks there.
create table contact_tags (
    shard        smallint not null,
    tenant_id    text     not null,
    workspace_id text     not null,
    tag          text     not null,
    contact_id   uuid     not null,
    primary key (shard, tenant_id, workspace_id, tag, contact_id)
);

alter table contacts enable row level security;
create policy own_workspace on contacts for select using (is_own(tenant_id, workspace_id));
alter table contact_tags enable row level security;
create policy own_workspace on contact_tags for select using (is_own(tenant_id, workspace_id));

do $$
begin
    if exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        grant select on contacts, contact_tags to tidings_reader;
    end if;
end
$$;

alter table audit_log drop constraint audit_log_subject_kind_check, add constraint audit_log_subject_kind_check check (
    subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter', 'contact')
);

-- The planner's statistics before the first row, as in 0002. Of many workspaces: taken for the only one, the first small
-- workspace beside a large one would be listed by reading past everybody else.
create temporary table sample_contacts on commit drop as
select number, workspace, (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000' || lpad(to_hex(number), 12, '0'))::uuid as id
  from (select number, workspace, bucket_of('default', workspace, number::text) as bucket
          from (select number, 'workspace ' || number % 50 as workspace from generate_series(1, 2000) as number) as numbers
       ) as buckets;

insert into contacts (shard, id, tenant_id, workspace_id, external_id, email, company, status, tags, created_at, updated_at)
select shard, id, 'default', workspace, number::text, number || '@example.com', 'company ' || number % 100,
       'status ' || number % 5, array['tag ' || number % 20], timestamptz '2026-01-01', timestamptz '2026-01-01'
  from sample_contacts;

insert into contact_tags (shard, tenant_id, workspace_id, tag, contact_id)
select shard, 'default', workspace, 'tag ' || number % 20, id from sample_contacts;

analyze contacts;
analyze contact_tags;

delete from contacts;
delete from contact_tags;
