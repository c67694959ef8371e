"""The tables: the same by migrations and by schema.sql, and every key of a hot table begins with its shard."""

import secrets
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import TypeAlias

import asyncpg
import pytest

from tests.architecture.sql_text import HOT, SHARDED
from tests.databases import with_database
from tidings.storage.migrate import migrations
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
    await admin.execute(f"create database {name}")
    connection = await asyncpg.connect(
        with_database(server, name), server_settings={"search_path": "tidings, public", "timezone": "UTC"}
    )
    steps = load("migrate")
    async with connection.transaction():
        await connection.execute(steps["create_schema"].text)
        await connection.execute(steps["create_migrations"].text)
        await connection.fetch(steps["set_shard_count"].text, "4")
        await connection.execute(steps["create_shard_count"].text)
        await connection.execute(SCHEMA)
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
        ("drop index queue_due; create index queue_due on queue (shard, due_at, lane)", "indexes"),
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
            "insert into queue (shard, id, kind, lane, due_at)"
            " values (2, '019526e7-7a00-7001-8000-000000000001', 'job', 0, '2026-01-01')"
        )


def test_no_migration_makes_a_trigger_or_reads_a_clock() -> None:
    words = ("create trigger", "create or replace trigger", "create rule", "now()", "current_timestamp")
    found = [(one.name, word) for one in migrations() for word in words if word in one.text.lower()]

    assert found == []


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    numbers = [migration.number for migration in migrations()]

    assert numbers == list(range(1, len(numbers) + 1))
