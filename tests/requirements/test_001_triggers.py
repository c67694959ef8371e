"""001, sections 2, 4, 6, 7 and 10: who may do what, and how a workflow is triggered."""

import asyncio
import json
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import HOME, Person, caller, person
from tests.requirements.conftest import (
    ADA,
    Sql,
    define,
    delay,
    email,
    graph,
    in_call,
    recipients,
    show,
    sms,
    trigger,
)
from tidings import Engine
from tidings.domain.errors import DefinitionInvalid
from tidings.domain.flow.outcome import Rejected
from tidings.domain.roles import Role
from tidings.providers.fake import FakeProvider

# 2 Roles


async def test_001_2_workflow_manager_creates_updates_activates_deactivates_and_deletes_and_views_logs(
    manager: Person, operator: Person
) -> None:
    """2: workflowManager; triggers are not its affair."""
    made = await define(manager, graph(email()))
    path = f"/v1/workflows/{made['id']}"
    id = (await trigger(operator))["id"]

    answers = [
        await manager.ask("PUT", path, json=graph(email(), sms())),
        await manager.post(f"{path}/deactivate"),
        await manager.post(f"{path}/activate"),
        await manager.get(f"/v1/executions/{id}/log"),
        await manager.post(f"{path}/deactivate"),
        await manager.ask("DELETE", path),
    ]

    assert [one.status_code for one in answers] == [200, 200, 200, 200, 200, 204]
    assert (await manager.post("/v1/triggers", {"workflow": "flow", "data": ADA})).status_code == 403


async def test_001_2_trigger_operator_creates_triggers_monitors_them_and_manages_their_lifecycle(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """2: triggerOperator; definitions are not its affair."""
    made = await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    path = f"/v1/executions/{id}"

    answers = [
        await operator.get(path),
        await operator.get("/v1/executions", params={"status": "enqueued"}),
        await operator.post(f"{path}/pause"),
        await operator.post(f"{path}/resume"),
    ]
    provider.answer = Rejected("no such mailbox")
    await engine.work_everything()
    answers += [await operator.post(f"{path}/retry"), await operator.post(f"{path}/cancel")]

    assert [one.status_code for one in answers] == [200] * 6
    assert (await operator.post("/v1/workflows", {"name": "x", **graph(email())})).status_code == 403
    assert (await operator.ask("DELETE", f"/v1/workflows/{made['id']}")).status_code == 403


async def test_001_2_system_admin_has_full_permissions_with_users_and_the_system(admin: Person) -> None:
    """2: systemAdmin."""
    await define(admin, graph(email()))
    id = (await trigger(admin))["id"]
    key = await admin.post("/v1/api-keys", {"name": "form", "role": "triggerOperator"})

    answers = [
        await admin.post(f"/v1/executions/{id}/cancel"),
        await admin.get(f"/v1/executions/{id}/log"),
        await admin.get("/v1/api-keys"),
        await admin.get("/v1/audit-log"),
        await admin.get("/v1/functions"),
        await admin.get("/metrics"),
    ]

    assert key.status_code == 201
    assert [one.status_code for one in answers] == [200] * 6


async def test_001_2_worker_service_may_only_look_after_the_work(
    engine: Engine, http: httpx2.AsyncClient, manager: Person, operator: Person
) -> None:
    """2: workerService: "automated role"; it executes over the database, section 5."""
    await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    worker = await person(engine, http, Role.WORKER_SERVICE)

    assert (await worker.get("/metrics")).status_code == 200
    refused = [
        await worker.post("/v1/triggers", {"workflow": "flow", "data": ADA}),
        await worker.get(f"/v1/executions/{id}"),
        await worker.post("/v1/workflows", {"name": "x", **graph(email())}),
        await worker.get("/v1/api-keys"),
    ]
    assert [one.status_code for one in refused] == [403] * 4


# 4 Triggers


async def test_001_4_when_a_trigger_is_created_the_system_shall_validate_workflow_existence_and_active_status(
    manager: Person, operator: Person
) -> None:
    """4, first statement."""
    made = await define(manager, graph(email()))
    await manager.post(f"/v1/workflows/{made['id']}/deactivate")

    absent = await operator.post("/v1/triggers", {"workflow": "nobody", "data": ADA})
    by_id = await operator.post(f"/v1/workflows/{uuid4()}/triggers", {"data": ADA})
    inactive = await operator.post("/v1/triggers", {"workflow": "flow", "data": ADA})

    assert [one.status_code for one in (absent, by_id, inactive)] == [404, 404, 409]
    assert (await operator.get("/v1/executions")).json()["data"] == []


async def test_001_4_the_system_shall_enforce_uniqueness_of_workflow_id_and_idempotency_key(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """4: by the pair: twenty at once are one, and the same key under another workflow is another."""
    await define(manager, graph(email()))
    await define(manager, graph(sms()), "other")

    started = await asyncio.gather(*(trigger(operator, key="k-1") for _ in range(20)))
    other = await trigger(operator, key="k-1", name="other")
    await engine.work_everything()

    assert len({one["id"] for one in started}) == 1
    assert other["id"] != started[0]["id"]
    assert sorted(recipients(provider)) == sorted([ADA["email"], ADA["phone"]])


async def test_001_4_if_a_duplicate_trigger_is_detected_the_system_shall_return_the_existing_instance(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """4: as it is by now, and even if the workflow was deactivated since."""
    made = await define(manager, graph(email()))
    body = {"idempotencyKey": "k-1", "data": ADA}
    first = await operator.post(f"/v1/workflows/{made['id']}/triggers", body)
    await engine.work_everything()
    await manager.post(f"/v1/workflows/{made['id']}/deactivate")
    again = await operator.post(f"/v1/workflows/{made['id']}/triggers", body)
    await engine.work_everything()

    assert (first.status_code, again.status_code) == (201, 200)
    assert (again.json()["id"], again.json()["duplicate"]) == (first.json()["id"], True)
    assert (again.json()["status"], len(provider.calls)) == ("completed", 1)


async def test_001_4_trigger_instances_shall_have_states_enqueued_processing_completed_and_failed(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """4: each of them, as it is seen."""
    await define(manager, graph(email()))
    id = (await trigger(operator, key="good"))["id"]
    seen = [(await show(operator, id))["status"]]
    provider.hang = asyncio.Event()
    async with in_call(engine, lambda: len(provider.calls)):
        seen.append((await show(operator, id))["status"])
        provider.hang.set()
        await asyncio.wait_for(until_ended(operator, id), 20)
    provider.hang, provider.answer = None, Rejected("no such mailbox")
    bad = (await trigger(operator, key="bad"))["id"]
    await engine.work_everything()
    seen += [(await show(operator, one))["status"] for one in (id, bad)]

    assert seen == ["enqueued", "processing", "completed", "failed"]


async def until_ended(operator: Person, id: str) -> None:
    while (await show(operator, id))["completedAt"] is None:
        await asyncio.sleep(0.02)


async def test_001_4_cursor_shall_track_the_current_node_and_advance_after_each_successful_step(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """4, last statement: past a node that was done, and not past one that failed."""
    await define(manager, graph(email(), delay(duration="PT1H"), sms()))
    id = (await trigger(operator))["id"]
    cursors = [(await show(operator, id))["cursor"]]
    await engine.work_everything()
    cursors.append((await show(operator, id))["cursor"])
    provider.answer = Rejected("no such number")
    clock.advance(hours=1)
    await engine.work_everything()
    cursors.append((await show(operator, id))["cursor"])

    assert cursors == ["hello", "wait", "nudge"]


# 6 The core


async def test_001_6_defines_workflow_node_edge_and_trigger_instance(manager: Person, operator: Person) -> None:
    """6: each as it was given."""
    definition = graph(email(), delay(), sms())
    made = await define(manager, definition)
    instance = await trigger(operator, key="k-1")

    assert {name: made[name] for name in definition} == definition
    assert (instance["workflowId"], instance["idempotencyKey"], instance["inputPayload"]) == (made["id"], "k-1", ADA)


async def test_001_6_enforces_invariants_by_whatever_way_a_definition_comes(engine: Engine) -> None:
    """6: "Enforces domain invariants and validation rules", without HTTP as with it."""
    with pytest.raises(DefinitionInvalid, match="entryNodeId"):
        await engine.define("flow", graph(email(), entry="nowhere"))


async def test_001_6_exposes_loading_validation_trigger_creation_and_node_execution(
    engine: Engine, provider: FakeProvider
) -> None:
    """6: as an interface of the core, without HTTP."""
    problems = engine.workflows.validate(graph(email()))
    made = await engine.workflows.create(caller(), "flow", graph(email()))
    loaded = await engine.workflows.get(HOME, made.id)
    started = await engine.executions.trigger(caller(), "flow", ADA, "k-1")
    await engine.work_everything()

    assert (problems, loaded) == ([], made)
    assert (await engine.executions.get(HOME, started.id)).status == "completed"
    assert recipients(provider) == [ADA["email"]]


async def test_001_6_the_execution_context_is_merged_and_never_changed(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """6: "Manages execution context immutability and merging": a node sees the input and all results before it."""
    told = sms(body="{{ name }}: {{ vars.hello.status }} {{ vars.wait.status }}")
    made = await define(manager, graph(email("hello"), delay(duration="PT1H"), told))
    data = {**ADA, "hello": "mine", "status": "mine"}
    id = (await trigger(operator, data))["id"]
    await engine.work_everything()
    between = await show(operator, id)
    await manager.ask("PUT", f"/v1/workflows/{made['id']}", json=graph(email("other")))
    clock.advance(hours=1)
    await engine.work_everything()
    after = await show(operator, id)

    assert provider.calls[-1].payload["body"] == "Ada: sent completed"
    assert between["inputPayload"] == after["inputPayload"] == data
    assert (between["vars"].keys(), after["vars"].keys()) == ({"hello"}, {"hello", "wait", "nudge"})
    assert after["vars"]["hello"] == between["vars"]["hello"]
    assert after["workflowVersion"] == 1


# 7 Business rules


async def test_001_7_trigger_uniqueness_holds_whatever_way_a_trigger_comes(
    manager: Person, operator: Person, sql: Sql
) -> None:
    """7: `(workflowId, idempotencyKey)`: over HTTP, in bulk, and from SQL in a transaction of the caller's."""
    made = await define(manager, graph(email()))
    first = await trigger(operator, key="k-1")
    one = {"workflow": "flow", "idempotencyKey": "k-1", "data": ADA}
    bulk = (await operator.post("/v1/triggers/bulk", {"triggers": [one, one]})).json()["data"]
    by_sql: UUID = await sql.fetchval(
        "select tidings.trigger('flow', $1::jsonb, 'k-1', $2, $3)", json.dumps(ADA), HOME.name, HOME.tenant
    )

    assert {line["id"] for line in bulk} | {str(by_sql)} == {first["id"]}
    assert await sql.fetchval("select count(*) from executions where workflow_id = $1", UUID(made["id"])) == 1


# 10 Validation


@pytest.mark.parametrize("key", ["", 5, "x" * 501, ["k"]])
async def test_001_10_trigger_creation_validates_the_key(manager: Person, operator: Person, key: object) -> None:
    """10: "Trigger creation validates workflow active state and key uniqueness"; what is no key is refused."""
    await define(manager, graph(email()))

    refused = await operator.post("/v1/triggers", {"workflow": "flow", "idempotencyKey": key, "data": ADA})

    assert refused.status_code == 422
    assert (await operator.get("/v1/executions")).json()["data"] == []
