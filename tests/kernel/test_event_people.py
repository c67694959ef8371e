"""Contacts among an event's people: addresses stand in, what they refuse is not sent, deleting them reaches it."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.kernel.event_scenes import (
    AGENT,
    LEAD,
    ME,
    PARTNER,
    items_of,
    key,
    make_rule,
    only,
    send,
    standing,
    step,
    with_fallbacks,
)
from tests.kernel.people import change, make
from tests.kernel.scenes import Sql, assert_kept, row, work
from tidings.domain.caller import Caller
from tidings.domain.errors import EventInvalid
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.kernel.people.contacts import load_people
from tidings.kernel.start import event_people
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter
from tidings.views.events import Event

TABLES = ("contacts", "events", "outbox", "attempts", "audit_log", "queue", "jobs")
UNSUBSCRIBED = {"email": "unsubscribed"}
EVERYBODY = {"includeLeadContact": True, "includePartner": True, "includeAgent": True}
DESK = "desk@example.com"


async def send_about(engine: Engine, contact_id: UUID, who: str = "lead", **more: Any) -> Event:
    """An event with nobody but a contact, unless more is given."""
    people: dict[str, Any] = {"lead": None, "partner": None, "agent": None, who: {"contactId": str(contact_id)}}
    return await send(engine, **(people | more))


async def mentioned(sql: Sql, *words: str) -> Sequence[str]:
    """Which of the words some table still holds."""
    lines = [
        found["line"].lower()
        for table in TABLES
        for found in await sql.fetch(f"select row_to_json(t)::text as line from {table} t")
    ]
    return [word for word in words if any(word in line for line in lines)]


# Who they are


async def test_a_contact_s_addresses_and_fields_stand_in_where_the_event_gives_none(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine)
    template = {"subject": "{{ lead.name }} at {{ lead.company }}", "body": "{{ lead.attributes.plan }}"}
    await make_rule(engine, step(template=template))
    await make_rule(engine, step("push"), channel="push")
    await make_rule(engine, step("sms"), channel="sms")

    given = {"contact_id": str(ada), "company": "Analytical", "name": "", "phone": "+44 20 7183 8759"}
    event = await send_about(engine, ada, lead=given)
    await work(engine)

    assert sorted((call.channel, call.recipient) for call in provider.calls) == [
        ("email", "ada@example.com"),
        ("push", "token-1"),
        ("push", "token-2"),
        ("sms", "+442071838759"),
    ]
    [email] = [call for call in provider.calls if call.channel == "email"]
    assert email.payload == {"subject": "Ada Lovelace at Analytical", "body": "pro"}
    assert {item.contact_id for item in items_of(event)} == {ada}
    assert json.loads(await sql.fetchval("select data::text from events")) == {"lead": given, "variables": {}}


async def test_what_goes_to_others_is_not_the_contact_s_but_its_own_address_is_wherever_it_comes_from(
    engine: Engine,
) -> None:
    ada = await make(engine, suppressions=UNSUBSCRIBED)
    await make_rule(engine, step(recipientConfig={"includePartner": True, "customEmails": ["ADA@example.com", DESK]}))

    event = await send_about(engine, ada, partner=PARTNER)

    assert [(item.recipient, item.status, item.contact_id) for item in items_of(event)] == [
        ("grace@example.com", "pending", None),
        ("ADA@example.com", "skipped", ada),
        (DESK, "pending", None),
    ]


@pytest.mark.parametrize("who", ["lead", "partner", "agent"])
async def test_whoever_is_no_contact_of_the_workspace_is_refused_with_the_place_before_anything_is_stored(
    engine: Engine, sql: Sql, who: str
) -> None:
    await make_rule(engine)
    elsewhere, _ = await engine.contacts.create(Caller(Workspace("default", "elsewhere"), "eve"), {"name": "Eve"})
    gone = await make(engine, "gone")
    await engine.contacts.delete(ME, gone)

    for id in (str(uuid4()), str(elsewhere.id), str(gone), "ada", 7):
        given = {"trigger": "quote_sent", who: {"email": "a@example.com", "contactId": id}}
        with pytest.raises(EventInvalid) as refused:
            await engine.events.send(ME, given)
        with pytest.raises(EventInvalid):
            await engine.events.explain(ME.workspace, given)
        [problem] = refused.value.problems
        assert (problem.place, str(id) in problem.message) == (f"{who}.contactId", True)
    assert await sql.fetchval("select count(*) from events") == 0


async def test_a_repeat_is_answered_whatever_became_of_its_contact(engine: Engine) -> None:
    ada = await make(engine)
    first = await send_about(engine, ada)
    await engine.contacts.delete(ME, ada)

    again = await send_about(engine, ada)

    assert (again.id, again.duplicate) == (first.id, True)


# What they refuse


async def test_somebody_who_refuses_the_channel_is_skipped_with_the_reason(
    engine: Engine, provider: FakeProvider
) -> None:
    ada = await make(engine, suppressions=UNSUBSCRIBED, consent={"sms": "withdrawn"})
    await make_rule(engine)
    await make_rule(engine, step("sms"), channel="sms")
    await make_rule(engine, step("voice"), channel="voice")

    event = await send_about(engine, ada)
    explained = await engine.events.explain(ME.workspace, {"trigger": "quote_sent", "lead": {"contactId": str(ada)}})
    await work(engine)

    outcomes = {(one.channel, one.outcome, tuple(item.error for item in one.items)) for one in event.decisions}
    assert outcomes == {
        ("email", "none", ("suppressed: unsubscribed",)),
        ("sms", "none", ("consent withdrawn",)),
        ("voice", "enqueued", (None,)),
    }
    assert [one.reason for one in event.decisions] == [one.reason for one in explained]
    assert [call.channel for call in provider.calls] == ["voice"]


async def test_an_opt_out_after_the_event_stops_what_is_still_to_come(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Rule 14: what a person allows is read before each mark."""
    ada = await make(engine)
    await make_rule(engine, step(), step(delay="P1D", recipientConfig=EVERYBODY))
    event = await send_about(engine, ada, agent=AGENT)
    await work(engine)

    await change(engine, ada, suppressions=UNSUBSCRIBED)
    clock.advance(days=1)
    await work(engine)

    assert [call.recipient for call in provider.calls] == ["ada@example.com", "alan@example.com"]
    shown = await engine.events.get(ME.workspace, event.id)
    told = [(item.recipient, item.status, item.error) for item in items_of(shown)]
    assert told[1:] == [
        ("ada@example.com", "skipped", "suppressed: unsubscribed"),
        ("partner", "skipped", "the event has no partner"),
        ("alan@example.com", "succeeded", None),
    ]
    assert await row(sql, "select status, planned, sent, skipped from jobs") == ("completed", 4, 2, 2)
    await assert_kept(engine)


async def test_an_address_without_a_contact_is_written_to_like_any_plain_address(
    engine: Engine, provider: FakeProvider
) -> None:
    """As a workflow's `to`: what a contact refuses holds for those who are named as that contact."""
    ada = await make(engine, suppressions=UNSUBSCRIBED)
    await make_rule(engine)

    await send(engine, lead=LEAD)
    await engine.contacts.delete(ME, ada)
    await send(engine, "k2", lead=LEAD)
    await work(engine)

    assert [call.recipient for call in provider.calls] == ["ada@example.com"] * 2


async def test_a_fallback_knows_the_contact_and_does_not_write_to_one_who_refuses(
    engine: Engine, provider: FakeProvider
) -> None:
    ada = await make(engine)
    host = with_fallbacks(engine, key())

    called = await send_about(host, ada)
    await work(host)
    await change(engine, ada, suppressions=UNSUBSCRIBED)
    refused = await send(host, "k2", lead={"contactId": str(ada)})

    [call] = provider.calls
    told = json.loads(call.payload["payload"])["lead"]
    assert (told["contactId"], told["email"], told["name"]) == (str(ada), "ada@example.com", "Ada Lovelace")
    assert items_of(called)[0].contact_id == ada
    assert (only(refused).outcome, only(refused).items) == ("none", [])
    assert only(refused).reason.endswith("is not called: suppressed: unsubscribed")


# Deleting them


async def test_an_event_is_erased_with_its_lead_as_a_whole(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine)
    template = {"subject": "{{ lead.name }}", "body": "{{ quote.secret }}"}
    to_all = EVERYBODY | {"customEmails": [DESK]}
    await make_rule(engine, step(template=template), step(template=template, recipientConfig=to_all, delay="P1D"))
    event = await send_about(engine, ada, partner=PARTNER, variables={"quote": {"secret": "discount"}})
    await work(engine)
    assert await mentioned(sql, "lovelace", "discount", "grace") == ["lovelace", "discount", "grace"]

    await engine.contacts.delete(ME, ada)
    clock.advance(days=2)
    await work(engine)

    assert await mentioned(sql, "lovelace", "discount", "ada@", "grace") == []
    assert [call.recipient for call in provider.calls] == ["ada@example.com"]
    assert await standing(engine, event) == ["succeeded", *["skipped"] * 4]
    shown = await engine.events.get(ME.workspace, event.id)
    assert (shown.data, only(shown).outcome, only(shown).reason) == ({}, "enqueued", "erased with the contact")
    assert [item.recipient for item in items_of(shown)] == [""] * 5
    await assert_kept(engine)


async def test_an_event_goes_on_without_its_agent(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    alan = await make(engine, "alan", name="Alan Turing", email="alan@example.com")
    await make_rule(engine, step(delay="P1D", recipientConfig=EVERYBODY))
    agent = {"contactId": str(alan), "room": "enigma"}
    event = await send(engine, lead=LEAD, partner=None, agent=agent)

    await engine.contacts.delete(ME, alan)
    clock.advance(days=1)
    await work(engine)

    assert await mentioned(sql, "turing", "alan@", "enigma") == []
    assert [call.recipient for call in provider.calls] == ["ada@example.com"]
    shown = await engine.events.get(ME.workspace, event.id)
    assert shown.data["lead"] == LEAD
    assert [(item.status, item.error) for item in items_of(shown)][2] == ("skipped", "the contact was deleted")
    await assert_kept(engine)


async def test_what_a_fallback_was_told_goes_with_any_of_the_people(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    alan = await make(engine, "alan", name="Alan Turing", email="alan@example.com")
    host = with_fallbacks(engine, key())
    await send(host, lead=LEAD, agent={"contactId": str(alan)})
    await work(host)
    assert await mentioned(sql, "turing") == ["turing"]

    await engine.contacts.delete(ME, alan)

    assert await mentioned(sql, "turing") == []
    assert await row(sql, "select status, recipient from outbox") == ("sent", "")


async def test_a_contact_deleted_while_its_event_was_being_stored_is_forgotten(
    engine: Engine, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deletion looks for events before this one is there."""
    ada = await make(engine)
    await make_rule(engine, step(template={"subject": "{{ lead.name }}", "body": "x"}))

    async def load_and_delete(kernel: object, ids: list[UUID]) -> object:
        found = await load_people(engine.kernel, ids)
        await engine.contacts.delete(ME, ada)
        return found

    monkeypatch.setattr(event_people, "load_people", load_and_delete)
    event = await send_about(engine, ada)
    await work(engine)

    assert provider.calls == []
    assert await mentioned(sql, "lovelace", "ada@") == []
    assert await standing(engine, event) == ["skipped"]
    await assert_kept(engine)


# From SQL

CALL = "select tidings.event('quote_sent', lead => $1::jsonb, partner => $2::jsonb, idempotency_key => $3)"


async def test_sql_names_contacts_too_and_refuses_who_is_none(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine)
    template = {"subject": "{{ lead.name }} {{ lead.attributes.plan }}", "body": "x"}
    await make_rule(engine, step(template=template))
    elsewhere, _ = await engine.contacts.create(Caller(Workspace("default", "elsewhere"), "eve"), {"name": "Eve"})
    call = partial(sql.fetchval, CALL)

    for stranger in (str(elsewhere.id), str(uuid4()), "nobody", 7):
        with pytest.raises(asyncpg.PostgresError, match=r"lead\.contactId: there is no such contact") as refused:
            await call(json.dumps({"contactId": stranger}), None, "k1")
        assert refused.value.sqlstate == "TD422"
    with pytest.raises(asyncpg.PostgresError, match=r"Missing template variables: lead\.attributes\.plan, lead\.name"):
        await call(json.dumps({"email": "a@example.com"}), None, "k1")
    id = await call(json.dumps({"contactId": "ada"}), json.dumps({"contact_id": str(ada)}), "k1")
    given = json.loads(await sql.fetchval("select data from events"))
    clock.time = await sql.fetchval("select clock_timestamp()")
    await work(engine)

    assert [(one.recipient, one.payload["subject"]) for one in provider.calls] == [
        ("ada@example.com", "Ada Lovelace pro")
    ]
    assert given["lead"] == {"contactId": str(ada)}  # an external id may be another's one day
    found = await sql.fetch("select audience, contact_id from event_contacts order by audience")
    assert [tuple(one) for one in found] == [("lead", ada), ("partner", ada)]
    assert [one.id for one in (await engine.events.list(ME.workspace, contact_id=ada)).items] == [id]


async def test_what_sql_stored_and_nobody_routed_sends_nothing_once_its_lead_is_deleted(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine)
    await make_rule(engine, step(recipientConfig={"includeLeadContact": True, "customEmails": [DESK]}))
    id = await sql.fetchval(CALL, json.dumps({"contactId": str(ada), "note": "lovelace"}), None, "k1")

    await engine.contacts.delete(ME, ada)
    clock.time = await sql.fetchval("select clock_timestamp()")
    await work(engine)

    assert provider.calls == []
    assert await mentioned(sql, "lovelace", "ada@") == []
    assert {item.status for item in items_of(await engine.events.get(ME.workspace, id))} == {"skipped"}
    await assert_kept(engine)


# Finding it again


async def test_what_was_meant_for_a_contact_is_found_by_it(engine: Engine) -> None:
    ada, bob = await make(engine), await make(engine, "bob")
    await make_rule(engine)
    mine = await send_about(engine, ada)
    await send_about(engine, bob, key="k2")
    named = await send(engine, "k3", lead=PARTNER, agent={"contactId": str(ada)})

    events = await engine.events.list(ME.workspace, contact_id=ada)
    items = await engine.outbox.list(ME.workspace, OutboxFilter(contact_id=ada))
    of_event = await engine.outbox.list(ME.workspace, OutboxFilter(event_id=mine.id))
    neither = await engine.outbox.list(ME.workspace, OutboxFilter(event_id=mine.id, contact_id=bob))

    assert {one.id for one in events.items} == {mine.id, named.id}
    assert [(one.event_id, one.contact_id) for one in items.items] == [(mine.id, ada)]
    assert [one.id for one in of_event.items] == [one.id for one in items.items]
    assert neither.items == []
