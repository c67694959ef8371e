"""Release: a move needs the lease, and an owner is due when the first of its items is."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.conftest import MakeWorker
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    crash_in_call,
    delay,
    deploy,
    email,
    frozen_in_call,
    graph,
    plan_runs,
    row,
    start,
    start_many,
    with_lossy_database,
    work,
    work_leases,
    work_once,
)
from tests.stored import TESTER, items_in_doubt, stored_execution, stored_run
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater
from tidings.domain.flow.queue import Kind, Lane
from tidings.engine import Engine
from tidings.kernel.flow.claim import claim_due
from tidings.kernel.flow.jobs import work_jobs
from tidings.kernel.kernel import Limits
from tidings.kernel.manage.resolve import Resolution
from tidings.providers.fake import FakeProvider
from tidings.storage.release import wake_owner


async def test_rule_2_a_move_without_the_lease_does_not_happen(
    engine: Engine, other: Engine, clock: ManualClock, sql: Sql
) -> None:
    id = await start(engine, delay("first", "PT0S"), delay("second", "PT1H"), email())
    leases = await claim(engine)
    clock.advance(minutes=6)
    [held] = await claim(other)

    await work_leases(engine, leases)

    assert await row(sql, "select fence, due_at, leased from queue") == (held.fence, held.until, True)
    assert (await stored_execution(engine, id)).cursor == "first"
    assert await sql.fetchval("select count(*) from execution_log") == 0


async def test_rule_2_a_zombie_cannot_end_a_job_that_somebody_else_holds(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await deploy(engine, 1)
    await plan_runs(engine)

    async with frozen_in_call(engine, provider) as answered:
        clock.advance(minutes=6)
        await claim(other)
        answered.set()

    assert await row(sql, "select sent, status from jobs") == (1, "locked")
    assert await sql.fetchval("select leased from queue where kind = 'job'")


async def test_rule_2_a_worker_that_lost_one_of_its_jobs_goes_on_with_the_others(
    make_worker: MakeWorker, provider: FakeProvider, sql: Sql
) -> None:
    engine = await make_worker(Limits(job_size=1))
    await deploy(engine, 9)
    await plan_runs(engine)
    leases = await claim_due(engine.kernel, Shard(0), Lane.CAMPAIGNS, limit=100)
    await sql.execute("update queue set fence = fence + 1 where id = $1", leases[0].id)

    await work_jobs(engine.kernel, Shard(0), Lane.CAMPAIGNS, leases)

    assert len(leases) > 1
    assert {call.owner for call in provider.calls} == {lease.id for lease in leases[1:]}


async def test_rule_1_a_job_that_was_woken_under_its_lease_is_due_at_once(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["p1@example.com"] = [RetryLater("busy", delay=timedelta(hours=1))]
    await deploy(engine, 1)
    await plan_runs(engine)
    [job] = [lease for lease in await claim(engine) if lease.kind is Kind.JOB]

    await _wake(engine, job.id, clock.time)
    await work_leases(engine, [job])
    woken = await row(sql, "select due_at, wake, leased from queue where id = $1", job.id)
    await work_once(engine)

    assert woken == (clock.time, False, False)
    assert await sql.fetchval("select due_at from queue where id = $1", job.id) == clock.time + timedelta(hours=1)
    assert len(provider.calls) == 1


async def test_rule_1_waking_moves_the_time_of_what_sleeps_and_never_that_of_a_lease(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    asleep, awake = await start_many(engine, 2, delay("long", "PT1H"), email())
    await work(engine)
    state = "select due_at, wake from queue where id = $1"

    await _wake(engine, asleep, clock.time + timedelta(hours=2))
    later = await row(sql, state, asleep)
    await _wake(engine, asleep, clock.time + timedelta(minutes=5))
    earlier = await row(sql, state, asleep)
    await sql.execute("update queue set due_at = $2 where id = $1", awake, clock.time)
    [held] = await claim(engine)
    await _wake(engine, awake, clock.time)

    assert later == (clock.time + timedelta(hours=1), False)
    assert earlier == (clock.time + timedelta(minutes=5), False)
    assert await row(sql, state, awake) == (held.until, True)


async def _wake(engine: Engine, id: UUID, at: datetime) -> None:
    async with engine.kernel.db.transaction() as tx:
        await wake_owner(tx, shard=engine.kernel.shard_of(id), id=id, at=at)


async def test_never_do_complete_a_job_without_checking_all_its_items(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["p1@example.com"] = [RetryLater("busy")]
    await deploy(engine, 9)

    await work(engine)
    early = await sql.fetch("select status, planned - sent as open from jobs order by 2")
    clock.advance(minutes=1)
    await work(engine)

    assert {(each["status"], each["open"]) for each in early} == {("completed", 0), ("queued", 1)}
    assert await sql.fetchval("select bool_and(status = 'completed' and planned = sent) from jobs")


@pytest.mark.parametrize("when", ["after", "before"])
async def test_a_release_whose_commit_is_unknown_moves_once(
    engine: Engine, clock: ManualClock, sql: Sql, when: str
) -> None:
    await start(engine, delay("first", "PT0S"), delay("second", "PT1H"), email())
    leases = await claim(engine)
    lossy = with_lossy_database(engine, lose=lambda count: count == 2, when=when)  # 1 loads, 2 releases

    await work_leases(lossy, leases)

    assert await row(sql, "select fence, leased, due_at from queue") == (2, False, clock.time + timedelta(hours=1))
    assert await row(sql, "select node, status from execution_log") == ("first", "completed")


async def test_a_job_whose_release_was_not_heard_of_still_lets_its_run_end(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    run = await deploy(engine, 2)
    await plan_runs(engine)
    lossy = with_lossy_database(engine, lose=lambda count: count % 2 == 0)
    await work_leases(lossy, await claim(engine))

    clock.advance(seconds=31)
    await work(engine)

    assert (await stored_run(engine, run)).run.status is RunStatus.COMPLETED


async def test_what_ends_leaves_the_queue(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    await start(engine)
    await deploy(engine, 3)

    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    assert await sql.fetchval("select count(*) from queue") == 0
    assert (await engine.health.totals()).live == 0


async def test_rule_8_a_reopened_item_is_tried_again_in_its_own_time_while_its_execution_sleeps(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine, email(), delay("long", "P3D"), email("second"))
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)
    await work(engine)
    [item] = await items_in_doubt(engine)
    provider.script["ada@example.com"] = [RetryLater("busy")]

    await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "it is not in the provider's log")
    await work(engine)
    clock.advance(minutes=1)
    await work(engine)

    assert len(provider.calls) == 3
    assert await row(sql, "select status from outbox") == ("sent",)
    assert await sql.fetchval("select due_at from queue") > clock.time + timedelta(days=2)


async def test_a_failed_branch_ends_the_execution_and_no_item_is_left_behind_unseen(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    nodes = [delay("fork", "PT0S"), email("a", to="a@example.com"), email("b", to="b@example.com")]
    await engine.define("flow", graph(*nodes, edges=[("fork", "a"), ("fork", "b")]))
    started = await engine.trigger("flow", {}, "k1")
    provider.script = {"a@example.com": [RetryLater("busy")], "b@example.com": [Rejected("no")]}

    await work(engine)
    await assert_kept(engine)
    clock.advance(hours=1)
    await work(engine)

    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.FAILED
    assert await sql.fetchval("select count(*) from outbox where status = 'queued'") == 0
    assert await sql.fetchval("select count(*) from queue") == 0


async def test_a_node_fails_when_one_of_its_recipients_does(engine: Engine, provider: FakeProvider) -> None:
    provider.script["b@example.com"] = [Rejected("no such mailbox")]
    id = await start(engine, email(to=["a@example.com", "b@example.com"]), email("second"))

    await work(engine)

    shown = await stored_execution(engine, id)
    assert (shown.status, shown.error) == (ExecutionStatus.FAILED, "1 of 2 recipients failed: no such mailbox")
    assert len(provider.calls) == 2


async def test_a_failed_node_that_may_fail_lets_the_walk_go_on(engine: Engine, provider: FakeProvider) -> None:
    provider.script["ada@example.com"] = [Rejected("no such mailbox")]
    id = await start(engine, email(onFailure="continue"), email("second"))

    await work(engine)

    shown = await stored_execution(engine, id)
    assert (shown.status, len(provider.calls)) == (ExecutionStatus.COMPLETED, 2)
    assert shown.vars["hello"]["error"] == "no such mailbox"  # type: ignore[index]


async def test_what_is_sent_and_ended_stays_on_its_page(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    """An update that finds room beside the old row adds nothing to any index: see docs/decisions/0245."""
    await start_many(engine, 100, email(), same_shard=True)
    before: dict[UUID, str] = {}
    turn = asyncio.Lock()

    async def look(_item: Marked) -> Outcome:
        async with turn:
            if not before:
                before.update(await _pages(sql))
        return Accepted("a-message-id-as-long-as-most-of-them-are@mail.example.com")

    provider.answer = look
    await work(engine)

    after = await _pages(sql)
    assert len(before) == len(after) == 200
    assert sum(after[id] == page for id, page in before.items()) >= 195  # 63 with pages filled to 70 and 80 %


async def _pages(sql: Sql) -> dict[UUID, str]:
    """The page that each item and each execution is on."""
    query = "select id, split_part(ctid::text, ',', 1) as page from"
    return {row["id"]: row["page"] for row in await sql.fetch(f"{query} outbox union all {query} executions")}
