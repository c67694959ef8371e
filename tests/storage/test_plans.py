"""What statements cost: a claim does not feel a million sleepers, and nothing hot reads a whole shard.

The plans are those of a worker's own session. A generic plan is what a prepared statement comes to after five uses: it
knows neither the limit nor the ids, and it is the one that goes wrong.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Literal, TypeAlias
from uuid import UUID

import asyncpg
import pytest

from tests.architecture.sql_text import HOT
from tests.databases import APP_URL, IS_FORCED, create, drop, with_database
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import EVERYTHING
from tidings.domain.people.audience_filter import EVERYONE, AudienceFilter, Not, Where, both
from tidings.storage.contact_parts import for_filter
from tidings.storage.database import SESSION_SETTINGS
from tidings.storage.scratch import drop_scratch_database, make_scratch_database
from tidings.storage.statements import Statement, load

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BATCH = 100
SLEEPERS = 1_000_000
Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Plan: TypeAlias = Mapping[str, Any]
Mode: TypeAlias = Literal["force_custom_plan", "force_generic_plan"]
MODES: tuple[Mode, ...] = ("force_custom_plan", "force_generic_plan")

# The bucket, and so the shard, of row number g: every fourth bucket is in shard 1.
ID = "('00000000-0000-7' || lpad(to_hex(1 + 4 * (g % 1024)), 3, '0') || '-8000-' || lpad(to_hex(g), 12, '0'))::uuid"
DRIP = UUID(int=7)
ANY_ID = {"since": str(EVERYTHING.since), "before": str(EVERYTHING.before)}
NEXT = {"shard": "1", **dict.fromkeys(("transactional", "sequences", "campaigns", "runs"), "1970-01-01")}
CLAIM = {
    "shard": "1",
    "lane": "0",
    "since": "1970-01-01",
    "now": NOW.isoformat(),
    "limit": str(BATCH),
    "lease_until": (NOW + timedelta(minutes=5)).isoformat(),
    "passed_ids": "{}",
    "passed_fences": "{}",
}


@pytest.fixture
async def session(owner_dsn: str) -> AsyncIterator[Sql]:
    """A connection with a worker's settings, which may also change and analyze tables."""
    async with as_a_worker(owner_dsn) as connection:
        yield connection


@asynccontextmanager
async def as_a_worker(dsn: str) -> AsyncIterator[Sql]:
    connection = await asyncpg.connect(dsn, server_settings=SESSION_SETTINGS, command_timeout=120)
    try:
        yield connection
    finally:
        await connection.close()


async def make_filled(server: str, rows: Callable[[Sql], Awaitable[None]]) -> str:
    """A database that several tests only look at."""
    name = await create(server)
    async with as_a_worker(with_database(server, name)) as connection:
        await rows(connection)
    return name


@pytest.fixture(scope="module")
def thousands(server: str) -> Iterator[str]:
    """The address of a database with thousands of everything."""
    name = asyncio.run(make_filled(server, lambda connection: fill(connection, 6_000)))
    yield with_database(os.environ[APP_URL], name)
    asyncio.run(drop(server, name))


@pytest.fixture
async def looking(thousands: str) -> AsyncIterator[Sql]:
    """A worker's connection to thousands of everything; what a test does to them must be taken back."""
    async with as_a_worker(thousands) as connection:
        yield connection


async def explain(session: Sql, statement: Statement, values: Mapping[str, str | None], mode: Mode) -> Plan:
    """Run a prepared statement for its plan and take back what it did; without values it is planned only."""
    arguments = ", ".join("null" if values.get(name) is None else f"'{values[name]}'" for name in statement.parameters)
    options = "analyze, buffers, format json" if values else "format json"
    await session.execute(f"set plan_cache_mode = {mode}")
    transaction = session.transaction()
    await transaction.start()
    try:
        await session.execute(f"prepare explained as {statement.text}")
        call = f"execute explained({arguments})" if arguments else "execute explained"
        plan: Plan = json.loads(await session.fetchval(f"explain ({options}) {call}"))[0]["Plan"]
    finally:
        await transaction.rollback()
        await session.execute("deallocate explained")
    return plan


def parts(plan: Plan) -> Iterator[Plan]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from parts(inner)


def buffers(plan: Plan) -> int:
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def whole_reads(plan: Plan) -> list[str]:
    """The scans of hot tables that are bounded by nothing but the shard."""
    return [
        f"{part['Node Type']} of {part['Relation Name']} by {condition or 'nothing'}"
        for part in parts(plan)
        if part.get("Relation Name") in HOT and "Scan" in part["Node Type"]
        for condition in [str(part.get("Index Cond", part.get("Recheck Cond", "")))]
        if condition.count("=") + condition.count("<") + condition.count(">") < 2
    ]


async def insert_queue_rows(
    session: Sql, first: int, count: int, due_at: datetime, lane: int = 0, workspaces: int = 1
) -> None:
    """Rows of so many workspaces in turn; their hashes are 1, 2 and so on."""
    await session.execute(
        f"insert into queue (shard, id, kind, lane, due_at, workspace_hash) select 1, {ID}, 'execution', $3::smallint,"
        " $4::timestamptz + g * interval '1 microsecond', 1 + g % $5::bigint"
        " from generate_series($1::bigint, $1 + $2::bigint - 1) g",
        first,
        count,
        lane,
        due_at,
        workspaces,
    )


async def vacuum_alone(session: Sql, watcher: Sql, table: str) -> None:
    """Remove what is dead; autovacuum that looks at the database meanwhile would still see it, and keep it there.

    Only a superuser (`watcher`) sees whether it does.
    """
    is_alone = (
        "select not exists (select 1 from pg_stat_activity"
        " where backend_type = 'autovacuum worker' and datname = current_database())"
    )
    async with asyncio.timeout(60):
        while True:
            was_alone = await watcher.fetchval(is_alone)
            await session.execute(f"vacuum {table}")
            if was_alone and await watcher.fetchval(is_alone):
                return
            await asyncio.sleep(0.1)


async def insert_sleepers(session: Sql) -> None:
    """A million rows that are due later; without a log and with the indexes last it takes a third of the time."""
    await session.execute("drop index idx_queue_due_at, idx_queue_workspace_hash")
    await session.execute("alter table queue drop constraint queue_pkey, set unlogged")
    await insert_queue_rows(session, 10_000, SLEEPERS, NOW + timedelta(hours=1))
    await session.execute("alter table queue add primary key (shard, id)")
    await session.execute("create index idx_queue_due_at on queue (shard, lane, due_at)")
    await session.execute("create index idx_queue_workspace_hash on queue (shard, lane, workspace_hash, due_at)")


async def claim(session: Sql, mode: Mode) -> Plan:
    plan = await explain(session, load("claim")["claim_due"], CLAIM, mode)
    assert plan["Actual Rows"] == BATCH
    return plan


def read(plan: Plan) -> int:
    """The buffers touched to find rows; what it costs to change them is not the question."""
    return sum(buffers(part) for part in parts(plan) if part.get("Relation Name") and "Scan" in part["Node Type"])


# A million sleepers


async def test_a_million_sleepers_cost_a_claim_nothing(session: Sql) -> None:
    await insert_queue_rows(session, 1, BATCH, NOW - timedelta(hours=1))
    alone = [await claim(session, mode) for mode in MODES]

    await insert_sleepers(session)
    among = [await claim(session, mode) for mode in MODES]
    await session.execute("analyze queue")
    analyzed = [await claim(session, mode) for mode in MODES]
    looked = [await explain(session, load("claim")["next_due"], NEXT, mode) for mode in MODES]

    for name, plans in (("alone", alone), ("among a million", among), ("analyzed", analyzed), ("next_due", looked)):
        print(f"{name}: buffers {[*map(buffers, plans)]}, to find rows {[*map(read, plans)]}")
    assert max(map(read, [*alone, *among, *analyzed])) < 10 * BATCH
    assert max(map(buffers, [*alone, *among, *analyzed])) < 40 * BATCH
    assert [whole_reads(plan) for plan in [*among, *analyzed]] == [[]] * 4
    assert max(map(buffers, looked)) < 40


async def test_a_backlog_costs_a_claim_no_more_than_its_limit(session: Sql) -> None:
    await insert_queue_rows(session, 1, 20_000, NOW - timedelta(hours=1))

    assert max([read(await claim(session, mode)) for mode in MODES]) < 10 * BATCH


async def test_neither_sleepers_nor_a_backlog_cost_a_turn_or_a_look_at_who_has_work_anything(session: Sql) -> None:
    newcomer = 999_999
    await insert_queue_rows(session, 2 * SLEEPERS, 20_000, NOW - timedelta(hours=1))  # the backlog of workspace 1
    await insert_sleepers(session)
    await session.execute(
        "update queue set workspace_hash = $1 where id = (select id from queue where shard = 1 limit 1)", newcomer
    )
    await session.execute("update queue set due_at = $2 where workspace_hash = $1", newcomer, NOW)
    await session.execute("analyze queue")
    looks = {"after": "0", "since": "1970-01-01", "now": NOW.isoformat(), "most": str(BATCH), "limit": "1000"}
    statements = load("turns")
    several = CLAIM | {"workspace_hashes": f"{{{newcomer}}}"}
    claimed = [await explain(session, statements["claim_due_of_some"], several, mode) for mode in MODES]
    alone = [
        [await explain(session, statements["claim_due_of"], CLAIM | {"workspace_hash": str(whose)}, mode)]
        for whose in (newcomer, 1)
        for mode in MODES
    ]
    looked = [
        await explain(session, load("turns")["find_due_workspaces"], {"shard": "1", "lane": "0", **looks}, mode)
        for mode in MODES
    ]

    assert [(plan["Actual Rows"], whole_reads(plan)) for plan in claimed] == [(1, [])] * 2
    assert max(map(read, claimed)) < 60
    assert [plan["Actual Rows"] for [plan] in alone] == [1, 1, BATCH, BATCH]
    assert [whole_reads(plan) for [plan] in alone] == [[]] * 4
    assert max(read(plan) for [plan] in alone) < 10 * BATCH  # also of the one whose backlog it is
    assert [plan["Actual Rows"] for plan in looked] == [2, 2]
    assert max(map(buffers, looked)) < 4 * BATCH


async def test_a_claim_without_its_index_reads_the_sleepers(session: Sql) -> None:
    await insert_queue_rows(session, 1, BATCH, NOW - timedelta(hours=1))
    await insert_queue_rows(session, 1000, 100_000, NOW + timedelta(hours=1))
    await session.execute("drop index idx_queue_due_at, idx_queue_workspace_hash")

    plan = await claim(session, "force_generic_plan")

    assert read(plan) > 10 * BATCH
    assert whole_reads(plan)


# Nothing hot reads a whole shard

WHOLE_SHARD = {
    # Where one workspace has everything, its own are the whole shard.
    "observe": {"count_queue", "count_items", "count_executions", "count_own_items", "count_own_executions"},
    "finalize": {"schedule_doubtful_items", "clear_doubtful_items"},
    "executions": {"list_live_executions"},
    "contacts": {"list_contacts"},
    "suppressions": {"has_suppressions"},
    "workflows": {"has_executions"},
    "events": {"list_events"},
    "audience": {"pick_contacts"},
    "runs": {"list_runs", "sum_doubt_of_runs"},
    "items": {"list_outbox", "list_outbox_in_doubt"},
    "overview": {"count_own_doubt"},
    "sequences": {"count_step_items"},
}
"""What may read a shard's part of an index: it counts, it is of the few in doubt, or a person asked for a list."""
HOT_FILES = (
    *("start", "claim", "load", "outbox", "finalize", "release", "resolve", "deploy", "observe"),
    *("replay", "executions", "workflows", "contacts", "people", "erase", "suppressions", "sequences", "events"),
    *("enroll", "enrollments"),
    *("audience", "runs", "items", "names", "overview", "failures"),
)


async def whole_shard_readers(session: Sql, file: str) -> dict[str, list[str]]:
    plans = {
        name: await explain(session, statement, {}, "force_generic_plan") for name, statement in load(file).items()
    }
    return {name: whole_reads(plan) for name, plan in plans.items() if whole_reads(plan)}


async def fill(session: Sql, count: int = 20_000, *, analyze: bool = True, fresh: bool = False) -> None:
    """So many of everything in one shard."""
    if not fresh:
        await session.execute("vacuum")  # forgets the size, though not the shape, of what migrations left behind
    await insert_queue_rows(session, 1, count, NOW)
    rows = f"from (select g, {ID} as id, ('00000000-0000-7001-8000-' || lpad(to_hex(g / 100), 12, '0'))::uuid as run"
    rows += f" from generate_series(1, {count}) g) r"
    at = f"'{NOW.isoformat()}'::timestamptz"
    for statement in (
        # One in ten is for a contact.
        "insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key,"
        " key_hash, status, frontier, input, created_at, contact_id)"
        " select 1, id, 't', 'w', id, id, g::text, substr(sha256(g::text::bytea), 1, 16), 'enqueued', '{}', '{}',"
        f" {at}, case when g % 10 = 0 then id end {rows}",
        "insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, created_at)"
        f" select 1, id, run, 't', 'w', 'email', 'queued', 100, {at} {rows}",
        "insert into runs (shard, id, tenant_id, workspace_id, campaign_id, idempotency_key, channel, provider,"
        " content_id, content, status, created_at)"
        f" select 1, id, 't', 'w', id, g::text, 'email', 'p', 'c', '{{}}', 'queued', {at} {rows}",
        f"insert into run_parts (shard, run_id) select 1, id {rows}",
        f"insert into audience (shard, run_id, ordinal, recipient) select 1, run, g, 'r' {rows}",
        "insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, provider,"
        " recipient, payload, status, in_doubt, idempotency_key, marked_attempt, marked_at, created_at, contact_id)"
        " select 1, id, 't', 'w', id, 'n', 1, 0, 'email', 'p', 'r', '{}', 'queued', g % 1000 = 0,"
        " place_of(id) || substr(sha256(g::text::bytea), 1, 24),"
        f" 1, {at}, {at}, case when g % 10 = 0 then id end {rows}",
        f"insert into attempts (shard, item_id, tenant_id, workspace_id, attempt, provider, outcome, error, started_at,"
        f" ended_at) select 1, id, 't', 'w', 1, 'p', 'rejected', 'e', {at}, {at} {rows}",
        "insert into execution_log (shard, execution_id, tenant_id, workspace_id, node, visit, status, at)"
        f" select 1, id, 't', 'w', 'n', 1, 'completed', {at} {rows}",
        "insert into audit_log (shard, id, tenant_id, workspace_id, subject_kind, subject_id, event, actor, at)"
        f" select 1, id, 't', 'w', 'run', id, 'e', 'a', {at} {rows}",
        # An external id that is an id has that id's bucket.
        "insert into contacts (shard, id, tenant_id, workspace_id, external_id, company, status, tags, created_at,"
        " updated_at) select 1, id, 't', 'w', id::text, 'company ' || g % 1000, 'status ' || g % 5,"
        f" array['tag ' || g % 1000], {at}, {at} {rows}",
        "insert into contact_tags (shard, tenant_id, workspace_id, tag, contact_id)"
        f" select 1, 't', 'w', 'tag ' || g % 1000, id {rows}",
        "insert into suppressed_addresses (shard, hash, reason, since) select 1, hash, 'manual', "
        f"{at} from (select sha256(g::text::bytea) as hash from generate_series(1, {count}) g) h"
        " where shard_of_hash(hash) = 1",
        "insert into events (shard, id, tenant_id, workspace_id, trigger, idempotency_key, key_hash, data, decisions,"
        " source, created_at, routed_at) select 1, id, 't', 'w', 'trigger', g::text,"
        f" substr(sha256(g::text::bytea), 1, 16), '{{}}', '[]', 'api', {at}, {at} {rows}",
        f"insert into event_contacts (shard, contact_id, audience, event_id) select 1, id, 'lead', id {rows}",
        # Beside the others, with ids of their own: every tenth row an event's.
        "insert into outbox (shard, id, tenant_id, workspace_id, event_id, job_id, ordinal, channel, provider,"
        " recipient, payload, status, idempotency_key, created_at)"
        " select 1, ('00000001' || substr(id::text, 9))::uuid, 't', 'w', id, id, 0, 'email', 'p', 'r', '{}', 'queued',"
        f" place_of(id) || substr(sha256(('event' || g)::bytea), 1, 24), {at} {rows} where g % 10 = 0",
    ):
        await session.execute(statement)
    if analyze:
        await session.execute("analyze")


@pytest.mark.parametrize(("count", "analyze"), [(20_000, False), (20_000, True)])
async def test_no_statement_reads_a_whole_shard(session: Sql, count: int, analyze: bool) -> None:
    await fill(session, count, analyze=analyze)

    for file in HOT_FILES:
        found = await whole_shard_readers(session, file)
        assert found.keys() <= WHOLE_SHARD.get(file, set()), found


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
async def test_counting_a_small_workspace_reads_nothing_of_a_large_one(session: Sql, mode: Mode) -> None:
    await fill(session, 20_000, analyze=False)
    last = "right(id::text, 12) > '000000004e00'"  # the last few
    for table in ("executions", "outbox"):
        await session.execute(f"update {table} set tenant_id = 'small' where shard = 1 and {last}")
    await session.execute("analyze")
    own = {"shard": "1", "tenant": "small", "workspace": "w"}

    for name in ("count_own_items", "count_own_executions"):
        plan = await explain(session, load("observe")[name], own, mode)
        assert 0 < read(plan) < 1_000, (name, plan)
        assert whole_reads(plan) == []


async def test_on_a_database_that_was_just_made_a_batch_is_joined_by_its_keys(server: str) -> None:
    """What migrations put there and took away, and indexes made since, must not let tables look empty."""
    url = await make_scratch_database(server, shards=4)
    session: Sql = await asyncpg.connect(url, server_settings=SESSION_SETTINGS)
    try:
        await fill(session, 1_000, analyze=False, fresh=True)
        found = {file: await whole_shard_readers(session, file) for file in ("load", "outbox", "finalize", "release")}
    finally:
        await session.close()
        await drop_scratch_database(server, url)

    few = WHOLE_SHARD["finalize"] | {"load_runs", "release_runs"}  # items in doubt, and runs
    assert {name for of_file in found.values() for name in of_file} <= few, found


async def test_items_in_doubt_are_listed_from_their_own_index(looking: Sql) -> None:
    values = {"shard": "1", "tenant": "t", "workspace": "w", "limit": "50", **ANY_ID}

    for mode in MODES:
        plan = await explain(looking, load("items")["list_outbox_in_doubt"], values, mode)
        assert {part.get("Index Name") for part in parts(plan)} - {None, "attempts_pkey"} == {
            "idx_channel_outbox_in_doubt"
        }
        assert plan["Actual Rows"] == 6
        assert buffers(plan) < 60


async def fail_one_in_a_hundred(session: Sql) -> None:
    """Of many that were sent long ago a few failed, and fewer of them lately."""
    lately = "right(id::text, 12) > '000000004d00'"  # the last few hundred
    when = f"case when {lately} then '{NOW.isoformat()}'::timestamptz else '2020-01-01' end"
    every = "('x' || right(id::text, 8))::bit(32)::int % 100 = 0"
    await session.execute(
        f"update outbox set status = case when {every} then 'failed' else 'sent' end, in_doubt = false,"
        f" finalized_at = {when}, error = 'e' where status = 'queued'"
    )
    await session.execute(
        f"update executions set status = case when {every} then 'failed' else 'completed' end, ended_at = {when},"
        f" error = 'e', error_node = case when {every} then 'n' end"
    )


@pytest.mark.parametrize("analyze", [False, True])
async def test_an_overview_costs_the_same_however_much_was_sent(session: Sql, analyze: bool) -> None:
    """With the statistics of a database that was just made, too: nothing has been analyzed since it grew."""
    await fill(session, 20_000, analyze=False)
    await fail_one_in_a_hundred(session)
    await session.execute(
        "update queue set due_at = due_at + interval '9 years' where right(id::text, 12) > '000000000100'"
    )
    await session.execute("vacuum analyze" if analyze else "vacuum")
    own = {"shard": "1", "tenant": "t", "workspace": "w", "most": "10000"}
    queue = {"shard": "1", "workspace_hash": "1", "lanes": "{0,1,2,3}", "now": NOW.isoformat(), "most": "100"}
    asked = {
        "count_own_failures": {**own, "failed_since": (NOW - timedelta(hours=1)).isoformat()},
        "count_own_doubt": own,
        "look_at_own_queue": queue,
        "list_failures": {
            **{name: own[name] for name in ("shard", "tenant", "workspace")},
            "failed_since": "2020-01-01",
            "failed_before": "2030-01-01",
            "before": ANY_ID["before"],
            "limit": "10",
        },
    }
    statements = {**load("overview"), **load("failures")}

    for mode, (name, values) in product(MODES, asked.items()):
        plan = await explain(session, statements[name], values, mode)
        assert buffers(plan) < 300, (mode, name, buffers(plan))


async def test_the_newest_items_are_listed_without_reading_the_others(looking: Sql) -> None:
    values = {"shard": "1", "tenant": "t", "workspace": "w", "limit": "50", **ANY_ID}

    for mode in MODES:
        plan = await explain(looking, load("items")["list_outbox"], values, mode)
        assert plan["Actual Rows"] == 50
        assert buffers(plan) < 200, mode


async def give_them_a_workflow(session: Sql) -> None:
    """One version of one workflow for all; a tenth is in our workspace, a hundredth failed, and few of them go on."""
    id = "00000000-0000-7001-8000-000000000001"
    await session.execute(
        "insert into workflows (id, tenant_id, workspace_id, name, created_at, updated_at)"
        f" values ('{id}', 't', 'w', 'flow', '2026-01-01', '2026-01-01')"
    )
    await session.execute(
        "insert into workflow_versions (id, tenant_id, workspace_id, workflow_id, number, definition, created_at, form,"
        f" entry, total_steps) values ('{id}', 't', 'w', '{id}', 1, '{{}}', '2026-01-01', 'graph', 'n', 1)"
    )
    failed = "idempotency_key::integer % 100 = 0"
    await session.execute(
        f"update executions set workflow_id = '{id}', version_id = '{id}', ended_at = '2026-01-01', error = 'e',"
        f" status = case when {failed} then 'failed' else 'completed' end,"
        f" error_node = case when {failed} then 'n' end where idempotency_key::integer > 1000"
    )
    await session.execute(f"update executions set workflow_id = '{id}', version_id = '{id}' where ended_at is null")
    await session.execute("update executions set workspace_id = 'x' where idempotency_key::integer % 10 <> 0")
    await session.execute("delete from queue q using executions e where e.id = q.id and e.ended_at is not null")
    await session.execute("vacuum analyze")


LISTS = [
    ("list_executions", None, 50, 600),
    ("list_executions", "completed", 50, 600),
    ("list_failed_executions", None, 50, 600),
    ("list_live_executions", "enqueued", 50, 5_000),
    ("list_live_executions", "paused", 0, 600),
]
"""Statement, status, rows, and the most buffers."""


async def test_the_newest_executions_are_listed_without_reading_the_others(session: Sql) -> None:
    await fill(session, 20_000)
    await give_them_a_workflow(session)

    for name, status, rows, most in LISTS:
        values = {"shard": "1", "tenant": "t", "workspace": "w", "limit": "50", "status": status, **ANY_ID}
        for mode in MODES:
            plan = await explain(session, load("executions")[name], values, mode)
            assert plan["Actual Rows"] == rows, (name, status)
            assert buffers(plan) < most, (name, status, mode)


def some(value: str | None, count: int = BATCH) -> str:
    return "{" + ",".join(["NULL" if value is None else value] * count) + "}"


async def test_a_window_of_facts_costs_what_its_items_cost(looking: Sql) -> None:
    ids = await looking.fetchval(f"select array_agg({ID}) from generate_series(5001, 5100) g")
    values = {
        "shard": "1",
        "ids": "{" + ",".join(map(str, ids)) + "}",
        "fences": some("1"),
        "attempt_numbers": some("1"),
        "statuses": some("sent"),
        "unknown": some("false"),
        "uses_attempt": some("true"),
        "retry_at": some(None),
        "message_ids": some("m"),
        "errors": some(None),
        "now": NOW.isoformat(),
    }

    for mode in MODES:
        plan = await explain(looking, load("finalize")["finalize_items"], values, mode)
        assert {part["Actual Rows"] for part in parts(plan) if part.get("Subplan Name") == "CTE finalized"} == {BATCH}
        assert whole_reads(plan) == []
        assert buffers(plan) < 60 * BATCH


async def test_marking_and_moving_a_job_s_items_looks_at_no_other_job(session: Sql) -> None:
    """Not even if the queue was seen with one row before a thousand jobs were planned."""
    await session.execute("vacuum queue")
    await insert_queue_rows(session, 1, 1, NOW)
    await session.execute("analyze queue")
    await insert_queue_rows(session, 2, 1_000, NOW)
    [owner] = await session.fetchval(f"select array_agg({ID}) from generate_series(500, 500) g")
    ids = await session.fetchval(f"select array_agg({ID}) from generate_series(1, {BATCH}) g")
    await session.execute(
        "insert into outbox (shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient,"
        " status, idempotency_key, created_at) select 1, t.id, 't', 'w', $2, $2, t.number, 'email', 'p', 'r', 'queued',"
        " place_of(t.id) || substr(sha256(t.number::text::bytea), 1, 24), $3"
        " from unnest($1::uuid[]) with ordinality t(id, number)",
        ids,
        owner,
        NOW,
    )
    values = {
        "shard": "1",
        "ids": "{" + ",".join(map(str, ids)) + "}",
        "owners": some(str(owner)),
        "fences": some("0"),
        "attempt_numbers": some("1"),
        "attempts": some("1"),
        "payloads": some('"{}"'),
        "again": some("false"),
        "now": NOW.isoformat(),
    }

    owned = {name: values[name] for name in ("shard", "ids", "owners", "fences")}
    moving = {**owned, "attempt_numbers": some("0"), "before": some("p"), "providers": some("q")}

    for mode, (name, given) in product(MODES, {"move_items": moving, "mark_items": values}.items()):
        plan = await explain(session, load("outbox")[name], given, mode)
        assert plan["Actual Rows"] == BATCH, name
        assert sum(part.get("Rows Removed by Join Filter", 0) for part in parts(plan)) == 0, (name, mode)
        assert buffers(plan) < 60 * BATCH, (name, mode)


async def test_a_whole_read_is_seen(looking: Sql) -> None:
    everything = Statement("everything", "select error from outbox where shard = $1", ("shard",))
    by_key = Statement("by_key", "select error from outbox where shard = $1 and id = $2", ("shard", "id"))

    assert whole_reads(await explain(looking, everything, {}, "force_generic_plan"))
    assert not whole_reads(await explain(looking, by_key, {}, "force_generic_plan"))


WAYS: list[tuple[AudienceFilter, str, int]] = [
    (EVERYONE, "idx_contacts_listed", 50),
    (Where("status", "status 3"), "idx_contacts_status", 50),
    (Where("company", "company 7"), "idx_contacts_company", 20),
    (Where("tag", "tag 7"), "contact_tags_pkey", 20),
    (both(Where("tag", "tag 7"), Where("company", "COMPANY 7")), "contact_tags_pkey", 20),
    (both(Where("company", "company 7"), Not(Where("attributes", {"plan": "pro"}))), "idx_contacts_company", 20),
]
"""Filter, the index that must be used, and rows."""


def narrowed(statement: Statement, wanted: AudienceFilter) -> tuple[Statement, dict[str, str]]:
    """A statement for a filter, and the filter's values as SQL writes them."""
    shaped, values = for_filter(statement, wanted, Workspace("t", "w"), EVERYTHING, NOW)
    return shaped, {name: written(one) for name, one in values.items()}


def written(value: object) -> str:
    """A value as SQL writes it between quotes."""
    if isinstance(value, list):
        return "{" + ",".join(map(json.dumps, map(str, value))) + "}"
    return json.dumps(value) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize("analyze", [False, True])
async def test_a_page_of_contacts_is_read_from_the_index_of_its_filter(session: Sql, sql: Sql, analyze: bool) -> None:
    """Where most are another workspace's; if all were ours, any index would do."""
    if IS_FORCED and not analyze:
        pytest.skip("with row security forced, a page is read from another index until autovacuum has come by")
    # Autovacuum that looked between the two would believe that all are ours.
    await session.execute("alter table contacts set (autovacuum_enabled = off)")
    await fill(session, 20_000, analyze=False)
    await session.execute("update contacts set workspace_id = 'x' where company not like 'company 7%'")
    await vacuum_alone(session, sql, "contacts")
    if analyze:
        await session.execute("analyze")

    for wanted, index, rows in WAYS:
        if IS_FORCED and index == "idx_contacts_company":
            continue  # lower() may leak what it sees, so policies come before it
        statement, where = narrowed(load("contacts")["list_contacts"], wanted)
        values = {"shard": "1", "limit": "50", **where}
        for mode in MODES:
            plan = await explain(session, statement, values, mode)
            assert index in {part.get("Index Name") for part in parts(plan)}, (wanted, mode)
            if analyze:  # before that a tag is taken for a rare one, whose few are sorted
                assert "Sort" not in {part["Node Type"] for part in parts(plan)}, (wanted, mode)
            assert plan["Actual Rows"] == rows, (wanted, mode)
            assert buffers(plan) < 250, (wanted, mode)


async def test_changing_contacts_compares_none_with_every_other(looking: Sql) -> None:
    """A batch joined to itself without an index would look at a million pairs for a thousand contacts."""
    ids = [str(one["id"]) for one in await looking.fetch("select id from contacts limit 1000")]
    empty = "{" + ",".join(['""'] * 1000) + "}"
    none = "{" + ",".join(["NULL"] * 1000) + "}"
    statement = load("contacts")["change_contacts"]
    values = dict.fromkeys(statement.parameters, none) | dict.fromkeys(
        ["no_attributes", "no_consents", "no_suppressions"], empty
    )
    values |= {"shard": "1", "tenant": "t", "workspace": "w", "separator": ",", "now": NOW.isoformat()}
    values |= {"external_ids": "{" + ",".join(ids) + "}", "names": "{" + ",".join(["Ada"] * 1000) + "}"}

    for mode in MODES:
        plan = await explain(looking, statement, values, mode)
        assert max(part["Actual Rows"] * part["Actual Loops"] for part in parts(plan)) <= 2_000, mode


async def test_those_on_the_way_through_a_sequence_are_found_without_reading_the_others(session: Sql) -> None:
    await fill(session, 6_000)
    await session.execute(
        "update executions set contact_id = id, workflow_id = $1 where idempotency_key::int % 100 = 0", DRIP
    )
    await session.execute("vacuum analyze executions")
    values = {"shard": "1", "workflow_id": str(DRIP), "version_id": str(DRIP), "after": str(UUID(int=0)), "limit": "50"}

    for mode in MODES:
        for name, found in (("count_in_flight", 60), ("lock_enrollments_behind", 50), ("has_live_enrollment", 1)):
            plan = await explain(session, load("sequences")[name], values, mode)
            assert "idx_executions_workflow_id" in {part.get("Index Name") for part in parts(plan)}, (name, mode)
            assert buffers(plan) < 20 * found + 40, (name, mode)


async def test_the_work_for_a_contact_is_found_by_its_own_indexes(session: Sql) -> None:
    await fill(session, 20_000)
    await give_them_a_workflow(session)
    await session.execute("update executions set contact_id = id where idempotency_key::integer % 100 = 0")
    await session.execute(
        "update outbox set contact_id = id where ordinal = 0 and id in (select id from executions"
        " where contact_id is not null)"
    )
    await session.execute("vacuum analyze")
    contact = str(await session.fetchval("select contact_id from executions where contact_id is not null limit 1"))
    values = {
        "shard": "1",
        "tenant": "t",
        "workspace": "w",
        "limit": "50",
        "contact_id": contact,
        "audience": "lead",
    } | ANY_ID

    for file, name, index in (
        ("executions", "list_executions_of_contact", "idx_executions_contact_id"),
        ("erase", "list_executions_to_erase", "idx_executions_contact_id"),
        ("erase", "list_items_to_erase", "idx_channel_outbox_contact_id"),
        ("erase", "list_events_to_erase", "event_contacts_pkey"),
        ("events", "list_events_of_contact", "event_contacts_pkey"),
        ("items", "list_outbox_of_contact", "idx_channel_outbox_contact_id"),
    ):
        for mode in MODES:
            plan = await explain(session, load(file)[name], values, mode)
            assert index in {part.get("Index Name") for part in parts(plan)}, (name, mode)
            assert plan["Actual Rows"] == 1
            assert buffers(plan) < 40, (name, mode)


async def test_the_claim_the_end_and_the_history_of_jobs_read_their_own_rows_alone(session: Sql) -> None:
    """Of 100 jobs at once; what is told of them is written, and nothing of the log is read."""
    await fill(session, 6_000)
    ids = await session.fetchval(f"select array_agg({ID}) from generate_series(5001, 5100) g")
    entries = await session.fetchval(f"select array_agg({ID}) from generate_series(9001, 9100) g")
    values = {
        "shard": "1",
        "ids": "{" + ",".join(map(str, ids)) + "}",
        "entries": "{" + ",".join(map(str, entries)) + "}",
        "events": some("locked"),
        "details": some('"{}"'),
        "actor": "engine",
        "fences": some("0"),
        "stops": some(None),
        "due_at": some(NOW.isoformat()),
        "dead": some("false"),
        "errors": some(None),
        "now": NOW.isoformat(),
    }

    for mode in MODES:
        taken = await explain(session, load("load")["take_jobs"], values, mode)
        told = await explain(session, load("job_history")["insert_job_history"], values, mode)
        await session.execute("update jobs set sent = planned where id = any($1)", ids)
        released = await explain(session, load("release")["release_jobs"], values, mode)
        [written] = told["Plans"]
        assert [one["Actual Rows"] for one in (taken, written, released)] == [BATCH] * 3, mode
        for plan in (taken, told, released):
            assert whole_reads(plan) == []
            assert buffers(plan) < 60 * BATCH, mode


FOR_EVERY_ROW = [
    "shard_of(id)",
    "shard_of_hash(idempotency_key)",
    "key_hash(idempotency_key, recipient)",
    "place_of(id)",
    "campaign_key(idempotency_key, '', recipient, '')",
]


@pytest.mark.parametrize("call", FOR_EVERY_ROW)
async def test_what_is_computed_for_every_row_is_computed_in_place(session: Sql, call: str) -> None:
    assert await is_in_place(session, call)


async def is_in_place(session: Sql, call: str) -> bool:
    """Whether the planner has put a function's body where it is called."""
    explained = await session.fetchval(f"explain (verbose, format json) select {call} from outbox")
    return call.partition("(")[0] not in json.loads(explained)[0]["Plan"]["Output"][0]


# Times

A_MOMENT = {"since": "00000000-0000-7500-8000-000000000000", "before": "00000000-0000-7510-8000-000000000000"}
"""A range of ids far from both ends, as a span of time is: a 256th of all."""
LISTED = [
    ("executions", "list_executions", {}, "idx_executions_listed"),
    ("executions", "list_failed_executions", {}, "idx_executions_error_node"),
    ("runs", "list_runs", {}, "idx_runs_listed"),
    ("events", "list_events", {}, "idx_events_listed"),
    ("contacts", "list_contacts", {}, "idx_contacts_listed"),
    ("contacts", "list_contacts by status", {"status": "status 0"}, "idx_contacts_status"),
    ("access", "list_tenant_audit", {}, "idx_audit_log_listed"),
    ("items", "list_outbox", {}, "channel_outbox_pkey"),
    ("items", "list_outbox_in_doubt", {}, "idx_channel_outbox_in_doubt"),
]
"""File, statement, filter, and the index of which a range is read."""


async def test_a_list_of_some_time_reads_the_range_of_its_index_and_nothing_newer(session: Sql) -> None:
    await fill(session, 20_000, analyze=False)
    await give_them_a_workflow(session)
    of_others = "right(id::text, 1) not in ('1', '8')"
    for table in ("runs", "events", "contacts"):
        await session.execute(f"update {table} set workspace_id = 'x' where {of_others}")
    await session.execute(f"update audit_log set tenant_id = 'x' where {of_others}")
    await session.execute("vacuum analyze")

    for file, name, where, index in LISTED:
        values = {"shard": "1", "tenant": "t", "workspace": "w", "limit": "50", **where, **A_MOMENT}
        for mode in MODES:
            statement = load(file)[name.partition(" by ")[0]]
            if " by " in name:
                statement = narrowed(statement, Where(*next(iter(where.items()))))[0]
            plan = await explain(session, statement, values, mode)
            [condition] = [str(part["Index Cond"]) for part in parts(plan) if part.get("Index Name") == index]
            assert "(id >= " in condition, (name, mode)
            assert "(id < " in condition, (name, mode)
            assert buffers(plan) < 300, (name, mode)
