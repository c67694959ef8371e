"""The resources: paths, bodies, pages and streams."""

import json
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest

from tests.client.conftest import EXECUTION, WORKFLOW, Cut, Events, Reply, Script, execution, problem, workflow
from tidings.client import Client, NotFound, ServerUnreachable

Call = Callable[[Client], Awaitable[object]]
DEFINITION = {"steps": [{"name": "a", "function": "f"}]}


def event(status: str, id: str) -> str:
    return f": still here\n\nid: {id}\nevent: execution\ndata: {json.dumps(execution(status))}\n\n"


CHANGES: dict[str, tuple[Call, str]] = {
    "cancel": (lambda client: client.executions.cancel(EXECUTION), f"/v1/executions/{EXECUTION}/cancel"),
    "pause": (lambda client: client.executions.pause(EXECUTION), f"/v1/executions/{EXECUTION}/pause"),
    "resume": (lambda client: client.executions.resume(EXECUTION), f"/v1/executions/{EXECUTION}/resume"),
    "retry": (lambda client: client.executions.retry(EXECUTION), f"/v1/executions/{EXECUTION}/retry"),
}


@pytest.mark.parametrize(("call", "path"), CHANGES.values(), ids=CHANGES.keys())
async def test_an_execution_is_changed_by_a_verb(client: Client, script: Script, call: Call, path: str) -> None:
    script.answers(Reply(200, execution("paused")))

    await call(client)

    [asked] = script.asked
    assert (asked.method, asked.path, asked.body) == ("POST", path, None)


async def test_a_list_asks_for_the_next_page_only_when_it_is_needed(client: Client, script: Script) -> None:
    first = Reply(200, {"data": [execution(), execution("failed")], "nextCursor": "c2"})
    script.answers(first, Reply(200, {"data": [execution("completed")], "nextCursor": None}))

    seen: list[tuple[str, int]] = []
    async for one in client.executions.list(workflow="welcome", page_size=2):
        seen.append((one.status, len(script.asked)))

    assert seen == [("enqueued", 1), ("failed", 1), ("completed", 2)]
    assert script.asked[0].query == {"workflow": "welcome", "limit": "2"}
    assert script.asked[1].query == {"workflow": "welcome", "limit": "2", "cursor": "c2"}


async def test_workflows_are_filtered_by_name_and_state(client: Client, script: Script) -> None:
    script.answers(Reply(200, {"data": [workflow()], "nextCursor": None}))

    [found] = [one async for one in client.workflows.list(name="welcome", active=True)]

    assert found.name == "welcome"
    assert script.asked[0].query == {"name": "welcome", "active": "true", "limit": "50"}


async def test_a_workflow_is_created_changed_and_removed(client: Client, script: Script) -> None:
    script.answers(Reply(201, workflow()), Reply(200, workflow(2)), Reply(204))

    created = await client.workflows.create("welcome", DEFINITION, description="Hello")
    changed = await client.workflows.update(created.id, DEFINITION)
    await client.workflows.delete(created.id)

    assert changed.version == 2
    assert [(asked.method, asked.path) for asked in script.asked] == [
        ("POST", "/v1/workflows"),
        ("PUT", f"/v1/workflows/{WORKFLOW}"),
        ("DELETE", f"/v1/workflows/{WORKFLOW}"),
    ]
    assert script.asked[0].body == {
        "name": "welcome",
        "description": "Hello",
        "active": True,
        "definition": DEFINITION,
    }
    assert script.asked[1].body == {"definition": DEFINITION}


async def test_applying_creates_what_is_not_there(client: Client, script: Script) -> None:
    script.answers(Reply(200, {"data": [], "nextCursor": None}), Reply(201, workflow()))

    applied = await client.workflows.apply("welcome", DEFINITION)

    assert (applied.change, applied.workflow.version) == ("created", 1)


@pytest.mark.parametrize(("version", "change"), [(1, "unchanged"), (2, "updated")])
async def test_applying_says_whether_there_is_a_new_version(
    client: Client, script: Script, version: int, change: str
) -> None:
    script.answers(Reply(200, {"data": [workflow(1)], "nextCursor": None}), Reply(200, workflow(version)))

    assert (await client.workflows.apply("welcome", DEFINITION)).change == change


async def test_applying_what_somebody_has_just_created_changes_it(client: Client, script: Script) -> None:
    nothing = Reply(200, {"data": [], "nextCursor": None})
    there = Reply(200, {"data": [workflow(1)], "nextCursor": None})
    script.answers(nothing, problem(409, "conflict", "the name is taken"), there, Reply(200, workflow(2)))

    assert (await client.workflows.apply("welcome", DEFINITION)).change == "updated"


async def test_switching_versions_and_validation_have_their_paths(client: Client, script: Script) -> None:
    wrong = {"valid": False, "errors": [{"place": "steps[0].name", "message": "is missing"}]}
    version = {"id": WORKFLOW, "number": 1, "definition": DEFINITION, "createdAt": "2026-03-02T09:00:00Z"}
    versions = {"data": [version]}
    script.answers(Reply(200, workflow()), Reply(200, workflow(active=False)), Reply(200, versions), Reply(200, wrong))

    assert (await client.workflows.activate(WORKFLOW)).active
    assert not (await client.workflows.deactivate(WORKFLOW)).active
    assert [one.number for one in await client.workflows.versions(WORKFLOW)] == [1]
    assert [str(one) for one in await client.workflows.validate(DEFINITION)] == ["steps[0].name: is missing"]
    assert [asked.path.removeprefix("/v1/workflows") for asked in script.asked] == [
        f"/{WORKFLOW}/activate",
        f"/{WORKFLOW}/deactivate",
        f"/{WORKFLOW}/versions",
        "/validate",
    ]


async def test_the_log_has_a_line_for_each_node(client: Client, script: Script) -> None:
    line = {"node": "hello", "kind": "email", "status": "sent", "attempts": 1, "durationMs": 12.5, "items": []}
    script.answers(Reply(200, {"data": [line]}))

    [found] = await client.executions.log(EXECUTION)

    assert (found.node, found.status, found.duration_ms) == ("hello", "sent", 12.5)


async def test_an_execution_is_followed_to_its_end(client: Client, script: Script) -> None:
    script.answers(Events(event("enqueued", "a") + event("completed", "b")))

    assert [one.status async for one in client.executions.follow(EXECUTION)] == ["enqueued", "completed"]
    [asked] = script.asked
    assert asked.path == f"/v1/executions/{EXECUTION}/events"
    assert "last-event-id" not in asked.headers


async def test_following_goes_on_after_the_last_event_when_the_connection_breaks(
    client: Client, script: Script
) -> None:
    script.answers(Events(event("enqueued", "a")), Cut(), Reply(503), Events(event("failed", "b")))

    assert [one.status async for one in client.executions.follow(EXECUTION)] == ["enqueued", "failed"]
    assert [asked.headers.get("last-event-id") for asked in script.asked] == [None, "a", "a", "a"]


async def test_following_gives_up_when_the_server_stays_away(client: Client, script: Script) -> None:
    script.answers(Cut())

    with pytest.raises(ServerUnreachable, match="tried 4 times"):
        [one async for one in client.executions.follow(EXECUTION)]


async def test_following_what_is_not_there_is_not_found(client: Client, script: Script) -> None:
    script.answers(problem(404, "not_found", "there is no execution"))

    with pytest.raises(NotFound):
        [one async for one in client.executions.follow(EXECUTION)]

    assert len(script.asked) == 1


async def test_dead_letters_are_listed_and_replayed(client: Client, script: Script) -> None:
    replayed = {"count": 2, "executions": [EXECUTION], "byError": {"timed out": 2}, "dryRun": True}
    script.answers(Reply(200, {"data": [execution("failed")], "nextCursor": None}), Reply(200, replayed))

    [letter] = [one async for one in client.dead_letters.list(workflow="welcome", error="timed", node="hello")]
    result = await client.dead_letters.replay({"ids": [letter.id]}, dry_run=True)

    assert (result.count, result.executions, result.by_error) == (2, [UUID(EXECUTION)], {"timed out": 2})
    assert script.asked[0].query == {"workflow": "welcome", "error": "timed", "node": "hello", "limit": "50"}
    assert script.asked[1].body == {"where": {"ids": [EXECUTION]}, "dryRun": True}


async def test_a_key_s_secret_is_in_the_answer_to_its_making_alone(client: Client, script: Script) -> None:
    at = "2026-03-02T09:00:00Z"
    shown = {"id": WORKFLOW, "name": "app", "role": "triggerOperator", "prefix": "tid_abc", "createdAt": at}
    script.answers(
        Reply(201, shown | {"secret": "tid_abcdef"}), Reply(200, {"data": [shown], "nextCursor": None}), Reply(204)
    )

    made = await client.keys.create("app", "triggerOperator")
    [listed] = [one async for one in client.keys.list()]
    await client.keys.revoke(made.key.id)

    assert made.secret == "tid_abcdef"
    assert listed == made.key
    assert [(asked.method, asked.path) for asked in script.asked] == [
        ("POST", "/v1/api-keys"),
        ("GET", "/v1/api-keys"),
        ("DELETE", f"/v1/api-keys/{WORKFLOW}"),
    ]


async def test_a_trigger_and_a_list_may_name_a_contact(client: Client, script: Script) -> None:
    contact = "019526e7-7a00-7001-8000-000000000001"
    script.answers(
        Reply(201, {**execution(), "contactId": contact, "duplicate": False}),
        Reply(200, {"data": [{**execution(), "contactId": contact}], "nextCursor": None}),
    )

    started = await client.trigger("welcome", {}, "k1", contact_id=UUID(contact))
    [found] = [one async for one in client.executions.list(contact_id=contact)]

    assert started.execution.contact_id == found.contact_id == UUID(contact)
    assert script.asked[0].body == {"workflow": "welcome", "idempotencyKey": "k1", "data": {}, "contactId": contact}
    assert script.asked[1].query == {"contactId": contact, "limit": "50"}
