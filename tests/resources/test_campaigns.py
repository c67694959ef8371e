"""Campaigns as people make, try out and deploy them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, assert_kept
from tests.resources.asking import audited, items_of, runs_of
from tests.resources.campaign_scenes import (
    ANN,
    BOB,
    CLARA,
    deploy,
    letter,
    make_contacts,
    numbers,
    work_until_ended,
)
from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.errors import CampaignInvalid, Conflict, NotFound
from tidings.domain.flow.item import Fence, ItemStatus
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter
from tidings.storage.deploy import pace_items


async def skipped_for(engine: Engine, run: UUID) -> set[str | None]:
    """The reasons for which items of a run were skipped."""
    where = OutboxFilter(status=ItemStatus.SKIPPED, run_id=run)
    return {one.error for one in await items_of(engine, ANN.workspace, where)}


async def call_times(engine: Engine) -> list[datetime]:
    return sorted(one.first_called_at for one in await items_of(engine, ANN.workspace) if one.first_called_at)


async def test_a_campaign_reaches_every_contact_once_with_what_is_about_them(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    people = await make_contacts(engine, 20)
    run = await deploy(engine)

    shown = await work_until_ended(engine, clock, run)

    assert shown.status is RunStatus.COMPLETED
    assert numbers(shown, "planned", "sent", "queued", "skipped", "failed", "in_doubt") == [20, 20, 0, 0, 0, 0]
    assert sorted(call.recipient for call in provider.calls) == sorted(f"p{n}@example.com" for n in range(1, 21))
    assert {call.payload["subject"] for call in provider.calls} == {f"Hello Person {n}" for n in range(1, 21)}
    assert len(people) == 20
    await assert_kept(engine)


async def test_who_has_no_address_is_skipped_with_the_reason_and_counted(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 3)
    await engine.contacts.upsert_many(ANN, [{"externalId": "mute", "phone": "+442071838750"}])
    run = await deploy(engine)

    shown = await work_until_ended(engine, clock, run)

    assert shown.status is RunStatus.COMPLETED
    assert numbers(shown, "planned", "sent", "skipped") == [4, 3, 1]
    assert await skipped_for(engine, run) == {"the contact has no e-mail address"}
    await assert_kept(engine)


async def test_a_run_of_nobody_but_the_unreachable_completes(engine: Engine, clock: ManualClock) -> None:
    await engine.contacts.upsert_many(ANN, [{"externalId": "mute"}])

    shown = await work_until_ended(engine, clock, await deploy(engine))

    assert (shown.status, shown.counts.skipped) == (RunStatus.COMPLETED, 1)


async def test_every_push_token_gets_its_own_item(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await engine.contacts.upsert_many(
        ANN,
        [
            {"externalId": "a", "pushTokens": ["t1", "t2"]},
            {"externalId": "b"},
            {"externalId": "c", "pushTokens": ["t3"]},
        ],
    )

    run = await deploy(engine, channel="push", content={"title": "Hi", "body": "News"})
    shown = await work_until_ended(engine, clock, run)

    assert sorted(call.recipient for call in provider.calls) == ["t1", "t2", "t3"]
    assert numbers(shown, "planned", "sent", "skipped") == [4, 3, 1]


async def test_whatsapp_falls_back_to_the_phone_number_and_voice_is_called(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await engine.contacts.upsert_many(
        ANN, [{"externalId": "a", "phone": "+442071838750"}, {"externalId": "b", "whatsapp": "+442071838751"}]
    )

    await work_until_ended(engine, clock, await deploy(engine, channel="whatsapp", content={"body": "News"}))
    calls = await deploy(engine, channel="voice", content={"script": "Good day", "version": 3})
    shown = await work_until_ended(engine, clock, calls)

    assert sorted(call.recipient for call in provider.calls[:2]) == ["+442071838750", "+442071838751"]
    assert numbers(shown, "planned", "called", "skipped") == [2, 1, 1]
    assert await sql.fetchval("select content_id from runs where id = $1", calls) == "3"
    assert {job.job_type for job in (await engine.runs.jobs(ANN.workspace, calls)).items} == {"voice_call_batch"}


async def test_social_posts_go_to_each_account_once(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    posts = [{"id": "p1", "body": "We are {{ age }}", "accounts": ["@a", "@b"]}, {"body": "Hi", "accounts": ["@a"]}]

    run = await deploy(engine, channel="social", content={"posts": posts}, audience=None, data={"age": 7})
    shown = await work_until_ended(engine, clock, run)

    assert sorted((call.recipient, call.payload["body"]) for call in provider.calls) == [
        ("@a", "Hi"),
        ("@a", "We are 7"),
        ("@b", "We are 7"),
    ]
    assert numbers(shown, "planned", "posted") == [3, 3]
    assert {job.job_type for job in (await engine.runs.jobs(ANN.workspace, run)).items} == {"social_post_batch"}


# Whom


async def test_filters_are_joined_united_with_ids_and_exclusions_win(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await engine.contacts.upsert_many(
        ANN,
        [
            {"externalId": name, "email": f"{name}@example.com", "tags": tags, "company": company}
            for name, tags, company in [
                ("a", ["vip"], "Acme"),
                ("b", ["vip"], "Beta"),
                ("c", [], "Acme"),
                ("d", [], "Beta"),
                ("e", ["vip"], "Acme"),
            ]
        ],
    )
    ids = {name: str((await engine.contacts.find(ANN.workspace, name)).id) for name in "abcde"}
    audience = {"tag": "vip", "company": "Acme", "contactIds": [ids["d"], ids["a"]], "excludeContactIds": [ids["e"]]}

    made = await engine.campaigns.create(ANN, letter(audience=audience, content={"subject": "Hi", "body": "News"}))
    count = await engine.campaigns.count(ANN.workspace, made.id)
    run = (await engine.campaigns.deploy(ANN, made.id)).id
    await work_until_ended(engine, clock, run)

    assert sorted(call.recipient for call in provider.calls) == ["a@example.com", "d@example.com"]
    assert (count.matching, count.reachable) == (2, 2)


async def test_a_segment_is_looked_at_when_it_is_used(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    segment = await engine.segments.create(ANN, {"name": "vips", "audience": {"tag": "vip"}})
    made = await engine.campaigns.create(ANN, letter(audience={"segmentId": str(segment.id)}))
    await engine.contacts.upsert_many(
        ANN, [{"externalId": "a", "email": "a@example.com", "name": "A", "tags": ["vip"]}, {"externalId": "b"}]
    )

    await work_until_ended(engine, clock, (await engine.campaigns.deploy(ANN, made.id)).id)

    assert [call.recipient for call in provider.calls] == ["a@example.com"]
    assert (await engine.segments.count(ANN.workspace, segment.id)).matching == 1
    with pytest.raises(Conflict, match="audience of 'spring'"):
        await engine.segments.delete(ANN, segment.id)


async def test_contacts_made_after_the_deploy_are_left_out(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 2)
    made = await engine.campaigns.create(ANN, letter())
    run = (await engine.campaigns.deploy(ANN, made.id, scheduled_for=clock.time + timedelta(hours=1))).id
    clock.advance(minutes=30)
    await engine.contacts.upsert_many(ANN, [{"externalId": "late", "email": "late@example.com"}])

    shown = await work_until_ended(engine, clock, run)

    assert numbers(shown, "planned", "sent") == [2, 2]
    assert clock.time >= datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


async def test_who_unsubscribes_before_their_turn_is_skipped(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    [first, *_] = await make_contacts(engine, 3)
    run = await deploy(engine, rate=1)
    await engine.contacts.update(ANN, first, {"suppressions": {"email": "unsubscribed"}})

    shown = await work_until_ended(engine, clock, run)

    assert numbers(shown, "planned", "sent", "skipped") == [3, 2, 1]
    assert await skipped_for(engine, run) == {"suppressed: unsubscribed"}
    await assert_kept(engine)


# When


async def test_a_rate_is_kept_to_the_minute(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await make_contacts(engine, 30)
    begun = clock.time
    run = await deploy(engine, rate=10)

    await work_until_ended(engine, clock, run)

    times = await call_times(engine)
    assert len(times) == 30
    for start in range(4):
        window = [at for at in times if timedelta(minutes=start) <= at - begun < timedelta(minutes=start + 1)]
        assert len(window) <= 10
    assert times[-1] - begun >= timedelta(minutes=2)


async def test_rule_2_an_item_gets_another_time_only_under_the_lease_and_before_its_first_call(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    await make_contacts(engine, 1)
    await deploy(engine, rate=1)
    for shard in engine.kernel.every_shard():
        await engine.work(shard, Lane.RUNS)
    clock.advance(minutes=1)
    [job] = [one for shard in engine.kernel.every_shard() for one in await engine.claim(shard, Lane.CAMPAIGNS)]
    [item] = [one.id for one in await items_of(engine, ANN.workspace)]
    shard = engine.kernel.shard_of(job.id)

    async def pace(fence: int) -> bool:
        later = clock.time + timedelta(hours=1)
        async with engine.kernel.db.transaction() as tx:
            fences = [Fence(fence)]
            return bool(await pace_items(tx, shard=shard, ids=[item], owners=[job.id], fences=fences, retry_at=[later]))

    with_a_lost_lease, with_the_lease = await pace(job.fence - 1), await pace(job.fence)
    await sql.execute(
        "update outbox set marked_attempt = 1, marked_at = $1, marked_fence = 1, payload = '{}'", clock.time
    )
    once_marked = await pace(job.fence)

    assert (with_a_lost_lease, with_the_lease, once_marked) == (False, True, False)


async def test_after_a_pause_a_run_with_a_rate_is_no_faster(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 40)
    run = await deploy(engine, rate=10)
    await engine.work_everything()
    await engine.runs.pause(ANN, run)
    clock.advance(hours=3)
    await engine.runs.resume(ANN, run)
    resumed = clock.time
    sent_before = len(provider.calls)

    shown = await work_until_ended(engine, clock, run)

    times = [at for at in await call_times(engine) if at >= resumed]
    assert len(times) == 40 - sent_before
    for at in times:
        assert len([one for one in times if at <= one < at + timedelta(minutes=1)]) <= 12
    assert numbers(shown, "planned", "sent") == [40, 40]


async def test_an_hour_is_each_contacts_own(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    zones = {"a": "Europe/Berlin", "b": "America/New_York", "c": None}
    await engine.contacts.upsert_many(
        ANN, [{"externalId": one, "email": f"{one}@example.com", "timeZone": zone} for one, zone in zones.items()]
    )
    run = await deploy(engine, sendHour=9, content={"subject": "Hi", "body": "News"})

    await work_until_ended(engine, clock, run)

    called = {one.recipient: one.first_called_at for one in await items_of(engine, ANN.workspace)}
    hours = {recipient: at and at.replace(microsecond=0) for recipient, at in called.items()}
    assert hours == {
        "a@example.com": datetime(2026, 3, 3, 8, 0, tzinfo=UTC),
        "b@example.com": datetime(2026, 3, 2, 14, 0, tzinfo=UTC),
        "c@example.com": datetime(2026, 3, 2, 9, 0, tzinfo=UTC),
    }


async def test_what_is_too_late_is_skipped_with_the_reason(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 4)
    run = await deploy(engine, maxLateness="PT1H")
    clock.advance(hours=2)  # nobody worked meanwhile

    shown = await work_until_ended(engine, clock, run)

    assert numbers(shown, "planned", "skipped", "sent") == [4, 4, 0]
    assert await skipped_for(engine, run) == {
        "late by 2:00:00: it was planned for 2026-03-02T09:00:00+00:00, and may be late by 1:00:00"
    }
    assert provider.calls == []
    await assert_kept(engine)


# Deploying


async def test_deploying_twice_without_a_change_is_one_run_and_a_key_makes_another(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 2)
    made = await engine.campaigns.create(ANN, letter())

    first = await engine.campaigns.deploy(ANN, made.id)
    second = await engine.campaigns.deploy(ANN, made.id)
    other = await engine.campaigns.deploy(ANN, made.id, idempotency_key="again")
    await engine.campaigns.update(ANN, made.id, {"content": {"subject": "Hi", "body": "Other news"}})
    third = await engine.campaigns.deploy(ANN, made.id)

    assert (second.id, second.duplicate, first.duplicate) == (first.id, True, False)
    assert len({first.id, other.id, third.id}) == 3


async def test_two_deploys_at_once_are_one_run(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await make_contacts(engine, 5)
    made = await engine.campaigns.create(ANN, letter())

    both = await asyncio.gather(*(engine.campaigns.deploy(ANN, made.id) for _ in range(5)))
    await work_until_ended(engine, clock, both[0].id)

    assert len({one.id for one in both}) == 1
    assert [one.duplicate for one in both].count(False) == 1
    assert len(provider.calls) == 5
    assert await sql.fetchval("select count(*) from run_parts") == engine.kernel.shards


async def test_a_run_keeps_what_it_was_deployed_with(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 2)
    made = await engine.campaigns.create(ANN, letter())
    run = (await engine.campaigns.deploy(ANN, made.id)).id
    await engine.campaigns.update(
        ANN, made.id, {"content": {"subject": "Hi", "body": "Other"}, "audience": {"tag": "none"}}
    )
    await engine.campaigns.delete(ANN, made.id)

    shown = await work_until_ended(engine, clock, run)

    assert {call.payload["body"] for call in provider.calls} == {"News"}
    assert shown.counts.sent == 2


async def test_bad_deploys_are_refused_before_anything_is_stored(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    made = await engine.campaigns.create(ANN, letter(maxLateness=3600))
    with pytest.raises(CampaignInvalid, match="matches nobody"):
        await engine.campaigns.deploy(ANN, made.id)
    await make_contacts(engine, 1)
    with pytest.raises(CampaignInvalid, match="longer than maxLateness"):
        await engine.campaigns.deploy(ANN, made.id, scheduled_for=clock.time - timedelta(hours=2))
    with pytest.raises(CampaignInvalid, match="time zone"):
        await engine.campaigns.deploy(ANN, made.id, scheduled_for=datetime(2030, 1, 1))
    with pytest.raises(NotFound):
        await engine.campaigns.deploy(BOB, made.id)

    assert await runs_of(engine, ANN.workspace) == await runs_of(engine, BOB.workspace) == []
    assert await sql.fetchval("select count(*) from run_parts") == 0


@pytest.mark.parametrize("by", ["all", "status", "company", "tag", "contactIds", "segmentId"])
async def test_a_campaign_reaches_nobody_of_another_workspace_whatever_its_audience_and_tenant(
    engine: Engine, clock: ManualClock, provider: FakeProvider, by: str
) -> None:
    alike: dict[str, Any] = {"status": "lead", "company": "Acme", "tags": ["vip"]}
    people = await make_contacts(engine, 8, **alike)
    for stranger in (CLARA, BOB):
        await make_contacts(engine, 8, stranger, **alike)
    segment = await engine.segments.create(ANN, {"name": "vips", "audience": {"tag": "vip"}})
    audience = {
        "all": True,
        "status": "lead",
        "company": "Acme",
        "tag": "vip",
        "contactIds": [str(id) for id in people],
        "segmentId": str(segment.id),
    }
    made = await engine.campaigns.create(ANN, letter(audience={by: audience[by]}))
    count = await engine.campaigns.count(ANN.workspace, made.id)

    shown = await work_until_ended(engine, clock, (await engine.campaigns.deploy(ANN, made.id)).id)

    assert (count.matching, shown.counts.sent) == (8, 8)
    assert {call.workspace for call in provider.calls} == {ANN.workspace}
    assert {item.contact_id for item in (await engine.outbox.list(ANN.workspace)).items} == {*people}


@pytest.mark.parametrize("stranger", [BOB, CLARA], ids=["of another tenant", "of the same tenant"])
async def test_another_workspace_sees_and_reaches_nothing(engine: Engine, stranger: Caller) -> None:
    [contact] = await make_contacts(engine, 1)
    made = await engine.campaigns.create(ANN, letter())

    for ask in (
        engine.campaigns.get(stranger.workspace, made.id),
        engine.campaigns.update(stranger, made.id, {"name": "mine"}),
        engine.campaigns.delete(stranger, made.id),
        engine.campaigns.count(stranger.workspace, made.id),
        engine.campaigns.preview(stranger.workspace, made.id),
        engine.campaigns.test(stranger, made.id, "x@example.com"),
    ):
        with pytest.raises(NotFound):
            await ask
    with pytest.raises(CampaignInvalid, match="no contact"):
        await engine.campaigns.create(stranger, letter(audience={"contactIds": [str(contact)]}))
    assert (await engine.campaigns.list(stranger.workspace)).items == []


# Trying out


async def test_a_preview_shows_what_a_contact_would_get_and_why_not(engine: Engine) -> None:
    [contact] = await make_contacts(engine, 1)
    [mute] = [one.id for one in await engine.contacts.upsert_many(ANN, [{"externalId": "mute"}])]
    made = await engine.campaigns.create(ANN, letter())

    [shown] = await engine.campaigns.preview(ANN.workspace, made.id, contact)
    [skipped] = await engine.campaigns.preview(ANN.workspace, made.id, mute)
    await engine.contacts.update(ANN, contact, {"consent": {"email": "withdrawn"}})
    [refused] = await engine.campaigns.preview(ANN.workspace, made.id, contact)

    assert (shown.recipients, shown.content["subject"], shown.skipped) == (["p1@example.com"], "Hello Person 1", None)
    assert skipped.skipped == "the contact has no e-mail address"
    assert refused.skipped == "consent withdrawn"
    with pytest.raises(CampaignInvalid, match="no contact"):
        await engine.campaigns.preview(ANN.workspace, made.id, uuid4())


async def test_a_test_goes_to_the_given_address_with_a_contacts_data(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_contacts(engine, 1)
    made = await engine.campaigns.create(ANN, letter())

    started = await engine.campaigns.test(ANN, made.id, "me@example.com")
    shown = await work_until_ended(engine, clock, started.id)

    assert [(call.recipient, call.payload["subject"]) for call in provider.calls] == [
        ("me@example.com", "Hello Person 1")
    ]
    assert shown.test


async def test_the_count_says_who_cannot_be_reached(engine: Engine) -> None:
    [first, *_] = await make_contacts(engine, 4)
    await engine.contacts.upsert_many(ANN, [{"externalId": "mute"}])
    await engine.contacts.update(ANN, first, {"suppressions": {"email": "bounced"}})
    made = await engine.campaigns.create(ANN, letter())

    count = await engine.campaigns.count(ANN.workspace, made.id)

    assert (count.matching, count.reachable, count.without_address, count.refused) == (5, 3, 1, 1)


async def test_every_change_is_in_the_audit_log(engine: Engine, clock: ManualClock) -> None:
    made = await engine.campaigns.create(ANN, letter())
    clock.advance(seconds=1)
    await engine.campaigns.update(ANN, made.id, {"name": "autumn"})
    same = await engine.campaigns.update(ANN, made.id, {"name": "autumn"})
    clock.advance(seconds=1)
    await engine.campaigns.delete(ANN, made.id)

    lines = await audited(engine, ANN, subject=made.id)
    assert [(one.event, one.actor) for one in lines] == [("created", "ann"), ("updated", "ann"), ("deleted", "ann")]
    assert same.version == 2
