"""/v1/enrollments, and what sequences and contacts show of them; tests/requirements/test_003_*.py has the rest."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tests.conftest import ManualClock
from tests.enrolling import HOME, ids, make_contacts, make_sequence, step
from tests.http.conftest import Person
from tidings.domain.flow.outcome import Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider


async def enroll_all(admin: Person, sequence: UUID) -> dict[str, object]:
    answer = await admin.post(f"/v1/sequences/{sequence}/batch-enroll", {"all": True})
    assert answer.status_code == 200, answer.text
    data: dict[str, object] = answer.json()["data"]
    return data


async def test_enrollments_are_listed_in_pages_by_status_and_by_step(
    engine: Engine, admin: Person, clock: ManualClock
) -> None:
    people = await make_contacts(engine, 5)
    sequence = await make_sequence(engine, step(0), step(3))
    steps = [one.id for one in (await engine.sequences.get(HOME, sequence)).steps]
    await enroll_all(admin, sequence)
    await engine.work_everything()
    path = f"/v1/sequences/{sequence}/enrollments"

    first = (await admin.get(f"{path}?limit=3")).json()
    rest = (await admin.get(f"{path}?limit=3&cursor={first['nextCursor']}")).json()
    paused = await admin.ask("PATCH", path, json={"where": {"contactIds": ids(people[:2])}, "status": "paused"})

    assert {one["contactId"] for one in first["data"] + rest["data"]} == set(ids(people))
    assert (len(first["data"]), len(rest["data"]), rest["nextCursor"]) == (3, 2, None)
    assert paused.json() == {"count": 2}
    for query, count in (
        ("status=active", 3),
        ("status=paused", 2),
        ("status=completed", 0),
        (f"stepId={steps[0]}", 0),
        (f"stepId={steps[1]}", 5),
        (f"stepId={steps[1]}&status=paused", 2),
    ):
        assert len((await admin.get(f"{path}?{query}")).json()["data"]) == count, query


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"status": "paused"}, "where"),
        ({"where": {}, "status": "paused"}, "where"),
        ({"where": {"all": True, "tag": "vip"}, "status": "paused"}, "where.all"),
        ({"where": {"status": "completed"}, "status": "paused"}, "where.status"),
        ({"where": {"all": True}, "status": "completed"}, "status"),
        ({"where": {"contactIds": ["x"]}, "status": "paused"}, "where.contactIds[0]"),
        ({"where": {"tags": "vip"}, "status": "paused"}, "where.tags"),
    ],
)
async def test_what_cannot_be_asked_of_many_is_refused_at_its_place(
    engine: Engine, admin: Person, body: dict[str, object], place: str
) -> None:
    sequence = await make_sequence(engine)

    answer = await admin.ask("PATCH", f"/v1/sequences/{sequence}/enrollments", json=body)

    assert answer.status_code == 422
    assert place in {one["place"] for one in answer.json()["errors"]}


async def test_a_dry_run_says_what_would_be_done(engine: Engine, admin: Person) -> None:
    await make_contacts(engine, 3)
    sequence = await make_sequence(engine)

    counted = await admin.post(f"/v1/sequences/{sequence}/batch-enroll", {"all": True, "dryRun": True})
    wrong = await admin.post(f"/v1/sequences/{sequence}/batch-enroll", {"all": True, "dryRun": "yes"})

    assert counted.json()["data"]["enrolledCount"] == 3
    assert counted.json()["data"]["dryRun"] is True
    assert wrong.status_code == 422
    assert (await enroll_all(admin, sequence))["enrolledCount"] == 3


async def test_what_is_done_to_enrollments_is_in_the_audit_log(engine: Engine, admin: Person) -> None:
    [ada, _] = await make_contacts(engine, 2)
    sequence = await make_sequence(engine)
    one = await admin.post(f"/v1/sequences/{sequence}/enrollments", {"contactId": str(ada)})
    await admin.post(f"/v1/sequences/{sequence}/enrollments", {"contactId": str(ada)})
    await enroll_all(admin, sequence)
    await admin.ask("PATCH", f"/v1/enrollments/{one.json()['id']}", json={"status": "paused"})
    await admin.ask("PATCH", f"/v1/enrollments/{one.json()['id']}", json={"status": "paused"})
    await admin.ask("PATCH", f"/v1/sequences/{sequence}/enrollments", json={"where": {"all": True}, "status": "active"})

    lines = (await admin.get("/v1/audit-log")).json()["data"]

    told = [(line["subjectKind"], line["event"]) for line in lines]
    assert sorted(one for one in told if one[0] == "enrollment") == [
        ("enrollment", "enrolled"),
        ("enrollment", "paused"),
    ]
    assert {("sequence", "batch_enrolled"), ("sequence", "enrollments_resumed")} <= set(told)


async def test_what_is_not_there_is_not_found(engine: Engine, admin: Person) -> None:
    sequence = await make_sequence(engine)
    for path in (
        f"/v1/enrollments/{uuid4()}",
        f"/v1/enrollments/{uuid4()}/logs",
        f"/v1/sequences/{uuid4()}/enrollments",
        f"/v1/sequences/{uuid4()}/why?contactId={uuid4()}",
        f"/v1/sequences/{sequence}/why?contactId={uuid4()}",
        f"/v1/sequences/{sequence}/steps/{uuid4()}/logs",
        f"/v1/contacts/{uuid4()}/logs",
    ):
        assert (await admin.get(path)).status_code == 404, path


async def test_why_tells_that_a_draft_has_sent_nobody_anything(engine: Engine, admin: Person) -> None:
    [ada] = await make_contacts(engine, 1)
    sequence = await make_sequence(engine, publish=False)

    answer = await admin.get(f"/v1/sequences/{sequence}/why?contactId={ada}")

    assert (answer.status_code, answer.json()["enrolled"]) == (200, False)
    assert "is a draft" in answer.json()["reason"]
    assert {step["fate"] for step in answer.json()["steps"]} == {"never"}


async def test_why_tells_of_a_message_whose_fate_nobody_knows(
    engine: Engine, admin: Person, clock: ManualClock, provider: FakeProvider
) -> None:
    [ada] = await make_contacts(engine, 1)
    sequence = await make_sequence(engine, step(0), step(1))
    provider.answer = Unknown("no answer")
    await enroll_all(admin, sequence)
    await engine.work_everything()
    clock.time += timedelta(minutes=1)

    found = (await admin.get(f"/v1/sequences/{sequence}/why?contactId={ada}")).json()
    [line] = (await admin.get(f"/v1/contacts/{ada}/logs")).json()["data"]

    assert found["steps"][0]["fate"] == "pending"
    assert found["steps"][0]["reason"] == "the provider's answer is not known"
    assert (line["status"], line["inDoubt"]) == ("pending", True)
