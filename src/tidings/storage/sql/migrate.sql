-- name: lock_migrations
-- One process migrates at a time; the others wait here and then find nothing to do.
select pg_advisory_xact_lock(7263641129);

-- name: create_schema
-- The place of everything Tidings owns.
create schema if not exists tidings;

-- name: create_migrations
-- What was applied, and what it said.
create table if not exists migrations (
    number     integer     constraint migrations_pkey primary key,
    name       text        not null,
    checksum   bytea       not null,
    applied_at timestamptz not null
);

-- name: set_shard_count
-- The number of shards, for the statement that makes it part of the schema.
select set_config('tidings.shards', :shards::text, true);

-- name: create_shard_count
-- Written once, when the database is initialised: how many shards the buckets fall into.
do $$
begin
    if to_regprocedure('tidings.shard_count()') is null then
        execute format(
            'create function tidings.shard_count() returns integer '
            'language sql immutable strict parallel safe return %s',
            current_setting('tidings.shards')::integer
        );
    end if;
end
$$;

-- name: find_schema
-- Whether the database was ever initialised, and one of the objects in a schema of our name that are not ours. An
-- empty schema belongs to nobody: an administrator may have made it for us.
select ours as initialised,
       case when not ours then (
           select pg_describe_object(classid, objid, 0)
             from pg_depend
            where refclassid = 'pg_namespace'::regclass and refobjid = to_regnamespace('tidings')
            order by 1
            limit 1
       ) end as another_s
  from (select to_regclass('tidings.migrations') is not null
               and to_regprocedure('tidings.shard_count()') is not null as ours) as looked;

-- name: applied_migrations
-- What this database has.
select number, name, checksum from migrations order by number;

-- name: record_migration
-- Notes one as done, in the transaction that did it.
insert into migrations (number, name, checksum, applied_at) values (:number, :name, :checksum, :now);

-- name: read_shard_count
-- How many shards this database has.
select shard_count() as shards;

-- name: read_safety
-- The settings without which an acknowledged commit may be lost, and the server's version.
select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
       current_setting('full_page_writes') as full_page_writes,
       current_setting('server_version_num')::integer as version, current_setting('server_version') as version_name;

-- name: drop_schema
-- Removes everything Tidings owns.
drop schema if exists tidings cascade;
