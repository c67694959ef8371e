"""003, phases 1 to 3: build, publish, and who is enrolled."""

from datetime import datetime, timedelta
from uuid import uuid4

import httpx2
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import OTHER_TENANT, OTHER_WORKSPACE, Person, person
from tests.requirements.conftest import Json
from tidings import Engine
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.providers.fake import FakeProvider

STEPS: list[Json] = [
    {"dayOffset": 0, "stepOrder": 1, "channel": "email", "subject": "Hi", "content": "Welcome!"},
    {"dayOffset": 3, "stepOrder": 2, "sendHour": 9, "channel": "sms", "content": "How's it going?"},
    {"dayOffset": 7, "stepOrder": 3, "sendHour": 18, "channel": "push", "content": "Here's a tip"},
]


async def build(manager: Person, steps: list[Json] | None = None, **fields: object) -> Json:
    """A draft with its steps, as the diagram's set-up phase makes it."""
    made = await manager.post("/v1/sequences", {"name": f"drip {uuid4()}", **fields})
    assert made.status_code == 201, made.text
    sequence: Json = made.json()
    for step in steps or STEPS:
        answer = await manager.post(f"/v1/sequences/{sequence['id']}/steps", step)
        assert answer.status_code == 201, answer.text
    return sequence


async def publish(manager: Person, id: str) -> httpx2.Response:
    return await manager.ask("PATCH", f"/v1/sequences/{id}", json={"status": "active"})


async def active(manager: Person, steps: list[Json] | None = None, **fields: object) -> str:
    sequence = await build(manager, steps, **fields)
    answer = await publish(manager, sequence["id"])
    assert answer.status_code == 200, answer.text
    return str(sequence["id"])


async def contact(manager: Person, name: str = "ada", **fields: object) -> str:
    given = {"externalId": name, "email": f"{name}@example.com", "phone": "+442071838750", "pushTokens": [name]}
    answer = await manager.post("/v1/contacts", {**given, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def enroll(operator: Person, sequence: str, contact_id: str) -> httpx2.Response:
    return await operator.post(f"/v1/sequences/{sequence}/enrollments", {"contactId": contact_id})


async def batch(operator: Person, sequence: str, **audience: object) -> Json:
    answer = await operator.post(f"/v1/sequences/{sequence}/batch-enroll", audience)
    assert answer.status_code == 200, answer.text
    assert answer.json()["success"] is True
    data: Json = answer.json()["data"]
    return data


# Phase 1: build


async def test_003_a_new_sequence_is_a_draft_and_sends_nothing(
    manager: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """Phase 1: "Nothing is sent yet. The sequence sits in draft status.\""""
    await contact(manager)
    sequence = await build(manager)

    clock.advance(days=10)
    await engine.work_everything()

    shown = (await manager.get(f"/v1/sequences/{sequence['id']}")).json()
    assert (sequence["status"], shown["status"]) == ("draft", "draft")
    assert [(step["dayOffset"], step["channel"], step["content"]) for step in shown["steps"]] == [
        (0, "email", "Welcome!"),
        (3, "sms", "How's it going?"),
        (7, "push", "Here's a tip"),
    ]
    assert provider.calls == []


# Phase 2: publish


async def test_003_publishing_makes_it_active(manager: Person) -> None:
    """Phase 2: "The sequence flips to active.\""""
    sequence = await build(manager)

    answer = await publish(manager, sequence["id"])

    assert (answer.status_code, answer.json()["status"]) == (200, "active")


@pytest.mark.parametrize("status", ["draft", "paused"])
async def test_003_only_active_sequences_can_accept_contacts(manager: Person, operator: Person, status: str) -> None:
    """Phase 2: "you shouldn't enroll people into an incomplete sequence"."""
    ada = await contact(manager)
    sequence = (await build(manager))["id"]
    if status == "paused":
        await publish(manager, sequence)
        await manager.ask("PATCH", f"/v1/sequences/{sequence}", json={"status": "paused"})

    one = await enroll(operator, sequence, ada)
    many = await operator.post(f"/v1/sequences/{sequence}/batch-enroll", {"all": True})
    counted = await operator.post(f"/v1/sequences/{sequence}/batch-enroll", {"all": True, "dryRun": True})

    assert [one.status_code, many.status_code, counted.status_code] == [409, 409, 409]
    assert status in one.json()["detail"]
    assert (await operator.get(f"/v1/enrollments?contactId={ada}")).json()["data"] == []


# Phase 3: enroll


async def test_003_an_enrollment_begins_at_the_first_step_at_its_time(
    manager: Person, operator: Person, clock: ManualClock
) -> None:
    """The diagram: nextStepAt = now + step[0].dayOffset days, at step[0].sendHour UTC; currentStepIndex 0, active."""
    ada = await contact(manager)
    sequence = await active(manager, [{**STEPS[0], "dayOffset": 2, "sendHour": 17}, STEPS[1]])

    answer = await enroll(operator, sequence, ada)

    shown = answer.json()
    assert (answer.status_code, shown["duplicate"]) == (201, False)
    assert answer.headers["location"] == f"/v1/enrollments/{shown['id']}"
    assert (shown["contactId"], shown["sequenceId"], shown["sequenceVersion"]) == (ada, sequence, 1)
    assert (shown["currentStepIndex"], shown["status"], shown["completedAt"]) == (0, "active", None)
    assert datetime.fromisoformat(shown["nextStepAt"]) == (clock.time + timedelta(days=2)).replace(hour=17)
    assert datetime.fromisoformat(shown["enrolledAt"]) == clock.time
    assert (await operator.get(f"/v1/enrollments/{shown['id']}")).json() == {
        name: value for name, value in shown.items() if name != "duplicate"
    }


async def test_003_a_contact_is_in_a_sequence_once_at_a_time(manager: Person, operator: Person) -> None:
    ada = await contact(manager)
    sequence = await active(manager)

    first = await enroll(operator, sequence, ada)
    second = await enroll(operator, sequence, ada)

    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["id"] == first.json()["id"]
    assert second.json()["duplicate"] is True


async def test_003_the_audience_is_everyone_a_filter_or_named_contacts(manager: Person, operator: Person) -> None:
    """Batch-enroll: union of filter and ids, deduplicated, exclusions removed; {enrolledCount, skippedCount}."""
    ada = await contact(manager, "ada", company="Engines", tags=["vip"], status="lead")
    bob = await contact(manager, "bob", company="Engines", status="lead")
    cyd = await contact(manager, "cyd", company="Looms", tags=["vip"])

    async def count(**audience: object) -> tuple[int, int]:
        done = await batch(operator, await active(manager), **audience)
        return done["enrolledCount"], done["skippedCount"]

    assert await count(all=True) == (3, 0)
    assert await count(company="Engines") == (2, 0)
    assert await count(company="ENGINES", tag="ViP") == (1, 0)
    assert await count(tag="vip") == (2, 0)
    assert await count(status="lead", company="Engines") == (2, 0)
    assert await count(contactIds=[bob]) == (1, 0)
    assert await count(contactIds=["bob", "ada"], excludeContactIds=["ada"]) == (1, 0)
    assert await count(tag="vip", contactIds=[bob, bob, ada]) == (3, 0)
    assert await count(all=True, excludeContactIds=[ada, cyd]) == (1, 0)
    assert await count(exclude_contact_ids=[ada], contact_ids=[ada, bob]) == (1, 0)


async def test_003_those_who_are_skipped_are_counted_with_the_reason(manager: Person, operator: Person) -> None:
    ada, bob = await contact(manager, "ada"), await contact(manager, "bob")
    sequence = await active(manager)
    await enroll(operator, sequence, ada)

    done = await batch(operator, sequence, contactIds=[ada, bob, str(uuid4())])

    assert (done["enrolledCount"], done["skippedCount"]) == (1, 2)
    assert done["skipped"] == {"alreadyEnrolled": 1, "completedBefore": 0, "cancelledBefore": 0, "notFound": 1}


@pytest.mark.parametrize("elsewhere", [OTHER_TENANT, OTHER_WORKSPACE], ids=["another tenant", "the same tenant"])
async def test_003_only_the_caller_s_contacts_are_enrolled(
    engine: Engine, http: httpx2.AsyncClient, manager: Person, operator: Person, elsewhere: Workspace
) -> None:
    """SELECT contacts WHERE userId = userId; "verify ownership"."""
    stranger = await person(engine, http, Role.SYSTEM_ADMIN, elsewhere)
    theirs = await contact(stranger, "theirs", tags=["vip"])
    await contact(manager, "ours", tags=["vip"])
    sequence = await active(manager)

    named = await enroll(operator, sequence, theirs)
    unknown = await enroll(operator, sequence, str(uuid4()))
    many = await batch(operator, sequence, tag="vip", contactIds=[theirs])
    from_outside = await enroll(stranger, sequence, theirs)

    assert (named.status_code, unknown.status_code, from_outside.status_code) == (422, 422, 404)
    assert named.json()["errors"][0]["place"] == "contactId"
    assert theirs in named.json()["detail"]
    assert (many["enrolledCount"], many["skipped"]["notFound"]) == (1, 1)
    assert (await stranger.get(f"/v1/enrollments?contactId={theirs}")).json()["data"] == []


async def test_003_an_audience_of_nobody_is_refused(manager: Person, operator: Person) -> None:
    """`{}` would be everyone by accident: it takes the word `all`."""
    sequence = await active(manager)

    refused: list[Json] = [{}, {"all": False}, {"contactIds": []}, {"tag": ""}, {"tags": "vip"}, {"contactIds": ["x"]}]
    for audience in refused:
        answer = await operator.post(f"/v1/sequences/{sequence}/batch-enroll", audience)
        assert (answer.status_code, answer.json()["code"]) == (422, "enrollment_invalid"), audience
    for audience in refused[:3]:
        answer = await operator.post(f"/v1/sequences/{sequence}/batch-enroll", audience)
        said = "names nobody: give one of contactIds, company, tag, status; for everyone {all: true}"
        assert [one["message"] for one in answer.json()["errors"]] == [said]
    assert (await operator.get(f"/v1/sequences/{sequence}/enrollments")).json()["data"] == []


async def test_003_a_contact_may_come_again_where_the_sequence_allows_it(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    ada = await contact(manager)
    sequence = await active(manager, [STEPS[0]], allowReentry=True)

    for round_ in range(1, 4):
        answer = await enroll(operator, sequence, ada)
        assert answer.status_code == 201
        await engine.work_everything()
        assert len(provider.calls) == round_

    shown = (await operator.get(f"/v1/enrollments?contactId={ada}")).json()["data"]
    assert [one["status"] for one in shown] == ["completed"] * 3


async def test_003_a_cancelled_contact_is_enrolled_anew_by_one_request_and_by_a_batch_that_says_so(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """The states: `cancelled` is "removed from the sequence before finishing", so there is a way back in."""
    ada, bob = await contact(manager, "ada"), await contact(manager, "bob")
    sequence = await active(manager, STEPS[:2])
    await batch(operator, sequence, all=True)
    await engine.work_everything()
    clock.advance(minutes=1)
    everyone = {"where": {"all": True}, "status": "cancelled"}

    # Nobody has swept up what was cancelled: from the answer on it is no longer on the way.
    assert (await operator.ask("PATCH", f"/v1/sequences/{sequence}/enrollments", json=everyone)).json()["count"] == 2
    one, same = [await enroll(operator, sequence, ada) for _ in range(2)]
    left, counted, done, repeated = [
        await batch(operator, sequence, all=True, **more)
        for more in (
            {},
            {"includeCancelled": True, "dryRun": True},
            {"includeCancelled": True},
            {"include_cancelled": True},
        )
    ]
    clock.advance(days=4)
    await engine.work_everything()

    assert (one.status_code, one.json()["duplicate"], one.json()["currentStepIndex"]) == (201, False, 0)
    assert (same.status_code, same.json()["id"]) == (200, one.json()["id"])
    assert (left["enrolledCount"], left["skipped"]["cancelledBefore"], left["skipped"]["alreadyEnrolled"]) == (0, 1, 1)
    for found in (counted, done):
        assert (found["enrolledCount"], found["reenrolledCount"], found["skippedCount"]) == (1, 1, 1)
    assert (repeated["enrolledCount"], repeated["skipped"]["alreadyEnrolled"]) == (0, 2)
    # Each got the first step twice, once in each enrollment, and the second one once.
    assert sorted(call.recipient for call in provider.calls) == sorted(
        [*["ada@example.com", "bob@example.com"] * 2, *["+442071838750"] * 2]
    )
    assert len({call.key for call in provider.calls}) == 6
    for person_ in (ada, bob):
        shown = (await operator.get(f"/v1/enrollments?contactId={person_}")).json()["data"]
        assert [(each["status"], each["messages"]["sent"]) for each in shown] == [("completed", 2), ("cancelled", 1)]


async def test_003_the_step_record_names_its_sequence_and_its_time(manager: Person, clock: ManualClock) -> None:
    """sequence_steps: `sequenceId`, `createdAt`; the same in the draft and in what is published."""
    made = (await build(manager, STEPS[:1]))["id"]
    draft = (await manager.get(f"/v1/sequences/{made}")).json()
    clock.advance(days=1)
    added = (await manager.post(f"/v1/sequences/{made}/steps", STEPS[1])).json()
    published = (await publish(manager, made)).json()

    began = clock.time - timedelta(days=1)
    for steps in ([*draft["steps"], added], published["steps"], published["published"]["steps"]):
        assert [step["sequenceId"] for step in steps] == [made, made]
        assert [datetime.fromisoformat(step["createdAt"]) for step in steps] == [began, clock.time]


async def test_003_what_can_never_be_sent_is_not_published(manager: Person) -> None:
    given: list[tuple[Json, str]] = [
        ({**STEPS[0], "subject": "Hi\tthere"}, "subject"),
        ({**STEPS[0], "subject": "Hi\n{{ contact.name }}"}, "subject"),
        ({**STEPS[0], "content": "{{ contact.name | append: 1, 2 }}"}, "content"),
        ({**STEPS[0], "content": "{{ vars.welcome.status }}"}, "content"),
        ({**STEPS[0], "content": "{{ step_7_result }}"}, "content"),
    ]
    sequence = (await build(manager))["id"]

    for step, place in given:
        answer = await manager.post(f"/v1/sequences/{sequence}/steps", step)
        assert (answer.status_code, answer.json()["errors"][0]["place"]) == (422, place), step


async def test_003_an_attribute_that_contacts_lack_is_told_before_it_is_sent(
    manager: Person, operator: Person, engine: Engine
) -> None:
    await contact(manager, "ada", attributes={"city": "London"}, tags=["Trial"])
    bob, cyd = [await contact(manager, name, tags=["trial"]) for name in ("bob", "cyd")]
    await contact(manager, "dan", attributes={"city": ""}, tags=["other"])
    text = "{{ contact.attributes.city }}{{ contact.attributes.zip | default: '-' }}{{ contact.company }}"
    sequence = await active(manager, [{**STEPS[0], "subject": "Hi", "content": text}])
    letter = {"name": "n", "channel": "email", "content": {"subject": "Hi", "body": text}, "audience": {"tag": "trial"}}
    campaign = (await manager.post("/v1/campaigns", letter)).json()["id"]

    counted = await batch(operator, sequence, tag="TRIAL", dryRun=True)
    reach = (await manager.get(f"/v1/campaigns/{campaign}/audience")).json()
    await enroll(operator, sequence, bob)
    before = (await operator.get(f"/v1/sequences/{sequence}/why?contactId=bob")).json()["steps"][0]
    await engine.work_everything()
    after = (await operator.get(f"/v1/sequences/{sequence}/why?contactId=bob")).json()["steps"][0]
    rest = await batch(operator, sequence, contactIds=[bob, cyd, "dan"], dryRun=True)

    hint = "write {{ contact.attributes.city | default: … }}"
    lack = {"path": "contact.attributes.city", "contacts": 2, "of": 3, "hint": hint}
    assert (counted["missing"], reach["missing"]) == ([lack], [lack])
    assert rest["missing"] == [{**lack, "contacts": 1, "of": 2}]  # bob is in it already, and nothing is a value
    assert (before["fate"], before["reason"]) == (
        "planned",
        f"it would fail: the contact has no contact.attributes.city: {hint}",
    )
    assert after["fate"] == "failed"
    assert after["reason"].endswith(f"the contact has no contact.attributes.city: {hint}")
