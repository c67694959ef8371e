"""Observe: verify names the rows that break a promise, and finds none where none do."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    crash_in_call,
    delay,
    deploy,
    email,
    plan_runs,
    start,
    start_many,
    work,
)
from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import ItemStatus
from tidings.engine import Engine
from tidings.kernel.manage.observe import CONTRACT
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter


async def sleeping_execution(engine: Engine, clock: ManualClock) -> None:
    await start(engine, email(), delay("long", "P3D"), email("second"))
    await work(engine)


async def planned_run(engine: Engine, clock: ManualClock) -> None:
    await deploy(engine, 4)
    await plan_runs(engine)


async def ended_run(engine: Engine, clock: ManualClock) -> None:
    await deploy(engine, 4)
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)


Scene = Callable[[Engine, ManualClock], Awaitable[None]]
DOUBLE = """
insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, provider,
                    recipient, status, idempotency_key, created_at, finalized_at, payload, marked_attempt)
select shard, (left(id::text, 24) || '000000000001')::uuid, tenant_id, workspace_id, execution_id, node, visit, ordinal,
       channel, provider, recipient, status, place_of(id) || substr(sha256('other'), 1, 24), created_at, finalized_at,
       payload, marked_attempt
  from outbox
"""


ELSEWHERE = """
alter table outbox drop constraint channel_outbox_idempotency_key_check;
insert into outbox (shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient, status,
                    idempotency_key, created_at)
select o.shard, (left(o.id::text, 24) || '000000000001')::uuid, o.tenant_id, o.workspace_id, o.run_id, o.job_id, 1000,
       o.channel, o.provider, o.recipient, o.status,
       (select e.idempotency_key from outbox e where e.shard <> o.shard limit 1), o.created_at
  from outbox o
 where o.shard = (select max(shard) from outbox) and o.ordinal < 1000
 limit 1
"""


@pytest.mark.parametrize(
    ("scene", "sin", "check", "offender"),
    [
        (sleeping_execution, "update outbox set marked_attempt = 0", "marks", "select id from outbox"),
        (sleeping_execution, DOUBLE, "doubles", "select id from outbox"),
        (planned_run, ELSEWHERE, "keys", "select id from outbox where ordinal = 1000"),
        (planned_run, "delete from queue where kind = 'job'", "lost items", "select id from outbox"),
        (sleeping_execution, "delete from queue", "lost executions", "select id from executions"),
        (planned_run, "delete from queue where kind = 'job'", "lost jobs", "select id from jobs"),
        (planned_run, "delete from queue where kind = 'run'", "lost runs", "select id from runs"),
        (sleeping_execution, "delete from executions", "queue", "select id from queue"),
        (planned_run, "update jobs set sent = 1", "counts", "select id from jobs"),
        (planned_run, "delete from outbox where ordinal = 1", "counts", "select id from jobs"),
        (
            ended_run,
            "update outbox set status = 'queued', finalized_at = null where ordinal = 1",
            "jobs",
            "select job_id from outbox where ordinal = 1",
        ),
        (ended_run, "update runs set status = 'failed'", "runs", "select id from runs"),
        (ended_run, "update runs set planned = 5", "runs", "select id from runs"),
    ],
)
async def test_verify_names_the_rows_that_break_a_promise(
    engine: Engine, clock: ManualClock, sql: Sql, scene: Scene, sin: str, check: str, offender: str
) -> None:
    await scene(engine, clock)
    await assert_kept(engine)

    await sql.execute(sin)
    found = {one.name: [offence.id for offence in one.offences] for one in await engine.verify()}

    possible = {each[0] for each in await sql.fetch(offender)}
    assert found[check]
    assert set(found[check]) <= possible


@pytest.mark.parametrize("name", CONTRACT)
async def test_verify_misses_every_constraint_of_the_contract(engine: Engine, sql: Sql, name: str) -> None:
    table = await sql.fetchval("select conrelid::regclass::text from pg_constraint where conname = $1", name)
    await sql.execute(f"alter table {table} drop constraint {name}" if table else f"drop index {name}")

    [contract] = [check for check in await engine.verify() if check.name == "contract"]

    assert [name in offence.problem for offence in contract.offences] == [True]


async def test_verify_holds_while_work_is_under_way_and_after_a_crash(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await start_many(engine, 3, email(to=["a@example.com", "b@example.com"]), same_shard=True)
    await deploy(engine, 6)

    await assert_kept(engine)
    await plan_runs(engine)
    await assert_kept(engine)
    await crash_in_call(engine, provider)
    await assert_kept(engine)
    clock.advance(minutes=6)
    await work(engine)

    await assert_kept(engine)


async def test_what_does_not_exist_is_not_shown(engine: Engine) -> None:
    nobody = await start(engine)

    with pytest.raises(NotFound):
        await engine.runs.get(Workspace(), nobody)
    with pytest.raises(NotFound):
        await engine.outbox.get(Workspace(), nobody)
    with pytest.raises(NotFound):
        await engine.executions.get(Workspace(), await deploy(engine, 1))


async def test_items_are_listed_newest_first_and_only_in_their_workspace(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    for number in range(5):
        await engine.define("flow", {"entryNodeId": "hello", "nodes": [email()]})
        await engine.trigger("flow", {}, f"k{number}")
        await work(engine)
        clock.advance(seconds=1)

    newest = await engine.outbox.list(Workspace(), OutboxFilter(status=ItemStatus.SENT), limit=3)
    older = await engine.outbox.list(Workspace(), cursor=newest.next_cursor)

    times = [item.created_at for item in newest.items + older.items]
    assert times == [clock.time - timedelta(seconds=n) for n in range(1, 6)]
    assert (await engine.outbox.list(Workspace("other", "room"))).items == []


async def test_totals_count_everything_by_status(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await deploy(engine, 1)
    await plan_runs(engine)
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)
    await start(engine)
    await work(engine)

    totals = await engine.health.totals()

    assert dict(totals.items) == {"in_doubt": 1, "sent": 1}
    assert dict(totals.executions) == {"completed": 1}
    assert (totals.live, totals.leased) == (2, 0)
