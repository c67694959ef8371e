"""createdAfter and createdBefore: every list that comes in pages can be asked for a span of time."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI

from tests.conftest import ManualClock
from tests.enrolling import CALLER, make_contact, make_sequence, step, work_until
from tests.http.conftest import WELCOME, Person
from tidings.domain.flow.outcome import Rejected
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

MIDNIGHT = "2026-03-03"
MIDNIGHT_IN_LIMA = "2026-03-02T19:00:00-05:00"
LETTER = {"channel": "email", "content": {"subject": "Hello", "body": "News"}, "audience": {"all": True}}
RULE = {"trigger": "quote_sent", "channel": "email", "steps": [{"template": {"subject": "Q", "body": "Good day"}}]}


async def a_day(engine: Engine, number: int) -> UUID:
    """One more of everything; gives the day's run."""
    await engine.access.create_key(CALLER, f"key {number}", Role.TRIGGER_OPERATOR)
    await engine.users.invite(CALLER, f"person-{number}@example.com", "Pat", {})
    await make_contact(engine, f"p{number}")
    flow = await engine.workflows.create(CALLER, f"flow {number}", WELCOME)
    await engine.drafts.save(CALLER, flow.id, WELCOME)
    for email in ("fine@example.com", "wrong@example.com"):
        await engine.executions.trigger(CALLER, f"flow {number}", {"email": email, "name": "Ada"})
    await engine.rules.create(CALLER, {**RULE, "audience": ("lead", "agent")[number]})
    await engine.events.send(CALLER, {"trigger": "quote_sent", "lead": {"email": "eve@example.com"}})
    await engine.senders.create(CALLER, {"name": f"sender-{number}", "email": "us@example.com"})
    await engine.templates.create(CALLER, {"name": f"template-{number}", "text": "News"})
    await engine.segments.create(CALLER, {"name": f"segment {number}", "audience": {"all": True}})
    campaign = await engine.campaigns.create(CALLER, {"name": f"campaign {number}", **LETTER})
    return (await engine.campaigns.deploy(CALLER, campaign.id)).id


@pytest.fixture
async def paths(engine: Engine, clock: ManualClock, provider: FakeProvider) -> dict[str, str]:
    """Two days of everything, and where each list of the description is found in it."""
    provider.script = {"wrong@example.com": [Rejected("no such mailbox")] * 2}
    sequence = await make_sequence(engine, step(0), step(1))
    run = await a_day(engine, 0)
    enrolled = {number: await make_contact(engine, f"e{number}") for number in range(2)}
    await engine.enrollments.enroll(CALLER, sequence, enrolled[0])
    await work_until(engine, clock, clock.time + timedelta(days=1, hours=1))
    await make_sequence(engine, step(0), name="Another")
    await a_day(engine, 1)
    await engine.enrollments.enroll(CALLER, sequence, enrolled[1])
    await engine.work_everything()
    first = (await engine.sequences.get(CALLER.workspace, sequence)).steps[0].id
    return {
        "/v1/enrollments": f"/v1/enrollments?contactId={enrolled[0]}",
        "/v1/contacts/{id}/items": f"/v1/contacts/{enrolled[0]}/items",
        "/v1/contacts/{id}/story": f"/v1/contacts/{enrolled[0]}/story",
        "/v1/contacts/{id}/logs": f"/v1/contacts/{enrolled[0]}/logs",
        "/v1/sequences/{id}/enrollments": f"/v1/sequences/{sequence}/enrollments",
        "/v1/sequences/{id}/steps/{stepId}/logs": f"/v1/sequences/{sequence}/steps/{first}/logs",
        "/v1/runs/{id}/items": f"/v1/runs/{run}/items",
        "/v1/runs/{id}/jobs": f"/v1/runs/{run}/jobs",
        "/v1/runs/{id}/jobs/history": f"/v1/runs/{run}/jobs/history",
    }


WITHOUT_TIMES = {"/v1/failures/{id}/items", "/v1/rules/matrix"}
"""A group's failures go by the time they failed, which `since` says; a matrix has a cell for what there is."""


def lists(app: FastAPI) -> dict[str, set[str]]:
    """Every list that comes in pages, and what it can be asked with."""
    described = {
        path: {one["name"] for one in methods["get"].get("parameters", ())}
        for path, methods in app.openapi()["paths"].items()
        if "get" in methods
    }
    return {path: names for path, names in described.items() if "cursor" in names and path not in WITHOUT_TIMES}


def time_of(one: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(one.get("createdAt") or one.get("enrolledAt") or one["at"])


def test_every_list_that_comes_in_pages_says_that_it_takes_times(app: FastAPI) -> None:
    without = {path for path, names in lists(app).items() if not {"createdAfter", "createdBefore"} <= names}

    assert len(lists(app)) > 15
    assert without == set()


async def test_every_list_is_parted_by_a_time(app: FastAPI, admin: Person, paths: dict[str, str]) -> None:
    midnight = datetime.fromisoformat(f"{MIDNIGHT}T00:00:00Z")
    one_day_only = {"/v1/runs/{id}/items", "/v1/runs/{id}/jobs", "/v1/runs/{id}/jobs/history", "/v1/enrollments"}

    async def listed(path: str, **times: str) -> list[dict[str, Any]]:
        query = "&".join(f"{name}={value}" for name, value in {"limit": "200", **times}.items())
        where = paths.get(path, path)
        answer = await admin.get(f"{where}{'&' if '?' in where else '?'}{query}")
        assert answer.status_code == 200, (path, answer.text)
        data: list[dict[str, Any]] = answer.json()["data"]
        return data

    for path in lists(app):
        everything, early = await listed(path), await listed(path, createdBefore=MIDNIGHT)
        late = await listed(path, createdAfter=MIDNIGHT_IN_LIMA)
        assert early, path
        assert late or path in one_day_only, path
        assert [one for one in everything if time_of(one) < midnight] == early, path
        assert [one for one in everything if time_of(one) >= midnight] == late, path
        assert await listed(path, createdAfter="2026-03-01", createdBefore=MIDNIGHT) == early, path
        assert await listed(path, createdAfter="2030-01-01") == [], path


async def test_a_time_and_a_cursor_go_together(admin: Person, engine: Engine, clock: ManualClock) -> None:
    made, times = [], []
    for number in range(6):
        clock.advance(milliseconds=1)
        made.append(str(await make_contact(engine, f"p{number}")))
        times.append(clock.time.isoformat())
    after = {"createdAfter": times[2]}

    first = (await admin.get("/v1/contacts", params={"limit": "2", **after})).json()
    rest = (await admin.get("/v1/contacts", params={"limit": "2", "cursor": first["nextCursor"], **after})).json()

    assert [one["id"] for one in first["data"] + rest["data"]] == made[:1:-1]
    assert rest["nextCursor"] is None


async def test_an_external_id_and_a_time_must_both_hold(admin: Person, engine: Engine) -> None:
    await make_contact(engine, "ada")

    for times, found in (({"createdAfter": "2026-03-02"}, 1), ({"createdBefore": "2026-03-02"}, 0)):
        answer = await admin.get("/v1/contacts", params={"externalId": "ada", **times})
        assert len(answer.json()["data"]) == found, times


@pytest.mark.parametrize(
    ("times", "place", "says"),
    [
        ({"createdAfter": "soon"}, "createdAfter", "'soon' is not a time: write ISO 8601, like 2027-01-31"),
        ({"createdBefore": "2026-13-01"}, "createdBefore", "'2026-13-01' is not a time"),
        ({"createdAfter": ""}, "createdAfter", "'' is not a time"),
        ({"createdAfter": "2026-03-02T09:00:00 01:00"}, "createdAfter", "%2B"),
        ({"createdAfter": MIDNIGHT, "createdBefore": MIDNIGHT}, "createdAfter", "not earlier than createdBefore"),
        ({"createdAfter": "2026-03-04", "createdBefore": MIDNIGHT}, "createdAfter", "'2026-03-04' is not earlier"),
    ],
)
async def test_what_is_no_time_is_refused_with_its_value_and_what_to_write(
    admin: Person, times: dict[str, str], place: str, says: str
) -> None:
    answer = await admin.get("/v1/executions", params=times)

    assert answer.status_code == 422
    [problem] = answer.json()["errors"]
    assert problem["place"] == place
    assert says in problem["message"]
