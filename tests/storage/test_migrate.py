"""Migrations: once, in one piece, and never on a database that must not be used."""

import asyncio
import sys
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from tests.databases import BEFORE_THE_FIRST_RELEASE, with_database
from tidings.domain.errors import ConfigInvalid, SchemaMismatch, StorageUnavailable, StorageUnsafe
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


@pytest.fixture
async def db(owner_dsn: str) -> AsyncIterator[Database]:
    """As the owner of the tables, who may change them."""
    db = await Database.open(owner_dsn)
    yield db
    await db.close()


def with_another(monkeypatch: pytest.MonkeyPatch, *others: Migration) -> None:
    """Be a Tidings that has these migrations, too."""
    known = migrations()
    monkeypatch.setattr(module, "migrations", lambda: [*known, *others])


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
    with_another(monkeypatch, broken)

    with pytest.raises(asyncpg.UndefinedObjectError):
        await migrate(empty)

    assert (await schema_state(empty)).applied == ()


async def test_only_what_is_missing_is_applied(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    added = Migration(len(NAMES) + 1, "9999_added", "create table added (id integer)")
    with_another(monkeypatch, added)

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


async def test_a_migration_that_was_changed_is_refused(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with_another(monkeypatch, Migration(len(NAMES) + 1, "9999_added", "create table added (id integer)"))
    await migrate(db)
    with_another(monkeypatch, Migration(len(NAMES) + 1, "9999_added", "create table added (id bigint)"))

    for refused in (require_current, migrate, schema_state):
        with pytest.raises(SchemaMismatch, match="9999_added in the database differs"):
            await refused(db)


async def test_migrations_apply_in_the_order_of_their_numbers_and_a_gap_is_filled(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever works on two branches has the later one first."""
    later = Migration(len(NAMES) + 2, "9999_later", "create table later (id integer)")
    sooner = Migration(len(NAMES) + 1, "9998_sooner", "create table sooner (id integer)")
    with_another(monkeypatch, later)
    await migrate(db)
    with_another(monkeypatch, sooner, later)

    with pytest.raises(SchemaMismatch, match="lacks 9998_sooner; run 'tidings db migrate'"):
        await require_current(db)
    assert await migrate(db) == ["9998_sooner"]


# Databases from before the first release


@pytest.mark.parametrize("latest", [1, 2, 16, 24])
async def test_a_database_from_before_the_first_release_is_told_the_remedy_and_left_alone(
    empty: Database, empty_dsn: str, latest: int
) -> None:
    sql = await asyncpg.connect(empty_dsn)
    await sql.execute(BEFORE_THE_FIRST_RELEASE)
    await sql.execute(
        "insert into tidings.migrations select n, n::text, '\\x00', '2026-01-01' from generate_series(2, $1::int) n",
        latest,
    )
    before = await sql.fetch(CONTENTS)

    for refused in (migrate, schema_state, require_current):
        with pytest.raises(SchemaMismatch) as told:
            await refused(empty)
        assert "before 0.1.0" in one_line_without(told.value, "\n")
        assert "use a new database, or remove everything in this one with 'tidings db reset'" in str(told.value)

    assert await sql.fetch(CONTENTS) == before
    assert await sql.fetchval("select count(*) from tidings.migrations") == latest
    assert await sql.fetchval("select name from tidings.workflows") == "kept"
    await sql.close()


async def test_a_database_made_by_an_earlier_first_migration_is_told_the_same(
    db: Database, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Until 0.1.0 the first migration may be rewritten."""
    await sql.execute("update migrations set checksum = '\\x00' where number = 1")

    for refused in (migrate, schema_state, require_current):
        with pytest.raises(SchemaMismatch, match=r"before 0\.1\.0"):
            await refused(db)


async def test_reset_makes_such_a_database_new(empty: Database, empty_dsn: str) -> None:
    sql = await asyncpg.connect(empty_dsn)
    await sql.execute(BEFORE_THE_FIRST_RELEASE)
    await sql.close()

    await reset(empty)

    assert await migrate(empty) == NAMES


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
