"""The client and the real API, over a real connection."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.conftest import ManualClock
from tidings.client import Client, Conflict, Invalid, NotFound, Retrying, Unauthorized, WaitTimeout
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.flow.outcome import Rejected
from tidings.domain.roles import Role
from tidings.engine import Engine, Workspace
from tidings.http.server import ApiServer
from tidings.providers.fake import FakeProvider

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome, {{ name }}"},
        {"id": "wait", "type": "delay", "duration": "PT1H"},
    ],
    "edges": [{"from": "hello", "to": "wait"}],
}
ANN = {"email": "ann@example.com", "name": "Ann"}


@pytest.fixture
async def api(engine: Engine) -> AsyncIterator[ApiServer]:
    api = ApiServer(engine, Config(port=0))
    running = asyncio.create_task(api.run())
    yield api
    api.drain()
    await running


@pytest.fixture
async def client(engine: Engine, api: ApiServer) -> AsyncIterator[Client]:
    """A client that may do everything."""
    made = await engine.access.create_key(Caller(Workspace(), "test"), "client", Role.SYSTEM_ADMIN)
    async with Client(api.url, made.secret, retrying=Retrying(attempts=2, base_seconds=0.01)) as client:
        yield client


async def test_a_workflow_is_applied_triggered_and_waited_for(
    client: Client, engine: Engine, clock: ManualClock
) -> None:
    created = await client.workflows.apply("welcome", WELCOME, description="Says hello")
    again = await client.workflows.apply("welcome", WELCOME)
    started = await client.trigger("welcome", ANN, "signup-1")
    repeated = await client.trigger(created.workflow.id, ANN, "signup-1")
    await engine.work_everything()
    with pytest.raises(WaitTimeout):
        await client.wait(started.execution.id, poll=0.05, timeout=0.1)
    clock.advance(hours=1)
    await engine.work_everything()
    ended = await client.wait(started.execution.id, timeout=5.0)

    assert (created.change, again.change) == ("created", "unchanged")
    assert (repeated.execution.id, repeated.duplicate) == (started.execution.id, True)
    assert (ended.status, ended.input_payload, ended.total_steps) == ("completed", ANN, 2)
    assert ended.vars["hello"]["status"] == "sent"
    assert [line.node for line in await client.executions.log(ended.id)] == ["hello", "wait"]


async def test_an_execution_is_followed_while_it_walks(client: Client, engine: Engine, clock: ManualClock) -> None:
    await client.workflows.create("welcome", WELCOME)
    started = await client.trigger("welcome", ANN)
    seen: list[str] = []

    async def follow() -> None:
        async for one in client.executions.follow(started.execution.id):
            seen.append(one.status)

    async with asyncio.timeout(20):
        following = asyncio.create_task(follow())
        while not following.done():
            await asyncio.sleep(0.1)
            if seen:
                await engine.work_everything()
                clock.advance(hours=1)
        await following

    assert seen[0] in {"enqueued", "processing"}
    assert seen[-1] == "completed"


async def test_everything_about_workflows(client: Client) -> None:
    made = await client.workflows.create("welcome", WELCOME, active=False)
    changed = await client.workflows.update(made.id, {**WELCOME, "requiredFields": ["name"]})
    active = await client.workflows.activate(made.id)
    problems = await client.workflows.validate({**WELCOME, "entryNodeId": "nowhere"})

    assert (made.active, active.active, changed.version) == (False, True, 2)
    assert sorted(one.number for one in await client.workflows.versions(made.id)) == [1, 2]
    assert [one.name async for one in client.workflows.list(active=True)] == ["welcome"]
    assert "entryNodeId" in [one.place for one in problems]
    with pytest.raises(Conflict):
        await client.workflows.create("welcome", WELCOME)
    assert not (await client.workflows.deactivate(made.id)).active
    await client.workflows.delete(made.id)
    with pytest.raises(NotFound):
        await client.workflows.get(made.id)


async def test_what_is_wrong_has_its_class_and_every_place(client: Client, api: ApiServer) -> None:
    await client.workflows.create("welcome", WELCOME)

    with pytest.raises(Invalid) as missing:
        await client.trigger("welcome", {})
    with pytest.raises(NotFound):
        await client.trigger("nowhere", {})
    async with Client(api.url, "tid_wrong") as stranger:
        with pytest.raises(Unauthorized):
            await stranger.trigger("welcome", ANN)

    assert missing.value.code == "data_missing"
    assert {one.place for one in missing.value.errors} == {"data.email", "data.name"}


async def test_what_failed_is_listed_and_replayed(client: Client, engine: Engine, provider: FakeProvider) -> None:
    provider.answer = Rejected("no such mailbox")
    await client.workflows.create("welcome", WELCOME)
    started = await client.trigger("welcome", ANN)
    await engine.work_everything()

    letters = [one async for one in client.dead_letters.list(workflow="welcome", error="mailbox")]
    dry = await client.dead_letters.replay({"workflow": "welcome"}, dry_run=True)
    done = await client.dead_letters.replay({"ids": [one.id for one in letters]})

    assert [(one.id, one.error_step) for one in letters] == [(started.execution.id, "hello")]
    assert (dry.count, done.count, done.executions) == (1, 1, [started.execution.id])
    assert [one async for one in client.dead_letters.list()] == []


async def test_an_execution_is_paused_resumed_and_cancelled(client: Client, engine: Engine) -> None:
    await client.workflows.create("welcome", WELCOME)
    started = await client.trigger("welcome", ANN)

    assert (await client.executions.pause(started.execution.id)).status == "paused"
    await client.executions.resume(started.execution.id)
    await client.executions.cancel(started.execution.id)
    await engine.work_everything()

    assert (await client.status(started.execution.id)).status == "cancelled"
    assert [one.id async for one in client.executions.list(status="cancelled")] == [started.execution.id]
    with pytest.raises(Conflict):
        await client.executions.retry(started.execution.id)


async def test_long_lists_come_page_by_page(client: Client) -> None:
    await client.workflows.create("welcome", WELCOME)
    started = {(await client.trigger("welcome", ANN)).execution.id for _ in range(5)}

    assert {one.id async for one in client.executions.list(page_size=2)} == started


async def test_keys_are_made_listed_and_revoked(client: Client, api: ApiServer) -> None:
    made = await client.keys.create("form", "triggerOperator")
    async with Client(api.url, made.secret) as other:
        with pytest.raises(Unauthorized):
            await other.workflows.create("welcome", WELCOME)
    await client.keys.revoke(made.key.id)

    keys = {key.name: key async for key in client.keys.list()}

    assert keys["form"].revoked_at is not None
    assert keys["client"].revoked_at is None


async def test_an_administrator_sees_the_providers(client: Client) -> None:
    providers = {one.name: one async for one in client.providers.list()}

    assert "email" in providers["fake"].channels
    assert providers["fake"].limit is None
    assert providers["fake"].workers == []


async def test_a_sequence_is_written_published_and_paused(client: Client) -> None:
    made = await client.sequences.create(
        "drip", [{"dayOffset": 0, "channel": "email", "content": "Hi"}], timezone="UTC"
    )
    added = await client.sequences.add_step(made.id, day_offset=3, send_hour=9, channel="sms", content="Well?")
    changed = await client.sequences.update_step(made.id, added.id, send_hour=None)
    published = await client.sequences.publish(made.id)
    paused = await client.sequences.pause(made.id)
    resumed = await client.sequences.resume(made.id)
    await client.sequences.delete_step(made.id, added.id)
    again = await client.sequences.publish(made.id, in_flight="move")

    assert (made.status, added.send_hour, changed.send_hour) == ("draft", 9, None)
    assert (published.status, paused.status, resumed.status) == ("active", "paused", "active")
    assert again.published
    assert again.moved
    assert (again.published.version, again.moved.moved, again.in_flight) == (2, 0, [])
    assert [one.version for one in await client.sequences.versions(made.id)] == [2, 1]
    found = await client.sequences.find("drip")
    assert found
    assert (found.id, len(found.steps)) == (made.id, 1)
    assert [one.name async for one in client.sequences.list(status="active")] == ["drip"]
    await client.sequences.delete(made.id)
    assert await client.sequences.find("drip") is None


async def test_rules_and_events(client: Client, engine: Engine) -> None:
    template = {"subject": "Quote {{ quote.number }}", "body": "Hello {{ lead.name }}"}
    rule = await client.rules.create("quote_sent", "email", "lead", [{"template": template, "delay": "P1D"}])
    event: dict[str, Any] = {"lead": ANN, "variables": {"quote": {"number": 7}}}

    explained = await client.events.explain("quote_sent", **event)
    sent = await client.events.send("quote_sent", **event, idempotency_key="quote-7")
    again = await client.events.send("quote_sent", **event, idempotency_key="quote-7")
    own = await client.events.send("quote_sent", **event)
    cancelled = await client.events.cancel(own.id)
    await client.events.cancel_by_key("quote_sent", "quote-7")
    await engine.work_everything()

    assert [(one.outcome, one.items[0].payload) for one in explained] == [
        ("enqueued", {"subject": "Quote 7", "body": "Hello Ann"})
    ]
    assert (sent.duplicate, again.duplicate, own.duplicate, again.id) == (False, True, False, sent.id)
    assert cancelled.id == own.id
    assert [one.status for one in (await client.events.get(sent.id)).decisions[0].items] == ["skipped"]
    assert {one.id async for one in client.events.list(trigger="quote_sent")} == {own.id, sent.id}
    with pytest.raises(Invalid) as refused:
        await client.events.send("quote_sent", lead=ANN)
    assert "variables.quote.number" in str(refused.value)

    off = await client.rules.disable(rule.id)
    on = await client.rules.enable(rule.id)
    moved = await client.rules.update(
        rule.id, {"trigger": "quote_sent", "channel": "email", "audience": "agent", "steps": on.steps}
    )
    assert (off.enabled, on.enabled, moved.audience) == (False, True, "agent")
    assert [one.id async for one in client.rules.list(audience="agent")] == [rule.id]
    assert (await client.rules.get(rule.id)).steps == on.steps
    with pytest.raises(Conflict):
        await client.rules.create("quote_sent", "email", "agent", [{"template": template}])
    await client.rules.delete(rule.id)
    with pytest.raises(NotFound):
        await client.rules.get(rule.id)


async def test_contacts_are_enrolled_watched_and_stopped(
    client: Client, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    steps = [
        {"dayOffset": 0, "channel": "email", "content": "Welcome, {{ contact.name }}"},
        {"dayOffset": 3, "channel": "sms", "content": "Still there?"},
    ]
    sequence = await client.sequences.create("Onboarding", steps)
    await client.sequences.publish(sequence.id)
    ada = await client.contacts.create(external_id="ada", name="Ada", email="ada@example.com", tags=["vip"])
    bob = await client.contacts.create(external_id="bob", name="Bob", email="bob@example.com")

    one = await client.enrollments.enroll(sequence.id, ada.id)
    again = await client.enrollments.enroll(sequence.id, ada.id)
    counted = await client.enrollments.batch_enroll(sequence.id, everyone=True, dry_run=True)
    many = await client.enrollments.batch_enroll(sequence.id, tag="vip", contact_ids=[bob.id])
    pros = await client.enrollments.batch_enroll(
        sequence.id, where={"has": "email"}, exclude={"tags": {"any": ["VIP"]}}, dry_run=True
    )
    await engine.work_everything()
    paused = await client.enrollments.pause(one.enrollment.id)
    changed = await client.enrollments.set_status_of_many(sequence.id, "active", {"contactIds": [str(ada.id)]})
    cancelled = await client.enrollments.cancel(one.enrollment.id)
    with pytest.raises(Conflict):
        await client.enrollments.resume(one.enrollment.id)
    why = await client.enrollments.why(sequence.id, bob.id)

    assert (one.duplicate, again.duplicate, again.enrollment.id) == (False, True, one.enrollment.id)
    assert (counted.enrolled_count, counted.dry_run) == (1, True)
    assert (many.enrolled_count, many.skipped.already_enrolled) == (1, 1)
    assert (pros.enrolled_count, pros.skipped.already_enrolled) == (0, 1)
    assert [one.id async for one in client.contacts.list(where="name = BOB and has email")] == [bob.id]
    assert [one.id async for one in client.contacts.list(where={"tags": {"none": ["vip"]}})] == [bob.id]
    assert (paused.status, changed, cancelled.status) == ("paused", 1, "cancelled")
    assert sorted([one.contact_id async for one in client.enrollments.list(sequence.id)]) == sorted([ada.id, bob.id])
    assert [one.id async for one in client.enrollments.list_of_contact(ada.id)] == [one.enrollment.id]
    [line] = await client.enrollments.logs(one.enrollment.id)
    assert (line.status, line.content_snapshot) == ("completed", "Welcome, Ada")
    assert [log.id async for log in client.enrollments.logs_of_contact(ada.id)] == [line.id]
    assert len([log async for log in client.enrollments.logs_of_step(sequence.id, line.step_id)]) == 2
    assert [(step.fate, step.reason) for step in why.steps] == [
        ("completed", None),
        ("planned", "it would be skipped: the contact has no phone number"),
    ]
