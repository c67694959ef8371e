"""Senders of a workspace: whom messages say they are from, and what is refused as such."""

from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.kernel.event_scenes import make_rule, send, step
from tests.kernel.scenes import Sql, row
from tests.resources.campaign_scenes import letter, make_contacts, work_until_ended
from tidings.domain.caller import Caller
from tidings.domain.errors import CampaignInvalid, Conflict, DefinitionInvalid, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.providers.letter import sender_of
from tidings.simulation.simulate import SimulationStage, simulate
from tidings.simulation.workflow import SimulatedWorkflow
from tidings.views.senders import NamedSender
from tidings.views.sequences import SequenceStatus

HOME = Workspace()
ANN = Caller(HOME, "ann")
EVE = Caller(Workspace("default", "elsewhere"), "eve")
SUPPORT = {
    "name": "support",
    "displayName": "Acme Support",
    "email": "support@example.com",
    "replyTo": "help@example.com",
    "sms": "Acme",
    "whatsapp": "+44 20 7183 8750",
}
FROM = {"from": "Acme Support <support@example.com>", "replyTo": "help@example.com"}


async def add(engine: Engine, by: Caller = ANN, **more: Any) -> NamedSender:
    return await engine.senders.create(by, SUPPORT | more)


def mail(**more: Any) -> dict[str, Any]:
    node = {"id": "hello", "type": "email", "to": "ada@example.com", "subject": "Hi", "body": "Hello"} | more
    return {"entryNodeId": "hello", "nodes": [node], "edges": []}


async def sent(engine: Engine, provider: FakeProvider) -> list[dict[str, str]]:
    """What left since it was asked last."""
    await engine.work_everything()
    found = [dict(call.payload) for call in provider.calls]
    provider.calls.clear()
    return found


# Whom messages are from


async def test_a_message_is_from_whom_it_names(engine: Engine, provider: FakeProvider) -> None:
    await add(engine)
    await engine.define("hello", mail(sender="support"), HOME)
    await engine.trigger("hello", {}, "1")

    [payload] = await sent(engine, provider)

    assert payload == {"subject": "Hi", "body": "Hello", **FROM}
    assert list(payload) == sorted(payload, key=lambda name: (len(name), name))  # as it is stored: a repeat is the same


async def test_without_a_name_it_is_from_the_default_and_else_the_connection_says(
    engine: Engine, provider: FakeProvider
) -> None:
    await engine.define("hello", mail(), HOME)
    await engine.trigger("hello", {}, "1")
    assert await sent(engine, provider) == [{"subject": "Hi", "body": "Hello"}]

    made = await add(engine, defaultFor=["email"])
    await engine.trigger("hello", {}, "2")
    assert await sent(engine, provider) == [{"subject": "Hi", "body": "Hello", **FROM}]

    await engine.senders.update(ANN, made.id, {"displayName": None, "replyTo": None})
    await engine.trigger("hello", {}, "3")
    assert [one["from"] for one in await sent(engine, provider)] == ["support@example.com"]


async def test_each_channel_has_its_own_address(engine: Engine, provider: FakeProvider) -> None:
    await add(engine)
    sms = {
        "entryNodeId": "a",
        "nodes": [{"id": "a", "type": "sms", "to": "+442071838750", "body": "x", "sender": "support"}],
    }
    await engine.define("sms", {**sms, "edges": []}, HOME)
    await engine.trigger("sms", {}, "1")

    assert await sent(engine, provider) == [{"body": "x", "from": "Acme"}]


async def test_rules_campaigns_and_sequences_have_senders_too(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    await add(engine, defaultFor=["email"])
    await engine.senders.create(ANN, {"name": "sales", "email": "sales@example.com"})
    await make_rule(engine, step(template={"subject": "Hi", "body": "x", "sender": "sales"}))
    await send(engine)
    assert [one["from"] for one in await sent(engine, provider)] == ["sales@example.com"]

    await make_contacts(engine, 1, ANN)
    made = await engine.campaigns.create(ANN, letter(content={"subject": "Hi", "body": "x", "sender": "sales"}))
    [preview] = await engine.campaigns.preview(HOME, made.id)
    run = await engine.campaigns.deploy(ANN, made.id)
    await work_until_ended(engine, clock, run.id, ANN)
    assert preview.content == {"subject": "Hi", "body": "x", "from": "sales@example.com"}
    assert [one["from"] for one in await sent(engine, provider)] == ["sales@example.com"]

    given = {"dayOffset": 0, "channel": "email", "subject": "Hi", "content": "x"}
    drip = await engine.sequences.create(ANN, "drip", None, [given])
    await engine.sequences.update(ANN, drip.id, status=SequenceStatus.ACTIVE)
    await engine.enrollments.batch_enroll(ANN, drip.id, {"all": True}, triggered_by="test")
    assert [one["from"] for one in await sent(engine, provider)] == [FROM["from"]]


async def test_a_frozen_payload_keeps_its_sender(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    made = await add(engine, defaultFor=["email"])
    await engine.define("hello", mail(), HOME)
    await engine.trigger("hello", {}, "1")
    await sent(engine, provider)
    await engine.senders.update(ANN, made.id, {"email": "new@example.com"})

    assert await sql.fetchval("select payload ->> 'from' from outbox") == FROM["from"]


async def test_a_sender_that_is_gone_fails_the_message_and_says_so(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    await add(engine)
    await engine.define("hello", mail(sender="support"), HOME)
    await sql.execute("delete from senders")  # what the API refuses
    await engine.trigger("hello", {}, "1")

    assert await sent(engine, provider) == []
    assert await row(sql, "select status, error from outbox") == (
        "failed",
        "sender: there is no sender 'support'; add it first",
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"sender": "suport"}, "there is no sender 'suport'; did you mean 'support'?"),
        ({"sender": "phone"}, "sender 'phone' has no address for email; add one to it"),
        ({"sender": "Sup port"}, "is not a name here"),
    ],
)
async def test_a_workflow_that_names_nobody_is_refused(engine: Engine, more: dict[str, str], message: str) -> None:
    await add(engine)
    await engine.senders.create(ANN, {"name": "phone", "voice": "+442071838750"})

    with pytest.raises(DefinitionInvalid) as refused:
        await engine.define("hello", mail(**more), HOME)

    problem = refused.value.problems[-1]
    assert (problem.place, message in problem.message) == ("nodes[0].sender", True)


async def test_a_campaign_that_names_nobody_is_refused(engine: Engine) -> None:
    with pytest.raises(CampaignInvalid, match="there is no sender 'support'"):
        await engine.campaigns.create(ANN, letter(content={"subject": "Hi", "body": "x", "sender": "support"}))


async def test_a_push_message_is_from_nobody(engine: Engine) -> None:
    node = {"id": "a", "type": "push", "to": "t", "title": "x", "body": "y", "sender": "support"}

    with pytest.raises(DefinitionInvalid, match="'sender' is not a field here"):
        await engine.define("push", {"entryNodeId": "a", "nodes": [node], "edges": []}, HOME)


# Managing them


async def test_only_one_sender_is_the_default_for_a_channel(engine: Engine) -> None:
    await add(engine, defaultFor=["email", "sms"])
    await engine.senders.create(ANN, {"name": "sales", "email": "sales@example.com", "defaultFor": ["email"]})

    found = {one.name: list(one.default_for) for one in (await engine.senders.list(HOME)).items}

    assert found == {"support": ["sms"], "sales": ["email"]}


async def test_a_workspace_has_its_own_senders(engine: Engine, provider: FakeProvider) -> None:
    made = await add(engine, defaultFor=["email"])
    await add(engine, EVE, email="eve@example.com", displayName=None)

    for attempt in (engine.senders.get(EVE.workspace, made.id), engine.senders.update(EVE, made.id, {})):
        with pytest.raises(NotFound):
            await attempt
    with pytest.raises(NotFound):
        await engine.senders.delete(EVE, made.id)
    await engine.define("hello", mail(), EVE.workspace)
    await engine.trigger("hello", {}, "1", EVE.workspace)
    assert await sent(engine, provider) == [{"subject": "Hi", "body": "Hello"}]


async def test_a_sender_that_is_named_is_not_removed(engine: Engine, sql: Sql) -> None:
    made = await add(engine, defaultFor=["email"])
    await engine.define("hello", mail(sender="support"), HOME)
    await make_rule(engine, step(template={"subject": "Hi", "body": "x", "sender": "support"}))

    with pytest.raises(Conflict, match="is named by rule 'quote_sent/email/lead', workflow 'hello'"):
        await engine.senders.delete(ANN, made.id)
    other = await engine.senders.create(ANN, {"name": "sales", "email": "sales@example.com", "defaultFor": ["email"]})
    await engine.senders.delete(ANN, other.id)

    assert await sql.fetch("select 1 from default_senders") == []
    events = await sql.fetch("select event from audit_log where subject_kind = 'sender'")
    assert sorted(one["event"] for one in events) == ["created", "created", "deleted"]


async def test_a_change_keeps_what_it_does_not_name(engine: Engine) -> None:
    made = await add(engine, defaultFor=["email"])

    changed = await engine.senders.update(ANN, made.id, {"display_name": "Acme"})

    assert (changed.display_name, changed.email, list(changed.default_for)) == ("Acme", made.email, ["email"])
    assert changed.whatsapp == "+442071838750"
    assert (await engine.senders.update(ANN, made.id, changed.in_json())).email == made.email
    with pytest.raises(Conflict, match="there is a sender 'support' already"):
        await add(engine)


@pytest.mark.parametrize(
    ("more", "place", "message"),
    [
        ({"name": "Support Desk"}, "name", "lower case letters"),
        ({"displayName": "Acme\r\nBcc: eve@example.com"}, "displayName", "leave it out"),
        ({"displayName": "Acme <eve@example.com>"}, "displayName", "would end it in a header"),
        ({"displayName": 'Acme"'}, "displayName", "would end it in a header"),
        ({"displayName": "=?utf-8?q?x?="}, "displayName", "would end it in a header"),
        ({"displayName": "x" * 101}, "displayName", "at most 100"),
        ({"email": "support"}, "email", "is not an e-mail address"),
        ({"email": "a@example.com, b@example.com"}, "email", "is not an e-mail address"),
        ({"email": "ünal@example.com"}, "email", "use one in ASCII"),
        ({"replyTo": "a@example.com\nBcc: b@example.com"}, "replyTo", "is not an e-mail address"),
        ({"sms": "Twelve chars"}, "sms", "up to 11 letters and digits"),
        ({"sms": "12"}, "sms", "up to 11 letters and digits"),
        ({"whatsapp": "Acme"}, "whatsapp", "is not a phone number"),
        ({"voice": "7"}, "voice", "is not a phone number"),
        ({"voice": False}, "voice", "False is not a string"),
        ({"defaultFor": ["voice"]}, "defaultFor", "for which it has no address; give voice as well"),
        ({"defaultFor": ["push"]}, "defaultFor", "'push' has no senders"),
        ({"defaultFor": "email"}, "defaultFor", "is not a list of channels"),
        ({"emial": "x"}, "emial", "did you mean 'email'?"),
        ({"email": None, "sms": None, "whatsapp": None, "replyTo": None}, "email", "for one channel at least"),
        ({"email": None}, "replyTo", "give email as well"),
    ],
)
async def test_what_is_no_sender_is_refused_with_its_place(
    engine: Engine, more: dict[str, Any], place: str, message: str
) -> None:
    with pytest.raises(DefinitionInvalid) as refused:
        await add(engine, **more)

    assert [one.place for one in refused.value.problems] == [place]
    assert message in refused.value.problems[0].message
    assert (await engine.senders.list(HOME)).items == []


@pytest.mark.parametrize("shown", ["Acme Support", "Ünal & Söhne", "O'Neil, Inc.", "Acme (UK)"])
async def test_every_sender_can_be_written_as_a_header(engine: Engine, provider: FakeProvider, shown: str) -> None:
    await add(engine, displayName=shown, defaultFor=["email"])
    await engine.define("hello", mail(), HOME)
    await engine.trigger("hello", {}, "1")

    [payload] = await sent(engine, provider)

    read = sender_of(payload["from"])
    assert read
    assert (read.name, read.address) == (shown, "support@example.com")


async def test_a_simulation_has_templates_and_senders(engine: Engine, server: str) -> None:
    await add(engine)
    await engine.templates.create(ANN, {"name": "sign", "text": "Yours", "format": "text"})
    definition = mail(sender="support", body="Hello. {% render 'sign' %}")
    await engine.define("hello", definition, HOME)
    await engine.templates.apply(ANN, {"name": "sign", "text": "changed", "format": "text"})
    subject = await SimulatedWorkflow.find(engine, HOME, "hello")

    found = await simulate(engine, HOME, subject, Scenario(data=({},), days=1), SimulationStage(server=server))

    assert subject.kept["sign"].text == "Yours"
    [message] = found.messages
    assert dict(message.payload) == {"subject": "Hi", "body": "Hello. Yours", **FROM}
