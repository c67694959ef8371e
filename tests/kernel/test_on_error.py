"""What is called or sent when an execution fails: one item, for whatever reason, and nothing hangs on it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, assert_kept, email, graph, row
from tests.stored import TESTER, stored_execution
from tidings.domain.caller import Caller
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.domain.flow.provider import Keyed
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

REPORTS = "select status, attempts, error from outbox where node = 'onError'"


def steps(on_error: object, **more: object) -> dict[str, object]:
    step = {"name": "mail", "function": "send-email", "action": "send", "payload_template": {}, "on_failure": "abort"}
    return {"steps": [step], "on_error": on_error, **more}


async def fail(engine: Engine, definition: dict[str, object], **data: object) -> Any:
    await engine.define("flow", definition)
    started = await engine.trigger("flow", data, "k1")
    await engine.work_everything()
    return await stored_execution(engine, started.id)


async def test_a_function_is_told_of_the_failure_once(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    provider.script = {"send-email": [Rejected("no such guest")]}

    shown = await fail(engine, steps("slack"))

    assert (shown.status, shown.error_node) == (ExecutionStatus.FAILED, "mail")
    assert [call.recipient for call in provider.calls] == ["send-email", "slack"]
    assert provider.calls[1].payload["action"] == "call"
    assert provider.calls[1].payload["payload"] == (
        f'{{"execution_id":"{shown.id}","workflow_name":"flow","error_message":"no such guest","error_step":"mail"}}'
    )
    assert await row(sql, REPORTS) == ("sent", 1, None)
    assert await sql.fetchval("select count(*) from queue") == 0
    await assert_kept(engine)


async def test_a_message_may_tell_it_and_see_what_the_execution_had(engine: Engine, provider: FakeProvider) -> None:
    provider.script = {"ada@example.com": [Rejected("no mailbox")]}
    report = {
        "type": "email",
        "to": "{{ owner }}",
        "subject": "{{ error.workflow }} failed",
        "body": "{{ error.node }} of {{ error.execution }}: {{ error.message }} ({{ vars.hello.status }})",
    }

    shown = await fail(engine, {**graph(email()), "onError": report}, owner="ops@example.com")

    told = provider.calls[1]
    assert (told.recipient, told.payload["subject"]) == ("ops@example.com", "flow failed")
    assert told.payload["body"] == f"hello of {shown.id}: no mailbox (failed)"


async def test_it_is_tried_again_and_its_own_failure_changes_nothing(
    engine: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql
) -> None:
    provider.script = {"send-email": [Rejected("no such guest")], "slack": [RetryLater("busy"), Rejected("no channel")]}

    shown = await fail(engine, steps({"function": "slack", "action": "report"}, max_retries=3))
    for _ in range(5):
        clock.advance(minutes=5)
        await engine.work_everything()

    again = await stored_execution(engine, shown.id)
    assert (again.status, again.error, again.error_node) == (ExecutionStatus.FAILED, "no such guest", "mail")
    assert [call.recipient for call in provider.calls] == ["send-email", "slack", "slack"]
    assert await row(sql, REPORTS) == ("failed", 2, "no channel")
    await assert_kept(engine)


async def test_an_execution_that_times_out_is_told_of_and_one_that_was_cancelled_is_not(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    await engine.define("flow", {"steps": steps("slack")["steps"], "timeout_seconds": 60, "on_error": "slack"})
    late, cancelled = [(await engine.trigger("flow", {}, key)).id for key in ("k1", "k2")]
    await engine.executions.cancel(TESTER, cancelled)
    clock.advance(minutes=2)
    await engine.work_everything()

    assert [call.recipient for call in provider.calls] == ["slack"]
    assert f"{late}" in provider.calls[0].payload["payload"]
    assert "timed out" in provider.calls[0].payload["payload"]


async def test_what_kept_killing_its_workers_is_told_of(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    await engine.define("flow", {**graph(email()), "onError": {"function": "slack"}})
    await engine.trigger("flow", {}, "k1")
    await sql.execute("update queue set crashes = 5")
    await engine.work_everything()

    assert await row(sql, "select status from executions") == ("failed",)
    assert [call.recipient for call in provider.calls] == ["slack"]
    assert await sql.fetchval("select count(*) from queue") == 0


async def test_an_execution_that_fails_again_after_a_retry_is_not_told_of_twice(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    provider.script = {"send-email": [Rejected("no"), Rejected("no")]}
    shown = await fail(engine, steps("slack"))

    await engine.executions.retry(Caller(Workspace(), "ann"), shown.id)
    await engine.work_everything()

    assert (await stored_execution(engine, shown.id)).status is ExecutionStatus.FAILED
    assert [call.recipient for call in provider.calls] == ["send-email", "slack", "send-email"]
    assert await sql.fetchval("select count(*) from queue") == 0


@pytest.mark.parametrize("moment", ["reserve", "fly"])
async def test_a_worker_that_dies_while_it_tells_leaves_one_item_that_another_goes_on_with(
    engine: Engine,
    other: Engine,
    provider: FakeProvider,
    clock: ManualClock,
    sql: Sql,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    provider.script = {"send-email": [Rejected("no")]}
    await engine.define("flow", steps("slack"))
    shard = engine.kernel.shard_of((await engine.trigger("flow", {}, "k1")).id)
    await engine.work(shard, Lane.TRANSACTIONAL)  # fails; the report is planned by the next claim

    async def dies(*_: object) -> None:
        raise KeyboardInterrupt

    place = (
        "tidings.kernel.flow.executions.reserve" if moment == "reserve" else "tidings.kernel.flow.deliver.Flight.fly"
    )
    monkeypatch.setattr(place, dies)
    with pytest.raises(KeyboardInterrupt):
        await engine.work(shard, Lane.TRANSACTIONAL)
    monkeypatch.undo()
    provider.provider_class = Keyed(timedelta(days=30))
    for _ in range(3):
        clock.advance(minutes=10)
        await other.work_everything()

    assert [call.recipient for call in provider.calls] == ["send-email", "slack"]
    assert (await row(sql, REPORTS))[0] == "sent"
