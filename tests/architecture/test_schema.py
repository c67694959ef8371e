"""The tables: the same by migrations and by schema.sql, and every key of a hot table begins with its shard."""

import os
import re
import secrets
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import TypeAlias

import asyncpg
import pytest

import tidings
from tests.architecture.sql_text import HOT, SHARDED
from tests.databases import IS_FORCED, OWNER_URL, with_database
from tidings import embedded
from tidings.storage.migrate import INITIAL, migrations
from tidings.storage.statements import load

SCHEMA = files("tidings.storage").joinpath("schema.sql").read_text()
Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CATALOG = {
    "tables": """
        select relname, relkind::text, relpersistence::text, reloptions::text from pg_class
         where relnamespace = 'tidings'::regnamespace and relkind in ('r', 'v', 'p', 'm', 'S')
    """,
    "columns": """
        select attrelid::regclass::text, attname, attnum, format_type(atttypid, atttypmod), attnotnull,
               attidentity::text, attgenerated::text, pg_get_expr(adbin, adrelid)
          from pg_attribute join pg_class on pg_class.oid = attrelid
          left join pg_attrdef on adrelid = attrelid and adnum = attnum
         where relnamespace = 'tidings'::regnamespace and relkind in ('r', 'v') and attnum > 0
    """,
    "constraints": """
        select conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid), convalidated
          from pg_constraint where connamespace = 'tidings'::regnamespace
    """,
    "indexes": "select tablename, indexname, indexdef from pg_indexes where schemaname = 'tidings'",
    "views": "select viewname, definition from pg_views where schemaname = 'tidings'",
    "functions": """
        select proname, pg_get_functiondef(oid) from pg_proc where pronamespace = 'tidings'::regnamespace
    """,
    "triggers": "select tgrelid::regclass::text, tgname from pg_trigger where not tgisinternal",
    "types": """
        select typname from pg_type where typnamespace = 'tidings'::regnamespace and typtype in ('e', 'd')
    """,
    "row security": """
        select relname, relrowsecurity, relforcerowsecurity from pg_class
         where relnamespace = 'tidings'::regnamespace and relkind = 'r'
    """,
    "policies": """
        select tablename, policyname, permissive, roles::text, cmd, qual, with_check from pg_policies
         where schemaname = 'tidings'
    """,
    "rights": """
        select relname, grantee::regrole::text, privilege_type
          from pg_class, aclexplode(relacl) where relnamespace = 'tidings'::regnamespace
    """,
    "shards": "select shard from shards",
}


@pytest.fixture
async def from_schema(server: str) -> AsyncIterator[Sql]:
    """A database made from schema.sql, prepared as migrate() prepares one."""
    name = f"s_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(server)
    await admin.execute(f"create database {name} owner {embedded.OWNER}")
    connection = await asyncpg.connect(
        with_database(os.environ[OWNER_URL], name),
        server_settings={"search_path": "tidings, public", "timezone": "UTC"},
    )
    steps = load("migrate")
    async with connection.transaction():
        await connection.execute(steps["create_schema"].text)
        await connection.execute(steps["create_migrations"].text)
        await connection.fetch(steps["set_shard_count"].text, "4")
        await connection.execute(steps["create_shard_count"].text)
        await connection.execute(SCHEMA)
        await connection.fetch(load("rights")["set_rights"].text, IS_FORCED)
    yield connection
    await connection.close()
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()


async def catalog(connection: Sql) -> dict[str, set[tuple[object, ...]]]:
    return {name: {tuple(row) for row in await connection.fetch(query)} for name, query in CATALOG.items()}


async def test_schema_sql_equals_all_migrations(sql: Sql, from_schema: Sql) -> None:
    migrated, written = await catalog(sql), await catalog(from_schema)

    for name in CATALOG:
        assert migrated[name] == written[name], name
    assert {row[0] for row in migrated["tables"]} >= HOT


@pytest.mark.parametrize(
    ("change", "noticed"),
    [
        ("alter table jobs add column extra text", "columns"),
        ("alter table jobs alter column status drop not null", "columns"),
        ("alter table jobs alter column sent set default 1", "columns"),
        ("alter table jobs alter column planned type bigint", "columns"),
        ("alter table jobs drop constraint jobs_terminal_check", "constraints"),
        ("drop index idx_queue_due_at; create index idx_queue_due_at on queue (shard, due_at, lane)", "indexes"),
        ("alter table jobs set (fillfactor = 70)", "tables"),
        ("drop view job_queue", "views"),
        (
            "create or replace function bucket_of_id(id uuid) returns integer language sql immutable return 1",
            "functions",
        ),
        ("create table stray (id integer)", "tables"),
        ("create sequence numbers", "tables"),
        ("delete from shards where shard = 3", "shards"),
        ("alter table jobs disable row level security", "row security"),
        ("drop policy own_workspace on jobs", "policies"),
        ("grant delete on jobs to tidings_reader", "rights"),
    ],
)
async def test_the_comparison_notices(sql: Sql, change: str, noticed: str) -> None:
    before = await catalog(sql)

    if "planned type" in change:
        await sql.execute("drop view job_queue")
    await sql.execute(change)

    assert (await catalog(sql))[noticed] != before[noticed]


# Names

PREFIX = {"outbox": "channel_outbox"}
"""The outbox goes by the execution contract's name for it, so that its constraints are the contract's."""
OF_THE_CONTRACT = {
    *("channel_outbox_status_check", "channel_outbox_skipped_status_check", "idx_channel_outbox_run_id"),
}
CONSTRAINTS = """
    select conrelid::regclass::text as table, conname as name, contype::text as kind,
           array(select attname::text from pg_attribute where attrelid = conrelid and attnum = any(conkey)) as columns
      from pg_constraint where connamespace = 'tidings'::regnamespace and contype <> 'n'
"""
INDEXES = """
    select t.relname as table, c.relname as name, i.indisunique as is_unique, pg_get_indexdef(c.oid) as definition
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
     where t.relnamespace = 'tidings'::regnamespace and t.relkind = 'r'
       and not exists (select 1 from pg_constraint where conindid = i.indexrelid and contype in ('p', 'u', 'x'))
"""
ENDS = {"p": "pkey", "u": "key", "f": "fkey", "c": "check"}


async def irregular_names(sql: Sql) -> set[str]:
    """The constraints and indexes that are not named as the head of schema.sql says."""
    constraints = {row["name"] for row in await sql.fetch(CONSTRAINTS) if not is_regular_constraint(row["name"], row)}
    return constraints | {row["name"] for row in await sql.fetch(INDEXES) if not is_regular_index(row["name"], row)}


def is_regular_constraint(name: str, row: asyncpg.Record) -> bool:
    prefix, end = PREFIX.get(row["table"], row["table"]), ENDS[row["kind"]]
    if end == "pkey":
        return name == f"{prefix}_pkey"
    if end in {"check", "fkey"} and len(row["columns"]) == 1:
        return name == f"{prefix}_{row['columns'][0]}_{end}"
    return re.fullmatch(rf"{prefix}_\w+_{end}", name) is not None


def is_regular_index(name: str, row: asyncpg.Record) -> bool:
    prefix, definition = PREFIX.get(row["table"], row["table"]), row["definition"].partition(" USING ")[2]
    shape = rf"{prefix}_(\w+)_key" if row["is_unique"] else rf"idx_{prefix}_(\w+)"
    named = re.fullmatch(shape, name)
    return named is not None and (named[1] == "listed" or re.search(rf"\b{named[1]}(_key)?\b", definition) is not None)


async def test_every_constraint_and_index_has_a_regular_name(sql: Sql) -> None:
    names = {row["name"] for query in (CONSTRAINTS, INDEXES) for row in await sql.fetch(query)}

    assert await irregular_names(sql) == set()
    assert names >= OF_THE_CONTRACT


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("alter table jobs add check (attempts >= 0), add constraint bad check (sent >= 0)", "bad"),
        ("alter table jobs add constraint jobs_some_check check (sent >= 0)", "jobs_some_check"),
        ("alter table jobs rename constraint jobs_pkey to jobs_key", "jobs_key"),
        ("alter table sequences rename constraint sequences_id_fkey to sequences_fkey", "sequences_fkey"),
        ("alter table outbox add constraint outbox_error_check check (error <> '')", "outbox_error_check"),
        ("create index on jobs (shard, event_id)", "jobs_shard_event_id_idx"),
        ("create index idx_jobs_speed on jobs (shard, event_id)", "idx_jobs_speed"),
        ("create unique index idx_jobs_event_id on jobs (shard, event_id)", "idx_jobs_event_id"),
    ],
)
async def test_an_irregular_name_is_noticed(sql: Sql, change: str, name: str) -> None:
    await sql.execute(change)

    assert await irregular_names(sql) == {name}


CONSTRAINT = r"(?:primary key|unique|check|references|foreign key)\b"


def nameless_constraints(text: str) -> list[str]:
    """The lines with a constraint for which PostgreSQL would have to make up a name."""
    code = re.sub(r"--[^\n]*", "", text)
    tables = "\n".join(re.findall(r"(?:create|alter) table.*?;", code, re.DOTALL))
    nameless = re.sub(rf"constraint \w+\s+{CONSTRAINT}", "", tables)
    return re.findall(rf".*\b{CONSTRAINT}.*", nameless)


def test_every_constraint_is_named_where_it_is_written() -> None:
    texts = [*(one.text for one in migrations()), load("migrate")["create_migrations"].text]

    assert [line for text in texts for line in nameless_constraints(text)] == []


def test_a_constraint_without_a_name_is_noticed() -> None:
    text = "create table a (id uuid primary key, b text constraint a_b_check check (b <> ''));"
    text += "\nalter table a\n    add unique (b);"

    assert len(nameless_constraints(text)) == 2


KEYS = """
    select c.conrelid::regclass::text as table, c.conname as name, c.conkey[1] as first
      from pg_constraint c
     where c.connamespace = 'tidings'::regnamespace and c.contype in ('p', 'u')
    union
    select i.indrelid::regclass::text, i.indexrelid::regclass::text, i.indkey[0]
      from pg_index i join pg_class t on t.oid = i.indrelid
     where t.relnamespace = 'tidings'::regnamespace and t.relkind = 'r'
"""


async def keys_without_shard(sql: Sql) -> set[str]:
    """The keys and indexes of sharded tables that begin with another column."""
    columns = {
        (row["table"], row["attnum"]): row["attname"]
        for row in await sql.fetch("select attrelid::regclass::text as table, attnum, attname from pg_attribute")
    }
    rows = [row for row in await sql.fetch(KEYS) if row["table"] in SHARDED]
    assert {row["table"] for row in rows} == SHARDED
    return {row["name"] for row in rows if columns[row["table"], row["first"]] != "shard"}


async def test_every_key_and_index_of_a_hot_table_begins_with_its_shard(sql: Sql) -> None:
    assert await keys_without_shard(sql) == set()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("alter table jobs add constraint bad unique (run_id, shard)", "bad"),
        ("create unique index bad on outbox (idempotency_key)", "bad"),
        ("create index bad on queue (due_at)", "bad"),
    ],
)
async def test_a_key_that_begins_otherwise_is_noticed(sql: Sql, change: str, name: str) -> None:
    await sql.execute(change)

    assert await keys_without_shard(sql) == {name}


async def test_a_check_ties_every_id_to_its_shard(sql: Sql) -> None:
    """Of the hot tables with an id of their own; the others hang on such a row."""
    rows = await sql.fetch(
        "select conrelid::regclass::text as table from pg_constraint"
        " where contype = 'c' and pg_get_constraintdef(oid) = 'CHECK ((shard = shard_of(id)))'"
    )

    assert {row["table"] for row in rows} == HOT - {
        "run_parts",
        "audience",
        "attempts",
        "execution_log",
        "contact_tags",
        "suppressed_addresses",
        "event_contacts",
    }


async def test_a_row_cannot_hide_in_another_shard(sql: Sql) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await sql.execute(
            "insert into queue (shard, id, kind, lane, due_at, workspace_hash)"
            " values (2, '019526e7-7a00-7001-8000-000000000001', 'job', 0, '2026-01-01', 1)"
        )


def test_no_migration_makes_a_trigger_or_reads_a_clock() -> None:
    words = ("create trigger", "create or replace trigger", "create rule", "now()", "current_timestamp")
    found = [(one.name, word) for one in migrations() for word in words if word in one.text.lower()]

    assert found == []


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    numbers = [migration.number for migration in migrations()]

    assert numbers == list(range(1, len(numbers) + 1))


def test_from_the_first_release_on_the_first_migration_is_a_file_that_never_changes() -> None:
    """Until then it is schema.sql itself; see migrations/README.md."""
    is_frozen = files("tidings.storage").joinpath("migrations", INITIAL).is_file()

    assert is_frozen or "dev" in tidings.__version__, f"copy schema.sql to migrations/{INITIAL}"
