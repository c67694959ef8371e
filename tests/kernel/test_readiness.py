"""Which provider serves a channel is a fact in the database, not of the process that asks (rule 18)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, assert_kept, claim, crash_in_call, deploy, plan_runs, row, start_many, work
from tidings.domain.caller import Caller
from tidings.domain.errors import ChannelNotReady
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.provider import Keyed
from tidings.domain.flow.queue import Lane
from tidings.engine import Deployment, Engine, Recipient
from tidings.kernel.kernel import Kernel
from tidings.kernel.presence import services_of
from tidings.kernel.readiness import declare_routes
from tidings.kernel.render.renderer import Renderer
from tidings.providers.fake import FakeProvider
from tidings.storage import workers
from tidings.storage.database import Database
from tidings.storage.workers import ListedWorker

ANN = Caller(Workspace(), "ann")
TEXT = {
    "entryNodeId": "text",
    "nodes": [{"id": "text", "type": "sms", "to": "+4917012345", "body": "Hello"}],
    "edges": [],
}
MakeProcess = Callable[..., Awaitable[Engine]]


@pytest.fixture
async def process(db: Database, clock: ManualClock) -> AsyncIterator[MakeProcess]:
    """An engine as a process has it that was given these providers, and routes to them; without any, it has none."""
    made: list[Engine] = []

    async def make(*providers: FakeProvider, **routes: str) -> Engine:
        given = {Channel(channel): name for channel, name in routes.items()}
        kernel = Kernel(db, clock, 4, {one.name: one for one in providers}, given, Renderer())
        await declare_routes(kernel)
        made.append(Engine(kernel))
        return made[-1]

    yield make
    for one in made:
        await one.kernel.notifier.close()
        await one.kernel.renderer.close()


async def live(engine: Engine, lanes: Sequence[Lane] = tuple(Lane)) -> None:
    """Write down that a worker of this engine lives."""
    now = await engine.kernel.clock.now()
    me = ListedWorker(uuid4(), "here", 1, "1", list(lanes), services_of(engine.kernel), now, now)
    await engine.kernel.db.persist(lambda tx: workers.beat_worker(tx, worker=me), alone=True)


async def routes_in(sql: Sql) -> dict[str, str]:
    return {one["channel"]: one["provider"] for one in await sql.fetch("select channel, provider from routes")}


# What is written down, and by whom


async def test_whoever_starts_with_a_setting_writes_it_down_and_whoever_has_none_removes_nothing(
    process: MakeProcess, sql: Sql
) -> None:
    await process(FakeProvider("mail"), email="mail")
    since = await sql.fetchval("select since from routes")

    await process()
    await process(FakeProvider("mail"), email="mail")

    assert await routes_in(sql) == {"email": "mail"}
    assert await sql.fetchval("select since from routes") == since


async def test_printing_takes_nothing_from_a_provider_that_sends_and_gives_way_to_it(
    process: MakeProcess, sql: Sql
) -> None:
    await process(FakeProvider("console-email"), email="console-email")
    printed = await routes_in(sql)
    await process(FakeProvider("mail"), email="mail")
    await process(FakeProvider("console-email"), FakeProvider("console-sms"), email="console-email", sms="console-sms")

    assert printed == {"email": "console-email"}
    assert await routes_in(sql) == {"email": "mail", "sms": "console-sms"}


async def test_what_was_asked_by_a_process_without_providers_is_sent_by_one_that_has_them(
    process: MakeProcess, clock: ManualClock
) -> None:
    mail = FakeProvider("mail")
    worker, asker = await process(mail, email="mail"), await process()
    await deploy(asker, 3)
    await start_many(asker, 2)

    await work(worker)
    clock.advance(seconds=2)
    await work(worker)

    assert len(mail.calls) == 5
    assert {call.provider for call in mail.calls} == {"mail"}
    await assert_kept(worker)


# What is refused, and what is not


async def test_a_trigger_of_a_channel_without_a_provider_is_refused_and_a_repeat_is_answered(
    process: MakeProcess, sql: Sql
) -> None:
    engine = await process(FakeProvider("sms"), sms="sms")
    await engine.define("text", TEXT)
    first = await engine.trigger("text", {}, "k-1")
    await engine.providers.unroute(ANN, Channel.SMS)

    with pytest.raises(ChannelNotReady, match=r"no provider is set up for sms: .*--print") as refused:
        await engine.trigger("text", {}, "k-2")
    again = await engine.trigger("text", {}, "k-1")

    assert refused.value.channels == ("sms",)
    assert (again.id, again.duplicate) == (first.id, True)
    assert await sql.fetchval("select count(*) from executions") == 1


async def test_a_deploy_over_a_channel_without_a_provider_is_refused_and_a_repeat_is_answered(
    process: MakeProcess, sql: Sql
) -> None:
    engine = await process(FakeProvider("mail"), email="mail")
    content = {"subject": "Hi", "body": "There"}
    wish = Deployment(uuid4(), "d-1", Channel.EMAIL, content, [Recipient("ada@example.com")])
    first = await engine.deploy(wish)
    await engine.providers.unroute(ANN, Channel.EMAIL)

    with pytest.raises(ChannelNotReady, match="TIDINGS_SMTP_URL"):
        await engine.deploy(replace(wish, idempotency_key="d-2"))
    again = await engine.deploy(wish)

    assert (again.id, again.duplicate) == (first.id, True)
    assert await sql.fetchval("select count(*) from audience") == 1


async def test_a_route_that_was_just_set_elsewhere_is_seen_before_anybody_is_refused(process: MakeProcess) -> None:
    engine = await process()
    await engine.define("text", TEXT)
    with pytest.raises(ChannelNotReady):
        await engine.trigger("text", {}, "k-1")

    await process(FakeProvider("sms"), sms="sms")

    assert not (await engine.trigger("text", {}, "k-1")).duplicate


async def test_an_execution_whose_channel_loses_its_provider_waits_for_another(
    process: MakeProcess, clock: ManualClock, sql: Sql
) -> None:
    text = FakeProvider("sms")
    engine = await process(text, sms="sms")
    await engine.define("text", TEXT)
    started = await engine.trigger("text", {}, "k-1")
    await engine.providers.unroute(ANN, Channel.SMS)
    await work(engine)
    shown = await engine.executions.get(ANN.workspace, started.id)

    await declare_routes(engine.kernel)
    clock.advance(seconds=31)
    await work(engine)

    assert shown.waiting == "no provider is set up for sms"
    assert await row(sql, "select status from executions") == ("completed",)
    assert len(text.calls) == 1


# Work that only others can do


async def test_work_for_another_worker_is_due_for_it_at_once_and_passed_over_by_this_one(
    process: MakeProcess, sql: Sql, clock: ManualClock
) -> None:
    mail = FakeProvider("mail")
    able, unable = await process(mail, email="mail"), await process()
    await live(able)
    await deploy(able, 4)
    await plan_runs(able)
    ids = await start_many(able, 3)

    await work(unable)

    assert await claim(unable) == []
    assert await sql.fetchval("select count(*) from queue where kind <> 'run' and due_at <= $1", clock.time) > 0
    await work(able)
    assert len(mail.calls) == 4 + len(ids)
    await assert_kept(able)


async def test_a_job_is_not_rendered_by_a_worker_that_cannot_send_it(
    process: MakeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    able, unable = await process(FakeProvider("mail"), email="mail"), await process()
    await live(able)
    await deploy(able, 4)
    await plan_runs(able)
    rendered: list[object] = []

    async def render(jobs: list[object]) -> list[object]:
        rendered.extend(jobs)
        return []

    monkeypatch.setattr(unable.kernel.renderer, "render", render)
    await work(unable)

    assert rendered == []


async def test_what_somebody_else_has_held_since_is_not_passed_over_any_more(
    process: MakeProcess, clock: ManualClock, sql: Sql
) -> None:
    able, unable = await process(FakeProvider("mail"), email="mail"), await process()
    await live(able)
    await start_many(able, 1)
    await work(unable)

    await sql.execute("update queue set fence = fence + 2")

    assert len(await claim(unable)) == 1


@pytest.mark.parametrize("lanes", [None, [Lane.SEQUENCES]])
async def test_work_that_nobody_serves_waits_and_is_not_asked_for_all_the_time(
    process: MakeProcess, clock: ManualClock, sql: Sql, lanes: list[Lane] | None
) -> None:
    """Nor is it handed over to somebody who has the provider, but works on other lanes only."""
    able, unable = await process(FakeProvider("mail"), email="mail"), await process()
    await start_many(able, 1)
    if lanes:
        await live(able, lanes)

    await work(unable)

    assert await row(sql, "select due_at - $1, leased from queue", clock.time) == (timedelta(seconds=30), False)
    assert await row(sql, "select status, attempts, marked_at from outbox") == ("queued", 0, None)


async def test_doubt_that_a_crash_left_is_judged_by_a_worker_that_has_the_provider(
    process: MakeProcess, clock: ManualClock, sql: Sql
) -> None:
    mail = FakeProvider("mail", provider_class=Keyed(retention=timedelta(days=1)))
    able, unable = await process(mail, email="mail"), await process()
    await start_many(able, 1)
    await crash_in_call(able, mail)
    clock.advance(minutes=6)
    await live(able)

    await work(unable)
    found = await row(sql, "select in_doubt, status from outbox")
    await work(able)

    assert found == (True, "queued")
    assert await row(sql, "select in_doubt, status from outbox") == (False, "sent")
    assert await row(sql, "select status from executions") == ("completed",)


async def test_more_than_can_be_noted_gives_way_to_what_is_newer(process: MakeProcess, clock: ManualClock) -> None:
    elsewhere = (await process()).kernel.elsewhere
    rows = [(uuid4(), fence) for fence in range(elsewhere.MOST + 3)]

    elsewhere.note(rows, clock.time)
    noted = elsewhere.notes(clock.time)

    assert elsewhere.is_full
    assert noted == dict(rows[3:])
    assert elsewhere.notes(clock.time + elsewhere.FOR) == {}
