"""001, sections 3, 7 and 10: what a workflow must be, and how it is managed."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.requirements.conftest import (
    Json,
    define,
    delay,
    email,
    graph,
    log_of,
    show,
    sms,
    trigger,
)
from tidings import Engine


async def assert_refused(manager: Person, definition: Json, place: str, words: str = "") -> None:
    """Neither created nor updated nor called valid, and told where; nothing changes."""
    good = await define(manager, graph(email()), f"good-{uuid4()}")
    created = await manager.post("/v1/workflows", {"name": "bad", **definition})
    updated = await manager.ask("PUT", f"/v1/workflows/{good['id']}", json=definition)
    checked = (await manager.post("/v1/workflows/validate", definition)).json()

    assert (created.status_code, updated.status_code, checked["valid"]) == (422, 422, False)
    for errors in (created.json()["errors"], updated.json()["errors"], checked["errors"]):
        assert any(one["place"] == place and words in one["message"] for one in errors), errors
    assert (await manager.get("/v1/workflows", params={"name": "bad"})).json()["data"] == []
    assert (await manager.get(f"/v1/workflows/{good['id']}")).json() == good


# 3 Workflows


async def test_001_3_the_system_shall_allow_workflow_managers_crud_operations_on_workflows(manager: Person) -> None:
    """3, first statement."""
    made = await define(manager, graph(email(), delay(), sms()))
    path = f"/v1/workflows/{made['id']}"
    read = (await manager.get(path)).json()
    listed = (await manager.get("/v1/workflows")).json()["data"]
    updated = (await manager.ask("PUT", path, json=graph(email()))).json()
    deleted = await manager.ask("DELETE", path)

    assert (read, listed) == (made, [made])
    assert [node["id"] for node in updated["nodes"]] == ["hello"]
    assert (deleted.status_code, (await manager.get(path)).status_code) == (204, 404)


async def test_001_3_the_system_shall_validate_that_the_entry_node_id_references_a_valid_node(manager: Person) -> None:
    """3: `entryNodeId`."""
    await assert_refused(manager, graph(email(), entry="nowhere"), "entryNodeId", "'nowhere'")


async def test_001_3_the_system_shall_validate_that_all_edges_from_and_to_nodes_exist(manager: Person) -> None:
    """3: "All edges' `from` and `to` nodes exist"."""
    definition = graph(email(), sms(), edges=[("hello", "nudge"), ("ghost", "nudge"), ("hello", "phantom")])

    await assert_refused(manager, definition, "edges[1].from", "'ghost'")
    await assert_refused(manager, definition, "edges[2].to", "'phantom'")


async def test_001_3_the_system_shall_validate_that_the_workflow_graph_is_acyclic(manager: Person) -> None:
    """3: "Workflow graph is acyclic"; the cycle is named."""
    edges = [("hello", "wait"), ("wait", "nudge"), ("nudge", "wait")]

    await assert_refused(manager, graph(email(), delay(), sms(), edges=edges), "edges", "nudge → wait")


@pytest.mark.parametrize(
    ("node", "place"),
    [
        (email(subject="Hi {{ name"), "nodes[0].subject"),
        (email(body="{% if name %}Hi"), "nodes[0].body"),
        (email(to="{{ email | no_such_filter }}"), "nodes[0].to"),
        (sms(body="{% nonsense %}"), "nodes[0].body"),
    ],
)
async def test_001_3_the_system_shall_validate_that_all_email_and_sms_templates_are_valid_liquid(
    manager: Person, node: Json, place: str
) -> None:
    """3: "All Email and SMS templates are valid LiquidJS"."""
    await assert_refused(manager, graph(node), place)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"delayMs": -1}, "nodes[0].delayMs"),
        ({"delayMs": "soon"}, "nodes[0].delayMs"),
        ({"duration": "3 days"}, "nodes[0].duration"),
        ({"duration": ""}, "nodes[0].duration"),
        ({"delayMs": None}, "nodes[0]"),
        ({"delayMs": 1, "duration": "PT1S"}, "nodes[0]"),
    ],
)
async def test_001_3_the_system_shall_validate_that_delay_nodes_specify_a_valid_delay_ms_or_duration(
    manager: Person, given: Json, place: str
) -> None:
    """3: "Delay nodes specify a valid `delayMs` or `duration`"."""
    await assert_refused(manager, graph(delay(**given)), place)
    await define(manager, graph(delay("one", delayMs=1500), delay("two", duration="P1DT2H")))


async def test_001_3_the_system_shall_prevent_deletion_of_active_workflows_with_referenced_triggers(
    manager: Person, operator: Person, engine: Engine
) -> None:
    """3: also when the trigger has long been done; inactive, or without a trigger, it may go."""
    made = await define(manager, graph(email()))
    unused = await define(manager, graph(email()), "unused")
    await trigger(operator)
    await engine.work_everything()

    refused = await manager.ask("DELETE", f"/v1/workflows/{made['id']}")
    await manager.post(f"/v1/workflows/{made['id']}/deactivate")

    assert refused.status_code == 409
    assert (await manager.ask("DELETE", f"/v1/workflows/{made['id']}")).status_code == 204
    assert (await manager.ask("DELETE", f"/v1/workflows/{unused['id']}")).status_code == 204


async def test_001_3_the_system_shall_track_version_and_update_timestamps_on_workflow_changes(
    manager: Person, clock: ManualClock
) -> None:
    """3, last statement; every version can still be read."""
    made = await define(manager, graph(email()))
    path = f"/v1/workflows/{made['id']}"
    clock.advance(minutes=1)
    changed = (await manager.ask("PUT", path, json=graph(email(), sms()))).json()
    clock.advance(minutes=1)
    switched = (await manager.post(f"{path}/deactivate")).json()

    versions = (await manager.get(f"{path}/versions")).json()["data"]
    assert [made["version"], changed["version"], switched["version"]] == [1, 2, 2]
    updates = [datetime.fromisoformat(one["updatedAt"]) for one in (made, changed, switched)]
    assert [updates[1] - updates[0], updates[2] - updates[1]] == [timedelta(minutes=1)] * 2
    assert {one["number"]: len(one["definition"]["nodes"]) for one in versions} == {1: 1, 2: 2}


# 7 Business rules


async def test_001_7_a_workflow_must_be_a_dag_with_valid_nodes_and_edges(manager: Person) -> None:
    """7: a diamond is one, a loop at one node is none, and neither is a node that nothing leads to."""
    nodes = [email("a"), email("b"), email("c"), email("d")]
    diamond = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]

    await define(manager, graph(*nodes, edges=diamond))
    await assert_refused(manager, graph(email("a"), edges=[("a", "a")]), "edges", "a → a")
    await assert_refused(manager, graph(email("a"), email("b"), edges=[]), "nodes[1]", "'b'")
    await assert_refused(manager, graph(email("a"), email("a"), edges=[]), "nodes[1].id", "twice")


async def test_001_7_templates_are_validated_for_syntax_with_line_and_column(manager: Person) -> None:
    """7: "Templates validated for syntax correctness"."""
    await assert_refused(manager, graph(email(body="Good day\n{{ name | }}")), "nodes[0].body", "line 2")


# 10 Validation


@pytest.mark.parametrize(
    ("node", "place"),
    [
        ({"id": "a", "type": "fax"}, "nodes[0].type"),
        ({"type": "email"}, "nodes[0].id"),
        ({"id": "a", "type": "email", "to": "x@example.com", "subject": "s"}, "nodes[0].html"),
        ({"id": "a", "type": "sms", "to": [], "body": "b"}, "nodes[0].to"),
        (sms(subject="texts have none"), "nodes[0].subject"),
        (delay(duration="PT1S", to="nobody"), "nodes[0].to"),
        ({"id": "a", "type": "function"}, "nodes[0].function"),
    ],
)
async def test_001_10_workflow_creation_and_update_validate_node_schemas(
    manager: Person, node: Json, place: str
) -> None:
    """10: each type of node has its own fields."""
    definition = {"entryNodeId": node.get("id", "a"), "nodes": [node], "edges": []}

    await assert_refused(manager, definition, place)


async def test_001_10_workflow_validation_tells_every_problem_at_once(manager: Person) -> None:
    """10: entry node, edges, templates and delays in one answer."""
    definition = graph(email(body="{{ x"), delay(delayMs=-1), edges=[("hello", "ghost")], entry="nowhere")

    checked = (await manager.post("/v1/workflows/validate", definition)).json()

    places = {one["place"] for one in checked["errors"]}
    assert places >= {"entryNodeId", "edges[0].to", "nodes[0].body", "nodes[1].delayMs"}


async def test_001_10_node_templates_are_parse_checked_before_acceptance(manager: Person) -> None:
    """10: of every type of node, function payloads included."""
    payload = {"list": [{"text": "{{ x"}]}
    node = {"id": "a", "type": "function", "function": "f", "payload": payload}

    await assert_refused(manager, graph(node), "nodes[0].payload.list[0].text")


@pytest.mark.parametrize(
    ("given", "wait"),
    [
        ({"delayMs": 1500}, timedelta(seconds=1.5)),
        ({"delayMs": 0}, timedelta()),
        ({"duration": "PT90M"}, timedelta(minutes=90)),
        ({"duration": "P1DT2H"}, timedelta(hours=26)),
        ({"duration": "P2W"}, timedelta(weeks=2)),
    ],
)
async def test_001_10_delay_durations_are_converted(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, given: Json, wait: timedelta
) -> None:
    """10: "Delay durations converted and validated"."""
    await define(manager, graph(delay(**given), sms()))
    id = (await trigger(operator))["id"]
    begun = clock.time
    clock.advance(seconds=wait.total_seconds() - 0.001)
    await engine.work_everything()
    before = await show(operator, id)
    clock.time = begun + wait
    await engine.work_everything()

    assert before["cursor"] == "wait" or wait == timedelta()
    assert (await show(operator, id))["status"] == "completed"
    assert [line["node"] for line in await log_of(operator, id)] == ["wait", "nudge"]
