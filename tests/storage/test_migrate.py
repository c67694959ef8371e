"""Migrations: once, in one piece, and never on a database that must not be used."""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import asyncpg
import pytest

from tests.databases import with_database
from tidings.domain.errors import ConfigInvalid, SchemaMismatch, StorageUnavailable, StorageUnsafe
from tidings.domain.flow.ids import Bucket, make_id
from tidings.storage import migrate as module
from tidings.storage.database import Database
from tidings.storage.migrate import (
    Migration,
    migrate,
    migrations,
    read_shard_count,
    require_current,
    require_safe,
    reset,
    schema_state,
)

NAMES = [migration.name for migration in migrations()]
PROCESS = """
import asyncio, sys
from tidings.storage.database import Database
from tidings.storage.migrate import migrate

async def main():
    db = await Database.open(sys.argv[1])
    print(*await migrate(db))
    await db.close()

asyncio.run(main())
"""


async def test_a_new_database_gets_every_migration_once(empty: Database) -> None:
    assert await migrate(empty) == NAMES
    assert await migrate(empty) == []
    state = await schema_state(empty)
    assert (list(state.applied), state.pending) == (NAMES, ())
    await require_current(empty)


async def test_tasks_that_migrate_at_once_apply_everything_once(empty_dsn: str) -> None:
    databases = [await Database.open(empty_dsn, connections=1) for _ in range(6)]

    results = await asyncio.gather(*map(migrate, databases))

    assert sorted(results, key=len) == [[]] * 5 + [NAMES]
    for db in databases:
        await db.close()


async def test_processes_that_migrate_at_once_apply_everything_once(empty_dsn: str) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROCESS, empty_dsn, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(3)
    ]

    outputs = [await process.communicate() for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    assert sorted(output.decode().split() for output, _ in outputs) == [[], [], NAMES]


async def test_a_migration_that_fails_leaves_nothing_behind(empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration(
        len(NAMES) + 1, "9999_broken", "create table half (id integer); create table oops (id nonsense);"
    )
    monkeypatch.setattr(module, "migrations", lambda: [*migrations(), broken])

    with pytest.raises(asyncpg.UndefinedObjectError):
        await migrate(empty)

    assert (await schema_state(empty)).applied == ()


async def test_only_what_is_missing_is_applied(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    added = Migration(len(NAMES) + 1, "9999_added", "create table added (id integer)")
    monkeypatch.setattr(module, "migrations", lambda: [*migrations(), added])

    with pytest.raises(SchemaMismatch, match=r"lacks 9999_added; run 'tidings db migrate'"):
        await require_current(db)
    assert await migrate(db) == ["9999_added"]
    await require_current(db)


async def test_a_database_that_nobody_migrated_is_refused_and_left_alone(empty: Database) -> None:
    with pytest.raises(SchemaMismatch, match="no tables of Tidings yet; run 'tidings db migrate'"):
        await require_current(empty)

    assert (await schema_state(empty)).applied == ()


async def test_a_current_database_is_left_alone_even_while_somebody_holds_the_lock(
    db: Database, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await sql.execute("begin; select pg_advisory_xact_lock(7263641129)")

    async with asyncio.timeout(20):
        assert await migrate(db) == []

    await sql.execute("rollback")


async def test_a_database_newer_than_the_code_is_refused(
    db: Database, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await sql.execute("insert into migrations values (9999, '9999_future', '\\x00', '2026-01-01')")

    for refused in (require_current, migrate, schema_state):
        with pytest.raises(SchemaMismatch, match=r"9999_future.*install a newer Tidings"):
            await refused(db)


async def test_a_migration_that_was_changed_is_refused(db: Database, sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    await sql.execute("update migrations set checksum = '\\x00' where number = 1")

    for refused in (require_current, migrate):
        with pytest.raises(SchemaMismatch, match=f"{NAMES[0]} in the database differs"):
            await refused(db)


async def test_the_number_of_shards_is_chosen_once(empty: Database) -> None:
    await migrate(empty, shards=16)
    await migrate(empty, shards=4)

    assert await read_shard_count(empty) == 16


@pytest.mark.parametrize("shards", [0, -4, 3, 6, 8192])
async def test_a_number_of_shards_that_buckets_cannot_fill_is_refused(empty: Database, shards: int) -> None:
    with pytest.raises(ConfigInvalid, match="power of two"):
        await migrate(empty, shards=shards)


async def test_reset_removes_everything_and_migrating_again_starts_anew(db: Database) -> None:
    await reset(db)

    assert (await schema_state(db)).applied == ()
    assert await migrate(db) == NAMES


# A schema of our name that is not ours

FOREIGN = [
    ("create table tidings.letters (id integer)", "table .*letters"),
    ("create table tidings.migrations (id integer primary key)", "table .*migrations"),
    ("create function tidings.shard_count() returns integer language sql return 4", r"function .*shard_count\(\)"),
    ("create type tidings.mood as enum ('glad')", "type .*mood"),
    ("create view tidings.letters as select 1 as id", "view .*letters"),
    ("create sequence tidings.counter", "sequence .*counter"),
]
CONTENTS = """
select pg_describe_object(classid, objid, 0)
  from pg_depend where refclassid = 'pg_namespace'::regclass and refobjid = to_regnamespace('tidings') order by 1
"""


@pytest.mark.parametrize(("made", "named"), FOREIGN, ids=[made.split()[1] + "_" + made[-9:] for made, _ in FOREIGN])
async def test_a_schema_of_somebody_else_is_refused_and_left_alone(
    empty: Database, empty_dsn: str, made: str, named: str
) -> None:
    sql = await asyncpg.connect(empty_dsn)
    await sql.execute(f"create schema tidings; {made}")
    before = await sql.fetch(CONTENTS)

    for refused in (migrate, schema_state, require_current, reset):
        with pytest.raises(SchemaMismatch, match=f"a schema tidings that Tidings did not make: it holds {named}; use "):
            await refused(empty)

    assert before == await sql.fetch(CONTENTS) != []
    await sql.close()


async def test_an_empty_schema_that_was_made_for_us_is_used(empty: Database, empty_dsn: str) -> None:
    sql = await asyncpg.connect(empty_dsn)
    await sql.execute("create schema tidings")
    await sql.close()

    assert (await schema_state(empty)).applied == ()
    assert await migrate(empty) == NAMES


# Servers that must not be used


async def test_a_server_that_may_forget_is_refused_unless_allowed(db: Database) -> None:
    """The tests' own server runs without fsync."""
    with pytest.raises(StorageUnsafe, match=r"fsync=off.*TIDINGS_ALLOW_UNSAFE_STORAGE") as refused:
        await require_safe(db)
    assert "synchronous_commit" not in str(refused.value)

    await require_safe(db, allow_unsafe=True)


async def test_a_database_that_does_not_wait_for_its_log_is_refused_unless_allowed(
    dsn: str, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await sql.execute(f"alter database {urlsplit(dsn).path[1:]} set synchronous_commit = off")
    db = await Database.open(dsn)

    with pytest.raises(StorageUnsafe, match="fsync=off and synchronous_commit=off"):
        await require_safe(db)
    await require_safe(db, allow_unsafe=True)
    await db.close()


# Addresses that lead nowhere


def one_line_without(error: BaseException, secret: str) -> str:
    message = str(error)
    assert secret not in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "dsn",
    [
        "nonsense",
        "",
        "mysql://user:s3cret@host/db",
        "postgres//user:s3cret@host/db",
        "user:s3cret@host/db",
        "postgresql://user:s3cret@host:port/db",
        "postgresql://user:s3cret@host:99999/db",
        "postgresql://user:s3/cret:s3cret@host:x/db",
        "postgresql://user:a@s3cret@host:x/db",
        "postgresql://host:x/db?password=s3cret",
        "host=localhost user=me password=s3cret",
        "host=localhost password='my s3cret'",
        "http://[s3cret",
    ],
)
async def test_what_is_no_address_is_refused_in_one_line_without_its_password(dsn: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        await Database.open(dsn)

    message = one_line_without(refused.value, "s3cret" if "[" not in dsn else "nothing to hide")
    assert "DATABASE_URL" in message
    assert "postgresql://user:password@host:5432/database" in message


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://user:s3cret@127.0.0.1:1/db",
        "postgresql://user:s3cret@no-such-host.invalid/db",
        "postgresql:///db?host=/no/such/socket&user=user&password=s3cret",
        "postgresql://user:s3cret@127.0.0.1:1/db?sslmode=nonsense",
    ],
)
async def test_a_server_that_cannot_be_reached_is_named_in_one_line_without_its_password(dsn: str) -> None:
    with pytest.raises(StorageUnavailable) as refused:
        await Database.open(dsn)

    assert "cannot connect to postgresql://" in one_line_without(refused.value, "s3cret")


async def test_a_wrong_password_is_not_repeated(server: str) -> None:
    parts = urlsplit(server)
    dsn = urlunsplit(parts._replace(netloc=f"{parts.username}:s3cret@{parts.hostname}:{parts.port}"))

    with pytest.raises(StorageUnavailable) as refused:
        await Database.open(dsn)

    assert "password authentication failed" in one_line_without(refused.value, "s3cret")


async def test_a_database_that_is_not_there_is_named(server: str) -> None:
    with pytest.raises(StorageUnavailable) as refused:
        await Database.open(with_database(server, "nowhere"))

    assert 'database "nowhere" does not exist' in one_line_without(refused.value, str(urlsplit(server).password))


@pytest.mark.parametrize(
    ("entry", "wait"),
    [
        ({"id": "a", "type": "email"}, None),
        (
            {"id": "a", "type": "delay", "duration": "P1W2DT3H4M5.5S"},
            timedelta(days=9, hours=3, minutes=4, seconds=5.5),
        ),
        ({"id": "a", "type": "delay", "duration": "P1.5D"}, timedelta(days=1.5)),
        ({"id": "a", "type": "delay", "delayMs": 1500}, timedelta(seconds=1.5)),
        ({"id": "a", "type": "delay", "delay_ms": 0.5}, timedelta(microseconds=500)),
    ],
)
async def test_versions_frozen_before_the_third_migration_can_be_started_after_it(
    empty: Database, empty_dsn: str, monkeypatch: pytest.MonkeyPatch, entry: dict[str, object], wait: timedelta | None
) -> None:
    monkeypatch.setattr(module, "migrations", lambda: migrations()[:2])
    await migrate(empty)
    monkeypatch.undo()
    connection = await asyncpg.connect(empty_dsn, server_settings={"search_path": "tidings"})
    definition = {"entryNodeId": "a", "nodes": [{"id": "b", "type": "delay", "delayMs": 1}, entry]}
    id, at = UUID(int=7 << 76), datetime(2026, 1, 1, tzinfo=UTC)
    await connection.execute("insert into workflows values ($1, 't', 'w', 'n', true, $2, $2)", id, at)
    await connection.execute("insert into workflow_versions values ($1, $1, 1, $2, $3)", id, json.dumps(definition), at)

    await migrate(empty)

    found = await connection.fetchrow("select form, entry, entry_wait, total_steps, lane from workflow_versions")
    assert found is not None
    assert tuple(found) == ("graph", "a", wait, 2, 0)
    await connection.close()


async def test_versions_frozen_before_routes_know_their_channels_and_count_steps_and_tags_lose_their_case(
    empty: Database, empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "migrations", lambda: [one for one in migrations() if one.number < 17])
    await migrate(empty)
    monkeypatch.undo()
    sql = await asyncpg.connect(empty_dsn, server_settings={"search_path": "tidings"})
    kinds = ["sms", "delay", "email", "branch", "function", "sms"]
    definitions = {
        "graph": {"nodes": [{"id": str(place), "type": kind} for place, kind in enumerate(kinds)]},
        "steps": {"steps": [{"name": "a", "function": "f"}]},
        "sequence": {"sequence": {}, "steps": [{"channel": "whatsapp"}, {"channel": "email"}]},
    }
    for number, (form, definition) in enumerate(definitions.items(), start=1):
        await sql.execute(
            "with w as (insert into workflows (id, tenant_id, workspace_id, name, active, created_at, updated_at)"
            " values ($1, 't', 'w', $2, true, now(), now()))"
            " insert into workflow_versions (id, workflow_id, number, definition, created_at, form, entry, total_steps)"
            " values ($1, $1, 1, $3, now(), $2, 'a', 4)",
            *(UUID(int=number), form, json.dumps(definition)),
        )
    tags = ["VIP", "vip", "Trial"]
    await sql.execute(
        "insert into contact_tags select 0, 't', 'w', tag, $1 from unnest($2::text[]) tag", UUID(int=1), tags
    )

    await migrate(empty)

    assert [row["tag"] for row in await sql.fetch("select tag from contact_tags order by tag")] == ["trial", "vip"]
    found = await sql.fetch("select form, channels, total_steps from workflow_versions")
    assert {row["form"]: row["total_steps"] for row in found} == {"graph": 4, "steps": 4, "sequence": 2}
    assert {row["form"]: row["channels"] for row in found} == {
        "graph": ["email", "sms"],
        "steps": [],
        "sequence": ["email", "whatsapp"],
    }
    await sql.close()


async def test_whoever_could_start_work_from_sql_still_can_when_the_function_gets_a_contact(
    empty: Database, empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "migrations", lambda: [one for one in migrations() if one.number < 8])
    await migrate(empty)
    sql = await asyncpg.connect(empty_dsn)
    await sql.execute("grant execute on function tidings.trigger to tidings_reader")
    monkeypatch.undo()

    await migrate(empty)

    mays = "select has_function_privilege($1, p.oid, 'execute') from pg_proc p where p.proname = 'trigger'"
    assert [row[0] for row in await sql.fetch(mays, "tidings_reader")] == [True]
    assert [row[0] for row in await sql.fetch(mays, "pg_monitor")] == [False]
    await sql.close()


async def test_a_correlation_id_from_before_stands_for_the_first_that_used_it_and_makers_are_taken_from_history(
    empty: Database, empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "migrations", lambda: [one for one in migrations() if one.number < 23])
    await migrate(empty)
    monkeypatch.undo()
    sql = await asyncpg.connect(empty_dsn, server_settings={"search_path": "tidings"})
    at = datetime(2026, 1, 1, tzinfo=UTC)
    older, newer, from_api = (make_id(Bucket(0), at + timedelta(hours=hour), 0) for hour in range(3))
    for workflow, id, by in ((1, newer, "frontend"), (2, older, "frontend"), (3, from_api, "api")):
        await sql.execute(
            """
            insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key,
                                    status, frontier, input, triggered_by, created_at)
            values (0, $1, 't', 'w', $2, $2, 'c-1', 'enqueued', '{}', '{}', $3, $4)
            """,
            *(id, UUID(int=workflow), by, at),
        )
    for name, id in (("known", older), ("unknown", newer)):
        await sql.execute(
            """
            insert into workflows (id, tenant_id, workspace_id, name, created_at, updated_at)
            values ($1, 't', 'w', $2, $3, $3)
            """,
            *(id, name, at),
        )
    await sql.execute(
        """
        insert into audit_log (shard, id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, at)
        values (0, $1, 't', 'w', 'workflow', $1, 'created', 'ann', $2)
        """,
        *(older, at),
    )

    await migrate(empty)

    assert await sql.fetchval("select id from executions where correlated") == older
    makers = await sql.fetch("select name, created_by from workflows order by name")
    assert [tuple(one) for one in makers] == [("known", "ann"), ("unknown", None)]
    await sql.close()
