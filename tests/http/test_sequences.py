"""/v1/sequences, as their users see them."""

from typing import Any
from uuid import uuid4

import pytest

from tests.http.conftest import Person
from tests.http.test_requests import assert_problem

WELCOME: dict[str, Any] = {"dayOffset": 0, "stepOrder": 1, "channel": "email", "subject": "Hi", "content": "Welcome!"}
NUDGE: dict[str, Any] = {"dayOffset": 3, "stepOrder": 2, "sendHour": 9, "channel": "sms", "content": "How is it going?"}


async def sequence(admin: Person, *steps: dict[str, Any]) -> str:
    made = await admin.post("/v1/sequences", {"name": "Onboarding", "steps": steps})
    assert made.status_code == 201, made.text
    return str(made.headers["location"])


async def test_a_sequence_is_written_published_paused_and_resumed_as_003_says(admin: Person) -> None:
    made = await admin.post("/v1/sequences", {"name": "Onboarding"})
    path = made.headers["location"]
    first = await admin.post(f"{path}/steps", WELCOME)
    second = await admin.post(f"{path}/steps", NUDGE)
    active = await admin.ask("PATCH", path, json={"status": "active"})
    paused = await admin.ask("PATCH", path, json={"status": "paused"})
    resumed = await admin.ask("PATCH", path, json={"status": "active"})

    assert made.status_code == first.status_code == second.status_code == 201
    assert (made.json()["name"], made.json()["status"], made.json()["published"]) == ("Onboarding", "draft", None)
    assert first.json() == {
        **WELCOME,
        "id": first.json()["id"],
        "sendHour": None,
        "maxLateness": None,
        "to": None,
        "sequenceId": made.json()["id"],
        "createdAt": first.json()["createdAt"],
    }
    assert [one.json()["status"] for one in (active, paused, resumed)] == ["active", "paused", "active"]
    assert active.json()["published"]["version"] == 1
    assert active.json()["published"]["steps"] == active.json()["steps"] == [first.json(), second.json()]
    assert active.json()["inFlight"] == []
    assert (await admin.get(path)).json() == resumed.json()


async def test_a_draft_is_shown_beside_what_is_published(admin: Person) -> None:
    path = await sequence(admin, WELCOME, NUDGE)
    published = (await admin.ask("PATCH", path, json={"status": "active"})).json()
    step = f"{path}/steps/{published['steps'][1]['id']}"

    changed = await admin.ask("PATCH", step, json={"send_hour": None, "content": "Well?", "maxLateness": 7200})
    shown = (await admin.get(path)).json()
    gone = await admin.ask("DELETE", step)
    after = (await admin.ask("PATCH", path, json={"status": "active", "timezone": "contact"})).json()

    assert (changed.json()["sendHour"], changed.json()["maxLateness"]) == (None, "PT2H")
    assert (shown["hasDraft"], shown["steps"][1]["content"]) == (True, "Well?")
    assert shown["published"]["steps"][1]["content"] == "How is it going?"
    assert gone.status_code == 204
    assert (after["hasDraft"], after["published"]["version"], len(after["steps"])) == (False, 2, 1)
    assert (after["timezone"], after["published"]["timezone"]) == ("contact", "contact")
    versions = (await admin.get(f"{path}/versions")).json()["data"]
    assert [(one["version"], len(one["steps"])) for one in versions] == [(2, 1), (1, 2)]


async def test_publishing_may_move_those_on_the_way(admin: Person) -> None:
    path = await sequence(admin, WELCOME)
    await admin.ask("PATCH", path, json={"status": "active"})
    await admin.post(f"{path}/steps", NUDGE)

    moved = await admin.ask("PATCH", path, json={"status": "active", "inFlight": "move"})

    assert moved.json()["moved"] == {"moved": 0, "completed": 0, "left": 0}
    assert moved.json()["published"]["version"] == 2


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"sendHour": 24}, "sendHour"),
        ({"dayOffset": -1}, "dayOffset"),
        ({"dayOffset": None}, "dayOffset"),
        ({"channel": "fax"}, "channel"),
        ({"content": ""}, "content"),
        ({"content": "{{ contact.name"}, "content"),
        ({"content": "Hi {{ name }}"}, "content"),
        ({"maxLateness": "P1M"}, "maxLateness"),
        ({"hour": 9}, "hour"),
    ],
)
async def test_a_step_that_is_wrong_is_a_422_with_its_place(admin: Person, change: dict[str, Any], place: str) -> None:
    path = await sequence(admin, WELCOME)

    refused = await admin.post(f"{path}/steps", {**WELCOME, **change})

    assert_problem(refused, 422, "definition_invalid")
    assert [error["place"] for error in refused.json()["errors"]] == [place]
    assert len((await admin.get(path)).json()["steps"]) == 1


async def test_what_cannot_be_published_is_a_422_and_stays_a_draft(admin: Person) -> None:
    empty = await sequence(admin)
    twice = await admin.post("/v1/sequences", {"name": "Twice", "steps": [WELCOME, {**NUDGE, "stepOrder": 1}]})

    for path, place in ((empty, "steps"), (twice.headers["location"], "steps[1].stepOrder")):
        refused = await admin.ask("PATCH", path, json={"status": "active"})
        assert_problem(refused, 422, "definition_invalid")
        assert [error["place"] for error in refused.json()["errors"]] == [place]
        assert (await admin.get(path)).json()["status"] == "draft"


async def test_what_a_sequence_is_not_is_refused(admin: Person) -> None:
    path = await sequence(admin, WELCOME)

    assert_problem(await admin.post("/v1/sequences", {"name": "Onboarding"}), 409, "conflict")
    assert_problem(await admin.post("/v1/sequences", {"name": "x", "colour": "red"}), 422, "input_invalid")
    assert_problem(await admin.post("/v1/sequences", {"name": "x", "timezone": "Mars"}), 422, "definition_invalid")
    assert_problem(await admin.post("/v1/sequences", {"name": "x", "steps": [3]}), 422, "input_invalid")
    assert_problem(await admin.ask("PATCH", path, json={"status": "paused"}), 409, "conflict")
    assert_problem(await admin.ask("PATCH", path, json={"status": "gone"}), 422, "input_invalid")
    assert_problem(await admin.ask("PATCH", path, json={"inFlight": "move"}), 422, "input_invalid")
    assert_problem(await admin.post(f"{path}/steps", [1]), 422, "input_invalid")
    assert_problem(await admin.ask("PATCH", f"{path}/steps/{uuid4()}", json={}), 404, "not_found")
    assert_problem(await admin.ask("DELETE", f"{path}/steps/{uuid4()}"), 404, "not_found")
    assert_problem(await admin.get(f"/v1/workflows/{path.rpartition('/')[2]}"), 404, "not_found")


async def test_sequences_are_listed_and_deleted(admin: Person) -> None:
    path = await sequence(admin, WELCOME)
    await admin.post("/v1/sequences", {"name": "Other"})

    drafts = (await admin.get("/v1/sequences?status=draft&limit=1")).json()
    rest = (await admin.get(f"/v1/sequences?status=draft&limit=1&cursor={drafts['nextCursor']}")).json()
    named = (await admin.get("/v1/sequences?name=Other")).json()
    deleted = await admin.ask("DELETE", path)

    assert {one["name"] for one in drafts["data"] + rest["data"]} == {"Onboarding", "Other"}
    assert [one["name"] for one in named["data"]] == ["Other"]
    assert named["data"][0]["inFlight"] is None
    assert deleted.status_code == 204
    assert_problem(await admin.get(path), 404, "not_found")
    assert (await admin.get("/v1/workflows")).json()["data"] == []


async def test_who_is_on_the_way_need_not_be_counted(admin: Person) -> None:
    path = await sequence(admin, WELCOME)

    assert (await admin.get(f"{path}?inFlight=false")).json()["inFlight"] is None
