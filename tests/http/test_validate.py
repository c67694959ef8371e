"""POST …/validate: what an editor is told while somebody types."""

from typing import Any

import pytest

from tests.http.conftest import Person
from tidings.domain.workflows.known_names import names_of_workflow

FLOW = {
    "entryNodeId": "hello",
    "requiredFields": ["order"],
    "nodes": [
        {
            "id": "hello",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Hi {{ contact.attributes.pet }}",
            "body": "Hi",
        },
        {"id": "ask", "type": "branch"},
        {"id": "call me", "type": "function", "function": "f", "payload": {"deep": ["{{ deep.value }}"]}},
        {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "{{ vars.hello.status }}"},
    ],
    "edges": [
        {"from": "hello", "to": "ask"},
        {"from": "ask", "to": "call me", "condition": {"any": [{"path": "plan", "value": "pro"}, {"tag": "vip"}]}},
        {"from": "ask", "to": "nudge"},
    ],
}
MESSAGE = {"subject": "Hi {{ lead.name }}", "body": "{{ quote.number }}"}
RULE = {"trigger": "quote_sent", "channel": "email", "audience": "lead", "steps": [{"template": MESSAGE}]}
SPRING = {
    "name": "spring",
    "channel": "sms",
    "content": {"body": "{{ sale.from }} {{ contact.name }}"},
    "audience": {"all": True},
    "data": {"sale": {"from": "May"}},
}


def names(answer: dict[str, Any], origin: str) -> set[str]:
    return {one["name"] for one in answer["variables"] if one["origin"] == origin}


async def test_a_definition_is_answered_with_the_names_that_it_may_use(admin: Person) -> None:
    told = (await admin.post("/v1/workflows/validate", FLOW)).json()

    assert (told["valid"], told["errors"]) == (True, [])
    assert names(told, "data") == {"order", "email", "phone", "deep.value", "plan"}
    assert {"contact.name", "contact.attributes.pet"} <= names(told, "contact")
    of_nodes = {"vars.hello.status", "vars.hello.messageId", "vars.hello.at", "vars.ask", 'vars["call me"]'}
    assert names(told, "node") >= of_nodes
    assert names(told, "error") == {"error.execution", "error.workflow", "error.message", "error.node"}


async def test_at_a_node_only_the_results_of_what_leads_to_it_are_named(admin: Person) -> None:
    told = (await admin.post("/v1/workflows/validate?node=nudge", FLOW)).json()

    assert {one["node"] for one in told["variables"] if one["node"]} == {"hello", "ask"}
    assert names(told, "error") == set()


async def test_a_broken_definition_tells_its_names_and_each_problem_at_its_place(admin: Person) -> None:
    nodes = [*FLOW["nodes"][:3], {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "{% if %}"}]

    told = (await admin.post("/v1/workflows/validate", {**FLOW, "nodes": nodes})).json()

    assert [one["place"] for one in told["errors"]] == ["nodes[3].body"]
    assert "vars.hello.status" in names(told, "node")


async def test_steps_know_the_results_of_those_above_them(admin: Person) -> None:
    steps = [{"name": name, "function": "f"} for name in ("one", "two", "three")]

    told = (await admin.post("/v1/workflows/validate?node=three", {"steps": steps})).json()

    assert names(told, "node") == {
        *("vars.one", "vars.two"),
        *("step_0_result", "step_0_error", "step_1_result", "step_1_error"),
    }


@pytest.mark.parametrize(
    ("path", "good", "changed", "place", "known"),
    [
        ("campaigns", SPRING, {"content": {}}, "content.body", {"contact.name", "campaign.name", "sale.from"}),
        ("rules", RULE, {"steps": [{"template": {}}]}, "steps[0].template.subject", {"lead.email", "quote.number"}),
        (
            "sequences",
            {"steps": [{"dayOffset": 0, "channel": "sms", "content": "Hi {{ contact.name }}"}]},
            {"steps": [{"dayOffset": 0, "channel": "sms", "content": "Hi {{ nobody }}"}]},
            "steps[0].content",
            {"contact.name"},
        ),
    ],
)
async def test_the_others_are_checked_in_the_same_way(
    admin: Person, path: str, good: dict[str, Any], changed: dict[str, Any], place: str, known: set[str]
) -> None:
    fine = (await admin.post(f"/v1/{path}/validate", good)).json()
    wrong = (await admin.post(f"/v1/{path}/validate", {**good, **changed})).json()

    assert (fine["valid"], fine["errors"]) == (True, [])
    assert {one["name"] for one in fine["variables"]} >= known
    assert wrong["valid"] is False
    assert place in {one["place"] for one in wrong["errors"]}


async def test_steps_that_only_publishing_would_refuse_are_told_beforehand(admin: Person) -> None:
    late = {"dayOffset": 5, "channel": "sms", "content": "Hi"}

    told = (await admin.post("/v1/sequences/validate", {"steps": [late, {**late, "dayOffset": 1}]})).json()

    assert [one["place"] for one in told["errors"]] == ["steps[1].dayOffset"]


async def test_node_types_are_answered(admin: Person) -> None:
    told = (await admin.get("/v1/node-types")).json()

    [email] = [one for one in told["nodes"] if one["type"] == "email"]
    assert email["schema"]["properties"]["html"]["format"] == "html"
    assert "upcase" in told["liquid"]["filters"]
    assert {"name": "if", "end": "endif"} in told["liquid"]["tags"]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {"nodes": 1, "edges": 2, "steps": 3, "requiredFields": 4},
        {"nodes": [1, {"id": 2}, {"id": "a", "type": []}], "edges": [{"from": 1, "to": []}, 2]},
        {"edges": [{"condition": {"path": 5, "all": [[], {"path": "x"}]}}], "steps": [{"name": 1}]},
    ],
)
def test_whatever_is_written_has_names(odd: object) -> None:
    assert isinstance(names_of_workflow(odd, "a"), list)
