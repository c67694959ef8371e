"""POST …/simulate: what would happen, told over HTTP."""

from uuid import UUID, uuid4

import httpx2
import pytest

from tests.http.conftest import ADA, HOME, WELCOME, Person, caller, person
from tidings.config import Config
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app


async def test_a_workflow_s_calendar_and_messages_are_answered(admin: Person, workflow: UUID) -> None:
    asked = {"days": 3, "data": [ADA], "start": "2026-03-02T09:00:00Z"}

    answer = await admin.post(f"/v1/workflows/{workflow}/simulate", json=asked)

    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["calendar"] == [{"day": "2026-03-02", "hour": 9, "step": "hello", "channel": "email", "count": 1}]
    assert found["messages"][0]["payload"] == {"subject": "Hi", "body": "Welcome, Ada"}
    assert (found["complete"], found["audience"], found["ended"]) == (True, None, {"completed": 1})
    assert (await admin.get("/v1/executions")).json()["data"] == []


async def test_another_definition_is_simulated_in_its_place(admin: Person, workflow: UUID) -> None:
    body = {"data": [ADA], "definition": {**WELCOME, "nodes": [{**WELCOME["nodes"][0], "body": "Bye, {{ name }}"}]}}

    found = (await admin.post(f"/v1/workflows/{workflow}/simulate", json=body)).json()

    assert found["messages"][0]["payload"]["body"] == "Bye, Ada"
    assert found["version"] is None


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"days": 0}, "days"),
        ({"days": 3_661}, "days"),
        ({"sample": 100_001}, "sample"),
        ({"contacts": {}}, "contacts"),
        ({"contacts": {"colour": "red"}}, "contacts.colour"),
        ({"messagesOf": ["somebody"]}, "messagesOf[0]"),
        ({"start": "2026-03-02T09:00:00"}, "start"),
        ({"timeZone": "Mars/Olympus", "data": [ADA]}, "timeZone"),
        ({"colour": "red"}, "colour"),
        ({}, "data"),
        ({"data": [{"name": "Ada"}]}, "data.email"),
        ({"data": [ADA], "definition": {"nodes": []}}, "entryNodeId"),
    ],
)
async def test_bad_input_is_told_with_its_place(
    admin: Person, workflow: UUID, body: dict[str, object], place: str
) -> None:
    answer = await admin.post(f"/v1/workflows/{workflow}/simulate", json=body)

    assert answer.status_code == 422, answer.text
    assert place in [problem["place"] for problem in answer.json()["errors"]]


async def test_an_unknown_workflow_is_not_found(admin: Person) -> None:
    assert (await admin.post(f"/v1/workflows/{uuid4()}/simulate", json={"data": [ADA]})).status_code == 404


async def test_a_server_that_cannot_simulate_says_so(engine: Engine, config: Config, workflow: UUID) -> None:
    transport = httpx2.ASGITransport(app=create_app(engine, config))
    async with httpx2.AsyncClient(transport=transport, base_url="http://tidings") as http:
        admin = await person(engine, http, Role.SYSTEM_ADMIN, HOME)
        answer = await admin.post(f"/v1/workflows/{workflow}/simulate", json={"data": [ADA]})

    assert (answer.status_code, answer.json()["code"]) == (503, "simulation_unavailable")
    assert "tidings simulate" in answer.json()["detail"]


async def test_a_sequence_s_draft_is_simulated_before_it_is_published(admin: Person, engine: Engine) -> None:
    steps = [{"dayOffset": day, "sendHour": 9, "channel": "email", "subject": "S", "content": "C"} for day in (0, 3)]
    made = await engine.sequences.create(caller(), "Onboarding", {}, steps)
    ada = (await admin.post("/v1/contacts", json={"email": "ada@example.com", "tags": ["vip"]})).json()
    await admin.post("/v1/contacts", json={"email": "ben@example.com"})
    asked = {"contacts": {"tag": "vip"}, "messagesOf": [ada["id"]], "start": "2026-03-02T08:00:00Z"}

    answer = await admin.post(f"/v1/sequences/{made.id}/simulate", json=asked)

    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert [(hour["day"], hour["hour"], hour["count"]) for hour in found["calendar"]] == [
        ("2026-03-02", 9, 1),
        ("2026-03-05", 9, 1),
    ]
    assert {message["contactId"] for message in found["messages"]} == {ada["id"]}
    assert (found["version"], found["audience"], found["ended"]) == (None, 1, {"completed": 1})
    assert (await engine.sequences.get(HOME, made.id)).published is None
    refused = await admin.post(f"/v1/sequences/{made.id}/simulate", json={**asked, "published": True})
    assert refused.status_code == 409


async def test_a_campaign_is_simulated_as_if_it_were_deployed(admin: Person, engine: Engine) -> None:
    ada = (await admin.post("/v1/contacts", json={"name": "Ada", "email": "ada@example.com"})).json()
    content = {"subject": "Hi", "body": "Dear {{ contact.name }}"}
    letter = {"name": "spring", "channel": "email", "content": content, "audience": {"all": True}}
    made = (await admin.post("/v1/campaigns", json=letter)).json()
    asked = {"messagesOf": [ada["id"]], "start": "2026-03-02T08:00:00Z", "scheduledFor": "2026-03-05T10:00:00Z"}

    answer = await admin.post(f"/v1/campaigns/{made['id']}/simulate", json=asked)

    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["calendar"] == [{"day": "2026-03-05", "hour": 10, "step": "message", "channel": "email", "count": 1}]
    assert found["messages"][0]["payload"] == {"subject": "Hi", "body": "Dear Ada"}
    assert (found["kind"], found["version"], found["audience"], found["ended"]) == ("campaign", 1, 1, {"completed": 1})
    assert (await admin.get("/v1/runs")).json()["data"] == []
    refused = await admin.post(f"/v1/campaigns/{made['id']}/simulate", json={"scheduledFor": "tomorrow"})
    assert (refused.status_code, refused.json()["errors"][0]["place"]) == (422, "scheduledFor")
    assert (await admin.post(f"/v1/campaigns/{uuid4()}/simulate", json={})).status_code == 404
