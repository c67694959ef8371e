"""Work for a contact: what templates see, where a send goes, and rule 14: nothing leaves for whoever refuses it."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock, make_engine
from tests.kernel.people import ADA, ANN, change, make, start_for, to_contact
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    crash_in_call,
    delay,
    deploy,
    email,
    graph,
    plan_runs,
    row,
    start,
    until,
    work,
    work_once,
)
from tests.stored import stored_execution, stored_run
from tidings.domain.channels import CONTACT_CHANNELS, Channel
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Fence, ItemId, OwnerId, Planned
from tidings.domain.flow.outcome import Accepted, RetryLater
from tidings.domain.flow.provider import Keyed
from tidings.domain.people.contact import LoadedContact
from tidings.engine import Engine, Trigger
from tidings.kernel.kernel import Limits
from tidings.kernel.people.contacts import Consents, load_people
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database, Tx

UNSUBSCRIBED = {"email": "unsubscribed"}
SKIPPED = ("skipped", "suppressed: unsubscribed")
ITEM = "select status, error from outbox"


# What templates see


async def test_templates_conditions_and_until_see_the_contact_as_it_is_when_the_node_runs(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    ada = await make(engine)
    nodes: list[dict[str, object]] = [
        {"id": "wait", "type": "delay", "until": "{{ contact.attributes.since }}"},
        {"id": "ask", "type": "branch"},
        to_contact("pro", subject="{{ contact.name }}", body="{{ contact.attributes.plan }} {{ order }}"),
        to_contact("free"),
    ]
    workflow = graph(*nodes, edges=[("wait", "ask"), ("ask", "pro"), ("ask", "free")])
    workflow["edges"][1]["condition"] = {"path": "contact.attributes.plan", "op": "equals", "value": "gold"}  # type: ignore[index]
    await engine.define("flow", workflow)
    id = (await engine.executions.trigger(ANN, "flow", {"order": 7}, "k1", contact_id=ada)).id

    await work(engine)
    before = len(provider.calls)
    await change(engine, ada, name="Countess", attributes={"plan": "gold"})
    clock.advance(hours=2)
    await work(engine)

    [call] = provider.calls
    assert (before, call.recipient) == (0, "ada@example.com")
    assert call.payload == {"subject": "Countess", "body": "gold 7"}
    stored = await stored_execution(engine, id)
    assert stored.status is ExecutionStatus.COMPLETED
    shown = await engine.executions.get(ANN.workspace, id)
    assert (shown.contact_id, shown.input_payload) == (ada, {"order": 7})


async def test_everything_about_a_contact_is_there_and_what_it_lacks_is_null(engine: Engine) -> None:
    id = await make(engine, "bare", name=None, phone=None, pushTokens=[], tags=[], attributes={})

    person = (await load_people(engine.kernel, [id]))[id]

    assert person.data == {
        **dict.fromkeys(("name", "phone", "whatsapp", "company", "timeZone", "locale")),
        "id": str(id),
        "externalId": "bare",
        "email": "ada@example.com",
        "status": "active",
        "pushTokens": [],
        "tags": [],
        "attributes": {},
    }


async def test_data_may_bring_a_contact_of_its_own(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    await engine.define("flow", graph(to_contact(body="Dear {{ contact.name }}")))

    await engine.trigger("flow", {"contact": {"name": "Bob", "email": "bob@example.com"}}, "k1")
    await work(engine)

    assert [(one.recipient, one.payload["body"]) for one in provider.calls] == [("bob@example.com", "Dear Bob")]
    assert await row(sql, "select contact_id from outbox") == (None,)


# Where a send goes


@pytest.mark.parametrize(
    ("channel", "recipients"),
    [
        ("email", ["ada@example.com"]),
        ("sms", ["+442071838750"]),
        ("voice", ["+442071838750"]),
        ("whatsapp", ["+442071838750"]),
        ("push", ["token-1", "token-2"]),
    ],
)
async def test_a_send_without_to_goes_to_the_contacts_addresses(
    engine: Engine, provider: FakeProvider, sql: Sql, channel: str, recipients: list[str]
) -> None:
    ada = await make(engine)

    await start_for(engine, ada, to_contact(channel=channel))
    await work(engine)

    assert sorted(one.recipient for one in provider.calls) == recipients
    assert {one["contact_id"] for one in await sql.fetch("select contact_id from outbox")} == {ada}


@pytest.mark.parametrize(
    ("channel", "reason"),
    [
        ("email", "the contact has no e-mail address"),
        ("sms", "the contact has no phone number"),
        ("whatsapp", "the contact has no WhatsApp or phone number"),
        ("push", "the contact has no push token"),
    ],
)
async def test_without_an_address_the_item_is_skipped_and_the_walk_goes_on(
    engine: Engine, provider: FakeProvider, sql: Sql, channel: str, reason: str
) -> None:
    nobody = await make(engine, email=None, phone=None, pushTokens=[])

    id = await start_for(engine, nobody, to_contact(channel=channel), email("second", to="desk@example.com"))
    await work(engine)

    assert await row(sql, "select status, error, attempts from outbox where node = 'hello'") == ("skipped", reason, 0)
    assert [one.recipient for one in provider.calls] == ["desk@example.com"]
    stored = await stored_execution(engine, id)
    assert stored.status is ExecutionStatus.COMPLETED
    shown = await engine.executions.get(ANN.workspace, id)
    assert (shown.vars["hello"]["status"], shown.vars["hello"]["error"]) == ("skipped", reason)
    await assert_kept(engine)


async def test_what_is_for_others_is_sent_whatever_the_contact_refuses(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine, suppressions=UNSUBSCRIBED, attributes={"work": "ada@work.example"})
    to = ["ADA@example.com", "{{ contact.email }}", "{{ contact.attributes.work }}", "desk@example.com"]

    await start_for(engine, ada, email(to=to))
    await work(engine)

    assert [one.recipient for one in provider.calls] == ["desk@example.com"]
    rows = await sql.fetch("select recipient, status, contact_id from outbox order by ordinal")
    assert [tuple(one) for one in rows] == [
        ("ADA@example.com", "skipped", ada),
        ("ada@work.example", "skipped", ada),
        ("desk@example.com", "sent", None),
    ]


# Rule 14


def test_a_person_refuses_by_channel_and_a_deleted_one_refuses_everything() -> None:
    person = LoadedContact(UUID(int=1), {}, {"sms": {"status": "withdrawn"}}, {"email": {"reason": "bounced"}})

    assert {channel: person.refusal(channel) for channel in CONTACT_CHANNELS} == {
        Channel.EMAIL: "suppressed: bounced",
        Channel.SMS: "consent withdrawn",
        **dict.fromkeys((Channel.WHATSAPP, Channel.PUSH, Channel.VOICE)),
    }
    assert LoadedContact(UUID(int=1), {}, {}, {}, is_deleted=True).refusal(Channel.PUSH) == "the contact was deleted"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"suppressions": UNSUBSCRIBED}, "suppressed: unsubscribed"),
        ({"consent": {"email": "withdrawn"}}, "consent withdrawn"),
    ],
)
async def test_rule_14_nothing_leaves_for_a_contact_that_refuses_it(
    engine: Engine, provider: FakeProvider, sql: Sql, fields: dict[str, object], reason: str
) -> None:
    ada = await make(engine, "ada", **fields)

    await start_for(engine, ada, to_contact(), to_contact("text", channel="sms"))
    await work(engine)

    assert [one.channel for one in provider.calls] == [Channel.SMS]
    assert await row(sql, f"{ITEM} where node = 'hello'") == ("skipped", reason)
    await assert_kept(engine)


async def test_rule_14_a_retry_after_an_opt_out_is_skipped(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine)
    provider.answer = RetryLater("busy", uses_attempt=True)
    id = await start_for(engine, ada, to_contact(), email("second", to="desk@example.com"))
    await work(engine)
    provider.answer = None

    await change(engine, ada, suppressions=UNSUBSCRIBED)
    clock.advance(hours=1)
    await work(engine)

    assert await row(sql, f"{ITEM} where node = 'hello'") == SKIPPED
    assert [one.recipient for one in provider.calls] == ["ada@example.com", "desk@example.com"]
    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
    await assert_kept(engine)


async def test_rule_14_a_contact_in_another_shard_is_read_there(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    people = {engine.kernel.shard_of(id): id for id in [await make(engine, None) for _ in range(40)]}
    provider.answer = RetryLater("busy", uses_attempt=True)
    ids = [await start_for(engine, people[shard], to_contact(), key="k1") for shard in [min(people)]]
    ids += [
        (await engine.executions.trigger(ANN, "flow", {}, f"k{number}", contact_id=id)).id
        for number, id in enumerate(people.values(), start=2)
        for _ in range(2)
    ]
    assert len(people) == engine.kernel.shards
    await work(engine)
    provider.answer = None

    for id in people.values():
        await change(engine, id, suppressions=UNSUBSCRIBED)
    clock.advance(hours=1)
    await work(engine)

    rows = {tuple(one) for one in await sql.fetch(ITEM)}
    assert rows == {SKIPPED}
    assert (
        await sql.fetchval(
            "select count(*) from outbox o join contacts c on c.id = o.contact_id where o.shard <> c.shard"
        )
        > 0
    )


async def test_rule_14_an_opt_out_during_a_long_flight_is_honoured_within_seconds(
    db: Database, clock: ManualClock, sql: Sql
) -> None:
    """One slot: everybody waits for the one before. The second is gone while the first is being called."""
    provider = FakeProvider(concurrency=1)
    engine = await make_engine(db, clock, provider, Limits(lease=timedelta(minutes=5)))
    people = [await make(engine, f"p{number}", email=f"p{number}@example.com") for number in range(4)]
    await engine.define("flow", graph(to_contact()))
    keys = [f"k{number}" for number in range(200) if ANN.workspace.bucket_of(f"k{number}") % engine.kernel.shards == 0]
    wishes = [Trigger(key, {}, id) for key, id in zip(keys, people, strict=False)]
    await engine.trigger_many("flow", wishes)
    opened = asyncio.Event()

    async def answer(_: object) -> Accepted:
        await opened.wait()
        return Accepted("m")

    provider.answer = answer
    flight = asyncio.create_task(work_once(engine))
    await until(lambda: len(provider.calls) == 1)
    for id in people:
        await change(engine, id, suppressions=UNSUBSCRIBED)
    clock.advance(seconds=2.1)
    opened.set()
    await flight

    sent = await sql.fetchval("select count(*) from outbox where status = 'sent'")
    assert len(provider.calls) == sent == 1
    assert await sql.fetchval("select count(*) from outbox where status = 'skipped'") == 3
    await assert_kept(engine)
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


async def test_rule_14_what_took_long_to_render_is_looked_at_once_more_before_its_first_mark(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await make(engine)
    await start_for(engine, ada, to_contact())
    render = engine.kernel.renderer.render

    async def slowly(batch: object) -> object:
        await change(engine, ada, suppressions=UNSUBSCRIBED)
        clock.advance(seconds=3)
        return await render(batch)  # type: ignore[arg-type]

    monkeypatch.setattr(engine.kernel.renderer, "render", slowly)
    await work_once(engine)

    assert provider.calls == []
    assert await row(sql, ITEM) == SKIPPED


async def test_rule_14_a_call_in_doubt_is_not_repeated_for_whoever_refuses_it_by_now(
    db: Database, clock: ManualClock, sql: Sql
) -> None:
    provider = FakeProvider(provider_class=Keyed(timedelta(hours=24)))
    engine = await make_engine(db, clock, provider)
    ada = await make(engine)
    id = await start_for(engine, ada, to_contact(), email("second", to="desk@example.com"))
    await crash_in_call(engine, provider)

    await change(engine, ada, suppressions=UNSUBSCRIBED)
    clock.advance(minutes=10)
    await work(engine)

    assert [one.recipient for one in provider.calls] == ["ada@example.com", "desk@example.com"]
    assert await row(sql, "select status, in_doubt, retry_at from outbox where node = 'hello'") == (
        "queued",
        True,
        None,
    )
    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
    await assert_kept(engine)
    await engine.kernel.notifier.close()
    await engine.kernel.renderer.close()


async def test_rule_14_holds_for_the_items_of_jobs(
    engine: Engine, provider: FakeProvider, sql: Sql, clock: ManualClock
) -> None:
    ada, bob = await make(engine), await make(engine, "bob", suppressions=UNSUBSCRIBED)
    run = await deploy(engine, 3)
    await plan_runs(engine)
    await sql.execute("update outbox set contact_id = $1 where recipient = 'p1@example.com'", ada)
    await sql.execute("update outbox set contact_id = $1 where recipient = 'p2@example.com'", bob)

    await work(engine)
    clock.advance(minutes=1)
    await work(engine)

    assert sorted(one.recipient for one in provider.calls) == ["p1@example.com", "p3@example.com"]
    assert await row(sql, f"{ITEM} where contact_id = $1", bob) == SKIPPED
    counts = (await stored_run(engine, run)).counts
    assert (counts.sent, counts.skipped) == (2, 1)
    await assert_kept(engine)


# What it costs


async def test_without_a_contact_nothing_is_asked_about_people(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    fetch = Tx.fetch

    async def watched(self: Tx, statement: object, **values: object) -> object:
        asked.append(statement.name)  # type: ignore[attr-defined]
        return await fetch(self, statement, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(Tx, "fetch", watched)
    await start(engine, email(), delay("wait", "PT1M"))
    await deploy(engine, 3)
    await work(engine)

    assert "mark_items" in asked
    assert not {"load_people", "read_consents", "find_own_contacts"} & set(asked)


async def test_a_batch_reads_its_people_once_and_not_again_within_two_seconds(
    engine: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await make(engine)
    await start_for(engine, ada, to_contact())
    asked: list[str] = []
    fetch = Tx.fetch

    async def watched(self: Tx, statement: object, **values: object) -> object:
        asked.append(statement.name)  # type: ignore[attr-defined]
        return await fetch(self, statement, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(Tx, "fetch", watched)
    await work_once(engine)

    assert len(provider.calls) == 1
    assert asked.count("load_people") == 1
    assert "read_consents" not in asked


async def test_what_people_allow_is_read_anew_after_two_seconds(engine: Engine, clock: ManualClock) -> None:
    ada = await make(engine)
    people = await load_people(engine.kernel, [ada])
    consents = Consents(engine.kernel, people, clock.time)
    item = _planned(ada)

    await change(engine, ada, suppressions=UNSUBSCRIBED)
    clock.advance(seconds=2)
    await consents.refresh([item])
    at_two = consents.refusal(item)
    clock.advance(seconds=0.001)
    await consents.refresh([item])

    assert (at_two, consents.refusal(item)) == (None, "suppressed: unsubscribed")


def _planned(contact_id: UUID) -> Planned:
    return Planned(
        id=ItemId(UUID(int=1)),
        owner=OwnerId(UUID(int=2)),
        fence=Fence(1),
        node="hello",
        visit=1,
        ordinal=0,
        channel=Channel.EMAIL,
        provider="fake",
        recipient=str(ADA["email"]),
        payload={},
        key=b"",
        workspace=Workspace(),
        contact_id=contact_id,
    )
