"""Numbers without a country's code are of their workspace's country, wherever a number is read."""

from collections.abc import AsyncIterator

import pytest

from tests.kernel.event_scenes import make_rule, step
from tidings.domain.caller import Caller
from tidings.domain.errors import ContactsInvalid, FieldsInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.contact_file import ContactFile, FileFormat
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.resources.rules import Rules

HERE = Workspace()
ANN = Caller(HERE, "ann")
EVE = Caller(Workspace("default", "elsewhere"), "eve")
WRITTEN, NUMBER = "0170 1234567", "+491701234567"


@pytest.fixture(autouse=True)
async def germany(engine: Engine) -> None:
    await engine.workspaces.set(ANN, HERE, phone_region="de")


async def file() -> AsyncIterator[bytes]:
    yield f"externalId,phone\ncrm-2,{WRITTEN}\n".encode()


async def test_contacts_have_their_numbers_in_one_spelling_however_they_come_in(engine: Engine) -> None:
    await engine.contacts.create(ANN, {"externalId": "crm-1", "phone": WRITTEN})
    await engine.contacts.import_file(ANN, ContactFile(FileFormat.CSV), file())
    await engine.contacts.upsert_many(ANN, [{"externalId": "crm-3", "whatsapp": WRITTEN}])
    await engine.contacts.create(ANN, {"externalId": "crm-4"})
    await engine.contacts.update(ANN, "crm-4", {"phone": WRITTEN})

    found = [await engine.contacts.get(HERE, f"crm-{number}") for number in range(1, 5)]

    assert [one.phone or one.whatsapp for one in found] == [NUMBER] * 4


async def test_another_workspace_has_its_own_country_or_none(engine: Engine) -> None:
    with pytest.raises(ContactsInvalid, match="with its country's code"):
        await engine.contacts.create(EVE, {"externalId": "crm-1", "phone": WRITTEN})

    await engine.workspaces.set(ANN, EVE.workspace, phone_region="GB")
    made, _ = await engine.contacts.create(EVE, {"externalId": "crm-1", "phone": "020 7183 8750"})

    assert made.phone == "+442071838750"


async def test_a_workflow_writes_to_the_number_that_its_workspace_means(engine: Engine, provider: FakeProvider) -> None:
    node = {"id": "a", "type": "sms", "to": "{{ phone }}", "body": "x"}
    for home in (HERE, EVE.workspace):
        await engine.define("hello", {"entryNodeId": "a", "nodes": [node], "edges": []}, home)
        await engine.trigger("hello", {"phone": WRITTEN}, "1", workspace=home)

    await engine.work_everything()

    assert {(call.workspace, call.recipient) for call in provider.calls} == {(HERE, NUMBER), (EVE.workspace, WRITTEN)}


async def test_rules_events_and_senders_read_numbers_as_their_workspace_does(
    engine: Engine, provider: FakeProvider
) -> None:
    sender = await engine.senders.create(ANN, {"name": "us", "voice": WRITTEN})
    own = {"includeLeadContact": True, "customPhones": ["0170 7654321"]}
    rule = await make_rule(engine, step("sms", recipientConfig=own), channel="sms")
    event = {"trigger": "quote_sent", "idempotencyKey": "1", "lead": {"phone": WRITTEN}}
    explained = await engine.events.explain(HERE, event)
    await engine.events.send(ANN, event)
    await engine.work_everything()

    assert sender.voice == NUMBER
    assert rule.steps[0]["recipientConfig"]["customPhones"] == ["+491707654321"]
    assert [item.recipient for one in explained for item in one.items] == [NUMBER, "+491707654321"]
    assert sorted(call.recipient for call in provider.calls) == [NUMBER, "+491707654321"]
    assert Rules.validate({"trigger": "a", "channel": "sms", "audience": "lead", "steps": [step("sms")]}) == []


async def test_what_is_about_a_number_is_erased_by_it_as_people_write_it(engine: Engine) -> None:
    national = await engine.contacts.erase_address(ANN, WRITTEN, dry_run=True)
    whole = await engine.contacts.erase_address(ANN, NUMBER, dry_run=True)

    assert national.hash == whole.hash


async def test_a_region_is_shown_taken_back_and_refused(engine: Engine) -> None:
    assert (await engine.workspaces.get(HERE)).phone_region == "DE"
    await engine.workspaces.set(ANN, HERE, weight=2)
    assert [one.phone_region for one in await engine.workspaces.list()] == ["DE"]

    with pytest.raises(FieldsInvalid, match="'Germany' is not a country: write a country's two letters, like DE"):
        await engine.workspaces.set(ANN, HERE, phone_region="Germany")

    assert (await engine.workspaces.set(ANN, HERE, phone_region="")).phone_region is None
    with pytest.raises(ContactsInvalid):
        await engine.contacts.create(ANN, {"externalId": "crm-1", "phone": WRITTEN})
