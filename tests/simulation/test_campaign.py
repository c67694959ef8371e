"""A campaign's next days, as if it were deployed: the real deploy, to the people of its audience as they are."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.enrolling import CALLER, ELSEWHERE, HOME, make_contact, make_contacts
from tests.simulation.conftest import calls_of, really_send, state_of
from tidings.domain.errors import CampaignInvalid, InputInvalid, NotFound, ScenarioInvalid
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import Where
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.simulation import simulate
from tidings.simulation.campaign import SimulatedCampaign
from tidings.simulation.simulate import SimulationStage
from tidings.views.simulations import Simulation


async def make_campaign(engine: Engine, **more: Any) -> UUID:
    content = {"subject": "Hello", "body": "Dear {{ contact.name }}, this is {{ campaign.id }}"}
    given = {"name": "spring", "channel": "email", "content": content, "audience": {"all": True}} | more
    return (await engine.campaigns.create(CALLER, given)).id


async def run(engine: Engine, campaign: UUID, stage: SimulationStage, **asked: Any) -> Simulation:
    subject = await SimulatedCampaign.find(engine, HOME, campaign)
    return await simulate(engine, HOME, subject, Scenario(**asked), stage)


async def test_a_simulated_run_and_a_real_one_send_the_same_at_everybodys_own_hour(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stage: SimulationStage
) -> None:
    zones = ["Europe/Berlin", "America/New_York", "Asia/Tokyo", None]
    people = [await make_contact(engine, f"p{n}", timeZone=zones[n % 4], tags=["vip"]) for n in range(8)]
    await make_contact(engine, "other")
    await engine.contacts.update(CALLER, people[3], {"suppressions": {"email": "unsubscribed"}})
    segment = await engine.segments.create(CALLER, {"name": "vips", "audience": {"tag": "vip"}})
    campaign = await make_campaign(engine, audience={"segmentId": str(segment.id)}, sendHour=9)

    found = await run(engine, campaign, stage, messages_of=tuple(people))
    await engine.campaigns.deploy(CALLER, campaign)
    real = await really_send(engine, clock, provider, clock.time + timedelta(days=2))

    assert calls_of(found) == real
    assert len({at for at, *_ in real}) == 4
    assert len(real) == 7
    assert (found.kind, found.version, found.audience, found.ended) == ("campaign", 1, 8, {"completed": 1})


async def test_a_simulated_run_and_a_real_one_keep_the_same_rate(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stage: SimulationStage
) -> None:
    people = await make_contacts(engine, 12)
    campaign = await make_campaign(engine, rate=60)

    found = await run(engine, campaign, stage, messages_of=tuple(people))
    await engine.campaigns.deploy(CALLER, campaign)
    real = await really_send(engine, clock, provider, clock.time + timedelta(minutes=2))

    assert calls_of(found) == real
    assert len({at for at, *_ in real}) == 12


async def test_a_sample_takes_as_long_as_everybody_will(engine: Engine, stage: SimulationStage) -> None:
    await make_contacts(engine, 20)
    campaign = await make_campaign(engine, rate=20)

    found = await run(engine, campaign, stage, sample=5)

    [step] = found.steps
    assert (found.contacts, found.audience, step.sent) == (5, 20, 5)
    assert step.last_at == (step.first_at or found.start) + timedelta(seconds=48)  # one in twelve seconds


async def test_very_many_are_taken_in_steps_and_the_rate_is_kept(
    engine: Engine, stage: SimulationStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.simulation.campaign.MOST_PLACES", 3)
    people = await make_contacts(engine, 30)
    campaign = await make_campaign(engine, rate=60)

    found = await run(engine, campaign, stage, messages_of=tuple(people))

    times = sorted({one.at for one in found.messages})
    assert found.sent == 30
    assert 3 <= len(times) < 10  # steps of ten seconds; the shards' shares are not the same
    assert times[-1] - found.start >= timedelta(seconds=25)


async def test_nothing_leaves_and_nothing_in_the_live_tables_changes(
    engine: Engine, provider: FakeProvider, stage: SimulationStage, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await make_contacts(engine, 3)
    campaign = await make_campaign(engine)
    await engine.campaigns.deploy(CALLER, campaign)
    before = await state_of(sql)

    assert (await run(engine, campaign, stage)).sent == 3

    assert await state_of(sql) == before
    assert provider.calls == []


async def test_the_calendar_the_skipped_and_a_contact_s_message_are_told(
    engine: Engine, clock: ManualClock, stage: SimulationStage
) -> None:
    clock.time = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    ada = await make_contact(engine, "ada")
    await make_contact(engine, "ben", suppressions={"email": "bounced"})
    await make_contact(engine, "cyd", email=None)
    campaign = await make_campaign(engine)
    at = datetime(2026, 3, 4, 17, 0, tzinfo=UTC)

    found = await run(engine, campaign, stage, scheduled_for=at, messages_of=(ada,))

    assert [(one.day, one.hour, one.step, one.count) for one in found.calendar] == [
        (date(2026, 3, 4), 17, "message", 1)
    ]
    assert {(one.step, one.reason, one.count) for one in found.skipped_because} == {
        ("message", "suppressed: bounced", 1),
        ("message", "the contact has no e-mail address", 1),
    }
    [message] = found.messages
    assert (message.at, message.payload["body"]) == (at, f"Dear Ada, this is {campaign}")


async def test_others_than_its_audience_may_be_named(engine: Engine, stage: SimulationStage) -> None:
    await make_contacts(engine, 3)
    vip = await make_contact(engine, "vip", tags=["vip"])
    campaign = await make_campaign(engine, audience={"tag": "nobody"})

    found = await run(engine, campaign, stage, contacts=Audience(filters=(Where("tag", "vip"),)), messages_of=(vip,))

    assert (found.audience, found.sent) == (1, 1)


async def test_a_social_campaign_is_for_nobody_and_all_its_posts_are_shown(
    engine: Engine, stage: SimulationStage
) -> None:
    posts = [{"body": "We are open", "accounts": ["a", "b"]}, {"body": "Come in", "accounts": ["a"]}]
    campaign = await make_campaign(engine, channel="social", content={"posts": posts}, audience=None)

    found = await run(engine, campaign, stage)

    assert (found.audience, found.contacts, found.sent) == (None, 0, 3)
    assert sorted((one.recipient, one.payload["body"]) for one in found.messages) == [
        *(("a", "Come in"), ("a", "We are open"), ("b", "We are open")),
    ]
    assert [(one.step, one.label) for one in found.steps] == [("post", "post")]
    with pytest.raises(ScenarioInvalid, match="a social campaign has no contacts"):
        await run(engine, campaign, stage, contacts=Audience(all=True))


async def test_what_cannot_be_deployed_or_is_not_there_is_told(
    engine: Engine, clock: ManualClock, stage: SimulationStage
) -> None:
    stranger = await make_contact(engine, "stranger")
    empty = await make_campaign(engine, audience={"tag": "nobody"})
    brief = await make_campaign(engine, name="brief", maxLateness="PT1H")

    with pytest.raises(InputInvalid, match="no contacts"):
        await run(engine, empty, stage)
    with pytest.raises(InputInvalid, match="messagesOf: stranger would get nothing: not in the audience"):
        await run(engine, empty, stage, messages_of=(stranger,))
    with pytest.raises(CampaignInvalid, match="everybody would be skipped"):
        await run(engine, brief, stage, scheduled_for=clock.time - timedelta(hours=2))
    with pytest.raises(ScenarioInvalid, match="scheduledFor"):
        await run(engine, brief, stage, scheduled_for=datetime(2026, 3, 2))
    with pytest.raises(NotFound):
        await run(engine, uuid4(), stage)
    with pytest.raises(NotFound):
        await SimulatedCampaign.find(engine, ELSEWHERE, empty)
