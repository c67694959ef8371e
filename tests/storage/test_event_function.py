"""tidings.event(): an event inside somebody else's transaction, checked before it is stored."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.kernel.event_scenes import LEAD, ME, make_rule, outcomes, send, step
from tests.kernel.scenes import work
from tidings import embedded
from tidings.domain.flow.ids import bucket_of, bucket_of_id
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
CALL = "select tidings.event('quote_sent', lead => $1, variables => $2, idempotency_key => $3)"
PATIENCE_SECONDS = 10


@pytest.fixture
async def app(owner_dsn: str) -> AsyncIterator[Sql]:
    """A connection of a host application, which has never heard of our search_path."""
    connection = await asyncpg.connect(owner_dsn)
    yield connection
    await connection.close()


async def event(app: Sql, key: str | None = "k1", lead: object = LEAD, variables: object = None) -> UUID:
    id: UUID = await app.fetchval(CALL, json.dumps(lead), json.dumps(variables or {}), key)
    return id


async def refusal(app: Sql, query: str, *values: object) -> asyncpg.PostgresError:
    with pytest.raises(asyncpg.PostgresError) as refused:
        async with app.transaction():
            await app.fetchval(query, *values)
    return refused.value


async def test_it_is_committed_with_the_caller_s_transaction_or_never_there(
    app: Sql, sql: Sql, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_rule(engine)
    transaction = app.transaction()
    await transaction.start()
    await event(app, "rolled back")
    await transaction.rollback()

    id = await event(app)
    clock.time = await sql.fetchval("select clock_timestamp()")
    await work(engine)

    assert await sql.fetchval("select count(*) from events") == 1
    assert bucket_of_id(id) == bucket_of("default", "default", "k1")
    assert [call.recipient for call in provider.calls] == ["ada@example.com"]
    assert outcomes(await engine.events.get(ME.workspace, id)) == {("email", "lead"): "enqueued"}


async def test_the_same_key_gives_the_same_event_from_sql_and_from_the_api(app: Sql, engine: Engine, sql: Sql) -> None:
    await make_rule(engine)

    first = await event(app)
    again = await event(app)
    api = await send(engine)
    by_api = await send(engine, "k2")
    by_sql = await event(app, "k2")

    assert first == again == api.id
    assert api.duplicate
    assert by_sql == by_api.id
    assert await event(app, None) != await event(app, None)
    assert await sql.fetchval("select count(*) from events") == 4


async def test_a_repeat_is_answered_whatever_its_data_lacks_now(app: Sql, engine: Engine) -> None:
    first = await event(app)
    await make_rule(engine, step(template={"subject": "{{ quote.number }}", "body": "x"}))

    assert await event(app) == first


async def test_two_at_once_are_one(app: Sql, owner_dsn: str) -> None:
    other = await asyncpg.connect(owner_dsn)
    transaction = app.transaction()
    await transaction.start()
    first = await event(app)
    second = asyncio.create_task(event(other))
    await asyncio.sleep(0.05)
    waiting = not second.done()
    await transaction.commit()
    async with asyncio.timeout(PATIENCE_SECONDS):
        id = await second
    await other.close()

    assert waiting
    assert id == first


async def test_missing_variables_are_named(app: Sql, engine: Engine, sql: Sql) -> None:
    template = {"subject": "{{ quote.number }}", "body": "{{ lead.title }} {{ agent.name }} {{ trigger }}"}
    await make_rule(engine, step(template=template), step(enabled=False, template={"subject": "{{ x }}", "body": "y"}))
    await make_rule(engine, step("sms", template={"body": "{{ y }}"}), channel="sms", enabled=False)

    refused = await refusal(app, CALL, json.dumps(LEAD), "{}", "k1")
    null_will_do = await app.fetchval(
        "select tidings.event('quote_sent', lead => '{\"title\": null}', agent => '{\"name\": 1}',"
        ' variables => \'{"quote": {"number": 7}}\')'
    )

    assert refused.sqlstate == "TD422"
    assert refused.args[0] == "Missing template variables: agent.name, lead.title, quote.number"
    assert null_will_do
    assert await sql.fetchval("select count(*) from events") == 1


async def test_missing_variables_are_refused_only_where_nothing_else_would_come_of_the_event(
    app: Sql, engine: Engine, sql: Sql
) -> None:
    await make_rule(engine, step(template={"subject": "{{ fee }}", "body": "x"}))
    alone = await refusal(app, CALL, json.dumps(LEAD), "{}", "k1")
    await sql.execute("insert into fallbacks values ('quote_sent', 'sms', 'lead', '2026-01-01')")
    await make_rule(engine, step("sms"), channel="sms", enabled=False)
    suppressed = await refusal(app, CALL, json.dumps(LEAD), "{}", "k1")
    await sql.execute("update fallbacks set channel = 'email'")
    falls_back = await event(app, "k1")
    await sql.execute("delete from fallbacks")
    await make_rule(engine, step("push"), channel="push")
    goes_on = await event(app, "k2")

    assert alone.args[0] == suppressed.args[0] == "Missing template variables: fee"
    assert falls_back != goes_on


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("tidings.event(null)", "is no trigger"),
        ("tidings.event('no spaces')", "is no trigger"),
        ("tidings.event('t', lead => '[]')", "lead: not an object"),
        ("tidings.event('t', agent => '7', variables => '[1]')", "agent, variables: not an object"),
        ("tidings.event('t', variables => '{\"lead\": 1}')", "variables hold lead"),
        ("tidings.event('t', idempotency_key => '')", "use 1 to 500 characters"),
        ("tidings.event('t', idempotency_key => repeat('x', 501))", "use 1 to 500 characters"),
        ("tidings.event('t', variables => '{\"n\": 1e309}')", "number beyond 1e308"),
        ("tidings.event('t', variables => (repeat('{\"a\":', 120) || '1' || repeat('}', 120))::jsonb)", "too deeply"),
    ],
)
async def test_bad_input_is_refused_before_anything_is_stored(app: Sql, sql: Sql, call: str, words: str) -> None:
    refused = await refusal(app, f"select {call}")

    assert refused.sqlstate == "TD422"
    assert words in str(refused)
    assert await sql.fetchval("select count(*) from events") == 0


async def test_nobody_may_execute_it_unless_granted_and_then_it_is_all_they_may(app: Sql, sql: Sql, dsn: str) -> None:
    await sql.execute(
        "drop role if exists event_app; create role event_app; grant usage on schema tidings to event_app"
    )
    await sql.execute(f"grant event_app to {embedded.OWNER}")
    await app.execute("set role event_app")
    before = await refusal(app, "select tidings.event('t')")
    await sql.execute("grant execute on function tidings.event to event_app")

    assert isinstance(before, asyncpg.InsufficientPrivilegeError)
    assert await app.fetchval("select tidings.event('t')")
    assert isinstance(await refusal(app, "select count(*) from tidings.events"), asyncpg.InsufficientPrivilegeError)
    await app.execute("reset role")
    await sql.execute("drop owned by event_app; drop role event_app")


async def test_workers_are_told_at_the_commit_unless_the_caller_does_without(app: Sql, dsn: str) -> None:
    listener: Any = await asyncpg.connect(dsn)
    heard: list[str] = []
    await listener.add_listener("tidings", lambda *args: heard.append(args[3]))

    await event(app)
    await app.execute("set tidings.notify = 'off'")
    await event(app, "k2")
    await listener.execute("select 1")
    await listener.close()

    assert heard == [f"{bucket_of('default', 'default', 'k1') % 4}:0"]
