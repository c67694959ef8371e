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
    primary key (tenant_id, workspace_id, name)
);

-- Nobody but the owner.
alter table functions enable row level security;
