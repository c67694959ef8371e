"""A sequence's next weeks: the draft before it is published, for the people as they are."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.enrolling import (
    CALLER,
    ELSEWHERE,
    HOME,
    make_contact,
    make_contacts,
    make_sequence,
    set_status,
    step,
    step_ids,
)
from tests.simulation.conftest import calls_of, really_send, state_of
from tidings.domain.errors import Conflict, DefinitionInvalid, NotFound
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import Where
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.simulation import simulate
from tidings.simulation.sequence import SimulatedSequence
from tidings.simulation.simulate import SimulationStage
from tidings.views.simulations import Simulation

EVERYONE = Audience(all=True)


async def run(
    engine: Engine, sequence: UUID, stage: SimulationStage, published: bool = False, **asked: object
) -> Simulation:
    subject = await SimulatedSequence.find(engine, HOME, sequence, published=published)
    return await simulate(engine, HOME, subject, Scenario(**asked), stage)  # type: ignore[arg-type]


async def test_days_0_3_and_7_land_on_days_0_3_and_7_in_every_zone_and_across_a_change_of_the_clocks(
    engine: Engine, clock: ManualClock, stage: SimulationStage
) -> None:
    """Berlin puts its clocks forward on 29 March: nine o'clock is 08:00 UTC before and 07:00 after."""
    clock.time = datetime(2026, 3, 26, 6, 0, tzinfo=UTC)
    for name, zone in (("ada", "Europe/Berlin"), ("ken", "Asia/Tokyo"), ("ben", None)):
        await make_contact(engine, name, **({"timeZone": zone} if zone else {}))
    draft = await make_sequence(engine, step(0, 9), step(3, 9), step(7, 9), publish=False, timezone="contact")

    found = await run(engine, draft, stage)

    times = {(hour.day, hour.hour): hour.count for hour in found.calendar}
    assert times == {
        (date(2026, 3, 26), 6): 1,  # nine o'clock in Tokyo is past, so it is due at once
        (date(2026, 3, 26), 8): 1,
        (date(2026, 3, 26), 9): 1,
        (date(2026, 3, 29), 0): 1,
        (date(2026, 3, 29), 7): 1,
        (date(2026, 3, 29), 9): 1,
        (date(2026, 4, 2), 0): 1,
        (date(2026, 4, 2), 7): 1,
        (date(2026, 4, 2), 9): 1,
    }
    assert (found.version, found.ended) == (None, {"completed": 3})
    assert [one.label for one in found.steps] == ["1. day 0", "2. day 3", "3. day 7"]


async def test_a_simulated_run_and_a_real_one_give_the_same_list_of_sends(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stage: SimulationStage
) -> None:
    zones = ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC"]
    people = [await make_contact(engine, f"p{n}", timeZone=zones[n % 4], attributes={"n": n}) for n in range(8)]
    await engine.contacts.update(CALLER, people[3], {"suppressions": {"email": "unsubscribed"}})
    sequence = await make_sequence(
        engine,
        step(0, subject="Hi {{ contact.name }}", content="{{ contact.id }} {{ contact.attributes.n }}"),
        step(2, 9, content="{% if contact.timeZone %}{{ contact.timeZone }}{% endif %}"),
        step(5, 17),
        timezone="contact",
    )
    found = await run(engine, sequence, stage, days=8, messages_of=tuple(people))

    await engine.enrollments.batch_enroll(CALLER, sequence, {"all": True})
    real = await really_send(engine, clock, provider, clock.time + timedelta(days=8))

    assert calls_of(found) == real
    assert len(real) == 7 * 3


async def test_nothing_leaves_and_nothing_in_the_live_tables_changes(
    engine: Engine, provider: FakeProvider, stage: SimulationStage, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    [somebody, *_] = await make_contacts(engine, 5)
    live = await make_sequence(engine)
    await engine.enrollments.enroll(CALLER, live, somebody)
    draft = await make_sequence(engine, name="Other", publish=False)
    before = await state_of(sql)

    for sequence in (live, draft):
        assert (await run(engine, sequence, stage)).sent == 10

    assert await state_of(sql) == before
    assert provider.calls == []


async def test_who_is_skipped_is_told_with_the_reason(engine: Engine, stage: SimulationStage) -> None:
    await make_contact(engine, "ada")
    await make_contact(engine, "ben", suppressions={"email": "bounced"})
    await make_contact(engine, "cyd", consent={"email": "withdrawn"})
    await make_contact(engine, "dee", email=None)
    sequence = await make_sequence(engine, step(0))
    [only] = await step_ids(engine, sequence)

    found = await run(engine, sequence, stage)

    assert (found.sent, found.skipped) == (1, 3)
    assert {(one.step, one.reason, one.count) for one in found.skipped_because} == {
        (only, "suppressed: bounced", 1),
        (only, "consent withdrawn", 1),
        (only, "the contact has no e-mail address", 1),
    }


async def test_the_messages_of_a_contact_are_shown_as_they_would_be(engine: Engine, stage: SimulationStage) -> None:
    await make_contacts(engine, 10)
    ada = await make_contact(engine, "ada", attributes={"plan": "pro"})
    sequence = await make_sequence(
        engine,
        step(0, subject="Hi {{ contact.name }}", content="Your plan: {{ contact.attributes.plan }} ({{ contact.id }})"),
        step(1, channel="sms", content="Bye"),
    )

    found = await run(engine, sequence, stage, sample=3, messages_of=(ada,))

    hello, bye = found.messages
    assert hello.payload == {"body": f"Your plan: pro ({ada})", "subject": "Hi Ada"}
    assert [hello.step, bye.step] == await step_ids(engine, sequence)
    assert (bye.status, bye.reason) == ("skipped", "the contact has no phone number")
    assert (found.audience, found.contacts) == (11, 3)
    assert [str(one) for one in found.missing] == [
        "contact.attributes.plan is missing for 2 of 3 contacts; write {{ contact.attributes.plan | default: … }}"
    ]


async def test_a_draft_beside_a_published_version_is_simulated_unless_told_otherwise(
    engine: Engine, stage: SimulationStage
) -> None:
    await make_contacts(engine, 1)
    sequence = await make_sequence(engine, step(0), step(3))
    await engine.sequences.add_step(CALLER, sequence, step(9))

    draft = await run(engine, sequence, stage)
    published = await run(engine, sequence, stage, published=True)

    assert (draft.version, draft.sent) == (None, 3)
    assert (published.version, published.sent) == (1, 2)


async def test_a_paused_sequence_is_simulated_as_if_it_went_on(engine: Engine, stage: SimulationStage) -> None:
    await make_contacts(engine, 2)
    sequence = await make_sequence(engine)
    await set_status(engine, sequence, "paused")

    assert (await run(engine, sequence, stage)).sent == 4


async def test_only_those_who_match_are_enrolled(engine: Engine, stage: SimulationStage) -> None:
    await make_contacts(engine, 4)
    await make_contact(engine, "vip", tags=["vip"])
    sequence = await make_sequence(engine, step(0))

    found = await run(engine, sequence, stage, contacts=Audience(filters=(Where("tag", "vip"),)))

    assert (found.audience, found.contacts, found.sent) == (1, 1, 1)


async def test_what_could_not_be_published_or_is_not_there_is_told(engine: Engine, stage: SimulationStage) -> None:
    await make_contacts(engine, 1)
    empty = (await engine.sequences.create(CALLER, "Empty")).id
    draft = await make_sequence(engine, publish=False)

    with pytest.raises(DefinitionInvalid, match="steps"):
        await run(engine, empty, stage)
    with pytest.raises(Conflict, match="never published"):
        await run(engine, draft, stage, published=True)
    with pytest.raises(NotFound):
        await run(engine, uuid4(), stage)
    with pytest.raises(NotFound):
        await SimulatedSequence.find(engine, ELSEWHERE, draft)


async def test_a_step_at_no_hour_keeps_the_time_of_enrollment(
    engine: Engine, clock: ManualClock, stage: SimulationStage
) -> None:
    clock.time = datetime(2026, 3, 2, 14, 25, tzinfo=UTC)
    ada = await make_contact(engine)
    sequence = await make_sequence(engine, step(0), step(2))

    found = await run(engine, sequence, stage, messages_of=(ada,))

    assert [one.at for one in found.messages] == [clock.time, clock.time + timedelta(days=2)]


async def test_an_e_mail_without_a_subject_goes_out_under_the_sequence_s_name(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stage: SimulationStage
) -> None:
    """As the step of the drip sequences is printed: it has no subject, and a server takes no letter without one."""
    ada = await make_contact(engine)
    sequence = await make_sequence(engine, step(0), name="Welcome aboard")

    simulated = await run(engine, sequence, stage, days=1, messages_of=(ada,))
    await engine.enrollments.enroll(CALLER, sequence, ada)
    await engine.work_everything()

    assert [one.payload["subject"] for one in simulated.messages] == ["Welcome aboard"]
    assert [one.payload["subject"] for one in provider.calls] == ["Welcome aboard"]
