"""Resolve: a person's word ends doubt, once, and every word is kept."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    crash_in_call,
    delay,
    deploy,
    email,
    frozen_in_call,
    plan_runs,
    row,
    start,
    with_lossy_database,
    work,
)
from tests.stored import TESTER, items_in_doubt, stored_execution
from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.errors import Conflict, InputInvalid, NotFound
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Keyed
from tidings.domain.flow.queue import Stop
from tidings.engine import Engine
from tidings.kernel.manage.resolve import Resolution, resolve_item, stop_execution, stop_run
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import ShownItem


async def doubtful_item_of_a_run(engine: Engine, clock: ManualClock, provider: FakeProvider) -> ShownItem:
    await deploy(engine, 1)
    await plan_runs(engine)
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)
    await work(engine)
    [item] = await items_in_doubt(engine)
    return item


async def doubtful_item_of_an_ended_execution(engine: Engine, clock: ManualClock, provider: FakeProvider) -> ShownItem:
    await start(engine)
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)
    await work(engine)
    [item] = await items_in_doubt(engine)
    return item


@pytest.mark.parametrize(
    ("outcome", "status", "run_status", "calls"),
    [
        (Resolution.SENT, "sent", RunStatus.COMPLETED, 1),
        (Resolution.FAILED, "failed", RunStatus.FAILED, 1),
        (Resolution.RESEND, "sent", RunStatus.COMPLETED, 2),
    ],
)
async def test_a_persons_word_ends_doubt_and_lets_the_run_end(
    engine: Engine,
    clock: ManualClock,
    provider: FakeProvider,
    sql: Sql,
    outcome: Resolution,
    status: str,
    run_status: RunStatus,
    calls: int,
) -> None:
    item = await doubtful_item_of_a_run(engine, clock, provider)

    await engine.outbox.resolve(Caller(TESTER.workspace, "ann"), item.id, outcome, "asked the provider")
    await work(engine)
    clock.advance(seconds=1)
    await work(engine)

    assert await row(sql, "select status, in_doubt from outbox") == (status, False)
    assert await row(sql, "select status from runs") == (run_status.value,)
    assert len(provider.calls) == calls
    history = (await engine.outbox.get(TESTER.workspace, item.id)).history
    assert [(entry.event, entry.actor, entry.detail) for entry in history] == [
        (f"resolved_{outcome}", "ann", {"note": "asked the provider"})
    ]
    await assert_kept(engine)


async def test_an_execution_that_has_ended_is_reopened_to_resend_an_item_and_leaves_again(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    item = await doubtful_item_of_an_ended_execution(engine, clock, provider)
    ended = await row(sql, "select status, ended_at from executions")

    await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "it never arrived")
    await assert_kept(engine)
    clock.advance(seconds=5)
    await work(engine)

    assert len(provider.calls) == 2
    assert await row(sql, "select status from outbox") == ("sent",)
    assert await row(sql, "select status, ended_at from executions") == ended
    assert await sql.fetchval("select count(*) from queue") == 0
    await assert_kept(engine)


async def test_a_person_may_resend_what_a_cancelled_execution_left_in_doubt(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine, email(), email("second"))
    await crash_in_call(engine, provider)
    await engine.executions.cancel(TESTER, id)
    clock.advance(minutes=6)
    await work(engine)
    [item] = await items_in_doubt(engine)

    await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "it never arrived")
    await work(engine)

    assert len(provider.calls) == 2
    assert await row(sql, "select status from outbox") == ("sent",)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED
    assert await sql.fetchval("select count(*) from queue") == 0


@pytest.mark.parametrize("last", [Rejected("no"), None])
async def test_a_reopened_item_is_tried_again_until_it_is_settled(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, last: Rejected | None
) -> None:
    item = await doubtful_item_of_an_ended_execution(engine, clock, provider)
    provider.script["ada@example.com"] = [RetryLater("busy"), *([last] if last else [])]

    await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "it never arrived")
    await work(engine)
    between = await sql.fetchval("select count(*) from queue")
    clock.advance(minutes=1)
    await work(engine)

    assert between == 1
    assert await row(sql, "select status from outbox") == ("failed" if last else "sent",)
    assert await sql.fetchval("select count(*) from queue") == 0
    assert await row(sql, "select status from executions") == ("completed",)


async def test_a_reopened_item_may_fall_in_doubt_again(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    item = await doubtful_item_of_an_ended_execution(engine, clock, provider)
    provider.answer = Unknown("reset")

    await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "it never arrived")
    await work(engine)

    assert [each.id for each in await items_in_doubt(engine)] == [item.id]
    assert await sql.fetchval("select count(*) from queue") == 0
    await assert_kept(engine)


async def test_a_held_execution_goes_on_at_a_persons_word(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script["ada@example.com"] = [Unknown("reset")]
    id = await start(engine, email(onDoubt="hold"), email("second"))
    await work(engine)
    [item] = await items_in_doubt(engine)

    await engine.outbox.resolve(TESTER, item.id, Resolution.SENT, "it is in the log")
    await work(engine)

    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
    assert len(provider.calls) == 2


async def test_a_word_whose_commit_is_unknown_is_no_conflict_with_itself(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    item = await doubtful_item_of_a_run(engine, clock, provider)

    lossy = with_lossy_database(engine, lose=lambda count: count == 1)
    await lossy.outbox.resolve(TESTER, item.id, Resolution.SENT, "seen")

    assert await row(sql, "select status from outbox") == ("sent",)
    assert await sql.fetchval("select count(*) from audit_log where subject_id = $1", item.id) == 1
    assert await row(sql, "select sent from jobs") == (1,)


async def test_a_second_word_is_refused(engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql) -> None:
    item = await doubtful_item_of_a_run(engine, clock, provider)
    await engine.outbox.resolve(TESTER, item.id, Resolution.SENT, "seen")

    with pytest.raises(Conflict, match="not in doubt"):
        await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "send it again")

    assert await row(sql, "select status from outbox") == ("sent",)


async def test_a_word_without_a_note_or_about_nothing_is_refused(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    item = await doubtful_item_of_a_run(engine, clock, provider)

    with pytest.raises(InputInvalid):
        await engine.outbox.resolve(TESTER, item.id, Resolution.SENT, " ")
    with pytest.raises(NotFound):
        await engine.outbox.resolve(TESTER, UUID(int=1), Resolution.SENT, "seen")


async def test_nobody_is_heard_about_an_item_while_its_repeated_call_is_in_the_air(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.provider_class = Keyed(timedelta(hours=24))
    provider.script["p1@example.com"] = [Unknown("reset")]
    await deploy(engine, 1)
    await work(engine)
    clock.advance(minutes=1)
    [item] = await items_in_doubt(engine)

    async with frozen_in_call(engine, provider) as answered:
        with pytest.raises(Conflict, match="in the air"):
            await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "send it again")
        answered.set()

    assert await row(sql, "select status from outbox") == ("sent",)
    assert len(provider.calls) == 2


async def test_an_answer_that_comes_after_the_word_resend_is_taken_and_nothing_is_resent(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await deploy(engine, 1)
    await plan_runs(engine)
    async with frozen_in_call(engine, provider) as answered:
        clock.advance(minutes=6)
        await work(other)
        [item] = await items_in_doubt(engine)
        await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "it seems lost")
        answered.set()

    await work(other)

    assert len(provider.calls) == 1
    assert await row(sql, "select status, in_doubt from outbox") == ("sent", False)
    await assert_kept(engine)


async def test_what_is_decided_for_another_workspace_is_not_found_and_changes_nothing(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Whoever looked before could have seen nothing either; here the decision itself is refused."""
    item = await doubtful_item_of_a_run(engine, clock, provider)
    execution, run = await start(engine, delay("rest", "PT1H")), await deploy(engine, 1, key="k2")
    state = "select (select array_agg(q::text order by id) from queue q), (select array_agg(r::text) from runs r)"
    before = await row(sql, state)

    for other in (Workspace("other", "default"), Workspace("default", "other")):
        stranger = Caller(other, "eve")
        with pytest.raises(NotFound, match=f"no item {item.id}"):
            await resolve_item(engine.kernel, stranger, item.id, Resolution.RESEND, "it never arrived")
        for stop in (Stop.PAUSE, Stop.CANCEL, None):
            with pytest.raises(NotFound, match=f"no execution {execution}"):
                await stop_execution(engine.kernel, stranger, execution, stop)
            with pytest.raises(NotFound, match=f"no run {run}"):
                await stop_run(engine.kernel, stranger, run, stop)

    assert await row(sql, state) == before
    assert await sql.fetchval("select count(*) from audit_log where actor = 'eve'") == 0
    assert [one.id for one in await items_in_doubt(engine)] == [item.id]
