"""`client.campaigns`, `client.segments`, `client.runs` and `client.outbox` against the real API: every method once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.conftest import ManualClock
from tidings.client import Client, Conflict, Counts, Invalid, NotFound, Retrying, Run, WaitTimeout
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.domain.roles import Role
from tidings.engine import Engine, Workspace
from tidings.http.server import ApiServer
from tidings.providers.fake import FakeProvider

LETTER: dict[str, Any] = {
    "name": "Spring news",
    "channel": "email",
    "content": {"subject": "Hello {{ contact.name }}", "body": "News"},
}
PEOPLE = 4


@pytest.fixture
async def client(engine: Engine) -> AsyncIterator[Client]:
    """A client that may do everything, of a server on a real socket."""
    api = ApiServer(engine, Config(port=0))
    running = asyncio.create_task(api.run())
    made = await engine.access.create_key(Caller(Workspace(), "test"), "client", Role.SYSTEM_ADMIN)
    async with Client(api.url, made.secret, retrying=Retrying(attempts=2, base_seconds=0.01)) as client:
        yield client
    api.drain()
    await running


async def make_people(client: Client) -> None:
    """p1 to p4, of whom the first two are VIPs, and the last has no address."""
    contacts = [{"externalId": f"p{n}", "name": f"P{n}", "email": f"p{n}@example.com"} for n in range(1, PEOPLE)]
    await client.contacts.upsert([*contacts, {"externalId": f"p{PEOPLE}", "name": f"P{PEOPLE}"}])
    await client.contacts.upsert([{"externalId": f"p{n}", "tags": ["vip"]} for n in (1, 2)])


async def work(engine: Engine, clock: ManualClock) -> None:
    """Move what is due, and let the run look at its jobs."""
    for _ in range(3):
        await engine.work_everything()
        clock.advance(seconds=1)


async def deployed(client: Client, **more: Any) -> Run:
    campaign = await client.campaigns.create(**(LETTER | {"audience": {"all": True}} | more))
    return (await client.campaigns.deploy(campaign.id)).run


async def test_segments(client: Client) -> None:
    await make_people(client)

    made = await client.segments.create("vips", {"tag": "vip"})
    renamed = await client.segments.update(made.id, name="all", audience={"all": True})
    campaign = await client.campaigns.create(**LETTER, audience={"segmentId": str(made.id)})
    counted = await client.segments.count(made.id)

    assert (made.name, made.audience) == ("vips", {"tag": "vip"})
    assert (renamed.name, renamed.audience, renamed.id) == ("all", {"all": True}, made.id)
    assert await client.segments.get(made.id) == renamed
    assert [one.id async for one in client.segments.list(page_size=1)] == [made.id]
    assert (counted.matching, counted.reachable) == (PEOPLE, None)
    with pytest.raises(Conflict):
        await client.segments.delete(made.id)
    await client.campaigns.delete(campaign.id)
    await client.segments.delete(made.id)
    with pytest.raises(NotFound):
        await client.segments.get(made.id)
    with pytest.raises(Invalid) as refused:
        await client.segments.create("nobody", {})
    assert [one.place for one in refused.value.errors] == ["audience"]


async def test_campaigns(client: Client, engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await make_people(client)
    everybody = {"all": True}

    made = await client.campaigns.create(**LETTER, audience=everybody, rate=600, send_hour=None, max_lateness="PT2H")
    changed = await client.campaigns.update(made.id, rate=None, name="Autumn news")
    counted = await client.campaigns.count(made.id)
    ada = await client.contacts.find("p2")
    assert ada
    first, hers = await client.campaigns.preview(made.id), await client.campaigns.preview(made.id, ada.id)
    test = await client.campaigns.test(made.id, "me@example.com", ada.id)
    run, again = await client.campaigns.deploy(made.id), await client.campaigns.deploy(made.id)
    keyed = await client.campaigns.deploy(
        made.id, scheduled_for=clock.time + timedelta(days=1), idempotency_key="autumn-1"
    )
    await work(engine, clock)

    assert (made.rate, made.max_lateness, made.version, made.audience) == (600, "PT2H", 1, everybody)
    assert (changed.rate, changed.name, changed.version) == (None, "Autumn news", 2)
    assert await client.campaigns.get(made.id) == changed
    assert [one.id async for one in client.campaigns.list(name="Autumn news", channel="email")] == [made.id]
    assert [one async for one in client.campaigns.list(channel="sms")] == []
    assert (counted.matching, counted.reachable, counted.without_address, counted.refused) == (PEOPLE, 3, 1, 0)
    assert first.contact_id is not None
    assert (hers.recipients, hers.content, hers.error, hers.skipped) == (
        ["p2@example.com"],
        {"subject": "Hello P2", "body": "News"},
        None,
        None,
    )
    assert (test.test, test.campaign_id, run.run.test) == (True, made.id, False)
    assert (run.duplicate, again.duplicate, again.run.id) == (False, True, run.run.id)
    assert (keyed.run.idempotency_key, keyed.run.scheduled_for) == ("autumn-1", clock.time.replace(day=3, second=0))
    assert {call.recipient for call in provider.calls} == {"me@example.com", *(f"p{n}@example.com" for n in (1, 2, 3))}
    await client.campaigns.delete(made.id)
    for ask in (client.campaigns.get(made.id), client.campaigns.deploy(made.id), client.campaigns.count(uuid4())):
        with pytest.raises(NotFound):
            await ask
    with pytest.raises(Invalid) as refused:
        await client.campaigns.create(name="x", channel="email", content={"subject": "x"}, audience={})
    assert {one.place for one in refused.value.errors} >= {"audience"}


async def test_runs(client: Client, engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await make_people(client)
    provider.script = {"p1@example.com": [Rejected("550 no such user")]}
    run = await deployed(client)
    clock.advance(seconds=1)
    paused = await client.runs.pause(run.id)
    await work(engine, clock)
    with pytest.raises(WaitTimeout, match=f"run {run.id} is still running"):
        await client.runs.wait(run.id, poll=0.01, timeout=0.02)
    resumed = await client.runs.resume(run.id)
    clock.advance(seconds=1)  # what happens within one millisecond has no order
    await work(engine, clock)
    ended = await client.runs.wait(run.id, timeout=5.0)

    assert (paused.paused, resumed.paused, provider.calls != []) == (True, False, True)
    assert (ended.status, ended.has_ended, ended.status_text) == ("partial", True, "partial")
    assert ended.counts == Counts(planned=PEOPLE, sent=2, failed=1, skipped=1)
    assert await client.runs.get(run.id) == ended
    assert [one.id async for one in client.runs.list(campaign_id=run.campaign_id, status="partial")] == [run.id]
    jobs = [one async for one in client.runs.jobs(run.id, page_size=1)]
    assert (len(jobs), sum(one.counts.planned for one in jobs), {one.run_id for one in jobs}) == (
        ended.jobs,
        PEOPLE,
        {run.id},
    )
    [failed] = [one async for one in client.runs.items(run.id, status="failed")]
    lines = [one async for one in client.runs.trace(run.id)]
    assert (failed.recipient, failed.error, failed.run_id) == ("p1@example.com", "550 no such user", run.id)
    assert [one.outbox_id async for one in client.runs.trace(run.id, status="failed")] == [failed.id]
    assert {one.job_id for one in lines} == {one.id for one in jobs}
    history = await client.runs.history(run.id)
    assert [one.event for one in history if one.actor == "key:client"] == ["deployed", "pause", "resume"]
    assert (history[-1].event, history[-1].actor) == ("partial", "engine")
    of_job = [one async for one in client.runs.job_history(run.id, job_id=failed.job_id, page_size=1)]
    assert {one.job_id for one in of_job} == {failed.job_id}
    assert of_job[0].event == "queued"
    assert of_job[-1].event in {"partial", "failed"}


async def test_a_run_is_retried_cancelled_and_not_found(
    client: Client, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_people(client)
    provider.script = {"p1@example.com": [Rejected("550 no such user")]}
    run = await deployed(client, audience={"tag": "vip"})
    await work(engine, clock)

    plan = await client.runs.retry(run.id, error="no such", dry_run=True)
    retry = await client.runs.retry(run.id, idempotency_key="again")
    same = await client.runs.retry(run.id, idempotency_key="again")
    assert (plan.count, plan.by_error, plan.dry_run, plan.run) == (1, {"550 no such user": 1}, True, None)
    assert retry.run
    assert same.run
    assert (retry.count, retry.run.retry_of, retry.duplicate) == (1, run.id, False)
    assert (same.run.id, same.duplicate) == (retry.run.id, True)

    cancelled = await client.runs.cancel(retry.run.id)
    await work(engine, clock)
    ended = await client.runs.get(retry.run.id)
    assert (cancelled.cancelled, ended.has_ended, len(provider.calls)) == (True, True, 2)
    with pytest.raises(Conflict):
        await client.runs.resume(run.id)
    for ask in (client.runs.get(uuid4()), client.runs.retry(uuid4()), client.runs.history(uuid4())):
        with pytest.raises(NotFound):
            await ask
    with pytest.raises(NotFound):
        [one async for one in client.runs.job_history(uuid4())]


async def test_the_outbox(client: Client, engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    await make_people(client)
    provider.script = {f"p{n}@example.com": [Unknown("cut off")] for n in (1, 2)}
    run = await deployed(client)
    await work(engine, clock)

    doubtful = [one async for one in client.outbox.list(in_doubt=True, run_id=run.id, page_size=1)]
    [person] = [one async for one in client.contacts.list(text="p1@")]
    [meant] = [one async for one in client.outbox.list(contact_id=person.id, channel="email")]
    shown = await client.outbox.get(meant.id)
    assert {one.recipient for one in doubtful} == {"p1@example.com", "p2@example.com"}
    assert (meant.status, meant.in_doubt, meant.contact_id, meant.payload) == ("queued", True, person.id, None)
    assert shown.payload == {"subject": "Hello P1", "body": "News"}
    assert [one.outcome for one in shown.failed_attempts] == ["unknown"]
    assert [one.id async for one in client.contacts.items(person.id)] == [meant.id]

    resolved = await client.outbox.resolve(meant.id, "failed", "the provider knows nothing of it")
    rest = await client.runs.resolve(run.id, "sent", "their list has it")
    assert (resolved.status, resolved.history[0].event) == ("failed", "resolved_failed")
    assert (rest.resolved, rest.refused) == (1, 0)
    with pytest.raises(Conflict):
        await client.outbox.resolve(meant.id, "sent", "again")
    with pytest.raises(Invalid):
        await client.outbox.resolve(meant.id, "sent", "")
    with pytest.raises(NotFound):
        await client.outbox.get(uuid4())
    with pytest.raises(NotFound):
        [one async for one in client.contacts.items(uuid4())]
    await work(engine, clock)
    assert (await client.runs.wait(run.id, timeout=5.0)).counts.in_doubt == 0
