"""The second line: whoever reads with SQL sees one workspace, whatever they ask for."""

from typing import TypeAlias
from uuid import uuid4

import asyncpg
import pytest

from tests.conftest import ManualClock
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.roles import Role
from tidings.engine import Deployment, Engine, Recipient
from tidings.wiring import open_engine

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
WELCOME = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}
HOMES = [Workspace("acme", "main"), Workspace("acme", "second"), Workspace("rival", "main")]
TABLES = ["workflows", "workflow_versions", "executions", "outbox", "runs", "jobs", "audit_log", "contacts"]
TABLES += ["contact_tags", "sequences", "sequence_steps"]
FORBIDDEN = [
    *("select * from api_keys", "select * from queue", "select * from audience", "select * from run_parts"),
    *("delete from outbox", "update executions set vars = '{}'", "insert into shards values (9)"),
]
VIEWS = ["campaign_runs", "job_queue", "channel_outbox", "campaign_audit_log"]


@pytest.fixture
async def busy(engine: Engine, clock: ManualClock) -> Engine:
    """The same in three workspaces: an execution, a run, and what somebody did."""
    for home in HOMES:
        await engine.define("welcome", WELCOME, home)
        await engine.trigger("welcome", {"email": "ada@example.com"}, "k", home)
        run = await engine.deploy(
            Deployment(
                campaign_id=uuid4(),
                idempotency_key="d",
                channel=Channel.EMAIL,
                content={"subject": "Hi", "body": "There"},
                recipients=[Recipient("ada@example.com", {})],
            ),
            home,
        )
        await engine.contacts.create(Caller(home, "ann"), {"externalId": "ada", "tags": ["vip"]})
        step = {"dayOffset": 0, "channel": "email", "content": "Hi"}
        await engine.sequences.create(Caller(home, "ann"), "drip", steps=[step])
        await engine.runs.pause(Caller(home, "ann"), run.id)
        await engine.runs.resume(Caller(home, "ann"), run.id)
    await engine.work_everything()
    return engine


async def become_reader(sql: Sql, workspace: Workspace | None) -> None:
    await sql.execute("set role tidings_reader")
    if workspace:
        await sql.execute(f"set tidings.tenant = '{workspace.tenant}'")
        await sql.execute(f"set tidings.workspace = '{workspace.name}'")


async def is_refused(sql: Sql, statement: str) -> bool:
    try:
        await sql.execute(statement)
    except asyncpg.InsufficientPrivilegeError:
        return True
    return False


async def test_a_reader_sees_only_the_rows_of_the_workspace_that_is_set(busy: Engine, sql: Sql) -> None:
    views = VIEWS if sql.get_server_version().major >= 15 else []
    every = {name: await sql.fetchval(f"select count(*) from {name}") for name in [*TABLES, *views]}
    for home in HOMES:
        await become_reader(sql, home)

        for name in [*TABLES, *views]:
            assert 0 < await sql.fetchval(f"select count(*) from {name}") == every[name] / len(HOMES), (home, name)
            whose = await sql.fetch(f"select distinct tenant_id, workspace_id from {name}")
            assert [tuple(row) for row in whose] == [(home.tenant, home.name)], name


async def test_a_reader_without_a_workspace_sees_nothing(busy: Engine, sql: Sql) -> None:
    await become_reader(sql, None)

    seen = {name: await sql.fetchval(f"select count(*) from {name}") for name in [*TABLES, "execution_log", "attempts"]}
    assert {name: count for name, count in seen.items() if count} == {}


async def test_a_reader_can_neither_write_nor_see_keys(busy: Engine, sql: Sql) -> None:
    await become_reader(sql, HOMES[0])

    assert [statement for statement in FORBIDDEN if await is_refused(sql, statement)] == FORBIDDEN


async def test_every_table_is_under_row_level_security_or_holds_nothing_of_a_tenant(sql: Sql) -> None:
    rows = await sql.fetch(
        "select relname from pg_class"
        " where relnamespace = 'tidings'::regnamespace and relkind = 'r' and not relrowsecurity"
    )

    shared = {"provider_pauses", "limited_providers", "provider_shares", "connection_changes", "connection_use"}
    assert {row["relname"] for row in rows} <= {"shards", "migrations", *shared}


async def test_an_engine_whose_role_is_not_the_owner_does_not_start_blind(dsn: str, sql: Sql) -> None:
    name = f"guest_{uuid4().hex[:8]}"
    await sql.execute(f"create role {name} login password 'x' in role tidings_reader")
    await sql.execute(f"grant select on all tables in schema tidings to {name}")
    host = dsn.replace("postgresql://", "").split("@")[-1]
    try:
        with pytest.raises(StorageUnavailable, match="does not own"):
            await open_engine(
                Config(database_url=f"postgresql://{name}:x@{host}", allow_unsafe_storage=True), may_migrate=False
            )
    finally:
        await sql.execute(f"drop owned by {name}")
        await sql.execute(f"drop role {name}")


async def test_the_engine_itself_is_not_subject_to_it(busy: Engine) -> None:
    assert (await busy.health.totals()).executions.total() == len(HOMES)
    made = await busy.access.create_key(Caller(HOMES[0], "ann"), "x", Role.WORKER_SERVICE)
    assert await busy.access.authenticate(made.secret) is not None
