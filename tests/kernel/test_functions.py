"""Functions as nodes: what they give goes on to the next, what fails is kept, and nothing outlives its timeout."""

import asyncio
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, assert_kept, delay, email, frozen_in_call, graph, row, until
from tests.stored import TESTER, stored_execution
from tidings.domain.caller import Caller
from tidings.domain.connections.route import SendingRoute
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Blind, Keyed
from tidings.domain.flow.queue import Lane
from tidings.domain.workflows.definition import parse_workflow
from tidings.engine import Engine
from tidings.kernel.flow.deliver import Delivery
from tidings.kernel.readiness import know_routes
from tidings.providers.fake import FakeProvider


def step(name: str, on_failure: object = "retry", **payload: object) -> dict[str, object]:
    return {"name": name, "function": name, "action": "run", "payload_template": payload, "on_failure": on_failure}


async def run_steps(
    engine: Engine, *steps: dict[str, object], data: dict[str, object] | None = None, **more: object
) -> Any:
    await engine.define("steps", {"steps": list(steps), **more})
    started = await engine.trigger("steps", data or {}, "k1")
    await engine.work_everything()
    return await stored_execution(engine, started.id)


async def test_each_step_gets_its_payload_with_the_results_of_earlier_steps(
    engine: Engine, provider: FakeProvider
) -> None:
    provider.answer = lambda item: Accepted(None, {"number": len(provider.calls), "of": item.recipient})

    shown = await run_steps(
        engine,
        step("ticket", subject="{{ name }}"),
        step("notify", text="Ticket {{ step_0_result.number }} for {{ vars.ticket.of }}", tags=["{{ name }}", 1]),
        data={"name": "Ada"},
    )

    assert shown.status is ExecutionStatus.COMPLETED
    assert [call.payload["payload"] for call in provider.calls] == [
        '{"subject":"Ada"}',
        '{"tags":["Ada",1],"text":"Ticket 1 for ticket"}',
    ]
    assert [call.payload["action"] for call in provider.calls] == ["run", "run"]
    assert shown.vars == {"ticket": {"number": 1, "of": "ticket"}, "notify": {"number": 2, "of": "notify"}}


async def test_a_result_never_goes_over_the_callers_input(engine: Engine, provider: FakeProvider) -> None:
    provider.answer = Accepted(None, {"name": "Eve"})

    await run_steps(engine, step("a"), step("b", text="{{ name }}"), data={"name": "Ada"})

    assert provider.calls[1].payload["payload"] == '{"text":"Ada"}'


async def test_continue_leaves_the_error_to_the_next_step(engine: Engine, provider: FakeProvider) -> None:
    provider.script = {"a": [Rejected("no such guest")]}

    shown = await run_steps(engine, step("a", "continue"), step("b", why="{{ step_0_error }}"))

    assert shown.status is ExecutionStatus.COMPLETED
    assert provider.calls[1].payload["payload"] == '{"why":"no such guest"}'


async def test_a_failed_last_step_under_continue_still_completes(engine: Engine, provider: FakeProvider) -> None:
    provider.answer = Rejected("closed")

    assert (await run_steps(engine, step("a", "continue"))).status is ExecutionStatus.COMPLETED


async def test_abort_fails_the_execution_at_the_first_failure(engine: Engine, provider: FakeProvider) -> None:
    provider.answer = RetryLater("busy")

    shown = await run_steps(engine, step("a", "abort"), step("b"))

    assert (shown.status, shown.error_node, len(provider.calls)) == (ExecutionStatus.FAILED, "a", 1)
    assert "busy" in shown.error


async def test_retry_calls_again_with_the_same_key_and_body_and_then_goes_on(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    provider.script = {"a": [RetryLater("busy"), RetryLater("busy")]}
    await engine.define("steps", {"steps": [step("a", text="{{ name }}"), step("b")]})
    started = await engine.trigger("steps", {"name": "Ada"}, "k1")

    for _ in range(4):
        await engine.work_everything()
        clock.advance(minutes=1)

    shown = await stored_execution(engine, started.id)
    calls = [(call.recipient, call.key, call.payload["payload"]) for call in provider.calls]
    assert shown.status is ExecutionStatus.COMPLETED
    assert [call[0] for call in calls] == ["a", "a", "a", "b"]
    assert len(set(calls)) == 2


async def test_retries_used_up_fail_the_execution(engine: Engine, provider: FakeProvider, clock: ManualClock) -> None:
    provider.answer = RetryLater("busy")
    await engine.define("steps", {"steps": [step("a")], "max_retries": 1})
    started = await engine.trigger("steps", {}, "k1")

    for _ in range(4):
        await engine.work_everything()
        clock.advance(minutes=1)

    shown = await stored_execution(engine, started.id)
    assert (shown.status, len(provider.calls)) == (ExecutionStatus.FAILED, 2)


async def test_what_a_function_gave_survives_a_worker_that_dies_before_it_moves_on(
    engine: Engine, other: Engine, provider: FakeProvider, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.answer = Accepted(None, {"ticket": 7})
    await engine.define(
        "steps", {"steps": [step("a"), step("b", ticket="{{ step_0_result.ticket }}")], "timeoutSeconds": 3600}
    )
    await engine.trigger("steps", {}, "k1")

    async def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidings.kernel.flow.executions.release_executions", dies)
    with pytest.raises(KeyboardInterrupt):
        await engine.work_everything()
    monkeypatch.undo()
    clock.advance(minutes=10)
    await other.work_everything()

    assert [call.recipient for call in provider.calls] == ["a", "b"]
    assert provider.calls[1].payload["payload"] == '{"ticket":"7"}'


async def test_a_result_that_cannot_be_stored_as_it_is_costs_no_fact(engine: Engine, provider: FakeProvider) -> None:
    provider.answer = Accepted(None, {"text": "a\x00b\ud800", "list": ["\x00"]})

    shown = await run_steps(engine, step("a"))

    assert shown.vars == {"a": {"text": "a\ufffdb?", "list": ["\ufffd"]}}


async def test_an_execution_that_takes_too_long_fails_and_says_so(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    provider.answer = RetryLater("busy", timedelta(hours=1))
    await engine.define("steps", {"steps": [step("a"), step("b")], "timeout_seconds": 120})
    started = await engine.trigger("steps", {}, "k1")
    await engine.work_everything()

    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.ENQUEUED
    clock.advance(seconds=121)
    await engine.work_everything()

    shown = await stored_execution(engine, started.id)
    assert (shown.status, shown.error_node) == (ExecutionStatus.FAILED, "a")
    assert "timed out" in str(shown.error)
    [item] = (await engine.outbox.list(TESTER.workspace)).items
    assert (item.status, "timed out" in (item.error or "")) == ("failed", True)
    assert len(provider.calls) == 1


async def test_a_delay_that_ends_after_the_timeout_wakes_up_to_fail(engine: Engine, clock: ManualClock) -> None:
    await engine.define("slow", {**graph(delay("one", "PT40S"), delay("two", "PT40S")), "timeoutSeconds": 60})
    started = await engine.trigger("slow", {}, "k1")
    clock.advance(seconds=40)
    await engine.work_everything()
    clock.advance(seconds=20)
    await engine.work_everything()

    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.FAILED


async def test_a_branch_decides_by_what_a_send_came_to(engine: Engine, provider: FakeProvider) -> None:
    provider.script = {"ada@example.com": [Rejected("no mailbox")]}
    definition = graph(
        email("hello", onFailure="continue"), {"id": "fork", "type": "branch"}, email("yes", "b@x"), email("no", "c@x"),
        edges=[("hello", "fork"), ("fork", "yes"), ("fork", "no")],
    )  # fmt: skip
    definition["edges"][1]["condition"] = {"path": "vars.hello.status", "op": "equals", "value": "sent"}  # type: ignore[index]
    await engine.define("forked", definition)
    started = await engine.trigger("forked", {}, "k1")
    await engine.work_everything()

    shown = await stored_execution(engine, started.id)
    assert [call.recipient for call in provider.calls] == ["ada@example.com", "c@x"]
    assert shown.vars["fork"] == {"status": "completed", "taken": "no"}


async def test_a_function_that_must_not_be_called_again_has_a_provider_of_its_own(engine: Engine) -> None:
    once, again = FakeProvider("fake_once"), FakeProvider("fake")
    kernel = engine.kernel
    definition = graph(
        {"id": "a", "type": "function", "function": "f"},
        {"id": "b", "type": "function", "function": "f", "idempotent": True},
    )
    nodes = list(parse_workflow(definition).nodes.values())
    object.__setattr__(kernel, "providers", {"fake": again, "fake_once": once})

    await know_routes(kernel, [], await kernel.clock.now())

    called = [kernel.route_of(Workspace(), node) for node in nodes]  # type: ignore[arg-type]
    assert called == [SendingRoute("fake_once"), SendingRoute("fake")]


async def test_an_execution_paused_past_its_timeout_sleeps_like_any_other_and_ends_when_resumed(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    await engine.define("steps", {"steps": [step("a")], "timeout_seconds": 60})
    started = await engine.trigger("steps", {}, "k1")
    await engine.executions.pause(TESTER, started.id)
    clock.advance(seconds=61)
    shard = engine.kernel.shard_of(started.id)

    assert [await engine.work(shard, Lane.TRANSACTIONAL) for _ in range(3)] == [1, 0, 0]
    await engine.executions.resume(TESTER, started.id)
    await engine.work_everything()

    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.FAILED
    assert not provider.calls


async def test_a_call_under_way_is_cut_when_the_execution_has_no_more_time(
    engine: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql
) -> None:
    """A call of six seconds under a timeout of two was waited for, and completed the execution."""
    provider.provider_class, provider.hang = Keyed(timedelta(days=30)), asyncio.Event()

    shown = await run_steps(engine, step("a"), step("b"), timeout_seconds=1)

    assert (shown.status, shown.error_node) == (ExecutionStatus.FAILED, "a")
    assert shown.error == "timed out: not done within 0:00:01"
    assert await row(sql, "select status, in_doubt, error from outbox") == ("failed", False, shown.error)
    assert await row(sql, "select outcome, error from attempts") == ("unknown", shown.error)
    clock.advance(days=1)
    await engine.work_everything()
    assert len(provider.calls) == 1
    await assert_kept(engine)


async def test_a_cut_call_of_a_function_that_must_not_be_called_again_stays_in_doubt(
    engine: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql
) -> None:
    provider.provider_class, provider.hang = Blind(), asyncio.Event()

    await run_steps(engine, step("a"), timeout_seconds=1)
    clock.advance(seconds=2)
    await engine.work_everything()

    assert await row(sql, "select status, error from executions") == ("failed", "timed out: not done within 0:00:01")
    assert await row(sql, "select status, in_doubt from outbox") == ("queued", True)
    await assert_kept(engine)


async def test_a_message_that_has_begun_is_finished_when_the_time_is_over(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    await engine.define("slow", {**graph(email()), "timeoutSeconds": 1})
    started = await engine.trigger("slow", {}, "k1")

    async with frozen_in_call(engine, provider) as answered:
        clock.advance(seconds=2)
        over = monotonic() + 1.1  # longer than the execution has: a call of a function would have been cut
        await until(lambda: monotonic() > over)
        answered.set()
    await engine.work_everything()

    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.COMPLETED


async def test_no_call_begins_when_the_time_was_over_before_its_turn_came(
    engine: Engine, provider: FakeProvider, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Delivery.add

    def slowly(*given: Any) -> None:
        clock.advance(seconds=2)
        add(*given)

    monkeypatch.setattr(Delivery, "add", slowly)
    shown = await run_steps(engine, step("a"), timeout_seconds=1)

    assert (shown.status, provider.calls) == (ExecutionStatus.FAILED, [])


async def test_rule_2_the_answer_to_a_call_whose_execution_has_timed_out_is_still_a_fact(
    engine: Engine, other: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql
) -> None:
    provider.provider_class = Keyed(timedelta(days=30))
    await engine.define("steps", {"steps": [step("a")], "timeout_seconds": 120})
    await engine.trigger("steps", {}, "k1")

    async with frozen_in_call(engine, provider) as answered:
        clock.advance(minutes=10)
        await other.work_everything()
        before = await row(sql, "select e.status, o.in_doubt from executions e, outbox o")
        answered.set()
    await other.work_everything()

    assert (before, len(provider.calls)) == (("failed", True), 1)
    assert await row(sql, "select e.status, o.status, o.in_doubt from executions e, outbox o") == (
        *("failed", "sent"),
        False,
    )


async def test_an_idempotent_function_without_an_answer_at_its_last_attempt_has_failed_and_may_be_retried(
    engine: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql
) -> None:
    """It was in doubt, and the execution pending until its timeout."""
    provider.provider_class, provider.answer = Keyed(timedelta(days=30)), Unknown("no answer within 60 s")
    shown = await run_steps(engine, step("a"), max_retries=1)
    clock.advance(seconds=15)
    with capture_logs() as logs:
        await engine.work_everything()

    shown = await stored_execution(engine, shown.id)
    assert (shown.status, shown.error) == (ExecutionStatus.FAILED, "gave up after 2 attempts: no answer within 60 s")
    [line] = [one for one in logs if one["event"] == "retries_exhausted"]
    assert (line["attempt"], "reason" in line) == (2, False)
    assert await row(sql, "select status, in_doubt from outbox") == ("failed", False)

    provider.answer = None
    await engine.executions.retry(Caller(Workspace(), "ann"), shown.id)
    await engine.work_everything()

    assert (await stored_execution(engine, shown.id)).status is ExecutionStatus.COMPLETED
    assert len({call.key for call in provider.calls}) == 1
    await assert_kept(engine)


async def test_a_function_that_must_not_be_called_again_is_held_in_doubt_at_its_last_attempt(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = Unknown("no answer within 60 s")

    shown = await run_steps(engine, step("a", "abort"))

    assert shown.status is ExecutionStatus.ENQUEUED
    assert await row(sql, "select status, in_doubt from outbox") == ("queued", True)


async def test_what_is_in_doubt_when_the_time_is_over_is_called_no_more(
    engine: Engine, provider: FakeProvider, clock: ManualClock, sql: Sql
) -> None:
    """The execution had failed, and its function was called again later all the same."""
    provider.provider_class, provider.answer = Keyed(timedelta(days=30)), Unknown("reset")
    retry = {"baseSeconds": 100}
    shown = await run_steps(engine, step("a") | {"retry": retry}, timeout_seconds=60)
    for _ in range(4):
        clock.advance(minutes=2)
        await engine.work_everything()

    shown = await stored_execution(engine, shown.id)
    assert (shown.status, len(provider.calls)) == (ExecutionStatus.FAILED, 1)
    assert await row(sql, "select status, in_doubt from outbox") == ("failed", False)
