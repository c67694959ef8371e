"""/v1/workflows and /v1/triggers, as their users see them."""

import asyncio
import random
from uuid import UUID

import httpx2
import pytest

from tests.http.conftest import ADA, WELCOME, Person, person
from tests.http.test_requests import assert_problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

STEPS = {
    "required_fields": ["guest_email"],
    "timeout_seconds": 600,
    "steps": [
        {
            "name": "mail",
            "function": "send-email",
            "action": "send",
            "payload_template": {"to_email": "{{guest_email}}", "snake_and_camelCase": "{{ some_name }}"},
            "on_failure": "continue",
        }
    ],
}


async def test_a_workflow_is_made_shown_changed_and_deleted(admin: Person) -> None:
    made = await admin.post("/v1/workflows", {"name": "welcome", "description": "First words", **WELCOME})
    id = made.json()["id"]
    changed = await admin.ask("PUT", f"/v1/workflows/{id}", json={**WELCOME, "edges": [], "timeoutSeconds": 60})
    deleted = await admin.ask("DELETE", f"/v1/workflows/{id}")

    assert made.status_code == 201
    assert made.headers["location"] == f"/v1/workflows/{id}"
    shown = made.json()
    assert {name: shown[name] for name in WELCOME} == WELCOME
    assert (shown["definition"], shown["version"], shown["active"], shown["form"]) == (WELCOME, 1, True, "graph")
    assert (changed.json()["version"], changed.json()["description"]) == (2, "First words")
    assert deleted.status_code == 204
    assert_problem(await admin.get(f"/v1/workflows/{id}"), 404, "not_found")


async def test_names_inside_a_definition_stay_as_they_were_written(admin: Person) -> None:
    made = await admin.post("/v1/workflows", {"name": "steps", **STEPS})

    assert made.status_code == 201, made.text
    assert made.json()["steps"] == STEPS["steps"]
    assert made.json()["form"] == "steps"
    assert made.json()["required_fields"] == ["guest_email"]


async def test_what_was_read_can_be_changed_and_written_back(admin: Person) -> None:
    made = (await admin.post("/v1/workflows", {"name": "welcome", **WELCOME})).json()

    same = await admin.ask("PUT", f"/v1/workflows/{made['id']}", json=made)
    switched = await admin.ask("PUT", f"/v1/workflows/{made['id']}", json={**made, "active": False})
    twofold = await admin.ask("PUT", f"/v1/workflows/{made['id']}", json={**made, "entryNodeId": "other"})

    assert same.json()["version"] == 1
    assert (switched.json()["active"], switched.json()["version"]) == (False, 1)
    assert_problem(twofold, 422, "input_invalid")


async def test_a_definition_may_stand_under_its_own_name(admin: Person) -> None:
    made = await admin.post("/v1/workflows", {"name": "welcome", "definition": WELCOME})

    assert made.status_code == 201
    assert made.json()["nodes"] == WELCOME["nodes"]


async def test_every_problem_of_a_definition_is_told_with_its_place(admin: Person) -> None:
    broken = {"entryNodeId": "nowhere", "nodes": [{"id": "a", "type": "delay", "delayMs": -1}], "edges": []}

    refused = assert_problem(await admin.post("/v1/workflows", {"name": "x", **broken}), 422, "definition_invalid")
    checked = await admin.post("/v1/workflows/validate", broken)

    assert checked.status_code == 200
    assert (checked.json()["valid"], checked.json()["errors"]) == (False, refused["errors"])
    assert len(refused["errors"]) >= 2
    assert (await admin.get("/v1/workflows")).json()["data"] == []


async def test_a_valid_definition_is_called_so_and_not_stored(admin: Person) -> None:
    bare = await admin.post("/v1/workflows/validate", dict(WELCOME))
    named = await admin.post("/v1/workflows/validate", {"name": "x", "active": True, **WELCOME})
    apart = await admin.post("/v1/workflows/validate", {"definition": WELCOME})

    found = [answer.json() for answer in (bare, named, apart)]
    assert [(one["valid"], one["errors"]) for one in found] == [(True, [])] * 3
    assert (await admin.get("/v1/workflows")).json()["data"] == []


async def test_a_name_that_is_taken_is_a_409(admin: Person, workflow: UUID) -> None:
    assert_problem(await admin.post("/v1/workflows", {"name": "welcome", **WELCOME}), 409, "conflict")


async def test_an_active_workflow_that_was_triggered_is_not_deleted(admin: Person, workflow: UUID) -> None:
    await admin.post("/v1/triggers", {"workflow": "welcome", "data": ADA})

    refused = await admin.ask("DELETE", f"/v1/workflows/{workflow}")
    await admin.post(f"/v1/workflows/{workflow}/deactivate")
    deleted = await admin.ask("DELETE", f"/v1/workflows/{workflow}")

    assert_problem(refused, 409, "conflict")
    assert deleted.status_code == 204


async def test_workflows_come_in_pages_and_by_name(admin: Person) -> None:
    for number in range(5):
        await admin.post("/v1/workflows", {"name": f"w{number}", **WELCOME})

    names, cursor = [], None
    while True:
        page = (await admin.get("/v1/workflows", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        names += [one["name"] for one in page["data"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break

    assert sorted(names) == [f"w{number}" for number in range(5)]
    found = (await admin.get("/v1/workflows", params={"name": "w3"})).json()["data"]
    assert [one["name"] for one in found] == ["w3"]


async def test_versions_are_listed(admin: Person, workflow: UUID) -> None:
    await admin.ask("PUT", f"/v1/workflows/{workflow}", json={**WELCOME, "timeoutSeconds": 5})

    versions = (await admin.get(f"/v1/workflows/{workflow}/versions")).json()["data"]

    assert sorted(one["number"] for one in versions) == [1, 2]
    assert all(one.keys() == {"id", "number", "definition", "templates", "createdAt", "inFlight"} for one in versions)


async def test_a_trigger_answers_201_and_its_repeat_200_with_the_same_execution(admin: Person, workflow: UUID) -> None:
    first = await admin.post(f"/v1/workflows/{workflow}/triggers", {"idempotencyKey": "k-1", "data": ADA})
    second = await admin.post("/v1/triggers", {"workflow": "welcome", "idempotency_key": "k-1", "data": ADA})
    by_id = await admin.post("/v1/triggers", {"workflow": str(workflow), "idempotencyKey": "k-1", "data": ADA})

    assert [answer.status_code for answer in (first, second, by_id)] == [201, 200, 200]
    assert [answer.json()["duplicate"] for answer in (first, second, by_id)] == [False, True, True]
    assert first.json()["id"] == second.json()["id"] == by_id.json()["id"]
    shown = (await admin.get(f"/v1/executions/{first.json()['id']}")).json()
    assert {**shown, "duplicate": False} == first.json()


async def test_a_trigger_without_a_key_starts_its_own(admin: Person, workflow: UUID) -> None:
    ids = {(await admin.post("/v1/triggers", {"workflow": "welcome", "data": ADA})).json()["id"] for _ in range(3)}

    assert len(ids) == 3


async def test_missing_data_are_all_named_and_nothing_is_stored(admin: Person, workflow: UUID) -> None:
    refused = assert_problem(await admin.post("/v1/triggers", {"workflow": "welcome"}), 422, "data_missing")

    assert {one["place"] for one in refused["errors"]} == {"data.email", "data.name"}
    assert (await admin.get("/v1/executions")).json()["data"] == []


async def test_an_unknown_workflow_is_a_404_and_an_inactive_one_a_409(admin: Person, workflow: UUID) -> None:
    await admin.post(f"/v1/workflows/{workflow}/deactivate")

    assert_problem(await admin.post("/v1/triggers", {"workflow": "nobody"}), 404, "not_found")
    assert_problem(await admin.post("/v1/triggers", {"workflow": "welcome", "data": ADA}), 409, "conflict")


async def test_a_bulk_trigger_is_safe_to_repeat(admin: Person, workflow: UUID) -> None:
    given = {"triggers": [{"workflow": "welcome", "idempotencyKey": f"k{n}", "data": ADA} for n in range(50)]}

    first = await admin.post("/v1/triggers/bulk", given)
    second = await admin.post("/v1/triggers/bulk", given)

    assert (first.status_code, second.status_code) == (200, 200)
    assert [one["id"] for one in first.json()["data"]] == [one["id"] for one in second.json()["data"]]
    assert {one["duplicate"] for one in first.json()["data"]} == {False}
    assert {one["duplicate"] for one in second.json()["data"]} == {True}


async def test_a_bulk_trigger_with_one_mistake_stores_nothing(admin: Person, workflow: UUID) -> None:
    given = {"triggers": [{"workflow": "welcome", "data": ADA}, {"workflow": "welcome", "data": {"name": "Bob"}}]}

    refused = await admin.post("/v1/triggers/bulk", given)

    assert (refused.status_code, refused.json()["code"]) == (422, "triggers_invalid")
    assert [one["place"] for one in refused.json()["errors"]] == ["triggers[1]"]
    assert "email" in refused.text
    assert (await admin.get("/v1/executions")).json()["data"] == []


async def test_a_hundred_parallel_duplicates_are_one_execution_and_the_same_answer(
    admin: Person, workflow: UUID
) -> None:
    given = {"workflow": "welcome", "idempotencyKey": "once", "data": ADA}

    answers = await asyncio.gather(*(admin.post("/v1/triggers", given) for _ in range(100)))

    assert sorted(answer.status_code for answer in answers) == [200] * 99 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len((await admin.get("/v1/executions")).json()["data"]) == 1


def chain(length: int, **more: object) -> dict[str, object]:
    nodes = [{"id": f"n{number}", "type": "delay", "delayMs": 1, **more} for number in range(length)]
    edges = [{"from": f"n{number}", "to": f"n{number + 1}"} for number in range(length - 1)]
    return {"entryNodeId": "n0", "nodes": nodes, "edges": edges}


@pytest.mark.parametrize("length", [1_000, 10_000])
async def test_a_huge_graph_is_taken_or_refused_before_a_request_s_time_is_over(admin: Person, length: int) -> None:
    answer = await admin.post("/v1/workflows", {"name": "huge", **chain(length)})

    assert answer.status_code in {201, 413, 422}, answer.text[:500]
    assert (await admin.get("/v1/health")).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        "{% for i in (1..100000000) %}{% for j in (1..100000000) %}x{% endfor %}{% endfor %}",
        "{% assign s = 'x' %}{% for i in (1..100) %}{% assign s = s | append: s %}{% endfor %}{{ s }}",
        "{% " * 10_000,
        "{{ a" + " | upcase" * 50_000 + " }}",
        "{% if a %}" * 5_000 + "{% endif %}" * 5_000,
    ],
    ids=["loop", "grow", "open tags", "filters", "nesting"],
)
async def test_a_template_without_end_harms_nobody_but_itself(
    admin: Person, engine: Engine, provider: FakeProvider, body: str
) -> None:
    node = {"id": "a", "type": "sms", "to": "+442071838750", "body": body}
    definition = {"name": "endless", "entryNodeId": "a", "nodes": [node], "edges": []}

    made = await admin.post("/v1/workflows", definition)
    if made.status_code == 201:
        started = await admin.post("/v1/triggers", {"workflow": "endless", "data": {"a": "x"}})
        async with asyncio.timeout(60):
            await engine.work_everything()
        shown = (await admin.get(f"/v1/executions/{started.json()['id']}")).json()
        assert (shown["status"], provider.calls) == ("failed", [])

    assert made.status_code in {201, 422}
    assert (await admin.get("/v1/health")).status_code == 200


async def test_the_longest_names_and_key_there_may_be_find_their_place(
    engine: Engine, http: httpx2.AsyncClient
) -> None:
    """They share an entry of an index, which holds 2,704 bytes."""
    dice = random.Random(4)
    room = Workspace("t" * 200, "".join(chr(dice.randrange(0x10000, 0x10FFFF)) for _ in range(50)))
    admin = await person(engine, http, Role.SYSTEM_ADMIN, room)
    key = "".join(chr(dice.randrange(0x10000, 0x10FFFF)) for _ in range(500))
    await admin.post("/v1/workflows", {"name": key[:200], **WELCOME})

    answer = await admin.post("/v1/triggers", {"workflow": key[:200], "idempotencyKey": key, "data": ADA})

    assert (answer.status_code, answer.json().get("idempotencyKey")) == (201, key)
