"""004, phase 2.1: the function that enqueues, statement by statement."""

import asyncio
from datetime import datetime

import httpx2
import pytest

from tests.http.conftest import Person
from tests.providers.function_server import FunctionServer
from tests.requirements.conftest import (
    ENQUEUE,
    FrontEnd,
    Json,
    Sql,
    data_of,
    define,
    step,
    steps,
    trigger,
)
from tidings import Engine

GUEST = {"guest_email": "ada@example.com", "guest_name": "Ada"}


def greeting(**more: object) -> Json:
    return steps(step("send-email", to="{{guest_email}}", name="{{guest_name}}"), **more)


# 2.1 The endpoint


async def test_004_2_1_options_is_answered_ok_with_cors(http: httpx2.AsyncClient) -> None:
    """2.1, CORS: `new Response("ok", { headers: corsHeaders })`, and no key is needed."""
    answered = await http.options(ENQUEUE, headers={"Origin": "https://app.example.com"})

    allowed = {name.strip().lower() for name in answered.headers["access-control-allow-headers"].split(",")}
    assert (answered.status_code, answered.text) == (200, "ok")
    assert answered.headers["access-control-allow-origin"] == "*"
    assert allowed >= {"authorization", "apikey", "x-client-info", "content-type"}


async def test_004_2_1_every_answer_has_the_cors_headers(manager: Person, front_end: FrontEnd) -> None:
    """2.1: `{ ...corsHeaders, "Content-Type": "application/json" }` on success and on failure."""
    await define(manager, greeting())
    answers = [
        await front_end.call("health"),
        await front_end.call("enqueue", {"workflow": "flow", "data": GUEST}),
        await front_end.call("launch"),
        await front_end.http.get(ENQUEUE),
        await front_end.http.post(ENQUEUE, json={"action": "enqueue", "payload": {}}),
    ]

    assert [one.status_code for one in answers] == [200, 200, 400, 405, 401]
    assert {one.headers["access-control-allow-origin"] for one in answers} == {"*"}
    assert {one.headers["content-type"] for one in answers} == {"application/json"}


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_004_2_1_methods_other_than_post_are_405(http: httpx2.AsyncClient, method: str) -> None:
    """2.1: "Method not allowed"."""
    answered = await http.request(method, ENQUEUE)

    assert (answered.status_code, answered.json()) == (405, {"success": False, "error": "Method not allowed"})


async def test_004_2_1_success_is_an_envelope_of_success_and_data(manager: Person, front_end: FrontEnd) -> None:
    """2.1: `{ success: true, data: result }` with 200."""
    await define(manager, greeting())

    answered = await front_end.call("enqueue", {"workflow": "flow", "data": GUEST})

    assert answered.status_code == 200
    assert answered.json().keys() == {"success", "data"}
    assert answered.json()["success"] is True


async def test_004_2_1_health_says_healthy_and_the_time(http: httpx2.AsyncClient) -> None:
    """2.1, 5.3: `{ "action": "health" }`, without a key."""
    data = data_of(await http.post(ENQUEUE, json={"action": "health"}))

    assert data.keys() == {"status", "timestamp"}
    assert data["status"] == "healthy"
    assert datetime.fromisoformat(data["timestamp"]).tzinfo is not None


@pytest.mark.parametrize(
    ("action", "payload", "error"),
    [
        (None, None, "action is required"),
        ("launch", {}, "Unknown action: launch"),
        ("enqueue", {"data": {}}, "workflow is required"),
        ("enqueue", {"workflow": "flow"}, "data is required"),
        ("enqueue", {"workflow": "nobody", "data": {}}, "Workflow not found: nobody"),
        ("status", {}, "execution_id is required"),
        ("status", {"execution_id": "nobody"}, "Execution not found: nobody"),
    ],
)
async def test_004_2_1_the_caller_s_errors_are_400_in_these_words(
    front_end: FrontEnd, action: str | None, payload: object, error: str
) -> None:
    """2.1: ValidationError → 400 and `{ success: false, error }`."""
    answered = await front_end.call(action, payload)

    assert (answered.status_code, answered.json()) == (400, {"success": False, "error": error})


async def test_004_2_1_an_inactive_workflow_is_not_found(manager: Person, front_end: FrontEnd) -> None:
    """2.1, step 1: `.eq("active", true)`."""
    made = await define(manager, greeting())
    await manager.post(f"/v1/workflows/{made['id']}/deactivate")

    assert await front_end.refused("flow", GUEST) == "Workflow not found: flow"


async def test_004_2_1_our_own_errors_are_500(
    manager: Person, front_end: FrontEnd, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.1: what is no ValidationError."""

    async def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    await define(manager, greeting())
    monkeypatch.setattr(engine.executions, "trigger", crash)

    answered = await front_end.call("enqueue", {"workflow": "flow", "data": GUEST})

    assert (answered.status_code, answered.json()["success"]) == (500, False)


async def test_004_2_1_enqueue_answers_the_execution_as_queued(manager: Person, front_end: FrontEnd) -> None:
    """2.1, step 7: `execution_id`, `workflow_name`, `status: "queued"`, `total_steps`."""
    await define(manager, steps(step("one"), step("two")))

    data = await front_end.enqueue("flow", {})

    assert data.keys() == {"execution_id", "workflow_name", "status", "total_steps"}
    assert (data["workflow_name"], data["status"], data["total_steps"]) == ("flow", "queued", 2)


async def test_004_2_1_status_answers_every_column_of_the_execution(manager: Person, front_end: FrontEnd) -> None:
    """2.1, handleStatus: `select("*")` of 1.3's table."""
    await define(manager, greeting())
    id = (await front_end.enqueue("flow", GUEST))["execution_id"]

    row = await front_end.status(id)

    assert row["id"] == id
    assert row.keys() >= {
        *("id", "workflow_name", "workflow_version", "status", "current_step", "total_steps", "input_payload"),
        *("context", "error_message", "error_step", "retry_count", "created_at", "started_at", "completed_at"),
        *("correlation_id", "triggered_by"),
    }


async def test_004_2_1_the_same_correlation_id_gives_the_existing_execution(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """2.1, step 5: "Workflow already exists (idempotent)", with the status it has by now."""
    await define(manager, greeting())
    first = await front_end.enqueue("flow", GUEST, correlation_id="c-1")
    await engine.work_everything()
    again = await front_end.enqueue("flow", GUEST, correlation_id="c-1")
    await engine.work_everything()

    assert again == {
        "execution_id": first["execution_id"],
        "workflow_name": "flow",
        "status": "completed",
        "message": "Workflow already exists (idempotent)",
    }
    assert len(functions.requests) == 1


async def test_004_2_1_parallel_duplicates_are_one_execution(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.3: `correlation_id TEXT UNIQUE`; printed as a check and then an insert, it must not depend on luck."""
    await define(manager, greeting())

    given = [front_end.enqueue("flow", GUEST, correlation_id="c-1") for _ in range(20)]
    ids = {one["execution_id"] for one in await asyncio.gather(*given)}
    await engine.work_everything()

    assert (len(ids), len(functions.requests)) == (1, 1)


async def test_004_1_3_a_correlation_id_is_unique_whatever_workflow_it_starts(
    manager: Person, operator: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.3: `correlation_id TEXT UNIQUE`: the answer is the first execution's id and status. Other keys are apart."""
    for name in ("flow", "other", "third"):
        await define(manager, greeting(), name)
    by_api = await trigger(operator, GUEST, "c-1", "third")
    first = await front_end.enqueue("flow", GUEST, correlation_id="c-1")
    await engine.work_everything()

    again = await front_end.enqueue("other", GUEST, correlation_id="c-1")
    own = await front_end.enqueue("third", GUEST, correlation_id="c-1")
    apart = await trigger(operator, GUEST, "c-1", "other")

    assert again == {
        "execution_id": first["execution_id"],
        "workflow_name": "other",
        "status": "completed",
        "message": "Workflow already exists (idempotent)",
    }
    assert len({first["execution_id"], by_api["id"], apart["id"]}) == 3
    assert own["execution_id"] == by_api["id"]


async def test_004_1_3_parallel_requests_for_several_workflows_under_one_id_start_one(
    manager: Person, front_end: FrontEnd, engine: Engine, functions: FunctionServer
) -> None:
    """1.3: decided by the index, not by who looked first."""
    names = ["one", "two", "three", "four"]
    for name in names:
        await define(manager, greeting(), name)

    given = [front_end.enqueue(name, GUEST, correlation_id=f"c-{number}") for number in range(8) for name in names]
    ids = {one["execution_id"] for one in await asyncio.gather(*given)}
    await engine.work_everything()

    assert (len(ids), len(functions.requests)) == (8, 8)


async def test_004_1_3_a_correlation_id_from_before_still_finds_its_own_execution(
    manager: Person, front_end: FrontEnd, sql: Sql
) -> None:
    """1.3: ids that two workflows have used while they were unique to each; the first stands for all others."""
    for name in ("flow", "other", "third"):
        await define(manager, greeting(), name)
    started = {}
    for name in ("flow", "other"):
        started[name] = (await front_end.enqueue(name, GUEST, correlation_id="c-1"))["execution_id"]
        of_all = await sql.fetchval("select max(workspace_key_hash) from executions")
        await sql.execute("update executions set workspace_key_hash = null")  # as it was before
    stands = "update executions set workspace_key_hash = $2 where id = $1"  # as a migration does
    await sql.execute(stands, started["flow"], of_all)

    found = {
        name: (await front_end.enqueue(name, GUEST, correlation_id="c-1"))["execution_id"]
        for name in ("flow", "other", "third")
    }

    assert found == {**started, "third": started["flow"]}


async def test_004_2_1_without_a_correlation_id_one_is_generated(manager: Person, front_end: FrontEnd) -> None:
    """2.1, step 4: "Generate correlation ID"."""
    await define(manager, greeting())
    ids = {(await front_end.enqueue("flow", GUEST))["execution_id"] for _ in range(3)}

    assert len(ids) == 3
    assert len({(await front_end.status(id))["correlation_id"] for id in ids} - {None, ""}) == 3


# 2.1.1 and 2.1.2: validation


async def test_004_2_1_1_level_1_every_missing_required_field_is_named(manager: Person, front_end: FrontEnd) -> None:
    """2.1.1, level 1: "Missing required fields"; what level 2 finds is told in the same breath."""
    await define(manager, steps(step("a", text="{{ other }}"), required_fields=["guest_email", "guest_name"]))

    everything = await front_end.refused("flow", {})
    level_1 = await front_end.refused("flow", {"other": 1})

    assert level_1 == "Missing required fields: guest_email, guest_name"
    assert everything.startswith(f"{level_1}. Missing template variables: other.")


async def test_004_2_1_1_level_2_every_missing_template_variable_of_every_step_is_named(
    manager: Person, front_end: FrontEnd
) -> None:
    """2.1.1, level 2: "Scans ALL {{placeholders}} in ALL steps", at any depth."""
    await define(
        manager,
        steps(
            step("a", to="{{guest_email}}"),
            step("b", variables={"address": "{{ listing_address }}", "lines": ["{{ first_line }}"]}),
        ),
    )

    assert await front_end.refused("flow", {"guest_email": "ada@example.com"}) == (
        "Missing template variables: first_line, listing_address. "
        "These placeholders exist in workflow steps but were not provided in data."
    )


async def test_004_2_1_1_a_refused_enqueue_stores_nothing(
    manager: Person, operator: Person, front_end: FrontEnd
) -> None:
    """2.1.1: "400 Error (immediate)", before the workflow starts."""
    await define(manager, greeting())

    await front_end.refused("flow", {})

    assert (await operator.get("/v1/executions")).json()["data"] == []


async def test_004_2_1_1_nested_paths_are_looked_up_in_the_data(manager: Person, front_end: FrontEnd) -> None:
    """2.1: getNestedValue(data, "user.email"); null counts as given."""
    await define(manager, steps(step("a", to="{{ user.email }}", note="{{ note }}")))

    refused = await front_end.refused("flow", {"user": {"name": "Ada"}, "note": None})

    assert refused.startswith("Missing template variables: user.email.")
    assert await front_end.enqueue("flow", {"user": {"email": "ada@example.com"}, "note": None})


@pytest.mark.parametrize("variable", ["step_0_result", "step_0_result.message_id", "step_1_result.sent_at"])
async def test_004_2_1_2_enqueue_skips_step_result_variables(
    manager: Person, front_end: FrontEnd, variable: str
) -> None:
    """2.1.2: runtime variables "can't be validated at enqueue time"."""
    await define(manager, steps(step("a"), step("b"), step("c", text=f"{{{{{variable}}}}}")))

    assert (await front_end.enqueue("flow", {}))["status"] == "queued"


async def test_004_5_1_the_key_is_taken_from_apikey_or_authorization(manager: Person, front_end: FrontEnd) -> None:
    """5.1, 4.1: a front end's client sends `apikey`, and perhaps its user's token; it works unchanged."""
    await define(manager, greeting())
    body = {"action": "enqueue", "payload": {"workflow": "flow", "data": GUEST}}

    for headers in (
        {"apikey": front_end.secret, "Authorization": f"Bearer {front_end.secret}"},
        {"apikey": front_end.secret, "Authorization": "Bearer a.users.token"},
        {"Authorization": f"Bearer {front_end.secret}"},
    ):
        assert (await front_end.http.post(ENQUEUE, json=body, headers=headers)).status_code == 200
