"""With row security forced the database is a second line: a statement that forgot its filter finds nothing foreign."""

import inspect
import os
import re
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import asyncpg
import pytest

from tests.conftest import ManualClock, make_engine
from tests.databases import OWNER_URL, with_database
from tests.storage.test_isolation import (
    FLOW,
    GUARDED,
    HOMES,
    OWN,
    SECRET,
    Meeting,
    fill,
    outcome,
    without_each_filter,
)
from tidings.config import Config, RowSecurity
from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.kernel.writable import for_nobody
from tidings.providers.fake import FakeProvider
from tidings.resources.every import Part, Resources
from tidings.storage.acting import CHOSEN, NOBODY, ActingFor, acting_for, own_tenant, own_workspace
from tidings.storage.database import Database
from tidings.storage.migrate import change_row_security
from tidings.storage.statements import Statement
from tidings.wiring import open_engine

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
HOME, RIVAL = HOMES[0], HOMES[2]


@pytest.fixture
async def forced(owner_dsn: str, dsn: str) -> AsyncIterator[Database]:
    """A database that forces row security, as the role that works with its rows."""
    owner = await Database.open(owner_dsn, connections=1)
    await change_row_security(owner, forced=True)
    await owner.close()
    db = await Database.open(dsn)
    yield db
    await db.close()


@pytest.fixture
async def engine(forced: Database, clock: ManualClock, provider: FakeProvider) -> AsyncIterator[Engine]:
    engine = await make_engine(forced, clock, provider)
    yield engine
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


@pytest.fixture
async def few(engine: Engine, provider: FakeProvider) -> Engine:
    """A contact, a rule and an execution that failed, in three workspaces."""
    for home in HOMES:
        ann = Caller(home, "ann")
        provider.script |= {f"refused@{home.tenant}-{home.name}.example": [Rejected("no such mailbox")]}
        await engine.contacts.create(ann, {"externalId": "ada", "email": "ada@example.com"})
        await engine.senders.create(ann, {"name": "same", "email": "us@example.com"})
        await engine.templates.create(ann, {"name": "same", "text": "News"})
        await engine.workflows.create(ann, "same", FLOW)
        await engine.executions.trigger(ann, "same", {"to": f"refused@{home.tenant}-{home.name}.example"}, "k")
        content = {"subject": "News", "body": "News"}
        rule = {"trigger": "quote", "channel": "email", "audience": "lead", "steps": [{"template": content}]}
        await engine.rules.create(ann, rule)
        await engine.access.create_key(ann, "laptop", Role.WORKFLOW_MANAGER)
    await engine.work_everything()
    return engine


async def fill_all(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    """Three workspaces with one of everything that differ in nothing but whose they are."""
    for home in HOMES:
        provider.script |= {
            "refused@example.com": [Rejected("no such mailbox")],
            "doubtful@example.com": [Unknown("reset")],
        }
        await fill(engine, home)
        await engine.work_everything()
    await sql.execute("update functions set secret = $1", SECRET)


async def act(connection: Sql, whom: ActingFor) -> None:
    for name in ("acts_for", "tenant", "workspace"):
        await connection.execute(f"select set_config('tidings.{name}', $1, false)", getattr(whom, name))


async def test_no_statement_without_one_of_its_filters_finds_what_is_a_strangers(
    engine: Engine, provider: FakeProvider, sql: Sql, dsn: str
) -> None:
    await fill_all(engine, provider, sql)
    app = await asyncpg.connect(dsn, server_settings={"search_path": "tidings, public", "timezone": "UTC"})
    found: list[str] = []
    for knows, own in OWN.items():
        meeting = await Meeting.of(sql, HOME, own, GUARDED[knows])
        await act(app, own_workspace(HOME) if "$2" in own else own_tenant(HOME))
        for statement in GUARDED[knows]:
            for name, broken in without_each_filter(statement):
                rows = await outcome(app, broken, meeting.calls[statement.name])
                found += [name] if rows - meeting.alone[statement.name] else []
    await app.close()

    assert set(found) <= {"seek_audit without workspace 0"}, "history is a tenant's, and so is its policy"


async def test_a_resource_whose_statement_lost_its_filter_shows_nothing_of_another(
    few: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch_others(self: Any, statement: Statement, arguments: Any) -> Any:
        text = re.sub(r"(tenant|workspace)_id = ", r"\1_id is not distinct from \1_id or '' = ", statement.text)
        return await self._connection.fetch(text if "contacts" in text else statement.text, *arguments)

    monkeypatch.setattr("tidings.storage.database.Tx.fetch_ordered", fetch_others)

    own = [{one.id for one in (await few.contacts.list(home)).items} for home in HOMES]
    assert [len(ids) for ids in own] == [1, 1, 1]
    assert len(set.union(*own)) == 3
    assert (await few.contacts.list(Workspace("nobody", "else"))).items == []


async def test_nobody_sees_anything_and_the_kernel_sees_all(few: Engine, dsn: str) -> None:
    app = await asyncpg.connect(dsn, server_settings={"search_path": "tidings, public"})
    tables = ("contacts", "executions", "outbox", "workflows", "workflow_versions", "attempts", "rules", "api_keys")
    counts: dict[str, list[int]] = {}
    for whom in (NOBODY, own_workspace(HOME), ActingFor("everyone")):
        await act(app, whom)
        for table in tables:
            counts.setdefault(table, []).append(await app.fetchval(f"select count(*) from {table}"))
    await app.close()

    assert {table: found[0] for table, found in counts.items() if found[0]} == {}
    assert {table: found for table, found in counts.items() if not 0 < found[1] < found[2]} == {}


async def test_an_operator_makes_a_key_of_another_tenant(few: Engine) -> None:
    made = await few.access.create_key(Caller(HOME, "host"), "more", Role.SYSTEM_ADMIN, tenant=RIVAL.tenant)

    listed = await few.access.list_keys(Caller(RIVAL, "ann"))
    assert made.id in {key.id for key in listed.items}


async def test_a_request_acts_for_nobody_until_a_resource_acts_for_its_caller(few: Engine) -> None:
    with for_nobody():
        assert acting_for() == NOBODY
        assert len((await few.contacts.list(HOME)).items) == 1
        assert len((await few.executions.list(HOME)).items) > 0
        assert acting_for() == NOBODY


async def test_a_generator_acts_only_while_it_works(few: Engine) -> None:
    [execution, *_] = (await few.executions.list(HOME)).items
    with for_nobody():
        async for shown in few.executions.changes(HOME, execution.id):
            assert shown.id == execution.id
            assert acting_for() == NOBODY
            break


async def test_functions_in_sql_act_for_their_workspace_and_leave_the_session_as_it_was(
    few: Engine, owner_dsn: str
) -> None:
    owner = await asyncpg.connect(owner_dsn)
    said = "select current_setting('tidings.acts_for', true), current_setting('tidings.tenant', true)"
    async with owner.transaction():
        ada = await owner.fetchval("select tidings.contact_id('ada', 'main', 'acme')")
        id = await owner.fetchval(
            "select tidings.trigger('same', '{\"to\": \"a@example.com\"}', 'sql', 'main', 'acme', $1)", ada
        )
        event = await owner.fetchval(
            "select tidings.event('quote', lead => '{\"contactId\": \"ada\"}', workspace => 'main', tenant => 'acme')"
        )
        after = tuple(await owner.fetchrow(said) or ())
        seen = await owner.fetchval("select count(*) from tidings.contacts")
    await owner.close()

    assert (after, seen) in [(("", ""), 0), ((None, None), 0)]
    assert (await few.executions.get(HOME, id)).id == id
    assert (await few.events.get(HOME, event)).id == event


async def test_it_is_refused_where_it_would_not_hold(server: str, dsn: str, owner_dsn: str) -> None:
    asked = {"allow_unsafe_storage": True, "row_security": RowSecurity.FORCE}
    owner = await Database.open(owner_dsn, connections=1)
    await change_row_security(owner, forced=False)
    await owner.close()
    with pytest.raises(ConfigInvalid, match="does not force it: run 'tidings db migrate'"):
        await open_engine(Config(database_url=dsn, **asked), may_migrate=False)  # type: ignore[arg-type]

    engine = await open_engine(Config(database_url=dsn, owner_database_url=owner_dsn, **asked))  # type: ignore[arg-type]
    await engine.close()
    superuser = with_database(server, dsn.rpartition("/")[2])
    with pytest.raises(ConfigInvalid, match="is a superuser, whom no policy holds"):
        await open_engine(Config(database_url=superuser, **asked))  # type: ignore[arg-type]


async def test_one_role_that_can_make_no_others_does_everything(server: str, forced: Database, dsn: str) -> None:
    """As on a managed database: the owner alone, here with row security forced on itself."""
    owner = await open_engine(
        Config(database_url=with_database(os.environ[OWNER_URL], dsn.rpartition("/")[2]), allow_unsafe_storage=True)
    )
    await owner.contacts.create(Caller(HOME, "ann"), {"externalId": "ada"})
    shown = [len((await owner.contacts.list(one)).items) for one in (HOME, RIVAL)]
    await owner.close()

    assert shown == [1, 0]


async def test_every_method_of_a_resource_says_for_whom_it_acts(few: Engine) -> None:
    every = [type(getattr(few, name)) for name, part in vars(Resources).items() if isinstance(part, Part)]
    classes = {one for one in every if one.__module__.startswith("tidings.resources.")}
    silent = [
        f"{one.__name__}.{name}"
        for one in classes
        for name, method in vars(one).items()
        if not name.startswith("_")
        and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
        and not hasattr(method, CHOSEN)
        and not hasattr(method, "__wrapped__")
    ]

    assert len(classes) >= 16
    assert silent == []
