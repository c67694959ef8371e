"""tidings.trigger(): the same as the engine's trigger, inside somebody else's transaction."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import delay, email, graph, work
from tests.stored import stored_execution
from tidings.domain.caller import Caller
from tidings.domain.content.template import missing_variables
from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import bucket_of, bucket_of_id, shard_of
from tidings.domain.flow.item import Channel
from tidings.domain.flow.keys import key_hash, key_scope
from tidings.engine import Engine, Trigger, Workspace
from tidings.kernel.wake import from_payload
from tidings.providers.fake import FakeProvider

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
CALL = "select tidings.trigger($1, $2, $3)"
NEEDY = graph(email(to="{{ email }}", body="{{ order.id }} for {{ name }}"))
GIVEN: dict[str, object] = {"email": "ada@example.com", "order": {"id": 7, "ä": [1.5, None]}, "name": "Ada"}
PATIENCE_SECONDS = 10


@pytest.fixture
async def app(owner_dsn: str) -> AsyncIterator[Sql]:
    """A connection of a host application, which has never heard of our search_path."""
    connection = await asyncpg.connect(owner_dsn)
    yield connection
    await connection.close()


async def trigger(app: Sql, data: Mapping[str, object] = GIVEN, key: str = "k1", workflow: str = "flow") -> UUID:
    id: UUID = await app.fetchval(CALL, workflow, json.dumps(data), key)
    return id


async def refusal(app: Sql, query: str, *values: object) -> asyncpg.PostgresError:
    """What a call is refused with; the transaction it is in goes on."""
    with pytest.raises(asyncpg.PostgresError) as refused:
        async with app.transaction():
            await app.fetchval(query, *values)
    return refused.value


async def count(sql: Sql) -> tuple[int, int]:
    executions = await sql.fetchval("select count(*) from executions")
    return executions, await sql.fetchval("select count(*) from queue")


# The same rows


def without_what_differs(row: "asyncpg.Record") -> dict[str, Any]:
    """A row with its times as distances from when it was made, and without what its own key decides."""
    made, shown = row["created_at"], dict(row)
    assert shown["id"] == shown["queue_id"]
    assert shown["shard"] == shown["queue_shard"] == shard_of(row["id"], 4)
    assert bucket_of_id(row["id"]) == bucket_of("default", "default", row["idempotency_key"])
    assert row["key_hash"] == key_hash(key_scope("default", "default", str(row["workflow_id"])), row["idempotency_key"])
    assert (row["id"].version, row["id"].variant) == (7, "specified in RFC 4122")
    assert abs((row["id"].int >> 80) - made.timestamp() * 1000) < 2
    frontier = json.loads(shown["frontier"])
    [[node, due]] = frontier["ready"]
    assert datetime.fromisoformat(due) == row["due_at"]
    assert due == row["due_at"].isoformat()
    shown["frontier"] = frontier | {"ready": [[node, "due_at"]]}
    shown["due_at"] -= made
    for name in ("id", "queue_id", "shard", "queue_shard", "created_at", "idempotency_key", "key_hash"):
        del shown[name]
    return shown


ROWS = """
select e.*, q.id as queue_id, q.shard as queue_shard, q.kind, q.lane, q.due_at, q.fence, q.leased, q.wake, q.stop,
       q.crashes
  from executions e join queue q on q.id = e.id order by e.idempotency_key
"""


@pytest.mark.parametrize(
    "definition",
    [
        NEEDY,
        graph(delay("wait", "P200DT0.000001S"), email()),
        graph(delay("wait", "PT0S"), email()),
        graph({"id": "wait", "type": "delay", "delayMs": 1}, email()),
    ],
    ids=["send", "long delay", "no delay", "short delay"],
)
async def test_it_writes_the_rows_that_the_engine_writes(
    engine: Engine, clock: ManualClock, app: Sql, sql: Sql, definition: dict[str, object]
) -> None:
    await engine.define("flow", definition)
    clock.time = datetime.now(UTC)
    await engine.trigger("flow", GIVEN, "by engine")
    clock.time = clock.time.replace(microsecond=0)
    await engine.trigger("flow", GIVEN, "by engine at a full second")
    await app.execute("set timezone to 'Europe/Berlin'")

    id = await trigger(app, key="by sql")

    by_engine, at_full_second, by_sql = map(without_what_differs, await sql.fetch(ROWS))
    assert by_sql.pop("triggered_by") == "sql"
    assert [row.pop("triggered_by") for row in (by_engine, at_full_second)] == [None, None]
    assert by_sql == by_engine == at_full_second
    made = await sql.fetchval("select created_at from executions where id = $1", id)
    assert abs(datetime.now(UTC) - made) < timedelta(seconds=PATIENCE_SECONDS)


async def test_a_time_is_written_as_python_writes_it(sql: Sql) -> None:
    for micros in (0, 1, 100_000, 123_456, 999_999):
        moment = datetime(2026, 3, 29, 1, 30, 5, micros, tzinfo=UTC)

        assert await sql.fetchval("select iso_format($1)", moment) == moment.isoformat()


async def test_the_engine_s_workers_take_it_from_there(
    engine: Engine, clock: ManualClock, app: Sql, provider: FakeProvider
) -> None:
    await engine.define("flow", NEEDY)
    id = await trigger(app)
    clock.time = datetime.now(UTC) + timedelta(seconds=1)

    await work(engine)

    assert [call.payload["body"] for call in provider.calls] == ["7 for Ada"]
    assert (await stored_execution(engine, id)).status == "completed"


# The caller's transaction


async def test_rolled_back_means_it_never_happened(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", NEEDY)
    transaction = app.transaction()
    await transaction.start()
    lost = await trigger(app)
    await transaction.rollback()

    assert await count(sql) == (0, 0)
    assert await trigger(app) != lost


async def test_nothing_is_seen_or_heard_before_the_caller_commits(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", NEEDY)
    heard: asyncio.Queue[str] = asyncio.Queue()
    await sql.add_listener("tidings", lambda *arguments: heard.put_nowait(str(arguments[-1])))

    async with app.transaction():
        id = await trigger(app)
        await sql.fetchval("select 1")
        assert heard.empty()
        assert await count(sql) == (0, 0)

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert from_payload(await heard.get()) == {(shard_of(id, 4), 0)}
    assert await count(sql) == (1, 1)


async def test_a_caller_can_do_without_the_notification(
    engine: Engine, clock: ManualClock, app: Sql, sql: Sql, provider: FakeProvider
) -> None:
    await engine.define("flow", NEEDY)
    heard: asyncio.Queue[str] = asyncio.Queue()
    await sql.add_listener("tidings", lambda *arguments: heard.put_nowait(str(arguments[-1])))

    async with app.transaction():
        await app.execute("set local tidings.notify = off")
        await trigger(app)
    async with app.transaction():
        await trigger(app, key="k2")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await heard.get()
    clock.time = datetime.now(UTC) + timedelta(seconds=1)
    await work(engine)

    assert heard.empty()
    assert len(provider.calls) == 2


async def test_a_refusal_costs_the_caller_no_more_than_its_savepoint(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", NEEDY)

    async with app.transaction():
        await refusal(app, CALL, "flow", "{}", "k1")
        await trigger(app, key="k2")

    assert await count(sql) == (1, 1)


# Duplicates


async def test_the_same_key_gives_the_same_execution_whoever_asks(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", NEEDY)

    async with app.transaction():
        ids = {await trigger(app), await trigger(app, {**GIVEN, "name": "Bob"})}
    again = await engine.trigger("flow", {}, "k1")
    by_engine = await engine.trigger("flow", GIVEN, "k2")

    assert ids == {again.id}
    assert again.duplicate
    assert await trigger(app, key="k2") == by_engine.id
    assert await count(sql) == (2, 2)


async def test_a_hundred_parallel_transactions_with_one_key_start_one_execution(
    engine: Engine, owner_dsn: str, sql: Sql
) -> None:
    await engine.define("flow", NEEDY)

    async def call(pool: "asyncpg.Pool[asyncpg.Record]") -> UUID:
        async with pool.acquire() as connection, connection.transaction():
            id: UUID = await connection.fetchval(CALL, "flow", json.dumps(GIVEN), "k1")
            return id

    async with asyncpg.create_pool(owner_dsn, min_size=20, max_size=20) as pool:
        by_sql = await asyncio.gather(*(call(pool) for _ in range(100)))
        by_engine = await asyncio.gather(*(engine.trigger("flow", GIVEN, "k1") for _ in range(20)))

    assert len({*by_sql, *(one.id for one in by_engine)}) == 1
    assert await count(sql) == (1, 1)


@pytest.mark.parametrize("commits", [True, False])
async def test_a_transaction_that_holds_the_key_is_waited_for(
    engine: Engine, app: Sql, owner_dsn: str, sql: Sql, commits: bool
) -> None:
    await engine.define("flow", NEEDY)
    other = await asyncpg.connect(owner_dsn)
    transaction = other.transaction()
    await transaction.start()
    first = await trigger(other)

    waiting = asyncio.create_task(trigger(app))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await sql.fetchval("select exists (select 1 from pg_locks where not granted)"):
            await asyncio.sleep(0.01)
    await (transaction.commit() if commits else transaction.rollback())
    second = await waiting
    await other.close()

    assert (first == second) == commits
    assert await count(sql) == (1, 1)


async def test_a_snapshot_that_cannot_see_the_first_is_told_to_try_again(engine: Engine, app: Sql) -> None:
    await engine.define("flow", NEEDY)

    transaction = app.transaction(isolation="repeatable_read")
    await transaction.start()
    await app.fetchval("select 1 from tidings.workflows")
    await engine.trigger("flow", GIVEN, "k1")

    with pytest.raises(asyncpg.SerializationError):
        await trigger(app)
    await transaction.rollback()


async def test_a_duplicate_is_answered_although_its_workflow_is_inactive_or_its_data_lacks_something(
    engine: Engine, app: Sql, sql: Sql
) -> None:
    await engine.define("flow", NEEDY)
    id = await trigger(app)

    assert await trigger(app, {}) == id
    await sql.execute("update workflows set active = false")
    assert await trigger(app) == await trigger(app, {}) == id
    assert await count(sql) == (1, 1)


# Refusals


async def test_everything_that_is_missing_is_named(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", NEEDY)

    error = await refusal(app, CALL, "flow", '{"order": {"ID": 7}, "email": null}', "k1")

    assert error.sqlstate == "TD422"
    assert error.args == ("Missing required fields or template variables: name, order.id",)
    assert "order.id" in str(error.hint)
    assert await count(sql) == (0, 0)


async def test_what_does_not_exist_is_not_found(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", NEEDY)
    await engine.define("gone", NEEDY)
    await sql.execute("update workflows set deleted_at = created_at where name = 'gone'")

    for workflow in ("nothing", "gone", None):
        error = await refusal(app, CALL, workflow, "{}", "k1")
        assert (error.sqlstate, bool(error.hint)) == ("TD404", True)
    elsewhere = "select tidings.trigger('flow', '{}', 'k1', workspace => 'other')"
    assert "no workflow 'flow' in workspace 'other'" in str(await refusal(app, elsewhere))


async def test_a_workspace_and_a_tenant_can_be_named(engine: Engine, app: Sql) -> None:
    room = Workspace("acme", "room")
    await engine.define("flow", NEEDY, room)
    by_engine = await engine.trigger("flow", GIVEN, "k1", room)

    named = "select tidings.trigger('flow', $1, 'k1', workspace => 'room', tenant => 'acme')"

    assert await app.fetchval(named, json.dumps(GIVEN)) == by_engine.id


async def test_an_inactive_workflow_is_a_conflict_before_its_data_is_looked_at(
    engine: Engine, app: Sql, sql: Sql
) -> None:
    await engine.define("flow", NEEDY)
    await sql.execute("update workflows set active = false")

    error = await refusal(app, CALL, "flow", "{}", "k1")

    assert error.sqlstate == "TD409"
    assert error.args == ("workflow 'flow' is not active, so it cannot be triggered",)


def nested(levels: int) -> str:
    return '{"deep": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


@pytest.mark.parametrize(
    ("data", "key", "named"),
    [
        ("{}", "", "idempotency_key"),
        ("{}", None, "idempotency_key"),
        ("{}", "x" * 501, "idempotency_key"),
        (None, "k1", "not an object"),
        ("null", "k1", "not an object"),
        ("[]", "k1", "not an object"),
        ('"text"', "k1", "not an object"),
        (nested(101), "k1", "too deeply"),
        ('{"a": [{"b": 1e309}]}', "k1", "1e308"),
        ('{"a": -1e309}', "k1", "1e308"),
    ],
)
async def test_what_could_not_be_stored_and_read_again_is_refused(
    engine: Engine, app: Sql, sql: Sql, data: str | None, key: str | None, named: str
) -> None:
    await engine.define("flow", graph(email()))

    error = await refusal(app, CALL, "flow", data, key)

    assert error.sqlstate == "TD422"
    assert named in str(error)
    assert await count(sql) == (0, 0)


async def test_data_at_the_limits_is_taken_and_can_be_read_by_a_worker(
    engine: Engine, clock: ManualClock, app: Sql, provider: FakeProvider
) -> None:
    await engine.define("flow", graph(email()))
    taken = [
        nested(100),
        '{"a": 1e308, "b": -1e308, "c": 1e-400, "d": 123456789012345678901234567890.5, "\U0001f600": ""}',
    ]

    for number, data in enumerate(taken):
        await app.fetchval(CALL, "flow", data, f"{'ä' * 499}{number}")
    clock.time = datetime.now(UTC) + timedelta(seconds=1)
    await work(engine)

    assert len(provider.calls) == len(taken)


# Alike in both languages


async def test_sql_finds_a_path_where_python_does(sql: Sql) -> None:
    dice = random.Random(4)

    def value(depth: int) -> object:
        kinds: list[object] = [None, 1, "a", [], ["a", {"a": 1}], {}]
        if depth and dice.random() < 0.7:
            return {dice.choice(["a", "b", "0", "", "ä"]): value(depth - 1) for _ in range(3)}
        return dice.choice(kinds)

    cases = [
        ({"a": value(3), "b": value(2)}, ".".join(dice.choices(["a", "b", "0", "", "ä"], k=n % 4 + 1)))
        for n in range(500)
    ]
    found = await sql.fetch(
        "select has_path(data::jsonb, path) as found"
        "  from unnest($1::text[], $2::text[]) with ordinality as t(data, path, n) order by n",
        [json.dumps(data) for data, _ in cases],
        [path for _, path in cases],
    )

    expected = [not missing_variables({path}, data) for data, path in cases]
    assert [row["found"] for row in found] == expected
    assert 50 < sum(expected) < 450


# Sessions and rights


async def test_it_does_not_care_what_the_session_finds_first(engine: Engine, app: Sql) -> None:
    await engine.define("flow", NEEDY)
    await app.execute(
        "create function public.bucket_of(text, text, text) returns integer language sql return 1 / 0;"
        "create temporary table executions (id integer); create temporary table queue (id integer);"
        "set search_path = public; set timezone to 'America/New_York'; set datestyle to 'German'"
    )

    id = await trigger(app)

    assert (await stored_execution(engine, id)).id == id


async def test_a_whole_table_can_be_triggered_in_one_statement(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", NEEDY)
    statement = (
        "select tidings.trigger('flow', jsonb_build_object('email', n || '@example.com', 'name', n,"
        " 'order', jsonb_build_object('id', n)), 'order-' || n) from generate_series(1, 500) as n"
    )

    first = await app.fetch(statement)
    again = await app.fetch(statement)

    assert first == again
    assert await count(sql) == (500, 500)
    assert [one.duplicate for one in await engine.trigger_many("flow", [Trigger("order-1"), Trigger("order-500")])] == [
        True,
        True,
    ]


@pytest.fixture
async def role(sql: Sql, dsn: str) -> AsyncIterator[str]:
    """A login of this test's own, with no rights yet."""
    name = f"role_{dsn.rpartition('_')[2]}"
    await sql.execute(f"create role {name} login password 'secret'")
    yield name
    await sql.execute(f"drop owned by {name}; drop role {name}")


async def test_a_role_with_the_documented_rights_can_trigger_and_do_nothing_else(
    engine: Engine, sql: Sql, dsn: str, role: str
) -> None:
    await engine.define("flow", NEEDY)
    await sql.execute(f"grant usage on schema tidings to {role}; grant execute on function tidings.trigger to {role}")
    app = await asyncpg.connect(dsn, user=role, password="secret")

    id = await trigger(app)

    assert await trigger(app, {}) == id
    assert (await refusal(app, CALL, "flow", "{}", "k2")).sqlstate == "TD422"
    for forbidden in ("select id from tidings.executions", "insert into tidings.queue default values"):
        assert isinstance(await refusal(app, forbidden), asyncpg.InsufficientPrivilegeError)
    await app.close()


async def test_a_role_that_was_not_given_the_function_cannot_call_it(
    engine: Engine, sql: Sql, dsn: str, role: str
) -> None:
    await engine.define("flow", NEEDY)
    await sql.execute(f"grant usage on schema tidings to {role}")
    app = await asyncpg.connect(dsn, user=role, password="secret")

    assert isinstance(await refusal(app, CALL, "flow", "{}", "k1"), asyncpg.InsufficientPrivilegeError)
    await app.close()


# For a contact

FOR_CONTACT = "select tidings.trigger($1, $2, $3, contact_id => $4)"
TO_CONTACT = graph({"id": "hello", "type": "email", "subject": "Hi", "body": "{{ contact.name }} {{ order.id }}"})


async def make_contact(engine: Engine, workspace: Workspace | None = None) -> UUID:
    by = Caller(workspace or Workspace(), "ann")
    return (await engine.contacts.create(by, {"name": "Ada", "email": "ada@example.com"}))[0].id


async def test_it_starts_work_for_a_contact_as_the_engine_does(
    engine: Engine, clock: ManualClock, app: Sql, sql: Sql, provider: FakeProvider
) -> None:
    await engine.define("flow", TO_CONTACT)
    ada = await make_contact(engine)
    clock.time = datetime.now(UTC)
    await engine.trigger_many("flow", [Trigger("by engine", GIVEN, ada)])

    await app.fetchval(FOR_CONTACT, "flow", json.dumps(GIVEN), "by sql", ada)

    by_engine, by_sql = map(without_what_differs, await sql.fetch(ROWS))
    assert (by_engine.pop("triggered_by"), by_sql.pop("triggered_by")) == (None, "sql")
    assert by_sql == by_engine
    clock.advance(minutes=1)
    await work(engine)
    assert [(call.recipient, call.payload["body"]) for call in provider.calls] == [("ada@example.com", "Ada 7")] * 2


async def test_a_contact_that_the_workspace_does_not_have_is_refused(engine: Engine, app: Sql, sql: Sql) -> None:
    await engine.define("flow", TO_CONTACT)
    theirs = await make_contact(engine, Workspace("default", "elsewhere"))
    gone = await make_contact(engine)
    await engine.contacts.delete(Caller(Workspace(), "ann"), gone)

    for id in (theirs, gone, UUID(int=7)):
        refused = await refusal(app, FOR_CONTACT, "flow", json.dumps(GIVEN), "k1", id)
        assert (refused.sqlstate, str(id) in str(refused)) == ("TD422", True)
    assert await count(sql) == (0, 0)


async def test_a_repeat_for_a_contact_that_is_gone_is_answered(engine: Engine, app: Sql) -> None:
    await engine.define("flow", TO_CONTACT)
    ada = await make_contact(engine)
    first = await app.fetchval(FOR_CONTACT, "flow", json.dumps(GIVEN), "k1", ada)
    await engine.contacts.delete(Caller(Workspace(), "ann"), ada)

    assert await app.fetchval(FOR_CONTACT, "flow", json.dumps(GIVEN), "k1", ada) == first


async def test_what_needs_a_contact_is_refused_without_one_and_takes_one_from_the_data(
    engine: Engine, app: Sql, sql: Sql
) -> None:
    await engine.define("flow", TO_CONTACT)

    refused = await refusal(app, CALL, "flow", json.dumps(GIVEN), "k1")
    await trigger(app, {**GIVEN, "contact": {"email": "bob@example.com"}}, "k2")

    assert (refused.sqlstate, "contact" in str(refused)) == ("TD422", True)
    assert await count(sql) == (1, 1)


async def test_a_channel_without_a_provider_is_refused_with_a_hint_and_a_repeat_is_answered(
    engine: Engine, app: Sql, sql: Sql
) -> None:
    await engine.define("flow", NEEDY)
    first = await trigger(app, key="k1")
    await engine.providers.unroute(Caller(Workspace(), "ann"), Channel.EMAIL)

    refused = await refusal(app, CALL, "flow", json.dumps(GIVEN), "k2")

    assert (refused.sqlstate, refused.detail) == ("TD409", "channel_not_ready")
    assert "no provider is set up for email" in str(refused)
    assert "TIDINGS_SMTP_URL" in (refused.hint or "")
    assert await trigger(app, key="k1") == first
    assert await count(sql) == (1, 1)
    await sql.execute("insert into routes values ('default', 'default', 'email', 'own', 'test', now())")
    assert await trigger(app, key="k2") != first


async def test_a_key_with_the_hash_of_another_is_refused_and_never_taken_for_a_repeat(
    engine: Engine, app: Sql, sql: Sql
) -> None:
    await engine.define("flow", NEEDY)
    await engine.trigger("flow", GIVEN, "mine")
    await sql.execute("update executions set idempotency_key = 'with the same hash'")

    with pytest.raises(Conflict, match="'mine' cannot be told from another one: use another key"):
        await engine.trigger("flow", GIVEN, "mine")
    with pytest.raises(asyncpg.PostgresError, match="'mine' cannot be told from another one") as refused:
        await trigger(app, key="mine")
    assert refused.value.sqlstate == "TD409"
    assert await sql.fetchval("select count(*) from executions") == 1
