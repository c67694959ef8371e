"""POST /functions/v1/workflow-enqueue, statement by statement of the printed function."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.http.conftest import ADA, HOME, OTHER_TENANT, WELCOME, Person, caller, person
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.outcome import Accepted, RetryLater
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

PATH = "/functions/v1/workflow-enqueue"
PROPOSAL = {
    "required_fields": ["guest_email", "guest_name"],
    "steps": [
        {
            "name": "send_acceptance_email",
            "function": "send-email",
            "action": "send",
            "payload_template": {"to_email": "{{guest_email}}", "variables": {"address": "{{listing_address}}"}},
            "on_failure": "retry",
        },
        {
            "name": "tell",
            "function": "slack",
            "action": "post",
            "payload_template": {"message": "{{step_0_result.message_id}}"},
        },
    ],
}
GUEST = {"guest_email": "ada@example.com", "guest_name": "Ada", "listing_address": "1 Main St"}


@pytest.fixture
async def front_end(engine: Engine, http: httpx2.AsyncClient) -> Person:
    await engine.workflows.create(caller(), "proposal_accepted", PROPOSAL)
    return await person(engine, http, Role.TRIGGER_OPERATOR)


async def call(somebody: Person, action: str, payload: Any = None) -> httpx2.Response:
    return await somebody.http.post(
        PATH, json={"action": action, "payload": payload}, headers={"apikey": somebody.secret}
    )


async def enqueue(somebody: Person, data: Any = GUEST, **more: Any) -> httpx2.Response:
    return await call(somebody, "enqueue", {"workflow": "proposal_accepted", "data": data, **more})


def assert_failure(answer: httpx2.Response, status: int, error: str) -> None:
    assert (answer.status_code, answer.json()) == (status, {"success": False, "error": error})
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_options_is_answered_ok_without_a_key(http: httpx2.AsyncClient) -> None:
    answer = await http.options(PATH)

    assert (answer.status_code, answer.text) == (200, "ok")
    assert answer.headers["access-control-allow-origin"] == "*"
    allowed = {name.strip() for name in answer.headers["access-control-allow-headers"].split(",")}
    assert allowed >= {"authorization", "apikey", "x-client-info", "content-type"}


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_other_methods_are_not_allowed(http: httpx2.AsyncClient, method: str) -> None:
    assert_failure(await http.request(method, PATH), 405, "Method not allowed")


async def test_health_needs_no_key(http: httpx2.AsyncClient) -> None:
    answer = await http.post(PATH, json={"action": "health"})

    assert answer.status_code == 200
    assert answer.json()["success"] is True
    assert answer.json()["data"]["status"] == "healthy"
    assert answer.json()["data"]["timestamp"]
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_enqueue_starts_an_execution(front_end: Person, engine: Engine) -> None:
    answer = await enqueue(front_end)

    data = answer.json()["data"]
    assert (answer.status_code, answer.json()["success"]) == (200, True)
    assert data == {
        "execution_id": data["execution_id"],
        "workflow_name": "proposal_accepted",
        "status": "queued",
        "total_steps": 2,
    }
    execution = await engine.executions.get(HOME, UUID(data["execution_id"]))
    assert (execution.triggered_by, execution.input_payload) == ("frontend", GUEST)


async def test_the_same_correlation_id_gives_the_existing_execution(front_end: Person) -> None:
    first = (await enqueue(front_end, correlation_id="c-1")).json()["data"]

    again = (await enqueue(front_end, correlation_id="c-1")).json()["data"]

    assert again == {
        "execution_id": first["execution_id"],
        "workflow_name": "proposal_accepted",
        "status": "pending",
        "message": "Workflow already exists (idempotent)",
    }


async def test_without_a_correlation_id_each_call_is_its_own(front_end: Person) -> None:
    ids = {(await enqueue(front_end)).json()["data"]["execution_id"] for _ in range(3)}

    assert len(ids) == 3


async def test_status_answers_the_row_of_the_execution(front_end: Person) -> None:
    id = (await enqueue(front_end, correlation_id="c-2")).json()["data"]["execution_id"]

    answer = await call(front_end, "status", {"execution_id": id})

    row = answer.json()["data"]
    assert answer.status_code == 200
    assert (row["id"], row["execution_id"], row["workflow_name"]) == (id, id, "proposal_accepted")
    assert (row["status"], row["current_step"], row["total_steps"]) == ("pending", 0, 2)
    assert (row["input_payload"], row["context"]) == (GUEST, GUEST)
    assert (row["correlation_id"], row["triggered_by"], row["retry_count"]) == ("c-2", "frontend", 0)
    assert row.keys() >= {"workflow_version", "error_message", "error_step", "created_at", "started_at", "completed_at"}


async def test_the_context_of_a_status_has_the_results_by_the_number_of_their_step(
    front_end: Person, engine: Engine, provider: FakeProvider
) -> None:
    provider.script = {"send-email": [Accepted(None, {"message_id": "m-7", "guest_name": "Eve"})]}
    id = (await enqueue(front_end)).json()["data"]["execution_id"]
    await engine.work_everything()

    context = (await call(front_end, "status", {"execution_id": id})).json()["data"]["context"]

    assert context["step_0_result"] == {"message_id": "m-7", "guest_name": "Eve"}
    assert {name: context[name] for name in GUEST} == GUEST
    assert context["message_id"] == "m-7"


async def test_a_status_tells_why_a_step_is_tried_again(
    front_end: Person, engine: Engine, provider: FakeProvider
) -> None:
    provider.answer = RetryLater("busy")
    id = (await enqueue(front_end)).json()["data"]["execution_id"]
    await engine.work_everything()

    row = (await call(front_end, "status", {"execution_id": id})).json()["data"]

    assert (row["status"], row["error_message"], row["error_step"]) == ("running", "busy", "send_acceptance_email")
    assert row["completed_at"] is None


@pytest.mark.parametrize("id", ["019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f", "nonsense", 5, {"a": 1}])
async def test_an_unknown_execution_is_a_400(front_end: Person, id: object) -> None:
    assert_failure(await call(front_end, "status", {"execution_id": id}), 400, f"Execution not found: {id}")


async def test_another_workspace_s_execution_is_not_found(front_end: Person, engine: Engine) -> None:
    await engine.workflows.create(caller(OTHER_TENANT), "welcome", WELCOME)
    id = (await engine.executions.trigger(caller(OTHER_TENANT), "welcome", ADA)).id

    assert_failure(await call(front_end, "status", {"execution_id": str(id)}), 400, f"Execution not found: {id}")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, "action is required"),
        ({"action": ""}, "action is required"),
        ({"action": "launch"}, "Unknown action: launch"),
        ({"action": "enqueue"}, "payload is required"),
        ({"action": "enqueue", "payload": {}}, "workflow is required"),
        ({"action": "enqueue", "payload": {"workflow": "proposal_accepted"}}, "data is required"),
        ({"action": "enqueue", "payload": {"workflow": "nobody", "data": {}}}, "Workflow not found: nobody"),
        ({"action": "status", "payload": {}}, "execution_id is required"),
        (
            {
                "action": "enqueue",
                "payload": {"workflow": "proposal_accepted", "data": {"guest_name": "Ada", "listing_address": "x"}},
            },
            "Missing required fields: guest_email",
        ),
        (
            {
                "action": "enqueue",
                "payload": {"workflow": "proposal_accepted", "data": {"guest_email": "a@b.c", "guest_name": "Ada"}},
            },
            "Missing template variables: listing_address. "
            "These placeholders exist in workflow steps but were not provided in data.",
        ),
    ],
)
async def test_the_caller_s_mistakes_are_400_in_these_words(front_end: Person, body: object, error: str) -> None:
    answer = await front_end.http.post(PATH, json=body, headers={"apikey": front_end.secret})

    assert_failure(answer, 400, error)


async def test_an_inactive_workflow_is_not_found(front_end: Person, engine: Engine) -> None:
    workflow = await engine.workflows.find(HOME, "proposal_accepted")
    await engine.workflows.deactivate(caller(), workflow.id)

    assert_failure(await enqueue(front_end), 400, "Workflow not found: proposal_accepted")


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"action": NaN}'])
async def test_malformed_bodies_are_400(front_end: Person, content: str) -> None:
    answer = await front_end.http.post(PATH, content=content, headers={"apikey": front_end.secret})

    assert answer.status_code == 400
    assert answer.json()["success"] is False


async def test_the_key_is_taken_from_apikey_or_from_authorization(front_end: Person) -> None:
    body = {"action": "enqueue", "payload": {"workflow": "proposal_accepted", "data": GUEST}}

    for headers in (
        {"apikey": front_end.secret},
        {"Authorization": f"Bearer {front_end.secret}"},
        {"apikey": front_end.secret, "Authorization": "Bearer a.users.token"},
        {"apikey": "anon", "Authorization": f"Bearer {front_end.secret}"},
    ):
        assert (await front_end.http.post(PATH, json=body, headers=headers)).status_code == 200


async def test_a_key_that_may_not_is_a_403_and_none_a_401(engine: Engine, http: httpx2.AsyncClient) -> None:
    manager = await person(engine, http, Role.WORKFLOW_MANAGER)

    refused = await call(manager, "enqueue", {"workflow": "x", "data": {}})
    nobody = await http.post(PATH, json={"action": "enqueue", "payload": {"workflow": "x", "data": {}}})

    assert (refused.status_code, refused.json()["success"]) == (403, False)
    assert (nobody.status_code, nobody.json()["success"]) == (401, False)


async def test_our_failures_are_500_and_say_nothing_of_themselves(
    front_end: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(engine.executions, "trigger", crash)

    assert_failure(await enqueue(front_end), 500, "An unexpected error occurred")


async def test_a_database_that_is_away_is_a_503_with_the_time_to_come_again(
    front_end: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StorageUnavailable("secret detail")

    monkeypatch.setattr(engine.executions, "trigger", away)

    answer = await enqueue(front_end)

    assert_failure(answer, 503, "The database is not available; try again in a moment")
    assert answer.headers["retry-after"] == "2"
