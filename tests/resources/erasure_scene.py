"""Every product used for one person with canaries: what is sent, refused, in doubt, given up, tried again, planned."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

from tests.conftest import ManualClock
from tests.kernel.event_scenes import AGENT, LEAD, PARTNER, key, make_rule, send, step, with_fallbacks
from tests.kernel.people import ANN
from tests.kernel.scenes import Sql, crash_in_call, delay, email, graph, work
from tests.resources.campaign_scenes import letter
from tests.resources.canary import CANARY, STRANGER
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.people.audience import Audience
from tidings.domain.people.contact_file import ContactFile, FileFormat
from tidings.domain.simulation import Scenario
from tidings.engine import Deployment, Engine, Recipient, Resolution
from tidings.providers.fake import FakeProvider
from tidings.resources.bulk import BulkTrigger
from tidings.resources.executions import DeadLetterFilter
from tidings.resources.runs import RetryFilter
from tidings.simulation.simulate import SimulationStage, simulate
from tidings.simulation.workflow import SimulatedWorkflow
from tidings.views.sequences import SequenceStatus

HOME = ANN.workspace


def answer(item: Marked) -> Outcome:
    """A provider that quotes the person in whatever it says, as servers do."""
    said = f"<{item.recipient}> {json.dumps(item.payload)}"
    text = json.dumps(item.payload)
    if item.channel is Channel.FUNCTION:
        return Accepted(f"call-{item.recipient}", {"echo": item.payload})
    outcomes: dict[str, Outcome] = {
        "REJECT": Rejected(f"550 no such user {said}"),
        "BUSY": RetryLater(f"450 busy {said}"),
        "DOUBT": Unknown(f"no answer about {said}"),
    }
    if said_so := [outcome for word, outcome in outcomes.items() if word in text]:
        return said_so[0]
    if "RAISE" in text:
        raise RuntimeError(f"a bug shows {said}")
    return Accepted(f"id-for-{item.recipient}")


def talk(id: str, **more: object) -> dict[str, object]:
    """A message to the contact that tells all that is known of it."""
    body = "{{ contact.name }} {{ contact.email }} {{ contact.company }} {{ contact.attributes | json }} {{ note }}"
    return {"id": id, "type": "email", "subject": "Dear {{ contact.name }}", "body": body} | more


def call(id: str, payload: Mapping[str, object]) -> dict[str, object]:
    return {"id": id, "type": "function", "function": "crm", "action": "look", "payload": payload}


async def use_everything(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, stage: SimulationStage
) -> UUID:
    """Return the contact, about whom something is stored wherever something can be."""
    contact, _ = await engine.contacts.create(ANN, CANARY)
    provider.answer = answer
    await import_file(engine)
    await use_workflows(engine, clock, provider, contact.id)
    await use_sequence(engine, clock, contact.id)
    await use_campaigns(engine, clock, contact.id)
    await use_events(engine, clock, contact.id)
    await use_sql(engine, clock, sql, contact.id)
    await use_simulation(engine, stage, contact.id)
    await see_outages(engine, clock, provider, contact.id)
    return contact.id


async def import_file(engine: Engine) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"externalId,email,phone,company\n"
        yield f"{CANARY['externalId']},{CANARY['email']},{CANARY['phone']},{CANARY['company']}\n".encode()
        yield b"canary-bad,canary is no address,+44,x\n"

    report = await engine.contacts.import_file(ANN, ContactFile(FileFormat.CSV), pieces())
    assert report.rejected == 1


async def use_workflows(engine: Engine, clock: ManualClock, provider: FakeProvider, contact: UUID) -> None:
    nodes: list[dict[str, object]] = [
        {"id": "ask", "type": "branch"},
        call("look", {"who": "{{ contact.name }}", "all": "{{ contact.attributes }}", "note": "{{ note }}"}),
        talk("hello"),
        talk("again", body="BUSY {{ contact.email }}", onFailure="continue"),
        talk("refused", body="REJECT {{ contact.name }} {{ vars.look.echo | json }}", onFailure="continue"),
        talk("doubt", body="DOUBT {{ contact.name }}"),
        talk("raised", body="RAISE {{ contact.name }}"),
        email("desk", to="desk@example.com", body="{{ contact.email }} asks {{ vars.look.echo }}"),
        email("last", to="desk@example.com", body="REJECT {{ contact.email }}"),
    ]
    flow = graph(*nodes)
    flow["edges"][0]["condition"] = {"path": "contact.attributes.plan", "op": "exists"}  # type: ignore[index]
    await engine.define("for contact", flow)
    plain = [
        call("look", {"who": "{{ name }}", "at": "{{ email }}"}),
        email("hello", to="{{ email }}", body="Dear {{ name }}: {{ note }}"),
        email("refused", to="{{ email }}", body="REJECT {{ name }}", onFailure="continue"),
        email("doubt", to="{{ email }}", body="DOUBT {{ name }}"),
        email("desk", to="desk@example.com", body="REJECT {{ name }} at {{ email }}"),
    ]
    await engine.define("for anybody", graph(*plain))
    await engine.define("waiting", graph(delay("wait", "P30D"), email("late", to="{{ email }}", body="{{ name }}")))
    await engine.define("patient", graph(delay("wait", "P30D"), talk("late")))
    data = {"note": "a canary wrote"}
    await engine.executions.trigger(ANN, "for contact", data, "k1", contact_id=contact)
    await engine.executions.trigger(ANN, "for contact", data, "k2", contact_id=CANARY["externalId"])
    await engine.executions.trigger(ANN, "for anybody", STRANGER, "k3")
    many = [
        BulkTrigger("for contact", data, "k4", contact),
        BulkTrigger("for anybody", STRANGER, "k5"),
        BulkTrigger("waiting", STRANGER, "k6"),
        BulkTrigger("patient", data, "k7", contact),
    ]
    await engine.executions.trigger_many(ANN, many)
    for _ in range(8):
        await work(engine)
        clock.advance(minutes=10)
    for address in (CANARY["email"], STRANGER["email"]):
        await engine.executions.replay(ANN, DeadLetterFilter(error=address))
    await work(engine)
    for item in (await engine.outbox.list(HOME)).items:
        if item.in_doubt:
            await engine.outbox.resolve(ANN, item.id, Resolution.FAILED, f"{CANARY['name']} says no")
            break
    await engine.define("crashing", graph(talk("hello")))
    await engine.executions.trigger(ANN, "crashing", data, "k8", contact_id=contact)
    await crash_in_call(engine, provider)
    clock.advance(minutes=10)
    await work(engine)


async def use_sequence(engine: Engine, clock: ManualClock, contact: UUID) -> None:
    steps: list[dict[str, Any]] = [
        {
            "dayOffset": 0,
            "stepOrder": 1,
            "channel": "email",
            "subject": "{{ contact.name }}",
            "content": "{{ contact.email }}",
        },
        {"dayOffset": 0, "stepOrder": 2, "channel": "email", "subject": "x", "content": "REJECT {{ contact.name }}"},
        {"dayOffset": 30, "stepOrder": 3, "channel": "email", "subject": "x", "content": "{{ contact.name }}"},
    ]
    made = await engine.sequences.create(ANN, "drip", {}, steps)
    await engine.sequences.update(ANN, made.id, status=SequenceStatus.ACTIVE)
    named = {"contactIds": [CANARY["externalId"]]}
    await engine.enrollments.enroll(ANN, made.id, CANARY["externalId"])
    await engine.enrollments.batch_enroll(ANN, made.id, named)
    await work(engine)


async def use_campaigns(engine: Engine, clock: ManualClock, contact: UUID) -> None:
    everybody = {"subject": "Dear {{ contact.name }}", "body": "{{ contact.email }} {{ contact.attributes | json }}"}
    named = {"contactIds": [CANARY["externalId"]]}
    await engine.segments.create(ANN, {"name": "chosen", "audience": named})
    made = await engine.campaigns.create(ANN, letter(content=everybody, audience=named))
    await engine.campaigns.preview(HOME, made.id, contact)
    await engine.campaigns.test(ANN, made.id, "me@example.com", contact)
    await engine.campaigns.test(ANN, made.id, CANARY["email"], CANARY["externalId"])
    await engine.campaigns.deploy(ANN, made.id)
    refused = await engine.campaigns.create(
        ANN, letter(name="refused", content={"subject": "x", "body": "REJECT {{ contact.name }}"}, audience=named)
    )
    await engine.campaigns.test(ANN, refused.id, "me@example.com", contact)
    run = await engine.campaigns.deploy(ANN, refused.id)
    waiting = await engine.campaigns.create(ANN, letter(name="later", content=everybody, audience={"all": True}))
    for channel in ("sms", "push", "whatsapp", "voice"):
        text = {"script": "{{ contact.name }}"} if channel == "voice" else {"body": "{{ contact.name }}"}
        other = await engine.campaigns.create(ANN, letter(name=channel, channel=channel, content=text, audience=named))
        await engine.campaigns.deploy(ANN, other.id)
    for _ in range(4):
        await work(engine)
        clock.advance(minutes=1)
    await engine.runs.retry(ANN, run.id, RetryFilter(error="no such user <canary@example.com>"))
    for _ in range(4):
        await work(engine)
        clock.advance(minutes=1)
    clock.advance(minutes=1)
    await engine.campaigns.test(ANN, waiting.id, "me@example.com", contact)  # not claimed until it is erased
    await engine.deploy(
        Deployment(
            made.id,
            "list",
            Channel.EMAIL,
            {"subject": "x", "body": "REJECT {{ name }}"},
            [Recipient("WANDERER@example.com", STRANGER), Recipient("bob@example.com", {"name": "Bob"})],
        )
    )
    for _ in range(4):
        await work(engine)
        clock.advance(minutes=1)


async def use_events(engine: Engine, clock: ManualClock, contact: UUID) -> None:
    told = {"subject": "{{ lead.name }}", "body": "{{ lead.email }} {{ note }}"}
    everybody = {"includeLeadContact": True, "includePartner": True, "includeAgent": True}
    await make_rule(engine, step(template=told), step(template=told, delay="P30D"), trigger="about_lead")
    await make_rule(engine, step(template={"subject": "x", "body": "REJECT {{ lead.name }}"}), trigger="refused")
    await make_rule(engine, step(recipientConfig=everybody), trigger="with_others")
    about: dict[str, Any] = {"contactId": str(contact), "remark": "a canary called"}
    nobody = {"lead": None, "partner": None, "agent": None}
    plain = STRANGER | {"email": "Wanderer@EXAMPLE.com"}
    for number, lead in enumerate((about, plain)):
        note = {"note": "canary" if lead is about else "wanderer"}
        await send(engine, f"l{number}", "about_lead", **(nobody | {"lead": lead, "variables": note}))
        await send(engine, f"r{number}", "refused", **(nobody | {"lead": lead}))
    await send(engine, "p1", "with_others", lead=LEAD, partner=about, agent=AGENT)
    await send(engine, "a1", "with_others", lead=LEAD, partner=PARTNER, agent=about)
    await send(engine, "a2", "with_others", lead=LEAD, partner=PARTNER, agent=plain)
    host = with_fallbacks(engine, key("fallen"))
    await send(host, "f1", "fallen", **(nobody | {"lead": about}))
    await send(host, "f2", "fallen", lead=LEAD, partner=about, agent=AGENT)
    await send(host, "f3", "fallen", **(nobody | {"lead": plain}))
    await send(engine, "n1", "unheard_of", **(nobody | {"lead": about}))
    for _ in range(3):
        await work(host)
        clock.advance(minutes=5)


async def use_sql(engine: Engine, clock: ManualClock, sql: Sql, contact: UUID) -> None:
    await sql.fetchval("select tidings.trigger('for anybody', $1::jsonb, 's1')", json.dumps(STRANGER))
    start = "select tidings.trigger('for contact', $1::jsonb, 's2', contact_id => tidings.contact_id($2))"
    await sql.fetchval(start, json.dumps({"note": "canary"}), CANARY["externalId"])
    event = "select tidings.event('about_lead', lead => $1::jsonb, idempotency_key => $2, variables => $3::jsonb)"
    for number, lead in enumerate(
        ({"contactId": CANARY["externalId"]}, {"contactId": str(contact), "email": "canary is no address"}, STRANGER)
    ):
        note = {"note": "wanderer" if lead is STRANGER else "canary"}
        await sql.fetchval(event, json.dumps(lead), f"s{number}", json.dumps(note))
    clock.time = max(clock.time, await sql.fetchval("select clock_timestamp()"))
    await work(engine)


async def use_simulation(engine: Engine, stage: SimulationStage, contact: UUID) -> None:
    found = await engine.workflows.find(HOME, "patient")
    subject = await SimulatedWorkflow.find(engine, HOME, found.id)
    scenario = Scenario(days=1, contacts=Audience(all=True), messages_of=(contact,), data=({"note": "x"},))
    await simulate(engine, HOME, subject, scenario, stage)


async def see_outages(engine: Engine, clock: ManualClock, provider: FakeProvider, contact: UUID) -> None:
    """A provider that quotes the recipient in what it says of itself."""
    await engine.define("outage", graph(talk("hello")))
    provider.answer = Unavailable(f"421 too many messages for {CANARY['email']} or {CANARY['email'].upper()}")
    await engine.executions.trigger(ANN, "outage", {"note": "canary"}, "o1", contact_id=contact)
    await work(engine)
    clock.advance(hours=1)
    provider.answer = answer
    await work(engine)
    provider.answer = RetryLater(f"429 slow down for {CANARY['email']}", uses_attempt=False)
    await engine.executions.trigger(ANN, "outage", {"note": "canary"}, "o2", contact_id=contact)
    await work(engine)
    clock.advance(hours=1)
    provider.answer = answer
    await work(engine)
