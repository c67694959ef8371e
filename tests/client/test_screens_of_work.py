"""What a program sees of the operations behind the screens, over a real connection."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tidings.client import Client, Conflict, NotFound
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.flow.outcome import Accepted, Rejected, Unknown
from tidings.domain.roles import Role
from tidings.engine import Engine, Workspace
from tidings.http.server import ApiServer
from tidings.providers.fake import FakeProvider

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome, {{ name }}"}],
    "edges": [],
}
ANN = {"email": "ann@example.com", "name": "Ann"}
STEPS = [{"dayOffset": 0, "channel": "email", "subject": "Hi", "content": "Welcome!"}]
RULE_STEPS = [{"template": {"subject": "Quote", "body": "Good day"}, "recipientConfig": {"includeLeadContact": True}}]


@pytest.fixture
async def client(engine: Engine) -> AsyncIterator[Client]:
    """A client that may do everything."""
    api = ApiServer(engine, Config(port=0))
    running = asyncio.create_task(api.run())
    made = await engine.access.create_key(Caller(Workspace(), "test"), "client", Role.SYSTEM_ADMIN)
    async with Client(api.url, made.secret) as client:
        yield client
    api.drain()
    await running


async def test_the_overview_and_an_executions_path_are_read(client: Client, engine: Engine) -> None:
    await client.workflows.create("welcome", WELCOME)
    started = await client.trigger("welcome", ANN)
    await engine.work_everything()

    overview, path = await client.overview.get(minutes=5), await client.executions.path(started.execution.id)

    assert (overview.sent_today, overview.in_doubt, overview.executions_open) == (1, 0, 0)
    assert [(one.id, one.state) for one in path.nodes] == [("hello", "done")]


async def test_failures_are_grouped_listed_and_started_again(
    client: Client, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await client.workflows.create("welcome", WELCOME)
    provider.answer = Rejected("mailbox is full")
    await client.trigger("welcome", ANN)
    await engine.work_everything()
    provider.answer = Accepted("m-1")
    since = clock.time - timedelta(hours=1)

    [group] = (await client.failures.list(since=since)).items
    items = [one async for one in client.failures.items(group.id, since=since, page_size=1)]
    planned = await client.failures.replay(group.id, dry_run=True)
    done = await client.failures.replay(group.id, per_minute=60)
    found = [one async for one in client.executions.list(error="BOX is")]

    assert (group.text, group.count, len(items)) == ("mailbox is full", 1, 1)
    assert (planned.executions, planned.dry_run, done.executions) == (1, True, 1)
    assert found == []
    with pytest.raises(NotFound):
        await client.failures.replay(group.id)


async def test_doubt_is_shown_with_its_evidence_and_ended_in_bulk(
    client: Client, engine: Engine, provider: FakeProvider
) -> None:
    await client.workflows.create("welcome", WELCOME)
    provider.answer = Unknown("cut off")
    await client.trigger("welcome", ANN)
    await engine.work_everything()
    [item] = [one async for one in client.outbox.list(in_doubt=True)]

    shown = await client.outbox.get(item.id)
    planned = await client.outbox.resolve_many("sent", "in its log", where={"channel": "email"}, dry_run=True)
    done = await client.outbox.resolve_many("sent", "in its log", ids=[item.id])

    assert shown.evidence is not None
    assert (shown.evidence.provider_class, shown.evidence.next, shown.evidence.calls) == ("blind", "person", 1)
    assert (planned.resolved, done.resolved, planned.dry_run) == (1, 1, True)


async def test_a_draft_is_saved_and_published_by_revision(client: Client) -> None:
    made = await client.drafts.create("welcome", {"nodes": []})
    saved = await client.drafts.save(made.id, WELCOME, revision=made.revision)
    listed = [one.name async for one in client.drafts.list()]

    with pytest.raises(Conflict):
        await client.drafts.publish(made.id, revision=made.revision)
    published = await client.drafts.publish(made.id, revision=saved.revision)
    await client.drafts.save(made.id, {"nodes": []}, base=1)
    await client.drafts.delete(made.id)

    assert (made.valid, saved.valid, listed) == (False, True, ["welcome"])
    assert (published.version, published.change) == (1, "created")
    with pytest.raises(NotFound):
        await client.drafts.get(made.id)


async def test_what_is_stored_nowhere_is_previewed_and_counted(client: Client) -> None:
    await client.contacts.create(external_id="ada", name="Ada", email="ada@example.com")

    shown = await client.previews.content(
        "email", {"subject": "Hi {{ name }}", "body": "Good day"}, ANN, to="a@b.example"
    )
    nodes = await client.previews.definition(WELCOME, ANN)
    counted = await client.audiences.count({"all": True}, channel="email")
    types = await client.workflows.node_types()

    assert (shown.content["subject"], len(nodes), counted.matching) == ("Hi Ann", 1, 1)
    assert {"email", "delay"} <= {one.type for one in types.nodes}


async def test_a_story_is_told_page_by_page_and_a_file_is_tried(client: Client, clock: ManualClock) -> None:
    tried = await client.contacts.import_file(b"externalId,name\nada,Ada\n", dry_run=True)
    done = await client.contacts.import_file(b"externalId,name\nada,Ada\n")
    await client.contacts.update("ada", consent={"email": {"status": "withdrawn"}})
    clock.advance(minutes=1)
    await client.contacts.update("ada", company="Engines")

    told = [(one.outcome, list(one.fields)) async for one in client.contacts.story("ada", page_size=1)]

    assert (tried.dry_run, tried.created, done.dry_run, done.created) == (True, 1, False, 1)
    assert told == [("updated", ["company"]), ("updated", ["consent"])]


async def test_a_funnel_and_a_matrix_are_read(client: Client, clock: ManualClock) -> None:
    await client.contacts.create(external_id="ada", email="ada@example.com")
    drip = await client.sequences.create("drip", STEPS)
    await client.sequences.publish(drip.id)
    await client.enrollments.enroll(drip.id, "ada")
    await client.rules.create("quote_sent", "email", "lead", RULE_STEPS)

    funnel, matrix = await client.sequences.funnel(drip.id), await client.rules.matrix(limit=1)
    later = await client.sequences.funnel(drip.id, since=clock.time + timedelta(days=1))

    assert (funnel.enrolled, funnel.under_way, later.enrolled) == (1, 1, 0)
    assert [row.trigger for row in matrix.rows] == ["quote_sent"]
    [cell] = [one for one in matrix.rows[0].cells if (one.channel, one.audience) == ("email", "lead")]
    assert (cell.outcome, cell.steps) == ("enqueued", 1)
