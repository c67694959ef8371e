"""/v1/campaigns, /v1/segments, /v1/runs and /v1/outbox as a caller uses them."""

import csv
import io
import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.conftest import ManualClock
from tests.http.conftest import HOME, Person
from tests.resources.campaign_scenes import work_until_ended
from tidings.domain.caller import Caller
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

BY = Caller(HOME, "test")
LETTER: dict[str, Any] = {
    "name": "Spring news",
    "channel": "email",
    "content": {"subject": "Hello {{ contact.name }}", "body": "News"},
    "audience": {"all": True},
}


async def make_contacts(admin: Person, count: int) -> list[str]:
    contacts = [{"externalId": f"p{n}", "name": f"P{n}", "email": f"p{n}@example.com"} for n in range(1, count + 1)]
    answer = await admin.post("/v1/contacts/bulk", {"contacts": contacts})
    return [one["id"] for one in answer.json()["data"]]


async def make_run(admin: Person, **more: Any) -> dict[str, Any]:
    made = await admin.post("/v1/campaigns", LETTER | more)
    answer = await admin.post(f"/v1/campaigns/{made.json()['id']}/deploy")
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_campaign_is_made_changed_listed_and_deleted(admin: Person) -> None:
    made = await admin.post("/v1/campaigns", LETTER | {"max_lateness": "PT2H", "rate": 60, "sendHour": 9})
    path = made.headers["location"]

    changed = await admin.ask("PATCH", path, json={"name": "Autumn news", "rate": None})
    listed = await admin.get("/v1/campaigns", params={"channel": "email"})
    others = await admin.get("/v1/campaigns", params={"channel": "sms"})
    gone = await admin.ask("DELETE", path)

    assert made.status_code == 201
    assert made.json() | {"id": 0, "createdAt": 0, "updatedAt": 0} == {
        **LETTER,
        "id": 0,
        "version": 1,
        "inWords": "everyone",
        "segmentName": None,
        "data": {},
        "sendHour": 9,
        "timeZone": "contact",
        "rate": 60,
        "maxLateness": "PT2H",
        "notReady": [],
        "createdAt": 0,
        "updatedAt": 0,
    }
    assert (changed.json()["name"], changed.json()["rate"], changed.json()["version"]) == ("Autumn news", None, 2)
    assert [one["id"] for one in listed.json()["data"]] == [made.json()["id"]]
    assert others.json()["data"] == []
    assert gone.status_code == 204
    assert (await admin.get(path)).status_code == 404


@pytest.mark.parametrize(
    ("given", "answered"), [("PT36H", "P1DT12H"), ("P400D", "P400D"), (1.5, "PT1.5S"), ("P1DT0.25S", "P1DT0.25S")]
)
async def test_how_late_it_may_be_is_answered_so_that_it_can_be_given_back(
    admin: Person, given: str | float, answered: str
) -> None:
    made = (await admin.post("/v1/campaigns", LETTER | {"maxLateness": given})).json()
    again = await admin.ask("PATCH", f"/v1/campaigns/{made['id']}", json={"maxLateness": answered})

    assert made["maxLateness"] == answered
    assert (again.status_code, again.json()["version"]) == (200, made["version"])  # it says the same


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"audience": {}}, "audience"),
        ({"audience": None}, "audience"),
        ({"audience": {"segmentId": str(uuid4())}}, "audience.segmentId"),
        ({"audience": {"contactIds": [str(uuid4())]}}, "audience.contactIds[0]"),
        ({"content": {}}, "content.html"),
        ({"content": None}, "content"),
        ({"content": {"subject": "x"}}, "content.html"),
        ({"content": {"subject": "x", "body": "{{ name }}"}}, "content.body"),
        ({"content": {"subject": "x", "body": "{{ contact.nmae }}"}}, "content.body"),
        ({"content": {"body": "{% if %}"}}, "content.body"),
        ({"content": {"body": "x"}}, "content.subject"),
        ({"content": {"body": "x", "script": "y"}}, "content.script"),
        ({"channel": "fax"}, "channel"),
        ({"channel": "function"}, "channel"),
        ({"channel": "social"}, "content.posts"),
        ({"name": " "}, "name"),
        ({"rate": 0}, "rate"),
        ({"rate": True}, "rate"),
        ({"sendHour": 24}, "sendHour"),
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"maxLateness": "soon"}, "maxLateness"),
        ({"maxLateness": -1}, "maxLateness"),
        ({"data": {"contact": {}}}, "data"),
        ({"subject": "x"}, "subject"),
    ],
)
async def test_a_wrong_campaign_is_refused_with_the_place(admin: Person, given: dict[str, Any], place: str) -> None:
    answer = await admin.post("/v1/campaigns", LETTER | given)

    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == "campaign_invalid"
    assert place in [one["place"] for one in answer.json()["errors"]]
    assert (await admin.get("/v1/campaigns")).json()["data"] == []


async def test_deploying_answers_the_run_and_a_repeat_says_so(
    admin: Person, engine: Engine, clock: ManualClock
) -> None:
    await make_contacts(admin, 3)
    made = (await admin.post("/v1/campaigns", LETTER)).json()
    body = {"idempotencyKey": "k1", "scheduledFor": "2026-03-02T10:00:00Z"}

    first = await admin.post(f"/v1/campaigns/{made['id']}/deploy", body)
    again = await admin.post(f"/v1/campaigns/{made['id']}/deploy", body)
    await work_until_ended(engine, clock, UUID(first.json()["id"]), BY)
    run = (await admin.get(f"/v1/runs/{first.json()['id']}")).json()

    assert (first.status_code, first.json()["status"], first.json()["duplicate"]) == (201, "queued", False)
    assert (again.status_code, again.json()["id"], again.json()["duplicate"]) == (200, first.json()["id"], True)
    assert run["status"] == "completed"
    nothing = dict.fromkeys(("queued", "called", "posted", "failed", "skipped", "inDoubt"), 0)
    assert run["counts"] == {"planned": 3, "sent": 3, **nothing}
    assert run["scheduledFor"] == "2026-03-02T10:00:00Z"


async def test_a_wrong_deploy_is_refused(admin: Person) -> None:
    made = (await admin.post("/v1/campaigns", LETTER)).json()
    path = f"/v1/campaigns/{made['id']}/deploy"

    nobody = await admin.post(path)
    naive = await admin.post(path, {"scheduledFor": "2026-03-02T10:00:00"})
    unknown = await admin.post(path, {"when": "now"})

    assert [answer.status_code for answer in (nobody, naive, unknown)] == [422, 422, 422]
    assert nobody.json()["errors"][0]["place"] == "audience"
    assert naive.json()["errors"][0]["place"] == "scheduledFor"


async def test_preview_count_and_test(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    [first, _] = await make_contacts(admin, 2)
    made = (await admin.post("/v1/campaigns", LETTER)).json()
    path = f"/v1/campaigns/{made['id']}"

    preview = (await admin.post(f"{path}/preview", {"contactId": first})).json()["data"][0]
    anybody = await admin.post(f"{path}/preview")
    count = (await admin.get(f"{path}/audience")).json()
    test = await admin.post(f"{path}/test", {"to": "me@example.com", "contactId": first})
    await work_until_ended(engine, clock, UUID(test.json()["id"]), BY)

    assert preview["content"] == {"subject": "Hello P1", "body": "News"}
    assert anybody.status_code == 200
    assert count == {"matching": 2, "reachable": 2, "withoutAddress": 0, "refused": 0, "missing": []}
    assert (test.status_code, test.json()["test"]) == (201, True)
    assert [call.recipient for call in provider.calls] == ["me@example.com"]


async def test_segments(admin: Person) -> None:
    await make_contacts(admin, 2)
    made = await admin.post("/v1/segments", {"name": "all of us", "audience": {"all": True}})
    path = made.headers["location"]
    again = await admin.post("/v1/segments", {"name": "all of us", "audience": {"all": True}})
    wrong = await admin.post("/v1/segments", {"name": "x", "audience": {"segmentId": str(uuid4())}})
    count = await admin.get(f"{path}/audience")
    changed = await admin.ask("PATCH", path, json={"audience": {"tag": "vip"}})
    used = await admin.post("/v1/campaigns", LETTER | {"audience": {"segmentId": made.json()["id"]}})
    refused = await admin.ask("DELETE", path)
    await admin.ask("DELETE", f"/v1/campaigns/{used.json()['id']}")

    assert (made.status_code, again.status_code, wrong.status_code) == (201, 409, 422)
    assert count.json()["matching"] == 2
    assert changed.json()["audience"] == {"tag": "vip"}
    assert refused.status_code == 409
    assert (await admin.ask("DELETE", path)).status_code == 204


async def test_a_run_is_controlled_retried_and_traced(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(admin, 5)
    provider.script = {"p1@example.com": [Rejected("429 slow down")], "p2@example.com": [Unknown("cut off")]}
    run = await make_run(admin)
    path = f"/v1/runs/{run['id']}"
    paused = await admin.post(f"{path}/pause")
    resumed = await admin.post(f"{path}/resume")
    await engine.work_everything()

    shown = (await admin.get(path)).json()
    dry = await admin.post(f"{path}/retry", {"where": {"error": "429"}, "dryRun": True})
    retried = await admin.post(f"{path}/retry", {"where": {"error": "429"}})
    nothing = await admin.post(f"{path}/retry", {"where": {"error": "no such"}})
    await work_until_ended(engine, clock, UUID(retried.json()["run"]["id"]), BY)
    doubtful = (await admin.get("/v1/outbox", params={"inDoubt": "true", "runId": run["id"]})).json()["data"]
    resolved = await admin.post(f"{path}/resolve", {"outcome": "sent", "note": "seen in their log"})
    await work_until_ended(engine, clock, UUID(run["id"]), BY)

    assert (paused.json()["paused"], resumed.json()["paused"]) == (True, False)
    assert shown["statusText"] == "running, 1 in doubt"
    assert (dry.status_code, dry.json()["count"], dry.json()["run"]) == (200, 1, None)
    assert (retried.status_code, retried.json()["run"]["retryOf"]) == (201, run["id"])
    assert nothing.status_code == 409
    assert [item["recipient"] for item in doubtful] == ["p2@example.com"]
    assert resolved.json() == {"resolved": 1, "refused": 0}
    assert (await admin.get(path)).json()["status"] == "partial"
    assert {one["event"] for one in (await admin.get(f"{path}/history")).json()["data"]} >= {"deployed", "pause"}


async def test_a_trace_and_an_export_are_streamed_whole(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(admin, 7)
    provider.script = {"p1@example.com": [Rejected("=1+1")]}
    run = await make_run(admin)
    await work_until_ended(engine, clock, UUID(run["id"]), BY)
    path = f"/v1/runs/{run['id']}"

    whole = (await admin.get(f"{path}/trace")).json()["data"]
    failed = (await admin.get(f"{path}/trace", params={"status": "failed"})).json()["data"]
    lines = (await admin.get(f"{path}/trace", headers={"Accept": "application/x-ndjson"})).text.splitlines()
    exported = await admin.get(f"{path}/export")
    jobs = (await admin.get(f"{path}/jobs")).json()["data"]
    items = (await admin.get(f"{path}/items", params={"status": "sent"})).json()["data"]

    assert len(whole) == len(lines) == 7
    assert {json.loads(line)["outboxId"] for line in lines} == {one["outboxId"] for one in whole}
    assert [one["error"] for one in failed] == ["=1+1"]
    rows = list(csv.DictReader(io.StringIO(exported.text)))
    assert len(rows) == 7
    assert "'=1+1" in {row["error"] for row in rows}
    assert exported.headers["content-type"].startswith("text/csv")
    assert sum(job["counts"]["planned"] for job in jobs) == 7
    assert len(items) == 6
    assert (await admin.get(f"/v1/runs/{uuid4()}/trace")).status_code == 404
    assert (await admin.get(f"/v1/runs/{uuid4()}/export")).status_code == 404


async def test_an_item_is_shown_and_resolved(admin: Person, engine: Engine, provider: FakeProvider) -> None:
    await make_contacts(admin, 1)
    provider.answer = Unknown("cut off")
    await make_run(admin)
    await engine.work_everything()
    [item] = (await admin.get("/v1/outbox", params={"channel": "email"})).json()["data"]
    path = f"/v1/outbox/{item['id']}"

    shown = (await admin.get(path)).json()
    empty = await admin.post(f"{path}/resolve", {"outcome": "sent"})
    resolved = (await admin.post(f"{path}/resolve", {"outcome": "sent", "note": "seen"})).json()
    again = await admin.post(f"{path}/resolve", {"outcome": "sent", "note": "seen"})

    assert (shown["inDoubt"], shown["payload"]["subject"]) == (True, "Hello P1")
    assert empty.status_code == 422
    assert (resolved["status"], resolved["inDoubt"]) == ("sent", False)
    assert resolved["history"][0]["event"] == "resolved_sent"
    assert again.status_code == 409
