"""Roll-up: a run's status follows from its jobs, under its own claim (002, invariants 3 and 4)."""

from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import (
    CAMPAIGN_ID,
    Sql,
    assert_kept,
    claim,
    deploy,
    frozen_in_call,
    plan_runs,
    row,
    work,
    work_leases,
    work_once,
)
from tests.stored import stored_run
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater
from tidings.engine import Engine
from tidings.kernel.campaigns import rollup
from tidings.kernel.manage.observe import show_history
from tidings.providers.fake import FakeProvider


async def end_run(engine: Engine, clock: ManualClock) -> None:
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)


def refuse_every(provider: FakeProvider, nth: int) -> None:
    def answer(item: Marked) -> Outcome:
        number = int(item.recipient.removeprefix("p").partition("@")[0])
        return Rejected("no such mailbox") if number % nth == 0 else Accepted()

    provider.answer = answer


@pytest.mark.parametrize(
    ("refused", "status"), [(1000, RunStatus.COMPLETED), (1, RunStatus.FAILED), (2, RunStatus.PARTIAL)]
)
async def test_a_runs_status_follows_from_its_jobs(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, refused: int, status: RunStatus
) -> None:
    refuse_every(provider, refused)
    run = await deploy(engine, 12)

    await end_run(engine, clock)

    shown = await stored_run(engine, run)
    assert shown.run.status is status
    assert shown.counts.sent + shown.counts.failed == shown.run.planned == 12
    await assert_kept(engine)


async def test_a_jobs_status_follows_from_its_items(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    refuse_every(provider, 2)
    await deploy(engine, 12)

    await end_run(engine, clock)

    for job in await sql.fetch("select status, sent, failed, planned from jobs"):
        expected = "completed" if not job["failed"] else "failed" if job["failed"] == job["planned"] else "partial"
        assert job["status"] == expected


async def test_rule_10_a_run_is_running_once_a_job_is_locked_and_its_history_is_kept(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    run = await deploy(engine, 1)
    await plan_runs(engine)
    planned = (await stored_run(engine, run)).run.status

    async with frozen_in_call(engine, provider) as answered:
        await plan_runs(engine)
        in_flight = (await stored_run(engine, run)).run.status
        answered.set()
    await end_run(engine, clock)

    assert (planned, in_flight) == (RunStatus.QUEUED, RunStatus.RUNNING)
    assert {entry.event for entry in await show_history(engine.kernel, run)} == {"deployed", "running", "completed"}


async def test_rule_10_only_the_holder_of_a_runs_claim_writes_its_status(
    engine: Engine, other: Engine, clock: ManualClock, sql: Sql
) -> None:
    await deploy(engine, 1)
    zombie = await claim(engine)
    clock.advance(minutes=6)
    await claim(other)

    await work_leases(engine, zombie)

    assert await row(sql, "select status, planned from runs") == ("queued", None)
    assert await sql.fetchval("select count(*) from audit_log where subject_kind = 'run' and event <> 'deployed'") == 0


async def test_rule_10_a_zombie_that_knows_better_still_writes_no_status_and_ends_nobodys_lease(
    engine: Engine, other: Engine, clock: ManualClock, sql: Sql
) -> None:
    run = await deploy(engine, 1)
    await plan_runs(engine)
    clock.advance(seconds=31)
    job, its_run = sorted(await claim(engine), key=lambda lease: lease.kind)
    await work_leases(other, [job])
    clock.advance(minutes=6)
    [held] = await claim(other)

    await work_leases(engine, [its_run])  # by now all its jobs are done

    assert await row(sql, "select status, ended_at from runs") == ("queued", None)
    assert await row(sql, "select id, fence, leased, due_at from queue") == (run, held.fence, True, held.until)
    await work_leases(other, [held])
    assert (await stored_run(engine, run)).run.status is RunStatus.COMPLETED


async def test_rule_10_a_finished_job_wakes_its_run(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    await deploy(engine, 1)
    await plan_runs(engine)
    await plan_runs(engine)

    await work_once(engine)

    assert await sql.fetchval("select due_at from queue where kind = 'run'") <= clock.time + timedelta(seconds=1)


async def test_rule_10_a_job_that_ends_while_its_run_is_rolled_up_is_not_overlooked(
    engine: Engine, other: Engine, clock: ManualClock, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await deploy(engine, 1)
    await plan_runs(engine)
    clock.advance(seconds=31)
    job, its_run = sorted(await claim(engine), key=lambda lease: lease.kind)
    release, woken = rollup._release, []

    async def after_the_job_has_ended(*arguments: Any) -> None:
        monkeypatch.setattr(rollup, "_release", release)
        await work_leases(other, [job])
        woken.append(await row(sql, "select leased, wake from queue where kind = 'run'"))
        await release(*arguments)

    monkeypatch.setattr(rollup, "_release", after_the_job_has_ended)
    await work_leases(engine, [its_run])
    await work(engine)

    assert woken == [(True, True)]
    assert (await stored_run(engine, run)).run.status is RunStatus.COMPLETED


async def test_rule_10_an_open_run_looks_again_every_thirty_seconds(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = RetryLater("busy", delay=timedelta(hours=1))
    await deploy(engine, 1)

    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    due_at = await sql.fetchval("select due_at from queue where kind = 'run'")
    assert clock.time < due_at <= clock.time + timedelta(seconds=30)


async def test_the_counts_of_a_run_always_add_up_to_what_was_planned(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script = {"p1@example.com": [RetryLater("busy")], "p2@example.com": [Rejected("no")]}
    run = await deploy(engine, 9)
    sums = []
    for step in (plan_runs, work_once, work):
        await step(engine)
        shown = await stored_run(engine, run)
        sums.append(shown.queued + shown.in_doubt + shown.counts.succeeded + shown.counts.failed + shown.counts.skipped)

    assert sums == [9, 9, 9]


async def test_the_trace_query_of_the_contract_runs_as_printed(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    await deploy(engine, 2)
    await end_run(engine, clock)

    traced = await sql.fetch(
        """
        SELECT
          cr.id as run_id, cr.status as run_status,
          jq.id as job_id, jq.status as job_status, jq.attempts,
          co.id as outbox_id, co.status as outbox_status, co.provider_message_id
        FROM campaign_runs cr
        JOIN job_queue jq ON jq.run_id = cr.id
        LEFT JOIN channel_outbox co ON co.run_id = cr.id
        WHERE cr.campaign_id = 'CAMPAIGN_UUID'
        ORDER BY cr.created_at DESC, jq.created_at, co.created_at;
        """.replace("CAMPAIGN_UUID", str(CAMPAIGN_ID))
    )

    assert {(each["run_status"], each["job_status"], each["outbox_status"]) for each in traced} == {
        ("completed", "completed", "sent")
    }
