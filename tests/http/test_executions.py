"""/v1/executions: looking, deciding, following."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.http.conftest import Person, caller, listening, start
from tests.http.test_requests import assert_problem
from tidings.config import Config
from tidings.domain.flow.outcome import Rejected
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http import streams
from tidings.http.executions import with_heartbeats
from tidings.providers.fake import FakeProvider
from tidings.views.executions import Execution


async def test_an_execution_shows_everything_about_itself(admin: Person, engine: Engine, workflow: UUID) -> None:
    id = await start(engine, key="k")
    await engine.work_everything()

    shown = (await admin.get(f"/v1/executions/{id}")).json()

    assert shown.keys() >= {
        *("id", "status", "workflowId", "workflowName", "workflowVersion", "cursor", "currentStep", "totalSteps"),
        *("availableAt", "attempts", "inputPayload", "vars", "errorMessage", "errorStep", "retryCount", "triggeredBy"),
        *("createdAt", "startedAt", "completedAt", "idempotencyKey"),
    }
    assert (shown["status"], shown["workflowName"], shown["idempotencyKey"]) == ("completed", "welcome", "k")
    assert shown["createdAt"].endswith("Z")


async def test_the_log_says_what_each_node_did(admin: Person, engine: Engine, workflow: UUID) -> None:
    id = await start(engine)
    await engine.work_everything()

    lines = (await admin.get(f"/v1/executions/{id}/log")).json()["data"]

    assert [line["node"] for line in lines] == ["hello"]
    assert lines[0]["items"][0]["recipient"] == "ada@example.com"


async def test_executions_are_listed_by_workflow_and_status(admin: Person, engine: Engine, workflow: UUID) -> None:
    ids = {str(await start(engine)) for _ in range(3)}

    async def listed(**query: str) -> set[str]:
        return {one["id"] for one in (await admin.get("/v1/executions", params=query)).json()["data"]}

    assert await listed(status="enqueued") == ids
    assert await listed(workflow="welcome") == ids
    assert await listed(workflow=str(workflow)) == ids
    assert await listed(status="completed") == set()


async def test_executions_are_found_by_a_part_of_their_error(
    admin: Person, engine: Engine, workflow: UUID, provider: FakeProvider
) -> None:
    provider.script["ada@example.com"] = [Rejected("mailbox is full")]
    failed = str(await start(engine))
    await engine.work_everything()
    await start(engine)

    async def listed(**query: str) -> list[str]:
        return [one["id"] for one in (await admin.get("/v1/executions", params=query)).json()["data"]]

    assert await listed(error="BOX is") == [failed]
    assert await listed(error="BOX is", status="failed", workflow="welcome") == [failed]
    assert await listed(error="timed out") == []
    assert await listed(error="full", status="completed") == []


async def test_people_pause_resume_and_cancel(admin: Person, engine: Engine, workflow: UUID) -> None:
    id = await start(engine)

    paused = await admin.post(f"/v1/executions/{id}/pause")
    resumed = await admin.post(f"/v1/executions/{id}/resume")
    cancelled = await admin.post(f"/v1/executions/{id}/cancel")
    await engine.work_everything()

    assert [answer.status_code for answer in (paused, resumed, cancelled)] == [200, 200, 200]
    assert paused.json()["status"] == "paused"
    assert (await admin.get(f"/v1/executions/{id}")).json()["status"] == "cancelled"
    assert_problem(await admin.post(f"/v1/executions/{id}/cancel"), 409, "conflict")
    assert_problem(await admin.post(f"/v1/executions/{id}/retry"), 409, "conflict")


async def test_a_replay_of_nothing_says_so(admin: Person) -> None:
    answer = await admin.post("/v1/dead-letters/replay", {"where": {}, "dry_run": True})

    assert answer.json() == {"count": 0, "executions": [], "byError": {}, "refused": 0, "dryRun": True}


# Following


async def events(answer: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if name in {"id", "event", "data"}:
            found[name] = value
        elif not line and found:
            yield found
            found = {}


async def test_an_execution_is_followed_until_it_has_ended(
    admin: Person, engine: Engine, config: Config, workflow: UUID
) -> None:
    id = await start(engine)
    key = {"Authorization": f"Bearer {admin.secret}"}
    seen: list[dict[str, Any]] = []

    async with (
        listening(engine, config) as url,
        httpx2.AsyncClient(base_url=url, headers=key) as http,
        asyncio.timeout(10),
        http.stream("GET", f"/v1/executions/{id}/events") as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for event in events(answer):
            seen.append(event)
            if len(seen) == 1:
                await engine.work_everything()

    statuses = [json.loads(event["data"])["status"] for event in seen]
    assert (statuses[0], statuses[-1]) == ("enqueued", "completed")
    assert {event["event"] for event in seen} == {"execution"}


async def test_whoever_comes_again_is_not_told_twice_and_in_the_end_is_sent_away(
    admin: Person, engine: Engine, workflow: UUID
) -> None:
    id = await start(engine)
    await engine.work_everything()
    first = [event async for event in events(await admin.get(f"/v1/executions/{id}/events"))]
    [last] = first

    again = await admin.get(f"/v1/executions/{id}/events", headers={"Last-Event-ID": last["id"]})
    stale = await admin.get(f"/v1/executions/{id}/events", headers={"Last-Event-ID": "something old"})

    assert again.status_code == 204
    assert [event async for event in events(stale)] == first


async def test_a_quiet_stream_has_a_heartbeat_and_ends_when_the_process_drains(engine: Engine) -> None:
    async def never() -> AsyncIterator[Execution]:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits that long")
        yield

    heartbeats = with_heartbeats(never(), engine, seconds=0.01)
    first = await anext(heartbeats)
    engine.kernel.draining.set()
    rest = [one async for one in heartbeats]

    assert first is None
    assert rest == []


async def test_a_process_that_is_asked_to_stop_ends_its_streams(
    admin: Person, engine: Engine, config: Config, workflow: UUID
) -> None:
    id = await start(engine)
    key = {"Authorization": f"Bearer {admin.secret}"}

    async with httpx2.AsyncClient(headers=key) as http, asyncio.timeout(10):
        async with listening(engine, config) as url:
            stream = http.stream("GET", f"{url}/v1/executions/{id}/events")
            answer = await stream.__aenter__()
            lines = answer.aiter_lines()
            while not (line := await anext(lines)).startswith("data:"):
                pass
        rest = [one async for one in lines]
        await stream.__aexit__(None, None, None)

    assert answer.status_code == 200
    assert '"status":"enqueued"' in line.replace(" ", "")
    assert not [one for one in rest if one.startswith("data:")]


async def test_a_stream_tells_nothing_more_once_its_key_is_revoked(
    engine: Engine, config: Config, workflow: UUID
) -> None:
    id = await start(engine)
    made = await engine.access.create_key(caller(), "reader", Role.TRIGGER_OPERATOR)
    seen: list[str] = []

    async with (
        listening(engine, config) as url,
        httpx2.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {made.secret}"}) as reader,
        asyncio.timeout(10),
        reader.stream("GET", f"/v1/executions/{id}/events") as answer,
    ):
        async for event in events(answer):
            seen.append(json.loads(event["data"])["status"])
            await engine.access.revoke_key(caller(), made.id)
            await engine.work_everything()

    assert seen == ["enqueued"]


async def test_a_key_may_follow_so_many_and_room_comes_back(
    admin: Person, engine: Engine, config: Config, workflow: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_OF_A_KEY", 2)
    id = await start(engine)
    key = {"Authorization": f"Bearer {admin.secret}"}
    path = f"/v1/executions/{id}/events"

    async with (
        listening(engine, config) as url,
        httpx2.AsyncClient(base_url=url, headers=key) as http,
        asyncio.timeout(20),
    ):
        async with http.stream("GET", path) as first, http.stream("GET", path) as second:
            refused = await http.get(path)
        statuses = [first.status_code, second.status_code, refused.status_code]
        while statuses[-1] != 200:  # the server hears a moment later that the others have gone
            async with http.stream("GET", path) as again:
                statuses.append(again.status_code)

    assert statuses[:3] == [200, 200, 429]
    assert refused.json()["code"] == "too_many_requests"
    assert refused.headers["retry-after"] == "15"


# For a contact

TO_CONTACT = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "subject": "Hi", "body": "Welcome, {{ contact.name }}"}],
    "edges": [],
}


async def make_contact(person: Person, **fields: object) -> str:
    made = await person.post("/v1/contacts", {"name": "Ada", "email": "ada@example.com", **fields})
    id: str = made.json()["id"]
    return id


async def test_a_trigger_names_a_contact_and_executions_are_found_by_it(
    admin: Person, engine: Engine, provider: FakeProvider
) -> None:
    workflow = (await engine.workflows.create(caller(), "hi", TO_CONTACT)).id
    ada = await make_contact(admin)

    by_name = await admin.post("/v1/triggers", {"workflow": "hi", "contactId": ada})
    by_id = await admin.post(f"/v1/workflows/{workflow}/triggers", {"contact_id": ada})
    many = await admin.post("/v1/triggers/bulk", {"triggers": [{"workflow": "hi", "contactId": ada}] * 2})
    await engine.work_everything()

    assert [one.status_code for one in (by_name, by_id, many)] == [201, 201, 200]
    assert by_name.json()["contactId"] == ada
    assert [call.payload["body"] for call in provider.calls] == ["Welcome, Ada"] * 4
    found = (await admin.get("/v1/executions", params={"contactId": ada})).json()["data"]
    assert [one["contactId"] for one in found] == [ada] * 4
    assert (await admin.get("/v1/executions", params={"contactId": str(workflow)})).status_code == 404


@pytest.mark.parametrize("given", ["nobody", 7, "00000000-0000-7000-8000-000000000000"])
async def test_what_is_no_contact_is_refused_with_its_place(admin: Person, engine: Engine, given: object) -> None:
    await engine.workflows.create(caller(), "hi", TO_CONTACT)

    alone = await admin.post("/v1/triggers", {"workflow": "hi", "contactId": given})
    among = await admin.post("/v1/triggers/bulk", {"triggers": [{"workflow": "hi", "contactId": given}]})

    assert (alone.status_code, among.status_code) == (422, 422)
    assert [one["place"] for one in alone.json()["errors"]] == ["contactId"]
    assert among.json()["errors"][0]["place"].startswith("triggers[0]")
    assert (await admin.get("/v1/executions")).json()["data"] == []


async def test_a_workflow_that_needs_a_contact_says_so(admin: Person, engine: Engine) -> None:
    await engine.workflows.create(caller(), "hi", TO_CONTACT)

    refused = await admin.post("/v1/triggers", {"workflow": "hi", "data": {}})

    assert refused.status_code == 422
    assert "contactId" in refused.json()["detail"]
    assert [one["place"] for one in refused.json()["errors"]] == ["data.contact"]


async def test_deleting_a_contact_over_http_ends_its_executions(
    admin: Person, engine: Engine, provider: FakeProvider
) -> None:
    await engine.workflows.create(caller(), "hi", TO_CONTACT)
    ada = await make_contact(admin)
    started = (await admin.post("/v1/triggers", {"workflow": "hi", "contactId": ada, "data": {"a": 1}})).json()

    deleted = await admin.ask("DELETE", f"/v1/contacts/{ada}")
    await engine.work_everything()

    shown = (await admin.get(f"/v1/executions/{started['id']}")).json()
    assert deleted.status_code == 204
    assert (shown["status"], shown["inputPayload"], provider.calls) == ("cancelled", {}, [])
