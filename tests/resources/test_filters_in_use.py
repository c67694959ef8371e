"""One filter everywhere: campaigns, segments, enrolling, lists and branches choose people by the same words."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.enrolling import make_sequence
from tests.resources.campaign_scenes import ANN, letter, numbers, work_until_ended
from tidings.domain.caller import Caller
from tidings.domain.errors import CampaignInvalid, ContactsInvalid, EnrollmentInvalid
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.resources.contacts import ContactFilter
from tidings.resources.enrollments import EnrollmentFilter
from tidings.views.enrollments import EnrollmentStatus

HOME, DEFAULT = ANN.workspace, Caller(Workspace(), "ann")
PEOPLE: list[dict[str, Any]] = [
    {"externalId": "ada", "email": "ada@example.com", "tags": ["vip"], "attributes": {"plan": "Pro", "seats": "12"}},
    {"externalId": "bob", "email": "bob@example.com", "attributes": {"plan": "pro", "seats": 3}},
    {"externalId": "cy", "phone": "+442071838750", "attributes": {"plan": "free", "ends": "2026-03-09"}},
    {"externalId": "di", "email": "di@example.com", "tags": ["test"], "attributes": {"plan": "PRO", "seats": 40}},
]
PRO = {"path": "attributes.plan", "value": "pro"}
ENDING = {"path": "attributes.ends", "op": "before", "value": "3 days from now"}


async def make_people(engine: Engine, caller: Caller = ANN) -> dict[str, UUID]:
    made = await engine.contacts.upsert_many(caller, PEOPLE)
    return {one.external_id: one.id for one in made}


async def listed(engine: Engine, **where: Any) -> list[str]:
    page = await engine.contacts.list(HOME, ContactFilter(where=where))
    return sorted(one.external_id for one in page.items)


async def test_a_list_takes_the_filter_of_an_audience(engine: Engine) -> None:
    await make_people(engine)

    assert await listed(engine, **PRO) == ["ada", "bob", "di"]
    assert await listed(engine, path="attributes.seats", op="greater", value=10) == ["ada", "di"]
    assert await listed(engine, has="sms") == ["cy"]
    assert await listed(engine, all=True) == ["ada", "bob", "cy", "di"]
    assert await listed(engine, path="createdAt", op="after", value="1 hour ago") == ["ada", "bob", "cy", "di"]
    with pytest.raises(ContactsInvalid, match=r"where\.any\[0\]\.plan: is unknown"):
        await listed(engine, any=[{"plan": "pro"}])


async def test_a_filter_excludes_also_those_who_are_named(engine: Engine) -> None:
    people = await make_people(engine)
    audience = {**PRO, "contactIds": ["cy", "di"], "exclude": {"tags": {"any": ["test"]}}}
    segment = await engine.segments.create(ANN, {"name": "pros", "audience": audience})

    assert (await engine.segments.count(HOME, segment.id)).matching == 3
    assert segment.in_words == "contacts whose plan is pro and 2 named contacts, without those with the tag test"
    sequence = await make_sequence(engine, caller=ANN)
    tried = await engine.enrollments.batch_enroll(ANN, sequence, audience, dry_run=True)
    done = await engine.enrollments.batch_enroll(ANN, sequence, audience)
    assert (tried.enrolled, done.enrolled, done.not_found) == (3, 3, 0)
    enrolled = (await engine.enrollments.list(HOME, sequence)).items
    assert {one.contact_id for one in enrolled} == {people[name] for name in ("ada", "bob", "cy")}


async def test_a_campaign_leaves_out_whom_it_or_its_segment_excludes(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_people(engine)
    audience = {**PRO, "exclude": {"tag": "test"}}
    segment = await engine.segments.create(ANN, {"name": "pros", "audience": audience})
    narrowed = {"segmentId": str(segment.id), "has": "email", "exclude": {"tag": "VIP"}, "contactIds": ["di"]}
    made = await engine.campaigns.create(ANN, letter(audience=narrowed))

    counted = await engine.campaigns.count(HOME, made.id)
    run = await work_until_ended(engine, clock, (await engine.campaigns.deploy(ANN, made.id)).id)

    assert made.in_words == (
        "contacts of the segment pros and with an address for email and 1 named contact, without those with the tag VIP"
    )
    assert counted.matching == 1
    assert numbers(run, "planned", "sent") == [1, 1]
    assert [call.recipient for call in provider.calls] == ["bob@example.com"]


async def test_relative_times_are_counted_from_when_the_run_begins(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """The trial ends in a week; what asks for three days finds it in a run that begins in five."""
    await make_people(engine)
    made = await engine.campaigns.create(ANN, letter(audience=ENDING))

    with pytest.raises(CampaignInvalid, match="matches nobody"):
        await engine.campaigns.deploy(ANN, made.id)
    run = (await engine.campaigns.deploy(ANN, made.id, scheduled_for=clock.time + timedelta(days=5))).id
    clock.advance(days=30)

    assert numbers(await work_until_ended(engine, clock, run), "planned") == [1]


async def test_every_chunk_of_a_run_asks_as_at_its_beginning(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """A worker comes ten days late: the run still means those whom it meant when it began."""
    await make_people(engine)
    fresh = {"path": "createdAt", "op": "after", "value": "2 days ago"}
    made = await engine.campaigns.create(ANN, letter(audience=fresh))
    run = (await engine.campaigns.deploy(ANN, made.id)).id
    clock.advance(days=10)

    assert numbers(await work_until_ended(engine, clock, run), "planned") == [4]


async def test_enrollments_are_paused_by_a_filter_on_their_contacts(engine: Engine) -> None:
    await make_people(engine)
    sequence = await make_sequence(engine, caller=ANN)
    await engine.enrollments.batch_enroll(ANN, sequence, {"all": True})

    def set_status(where: EnrollmentFilter) -> Any:
        return engine.enrollments.set_status_of_many(ANN, sequence, where, EnrollmentStatus.PAUSED)

    assert await set_status(EnrollmentFilter(contacts={"all": [PRO, {"has": "email"}]})) == 3
    with pytest.raises(EnrollmentInvalid, match=r"where\.contacts\.has: 'mail' is no way .* did you mean 'email'"):
        await set_status(EnrollmentFilter(contacts={"has": "mail"}))


BRANCHING: dict[str, Any] = {
    "entryNodeId": "which",
    "nodes": [
        {"id": "which", "type": "branch"},
        {"id": "yes", "type": "email", "to": "{{ contact.email }}", "subject": "yes", "body": "x"},
        {"id": "no", "type": "email", "to": "{{ contact.email }}", "subject": "no", "body": "x"},
    ],
}


@pytest.mark.parametrize(
    "condition",
    [
        {"tag": "VIP"},
        {"tags": {"any": ["vip"], "none": ["test"]}, "allows": "email"},
        {"not": {"consent": {"email": "withdrawn"}, "tag": "test"}},
        {"all": [{"path": "contact.attributes.seats", "op": "greater", "value": 10}, {"has": "email"}]},
        {"path": "contact.createdAt", "op": "after", "value": "1 hour ago"},
        {"path": "since", "op": "before", "value": "yesterday"},
    ],
)
async def test_a_branch_asks_the_contact_as_an_audience_does(
    condition: dict[str, Any], engine: Engine, provider: FakeProvider
) -> None:
    people = await make_people(engine, DEFAULT)
    edges = [{"from": "which", "to": "yes", "condition": condition}, {"from": "which", "to": "no"}]
    await engine.define("branching", {**BRANCHING, "edges": edges})

    await engine.executions.trigger(DEFAULT, "branching", {"since": "2026-02-01"}, "k1", contact_id=people["ada"])
    await engine.work_everything()

    assert [call.payload["subject"] for call in provider.calls] == ["yes"]
