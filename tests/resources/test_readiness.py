"""What people write is shown with the channels that no provider is set up for, and what waits says for whom."""

from collections.abc import AsyncIterator
from typing import TypeAlias
from uuid import UUID

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.resources.asking import audited, runs_of
from tests.resources.campaign_scenes import ANN, deploy, letter, make_contacts, work_until_ended
from tidings.domain.errors import ChannelNotReady
from tidings.domain.flow.item import Channel
from tidings.engine import Engine
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import declare_routes
from tidings.kernel.render.renderer import Renderer
from tidings.storage.database import Database
from tidings.views.sequences import SequenceStatus

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
HERE = ANN.workspace
TWO_CHANNELS = {
    "entryNodeId": "mail",
    "nodes": [
        {"id": "mail", "type": "email", "to": "a@example.com", "subject": "Hi", "body": "Hello"},
        {"id": "text", "type": "sms", "to": "+4917012345", "body": "Hello"},
    ],
    "edges": [{"from": "mail", "to": "text"}],
}
STEP = {"dayOffset": 0, "channel": "sms", "content": "Hello"}
RULE = {
    "trigger": "quote_sent",
    "channel": "whatsapp",
    "audience": "lead",
    "steps": [{"template": {"body": "Hello {{ lead.name }}"}}],
}
LIVES = "insert into workers values (gen_random_uuid(), 'h', 1, '1', $1, $2, $3, $3)"


@pytest.fixture
async def without_sms(engine: Engine) -> Engine:
    """An engine on a system where no provider is set up for text messages."""
    await engine.providers.unroute(ANN, Channel.SMS)
    return engine


@pytest.fixture
async def unable(db: Database, clock: ManualClock) -> AsyncIterator[Engine]:
    """An engine as a worker has it that was started without any setting."""
    engine = Engine(Kernel(db, clock, 4, {}, {}, Renderer()))
    yield engine
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


async def test_a_workflow_is_made_and_activated_and_says_what_is_not_ready(without_sms: Engine) -> None:
    made = await without_sms.workflows.create(ANN, "both", TWO_CHANNELS, active=False)
    active = await without_sms.workflows.activate(ANN, made.id)
    [listed] = (await without_sms.workflows.list(HERE)).items
    await declare_routes(without_sms.kernel)
    ready = await without_sms.workflows.get(HERE, made.id)
    await without_sms.providers.unroute(ANN, Channel.SMS)
    await without_sms.providers.unroute(ANN, Channel.EMAIL)
    unready = await without_sms.workflows.get(HERE, made.id)

    assert [one.not_ready for one in (made, active, listed, ready)] == [["sms"]] * 3 + [[]]
    assert unready.not_ready == ["email", "sms"]


async def test_a_sequence_says_what_is_not_ready_and_can_be_neither_published_nor_entered(
    without_sms: Engine,
) -> None:
    draft = await without_sms.sequences.create(ANN, "drip", steps=[STEP])
    [contact] = await make_contacts(without_sms, 1, phone="+4917012345")

    with pytest.raises(ChannelNotReady, match="sms"):
        await without_sms.sequences.update(ANN, draft.id, status=SequenceStatus.ACTIVE)
    await declare_routes(without_sms.kernel)
    await without_sms.sequences.update(ANN, draft.id, status=SequenceStatus.ACTIVE)
    first = await without_sms.enrollments.enroll(ANN, draft.id, contact)
    await without_sms.providers.unroute(ANN, Channel.SMS)
    again = await without_sms.enrollments.enroll(ANN, draft.id, contact)
    [other] = await make_contacts(without_sms, 1, phone="+4917012346", externalId="other")
    with pytest.raises(ChannelNotReady):
        await without_sms.enrollments.enroll(ANN, draft.id, other)
    with pytest.raises(ChannelNotReady):
        await without_sms.enrollments.batch_enroll(ANN, draft.id, {"all": True})

    assert draft.not_ready == ["sms"]
    assert (again.id, again.duplicate) == (first.id, True)
    assert (await without_sms.enrollments.batch_enroll(ANN, draft.id, {"all": True}, dry_run=True)).enrolled == 1


async def test_a_campaign_says_that_its_channel_is_not_ready_and_is_neither_tested_nor_deployed(
    without_sms: Engine,
) -> None:
    await make_contacts(without_sms, 1, phone="+4917012345")
    made = await without_sms.campaigns.create(ANN, letter(channel="sms", content={"body": "Hello"}))

    with pytest.raises(ChannelNotReady):
        await without_sms.campaigns.deploy(ANN, made.id)
    with pytest.raises(ChannelNotReady):
        await without_sms.campaigns.test(ANN, made.id, "+4917099999")

    assert made.not_ready == ["sms"]
    assert await runs_of(without_sms, ANN.workspace) == []


async def test_a_rule_says_what_is_not_ready(engine: Engine) -> None:
    await engine.providers.unroute(ANN, Channel.WHATSAPP)

    assert (await engine.rules.create(ANN, RULE)).not_ready == ["whatsapp"]


async def test_removing_a_route_is_on_record(without_sms: Engine) -> None:
    [entry] = [one for one in await audited(without_sms, ANN) if one.subject_kind == "route"]

    assert (entry.actor, entry.event) == ("ann", "removed")
    assert "fake" in str(entry.detail)


async def live(sql: Sql, clock: ManualClock, *providers: str, lanes: tuple[int, ...] = (0, 1, 2, 3)) -> None:
    """A worker that was seen just now."""
    served = ", ".join(f'"{name}": {{"class": "blind", "channels": [], "concurrency": 1}}' for name in providers)
    await sql.execute("delete from workers")
    await sql.execute(LIVES, lanes, "{" + served + "}", clock.time)


async def waiting(engine: Engine, run: UUID) -> str | None:
    return (await engine.runs.get(HERE, run)).waiting


async def test_a_run_that_nobody_can_do_says_so_and_why(engine: Engine, clock: ManualClock, sql: Sql) -> None:
    await make_contacts(engine, 2)
    run = await deploy(engine)
    fresh = await waiting(engine, run)
    clock.advance(seconds=6)
    without = await waiting(engine, run)
    await live(sql, clock, "other")
    unserved = await engine.runs.get(HERE, run)
    [listed] = (await engine.runs.list(HERE)).items
    await live(sql, clock, "fake", lanes=(0,))
    no_lane = await waiting(engine, run)
    await live(sql, clock, "fake")
    served = await waiting(engine, run)
    await engine.runs.pause(ANN, run)
    clock.advance(seconds=60)

    assert (fresh, without) == (None, "no worker is running")
    assert unserved.waiting == listed.waiting == "no worker serves fake"
    assert unserved.status_text.endswith("waiting: no worker serves fake")
    assert no_lane == "no worker works on the lane campaigns"
    assert served is None
    assert await waiting(engine, run) is None
    await engine.runs.resume(ANN, run)
    assert (await work_until_ended(engine, clock, run)).waiting is None


async def test_an_execution_that_nobody_can_do_says_so_and_why(
    engine: Engine, unable: Engine, clock: ManualClock, sql: Sql
) -> None:
    await engine.workflows.create(ANN, "both", TWO_CHANNELS)
    started = await engine.executions.trigger(ANN, "both", {}, "k")
    fresh = await engine.executions.get(HERE, started.id)
    clock.advance(seconds=6)
    without = await engine.executions.get(HERE, started.id)
    await unable.work_everything()
    await live(sql, clock, "other")
    unserved = await engine.executions.get(HERE, started.id)
    [listed] = (await engine.executions.list(HERE)).items
    await live(sql, clock, "fake")
    served = await engine.executions.get(HERE, started.id)

    assert (fresh.waiting, without.waiting) == (None, "no worker is running")
    assert unserved.waiting == listed.waiting == "no worker serves fake"
    assert served.waiting is None


async def test_the_system_says_who_lives_who_serves_what_and_what_nobody_can_do(
    engine: Engine, clock: ManualClock, sql: Sql
) -> None:
    quiet = await engine.waiting.look()
    await make_contacts(engine, 2)
    await deploy(engine)
    clock.advance(seconds=20)
    alone = await engine.waiting.look()
    await live(sql, clock, "other", lanes=(0,))
    unserved = await engine.waiting.look()
    await live(sql, clock, "fake")
    served = await engine.waiting.look()

    assert (quiet.waiting, quiet.serving) == ([], {"fake": 0})
    assert alone.waiting == ["no worker is running"]
    assert unserved.waiting == ["no worker works on the lane runs", "no worker serves fake"]
    assert (served.waiting, served.serving, len(served.workers)) == ([], {"fake": 1}, 1)


async def test_deploying_again_what_was_cancelled_says_so(engine: Engine) -> None:
    await make_contacts(engine, 2)
    made = await engine.campaigns.create(ANN, letter())
    first = await engine.campaigns.deploy(ANN, made.id)
    await engine.runs.cancel(ANN, first.id)

    again = await engine.campaigns.deploy(ANN, made.id)
    other = await engine.campaigns.deploy(ANN, made.id, idempotency_key="once more")

    assert again.duplicate
    assert again.note is not None
    assert "cancelled" in again.note
    assert "--key" in again.note
    assert (other.duplicate, other.note) == (False, None)
