"""004, phase 2.2: the orchestrator that walks the steps, and the flaws of the printed one that ours must not have."""

import json
from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.providers.function_server import FunctionServer, HangUp, Say, Silence, answer
from tests.requirements.conftest import (
    FUNCTIONS_KEY,
    FrontEnd,
    Json,
    MakeEngine,
    bodies,
    called,
    define,
    in_call,
    log_of,
    payloads,
    step,
    steps,
    work_for,
)
from tidings import Engine
from tidings.providers.fake import FakeProvider

FAILURE = answer({"success": False, "error": "mail is down"})
DONE = answer({"success": True, "data": {"message_id": "m-7", "sent_at": "09:00"}})


class Flow:
    """A workflow of steps, defined by a manager and enqueued by a front end."""

    def __init__(self, manager: Person, front_end: FrontEnd, engine: Engine, clock: ManualClock) -> None:
        self.manager, self.front_end, self.engine, self.clock = manager, front_end, engine, clock

    async def start(self, *given: Json, data: Json | None = None, **more: object) -> str:
        await define(self.manager, steps(*given, **more))
        return str((await self.front_end.enqueue("flow", data or {}))["execution_id"])

    async def run(self, *given: Json, data: Json | None = None, minutes: int = 0, **more: object) -> Json:
        id = await self.start(*given, data=data, **more)
        await work_for(self.engine, self.clock, minutes)
        return await self.front_end.status(id)


@pytest.fixture
def flow(manager: Person, front_end: FrontEnd, engine: Engine, clock: ManualClock) -> Flow:
    return Flow(manager, front_end, engine, clock)


# 2.2 Calling a function


async def test_004_2_2_a_step_posts_action_and_payload_to_its_function(flow: Flow, functions: FunctionServer) -> None:
    """2.2, executeStep: POST `/functions/v1/{function}` with the service key and `{ action, payload }`."""
    given = {**step("mail", to="{{ email }}", copies=2), "function": "send-email", "action": "send"}

    await flow.run(given, data={"email": "ada@example.com"})

    [request] = functions.requests
    assert request.line == "POST /functions/v1/send-email HTTP/1.1"
    assert request.headers["authorization"] == f"Bearer {FUNCTIONS_KEY}"
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == {"action": "send", "payload": {"to": "ada@example.com", "copies": 2}}


async def test_004_2_2_steps_are_executed_one_after_the_other(flow: Flow, functions: FunctionServer) -> None:
    """2.2: "executes them sequentially": a step begins only when the one before is done."""
    functions.answers = [DONE, Silence()]
    await flow.start(step("one"), step("two"), step("three"))

    async with in_call(flow.engine, lambda: len(functions.requests), calls=2):
        assert called(functions) == ["one", "two"]


async def test_004_2_2_current_step_advances_and_the_last_step_completes(flow: Flow, functions: FunctionServer) -> None:
    """2.2: "Advances to next step or completes"."""
    done = await flow.run(step("one"), step("two"), step("three"))

    assert called(functions) == ["one", "two", "three"]
    assert (done["status"], done["current_step"], done["total_steps"]) == ("completed", 2, 3)
    assert done["completed_at"] is not None


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ({"success": True, "data": {"id": 7}}, {"id": 7}),
        ({"data": [1, 2]}, [1, 2]),
        ({"success": True, "id": 7}, {"success": True, "id": 7}),
        ({"success": True, "data": None}, {"success": True, "data": None}),
    ],
)
async def test_004_2_2_the_result_is_data_or_else_the_whole_answer(
    flow: Flow, functions: FunctionServer, body: object, result: object
) -> None:
    """2.2, executeStep: `result.data || result`."""
    functions.answers = [answer(body)]

    done = await flow.run(step("one"))

    assert done["context"]["step_0_result"] == result


async def test_004_2_2_the_context_accumulates_input_and_results(flow: Flow, functions: FunctionServer) -> None:
    """2.2: "Merge result into context"; 1.3: `context`: "Accumulated context from steps"."""
    functions.answers = [DONE, FAILURE, answer({"posted": True})]

    done = await flow.run(step("one"), step("two", "continue"), step("three"), data={"name": "Ada"})

    context = done["context"]
    assert context["name"] == "Ada"
    assert context["step_0_result"] == {"message_id": "m-7", "sent_at": "09:00"}
    assert context["step_1_error"] == "mail is down"
    assert context["step_2_result"] == {"posted": True}
    assert (context["message_id"], context["sent_at"], context["posted"]) == ("m-7", "09:00", True)
    assert not context.keys() & {"step_1_result", "two", "vars"}
    assert done["input_payload"] == {"name": "Ada"}


async def test_004_2_2_results_are_passed_on_to_later_steps(flow: Flow, functions: FunctionServer) -> None:
    """2.2, 2.1.2: `{{step_0_result.message_id}}`, "passes context forward between steps"."""
    functions.answers = [DONE]

    await flow.run(
        step("one"),
        step("two", text="Sent {{step_0_result.message_id}} at {{ step_0_result.sent_at }}"),
        step("three", text="{{ step_0_result.message_id }}, {{ vars.two.message_id }}"),
    )

    assert payloads(functions)[1:] == [{"text": "Sent m-7 at 09:00"}, {"text": "m-7, m-7"}]


# 2.2 Failures


FAILURES: dict[str, tuple[Say, str]] = {
    "success is false": (FAILURE, "mail is down"),
    "status 500": (answer({"error": "out of memory"}, 500), "out of memory"),
    "no words": (answer({}, 500), "one/run failed with status 500"),
    "no words, success is false": (answer({"success": False}), "one/run failed with status 200"),
    "status 404": (answer({"error": "no such template"}, 404), "no such template"),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_004_2_2_a_status_that_is_not_ok_or_success_false_is_a_failure(
    flow: Flow, functions: FunctionServer, failure: str
) -> None:
    """2.2, executeStep: `!response.ok || result.success === false`, with `result.error` or its own words."""
    said, error = FAILURES[failure]
    functions.answers = [said]

    failed = await flow.run(step("one", "abort"))

    assert (failed["status"], failed["error_message"], failed["error_step"]) == ("failed", error, "one")


async def test_004_2_2_on_failure_abort_fails_at_once_and_runs_nothing_more(
    flow: Flow, functions: FunctionServer
) -> None:
    """2.2: `on_failure === "abort"`: failed, with the error and its step."""
    functions.answers = [FAILURE]

    failed = await flow.run(step("one", "abort"), step("two"), minutes=5)

    assert (failed["status"], failed["error_step"], failed["error_message"]) == ("failed", "one", "mail is down")
    assert called(functions) == ["one"]
    assert failed["completed_at"] is not None


async def test_004_2_2_on_failure_continue_goes_on_with_the_error_in_the_context(
    flow: Flow, functions: FunctionServer
) -> None:
    """2.2: `on_failure === "continue"`: `step_N_error` is the message, and the next step runs."""
    functions.answers = [FAILURE, DONE]

    done = await flow.run(step("one", "continue"), step("two", why="{{ step_0_error }}"), minutes=5)

    assert (done["status"], called(functions)) == ("completed", ["one", "two"])
    assert payloads(functions)[1] == {"why": "mail is down"}


async def test_004_2_2_on_failure_retry_tries_again_until_it_works(flow: Flow, functions: FunctionServer) -> None:
    """2.2: `retry`: the message reappears; the call is the same, byte for byte and under the same key."""
    functions.answers = [FAILURE, answer({}, 503), DONE]

    done = await flow.run(step("one", to="{{ email }}"), step("two"), data={"email": "a@example.com"}, minutes=3)

    assert (done["status"], called(functions)) == ("completed", ["one", "one", "one", "two"])
    assert len({(request.headers["idempotency-key"], request.body) for request in functions.requests[:3]}) == 1


async def test_004_2_2_a_step_that_is_tried_again_shows_its_error_and_its_count(
    flow: Flow, functions: FunctionServer
) -> None:
    """2.2: `retry_count`, `error_message` and `error_step` are set while it is tried again."""
    functions.answers = [FAILURE]

    id = await flow.start(step("one"))
    await flow.engine.work_everything()
    flow.clock.advance(seconds=15)
    await flow.engine.work_everything()
    trying = await flow.front_end.status(id)

    assert (trying["error_message"], trying["error_step"]) == ("mail is down", "one")
    assert trying["retry_count"] == 1


async def test_004_2_2_retries_that_are_used_up_fail_the_execution(flow: Flow, functions: FunctionServer) -> None:
    """1.3: `failed`: "Failed after retries"."""
    functions.answers = [FAILURE]

    failed = await flow.run(step("one"), step("two"), max_retries=2, minutes=5)

    assert (failed["status"], failed["error_step"], failed["retry_count"]) == ("failed", "one", 2)
    assert "mail is down" in failed["error_message"]
    assert called(functions) == ["one"] * 3


async def test_004_2_2_a_step_without_on_failure_is_tried_again(flow: Flow, functions: FunctionServer) -> None:
    """2.2: the last `else`: what is neither abort nor continue is retry."""
    functions.answers = [FAILURE, DONE]
    given = step("one")
    del given["on_failure"]

    assert (await flow.run(given, minutes=1))["status"] == "completed"


async def test_004_2_2_a_call_that_was_cut_off_is_made_again(flow: Flow, functions: FunctionServer) -> None:
    """2.2: `fetch` throws: a failed step like any other, under the same key."""
    functions.answers = [HangUp(), DONE]

    done = await flow.run(step("one"), minutes=4)

    assert (done["status"], called(functions)) == ("completed", ["one", "one"])


async def test_004_2_2_a_step_whose_worker_died_reappears_after_the_visibility_timeout(
    flow: Flow, make_engine: MakeEngine, functions: FunctionServer
) -> None:
    """1.2, 2.2: `visibility_timeout` 60: within the `timeout_seconds` of 300 another worker does it."""
    functions.answers = [Silence(), DONE]
    id = await flow.start(step("one"))
    async with in_call(flow.engine, lambda: len(functions.requests)):
        pass

    other = await make_engine(FakeProvider())
    await work_for(other, flow.clock, minutes=10)

    assert (await flow.front_end.status(id))["status"] == "completed"


# 2.2 Telling of errors


async def test_004_2_2_a_failed_workflow_is_reported_to_slack_once(flow: Flow, functions: FunctionServer) -> None:
    """2.2, createErrorCollector, reportToSlack: "Step … in workflow …"; an item, tried again like any other."""
    functions.answers = [FAILURE, FAILURE, DONE]
    report = {
        "function": "slack",
        "action": "report",
        "payload_template": {"message": "Step {{ error.node }} in workflow {{ error.execution }}: {{ error.message }}"},
    }
    id = await flow.start(step("send-email", "abort"), on_error=report, max_retries=1)
    await work_for(flow.engine, flow.clock, minutes=2)

    failed = await flow.front_end.status(id)
    [_, told] = await log_of(flow.manager, id)
    assert (failed["status"], failed["error_step"]) == ("failed", "send-email")
    assert called(functions) == ["send-email", "slack", "slack"]
    assert payloads(functions)[2] == {"message": f"Step send-email in workflow {id}: mail is down"}
    assert (told["node"], told["kind"], told["status"], told["attempts"]) == ("onError", "function", "sent", 2)


# 2.2 Templates


async def test_004_2_2_templates_are_filled_at_any_depth(flow: Flow, functions: FunctionServer) -> None:
    """2.2, interpolateTemplate: objects in objects; what is no text stays as it is."""
    given = step("one", variables={"guest": {"name": "{{ name }}"}}, count=3, flag=True, nothing=None, text="plain")

    await flow.run(given, data={"name": "Ada"})

    assert payloads(functions) == [
        {"variables": {"guest": {"name": "Ada"}}, "count": 3, "flag": True, "nothing": None, "text": "plain"}
    ]


@pytest.mark.parametrize(("value", "text"), [("x", "x"), (2400, "2400"), (True, "true"), (None, ""), (1.5, "1.5")])
async def test_004_2_2_values_are_printed_as_text(
    flow: Flow, functions: FunctionServer, value: object, text: str
) -> None:
    """2.2: `String(context[varName] ?? "")`."""
    await flow.run(step("one", text="{{ value }}"), data={"value": value})

    assert payloads(functions) == [{"text": text}]


# What was wrong with the printed orchestrator


async def test_004_flaw_a_failed_last_step_under_continue_does_not_run_for_ever(
    flow: Flow, functions: FunctionServer
) -> None:
    """Printed: neither completed nor failed. Here: completed, with the error in the context."""
    functions.answers = [DONE, FAILURE]

    done = await flow.run(step("one"), step("two", "continue"), minutes=5)

    assert (done["status"], done["completed_at"] is not None) == ("completed", True)
    assert called(functions) == ["one", "two"]


async def test_004_flaw_nested_paths_do_not_render_empty(flow: Flow, functions: FunctionServer) -> None:
    """Printed: `{{user.email}}` passes validation and renders as nothing."""
    await flow.run(step("one", to="{{ user.address.email }}"), data={"user": {"address": {"email": "ada@example.com"}}})

    assert payloads(functions) == [{"to": "ada@example.com"}]


async def test_004_flaw_arrays_do_not_become_objects(flow: Flow, functions: FunctionServer) -> None:
    """Printed: `["{{ name }}", 1]` becomes `{"0": …, "1": …}`."""
    given = step("one", tags=["{{ name }}", 1, ["{{ name }}"]], people=[{"name": "{{ name }}"}], none=[])

    await flow.run(given, data={"name": "Ada"})

    assert payloads(functions) == [{"tags": ["Ada", 1, ["Ada"]], "people": [{"name": "Ada"}], "none": []}]


async def test_004_flaw_a_worker_that_dies_between_two_steps_repeats_none_and_loses_none(
    flow: Flow, make_engine: MakeEngine, functions: FunctionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed: send and delete are two transactions. Here: the result is kept, and the step is not called again."""
    functions.answers = [DONE]
    id = await flow.start(step("one"), step("two", text="{{ step_0_result.message_id }}"), timeout_seconds=3600)

    async def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidings.kernel.flow.executions.release_executions", dies)
    with pytest.raises(KeyboardInterrupt):
        await flow.engine.work_everything()
    monkeypatch.undo()
    await work_for(await make_engine(FakeProvider()), flow.clock, minutes=10)

    assert (await flow.front_end.status(id))["status"] == "completed"
    assert [(body["action"], body["payload"]) for body in bodies(functions)] == [("run", {}), ("run", {"text": "m-7"})]


async def test_004_flaw_results_do_not_overwrite_the_input(flow: Flow, functions: FunctionServer) -> None:
    """Printed: `{ ...context, ...result }`. Here a result stands under its own name."""
    functions.answers = [answer({"data": {"email": "eve@example.com"}})]

    done = await flow.run(step("one"), step("two", to="{{ email }}"), data={"email": "ada@example.com"})

    assert payloads(functions)[1] == {"to": "ada@example.com"}
    assert (done["input_payload"], done["context"]["email"]) == ({"email": "ada@example.com"}, "ada@example.com")
    assert done["context"]["step_0_result"] == {"email": "eve@example.com"}


async def test_004_flaw_timeout_seconds_is_obeyed(flow: Flow, functions: FunctionServer) -> None:
    """Printed: `timeout_seconds` is never read. Here an execution that takes longer fails, and says so."""
    functions.answers = [answer({}, 429, headers=["Retry-After: 600"])]

    failed = await flow.run(step("one"), step("two"), timeout_seconds=120, minutes=3)

    assert (failed["status"], failed["error_step"]) == ("failed", "one")
    assert "timed out" in failed["error_message"]
    assert called(functions) == ["one"]


async def test_004_1_2_timeout_seconds_cuts_a_call_under_way(flow: Flow, functions: FunctionServer) -> None:
    """1.2: "Max time for entire workflow": the function that does not answer in time is not waited for."""
    functions.answers = [Silence()]

    failed = await flow.run(step("one"), step("two"), timeout_seconds=1)

    assert (failed["status"], failed["error_step"]) == ("failed", "one")
    assert failed["error_message"] == "timed out: not done within 0:00:01"
    assert "two" not in called(functions)


async def test_004_1_2_a_step_without_an_answer_at_its_last_attempt_has_failed(
    flow: Flow, functions: FunctionServer
) -> None:
    """1.2: `max_retries`: failed with that cause, and not pending until the workflow's timeout."""
    functions.answers = [HangUp()]

    failed = await flow.run(step("one"), max_retries=0)

    assert (failed["status"], failed["error_step"], called(functions)) == ("failed", "one", ["one"])
    assert "after the request was sent" in failed["error_message"]


async def test_004_flaw_200_with_success_false_is_a_failure(flow: Flow, functions: FunctionServer) -> None:
    """Such an answer is a failure wherever it comes from, and never a result."""
    functions.answers = [FAILURE, DONE]
    id = await flow.start(step("one"), step("two"))
    await work_for(flow.engine, flow.clock, minutes=2)

    [one, _] = await log_of(flow.manager, id)
    assert called(functions) == ["one", "one", "two"]
    assert [attempt["error"] for attempt in attempts_of(one)] == ["mail is down"]


def attempts_of(line: Json) -> list[Any]:
    return [attempt for item in line["items"] for attempt in item["failedAttempts"]]
