import os
import secrets
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.cli.conftest import Command
from tests.databases import BEFORE_THE_FIRST_RELEASE, IS_FORCED, OWNER_URL, with_database
from tidings import embedded
from tidings.engine import Engine
from tidings.storage.migrate import migrations

NAMES = [migration.name for migration in migrations()]
EMPTY_WORKFLOW = {"entryNodeId": "a", "nodes": [{"id": "a", "type": "delay", "delayMs": 0}], "edges": []}


@pytest.fixture
async def empty(server: str) -> AsyncIterator[str]:
    """The address of a database without any table."""
    name = f"e_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"create database {name} owner {embedded.OWNER}")
    yield with_database(os.environ[OWNER_URL], name)
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()


async def count(sql: "asyncpg.Connection[asyncpg.Record]", table: str) -> int:
    found: int = await sql.fetchval(f"select count(*) from {table}")
    return found


def test_an_empty_database_is_migrated_once(tidings: Command, empty: str) -> None:
    before = tidings("db", "status", DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty)
    first = tidings("db", "migrate", "--json", DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty)
    again = tidings("db", "migrate", DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty)
    after = tidings("db", "status", "--json", DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty)

    assert before.status == 1
    assert "applied  –" in before.out
    assert first.json == {"applied": NAMES}
    assert again.out == "the tables are up to date\n"
    assert after.status == 0
    assert (after.json["applied"], after.json["pending"]) == (NAMES, [])


def test_a_command_that_reads_refuses_a_database_without_tables(tidings: Command, empty: str) -> None:
    complaint = tidings("verify", DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty).complaint

    assert "no tables of Tidings yet" in complaint
    assert "run 'tidings db migrate'" in complaint


def test_status_never_shows_the_password(tidings: Command) -> None:
    password = tidings.settings["DATABASE_URL"].split(":")[2].split("@")[0]

    shown = tidings("db", "status")

    assert "postgresql://tidings_app@127.0.0.1" in shown.out
    assert password not in shown.out + shown.err


def test_status_says_which_roles_there_are_and_whether_row_security_is_forced(tidings: Command, owner_dsn: str) -> None:
    app, owner = tidings("db", "status"), tidings("db", "status", DATABASE_URL=owner_dsn)

    assert "role     tidings_app: works with rows, and changes no table of tidings's\n" in app.out
    assert "role     tidings: owns the tables\n" in owner.out
    assert "roles    tidings_app yes, tidings_reader yes\n" in app.out
    assert f"rows     row security is {'forced' if IS_FORCED else 'off'}\n" in app.out
    assert tidings("db", "status", "--json").json["rights"]["isSuperuser"] is False


def test_row_security_is_forced_and_lifted_by_a_command(tidings: Command) -> None:
    forced, shown = tidings("db", "row-security", "force"), tidings("db", "status").out
    working = tidings("workflows", "list")
    lifted, shown_after = tidings("db", "row-security", "off", "--json"), tidings("db", "status").out

    assert (forced.out, "row security is forced" in shown) == ("force\n", True)
    assert working.status == 0, working.err
    assert (lifted.json, "row security is off" in shown_after) == ({"rowSecurity": "off"}, True)


def test_the_app_s_role_cannot_change_tables_and_says_who_can(tidings: Command, dsn: str) -> None:
    refused = tidings("db", "row-security", "force", TIDINGS_OWNER_DATABASE_URL=dsn)

    assert "use the owner's" in refused.complaint


def test_url_gives_the_whole_address_for_psql(tidings: Command, dsn: str) -> None:
    assert tidings("db", "url").out == f"{dsn}\n"
    assert tidings("db", "url", "--json").json == {"url": dsn}


@pytest.mark.parametrize("answer", ["n\n", ""])
async def test_reset_asks_and_does_nothing_without_a_yes(
    tidings: Command, engine: Engine, sql: "asyncpg.Connection[asyncpg.Record]", answer: str
) -> None:
    await engine.define("kept", EMPTY_WORKFLOW)

    ended = tidings("db", "reset", typed=answer)

    assert ended.status == 1
    assert "Remove every workflow, run and message record in postgresql://tidings_app@127.0.0.1" in ended.err
    assert await count(sql, "workflows") == 1


@pytest.mark.parametrize(("arguments", "answer"), [(["--yes"], ""), (["--json"], "y\n")])
async def test_reset_makes_the_tables_anew(
    tidings: Command,
    engine: Engine,
    sql: "asyncpg.Connection[asyncpg.Record]",
    arguments: list[str],
    answer: str,
) -> None:
    await engine.define("gone", EMPTY_WORKFLOW)

    ended = tidings("db", "reset", *arguments, typed=answer)

    assert ended.status == 0
    assert ended.out == "the tables are new and empty\n" or ended.json == {"reset": True}
    assert await count(sql, "workflows") == 0
    assert await count(sql, "migrations") == len(NAMES)


async def test_a_schema_of_somebody_else_is_one_line_and_left_alone(tidings: Command, empty: str) -> None:
    sql = await asyncpg.connect(empty)
    await sql.execute(
        "create schema tidings; create table tidings.migrations (id integer); insert into tidings.migrations values (1)"
    )
    starts = [["db", "migrate"], ["db", "status"], ["db", "reset", "--yes"], ["worker"], ["serve"], ["up"], ["verify"]]

    for arguments in starts:
        complaint = tidings(*arguments, DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty).complaint
        assert "the database has a schema tidings that Tidings did not make" in complaint
        assert "use another database, or rename that schema" in complaint

    assert await sql.fetchval("select sum(id) from tidings.migrations") == 1
    assert await sql.fetchval("select count(*) from pg_class where relnamespace = 'tidings'::regnamespace") == 1
    await sql.close()


async def test_a_database_from_before_the_first_release_is_one_line_with_the_remedy_and_left_alone(
    tidings: Command, empty: str
) -> None:
    sql = await asyncpg.connect(empty)
    await sql.execute(BEFORE_THE_FIRST_RELEASE)

    for arguments in (["db", "migrate"], ["db", "status"], ["worker"], ["serve"], ["up"], ["verify"], ["keys", "list"]):
        complaint = tidings(*arguments, DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty).complaint
        assert "the database was made by a Tidings before 0.1.0" in complaint
        assert "or remove everything in this one with 'tidings db reset'" in complaint

    assert await count(sql, "tidings.migrations") == 1
    assert await sql.fetchval("select name from tidings.workflows") == "kept"
    assert tidings("db", "reset", "--yes", DATABASE_URL=empty, TIDINGS_OWNER_DATABASE_URL=empty).status == 0
    assert await count(sql, "tidings.migrations") == len(NAMES)
    await sql.close()


async def test_a_database_newer_than_the_code_is_left_alone(
    tidings: Command, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await sql.execute(
        "insert into migrations (number, name, checksum, applied_at) values (9999, '9999_tomorrow', '\\x00', now())"
    )

    for arguments in (["db", "migrate"], ["db", "status"], ["verify"], ["worker"], ["outbox", "in-doubt"]):
        complaint = tidings(*arguments).complaint
        assert "9999_tomorrow" in complaint
        assert "install a newer Tidings" in complaint
    assert await count(sql, "migrations") == len(NAMES) + 1
