"""Drafts of workflows: saved whatever they say, published when they can be, never over what somebody else published."""

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.http.conftest import ADA, WELCOME, Person
from tests.http.test_requests import assert_problem
from tidings.engine import Engine

BROKEN = {**WELCOME, "edges": [{"from": "hello", "to": "nobody"}]}
OTHER = {**WELCOME, "timeoutSeconds": 60}


async def made_workflow(admin: Person, name: str = "welcome") -> str:
    made = await admin.post("/v1/workflows", {"name": name, **WELCOME})
    id: str = made.json()["id"]
    return id


async def save(admin: Person, id: str, definition: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    answer = await admin.ask("PUT", f"/v1/workflows/{id}/draft", json={"definition": definition, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_broken_draft_is_saved_with_its_problems_and_changes_nothing(admin: Person) -> None:
    id = await made_workflow(admin)

    saved = await save(admin, id, BROKEN)
    read = (await admin.get(f"/v1/workflows/{id}/draft")).json()

    assert read == saved
    assert (saved["valid"], [one["place"] for one in saved["errors"]]) == (False, ["edges[0].to"])
    assert (saved["base"], saved["version"], saved["revision"], saved["definition"]) == (1, 1, 1, BROKEN)
    assert saved["savedBy"]
    assert (await admin.get(f"/v1/workflows/{id}")).json()["version"] == 1
    refused = await admin.post(f"/v1/workflows/{id}/draft/publish", {})
    assert_problem(refused, 422, "definition_invalid")
    assert (await admin.get(f"/v1/workflows/{id}/draft")).status_code == 200


async def test_a_draft_becomes_the_next_version_and_is_gone(admin: Person) -> None:
    id = await made_workflow(admin)
    await save(admin, id, OTHER)

    published = await admin.post(f"/v1/workflows/{id}/draft/publish")

    told = published.json()
    assert (told["version"], told["change"], told["inFlight"]) == (2, "updated", [])
    assert (await admin.get(f"/v1/workflows/{id}")).json()["definition"] == OTHER
    assert_problem(await admin.get(f"/v1/workflows/{id}/draft"), 404, "not_found")
    assert_problem(await admin.post(f"/v1/workflows/{id}/draft/publish", {}), 404, "not_found")


async def test_what_somebody_published_meanwhile_is_never_overwritten(admin: Person) -> None:
    id = await made_workflow(admin)
    mine = {**WELCOME, "timeoutSeconds": 90}
    await save(admin, id, mine)
    await admin.ask("PUT", f"/v1/workflows/{id}", json=OTHER)

    refused = await admin.post(f"/v1/workflows/{id}/draft/publish", {})
    again = await save(admin, id, mine, base=2)
    published = await admin.post(f"/v1/workflows/{id}/draft/publish", {})

    assert refused.status_code == 409
    told = refused.json()
    assert (told["code"], told["version"], told["published"], told["draft"]) == ("draft_outdated", 2, OTHER, mine)
    assert (again["base"], again["version"]) == (2, 2)
    assert published.json()["version"] == 3


async def test_two_people_do_not_overwrite_each_others_savings(admin: Person) -> None:
    id = await made_workflow(admin)
    first = await save(admin, id, WELCOME, revision=0)
    await save(admin, id, OTHER, revision=first["revision"])

    late = await admin.ask("PUT", f"/v1/workflows/{id}/draft", json={"definition": BROKEN, "revision": 1})
    unseen = await admin.post(f"/v1/workflows/{id}/draft/publish", {"revision": 1})

    assert_problem(late, 409, "conflict")
    assert_problem(unseen, 409, "conflict")
    assert (await admin.get(f"/v1/workflows/{id}/draft")).json()["definition"] == OTHER


async def test_of_two_who_publish_at_once_one_does(admin: Person) -> None:
    id = await made_workflow(admin)
    await save(admin, id, OTHER)

    answers = await asyncio.gather(*(admin.post(f"/v1/workflows/{id}/draft/publish", {}) for _ in range(4)))

    assert sorted({one.status_code for one in answers} - {404, 409}) == [200]
    versions = (await admin.get(f"/v1/workflows/{id}/versions")).json()["data"]
    assert [one["number"] for one in versions] == [2, 1]


async def test_a_workflow_may_begin_as_a_draft_that_nothing_starts_or_lists(admin: Person) -> None:
    made = await admin.post("/v1/workflows/drafts", {"name": "new", "definition": BROKEN})
    id = made.json()["id"]

    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"/v1/workflows/{id}/draft"
    assert (made.json()["base"], made.json()["version"], made.json()["valid"]) == (0, 0, False)
    assert (await admin.get("/v1/workflows")).json()["data"] == []
    assert [one["name"] for one in (await admin.get("/v1/workflows/drafts")).json()["data"]] == ["new"]
    assert_problem(await admin.get(f"/v1/workflows/{id}"), 404, "not_found")
    assert_problem(await admin.post(f"/v1/workflows/{id}/activate", {}), 404, "not_found")
    assert_problem(await admin.post(f"/v1/workflows/{id}/triggers", {"data": ADA}), 404, "not_found")
    assert_problem(await admin.post("/v1/workflows/drafts", {"name": "new"}), 409, "conflict")
    assert_problem(await admin.post("/v1/workflows", {"name": "new", **WELCOME}), 409, "conflict")

    await save(admin, id, WELCOME)
    published = (await admin.post(f"/v1/workflows/{id}/draft/publish", {})).json()

    assert (published["change"], published["version"], published["active"]) == ("created", 1, True)
    assert (await admin.post(f"/v1/workflows/{id}/triggers", {"data": ADA})).status_code == 201


async def test_a_draft_of_its_own_is_thrown_away_with_its_name(admin: Person) -> None:
    made = await admin.post("/v1/workflows/drafts", {"name": "new"})
    deleted = await admin.ask("DELETE", f"/v1/workflows/{made.json()['id']}/draft")
    again = await admin.post("/v1/workflows/drafts", {"name": "new"})
    id = await made_workflow(admin)
    await save(admin, id, OTHER)
    await admin.ask("DELETE", f"/v1/workflows/{id}/draft")

    assert (deleted.status_code, again.status_code) == (204, 201)
    assert (await admin.get(f"/v1/workflows/{id}")).json()["definition"] == WELCOME


async def test_a_draft_has_a_largest_size_and_a_base_that_there_is(admin: Person) -> None:
    id = await made_workflow(admin)

    large = await admin.ask("PUT", f"/v1/workflows/{id}/draft", json={"definition": {"x": "y" * 500_000}})
    unborn = await admin.ask("PUT", f"/v1/workflows/{id}/draft", json={"definition": {}, "base": 2})

    assert_problem(large, 422, "input_invalid")
    assert_problem(unborn, 422, "input_invalid")


async def test_publishing_and_the_list_of_versions_tell_who_is_under_way(admin: Person, engine: Engine) -> None:
    waiting = {"entryNodeId": "wait", "nodes": [{"id": "wait", "type": "delay", "duration": "P1D"}]}
    id = (await admin.post("/v1/workflows", {"name": "slow", **waiting})).json()["id"]
    other = (await admin.post("/v1/workflows", {"name": "other", **waiting})).json()["id"]
    for number in range(3):
        await admin.post(f"/v1/workflows/{id}/triggers", {"data": {}, "idempotencyKey": f"k{number}"})
    await admin.post(f"/v1/workflows/{other}/triggers", {"data": {}})
    await save(admin, id, {**waiting, "timeoutSeconds": 900_000})

    published = (await admin.post(f"/v1/workflows/{id}/draft/publish", {})).json()
    await admin.post(f"/v1/workflows/{id}/triggers", {"data": {}, "idempotencyKey": "new"})
    await engine.work_everything()
    versions = (await admin.get(f"/v1/workflows/{id}/versions")).json()["data"]

    assert published["inFlight"] == [{"version": 1, "count": 3}]
    assert [(one["number"], one["inFlight"]) for one in versions] == [(2, 1), (1, 3)]
