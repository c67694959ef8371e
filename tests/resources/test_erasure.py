"""Deleting a contact: its work ends, nothing about it stays, what was sent counts, what it refused is remembered."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from tests.conftest import ManualClock
from tests.kernel.people import ANN, change, make, start_for, to_contact
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    crash_in_call,
    delay,
    deploy,
    email,
    frozen_in_call,
    graph,
    plan_runs,
    row,
    with_lossy_database,
    work,
)
from tests.pages import columns_about_people
from tests.resources.asking import audited
from tests.resources.campaign_scenes import letter
from tests.resources.canary import NEEDLES, STRANGER, STRANGERS_NEEDLES, found_in, found_in_tables, written_lines
from tests.resources.erasure_scene import use_everything
from tests.stored import TESTER, items_in_doubt, stored_execution, stored_run
from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, InputInvalid, NotFound
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.domain.people.contact_file import ContactFile, FileFormat
from tidings.domain.people.sought import seek_address
from tidings.engine import Engine, Resolution, Trigger
from tidings.kernel.start import trigger
from tidings.kernel.start.check import check_triggers, find_workflow
from tidings.providers.fake import FakeProvider
from tidings.resources.runs import RetryFilter
from tidings.simulation.simulate import SimulationStage
from tidings.views.contacts import ContactOutcome

TABLES = (
    "audience",
    "contacts",
    "contact_tags",
    "executions",
    "outbox",
    "audit_log",
    "execution_log",
    "attempts",
    "queue",
)
PERSONAL = ("ada@", "lovelace", "countess", "442071838750", "token-1", "gold")
UNSUBSCRIBED = {"email": "unsubscribed"}
HOLDING = {
    *("contacts.attributes", "contact_tags.tag", "executions.input", "executions.vars", "executions.error"),
    *("execution_log.saw", "outbox.recipient", "outbox.payload", "outbox.result"),
    *("outbox.error", "outbox.provider_message_id", "attempts.error", "events.data", "events.decisions"),
    *("audience.recipient", "audit_log.detail"),
}
"""Where the scene must have stored something about the contact, or the search proves little."""
HOLDING_STRANGERS = HOLDING - {"contacts.attributes", "contact_tags.tag", "execution_log.saw", "events.decisions"}
HOLDING_STRANGERS |= {"audience.data"}
ADDRESSES = [str(STRANGER["email"]).upper(), str(STRANGER["phone"]), *STRANGER["pushTokens"]]
COUNTED = ("executions", "events", "items", "listed", "mentions", "open")
OTHERS = {"bob@example.com", "ada@example.com", "alan@example.com", "grace@example.com"}


async def everything(sql: Sql) -> str:
    """Whatever the tables hold about anybody, in one text."""
    return "\n".join(
        [
            row["line"]
            for table in TABLES
            for row in await sql.fetch(f"select row_to_json(t)::text as line from {table} t")
        ]
    ).lower()


async def assert_forgotten(sql: Sql) -> None:
    found = await everything(sql)
    assert [word for word in PERSONAL if word in found] == []


# Its work


async def test_the_execution_of_a_deleted_contact_ends_cancelled_and_nothing_more_leaves(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine, "crm-1")
    id = await start_for(engine, ada, to_contact(), delay("wait", "P1D"), to_contact("second"), note="lovelace")
    await work(engine)

    await engine.contacts.delete(ANN, ada)
    await work(engine)
    clock.advance(days=2)
    await work(engine)

    shown = await engine.executions.get(ANN.workspace, id)
    assert (shown.status, shown.error_message) == ("cancelled", "the contact was deleted")
    assert len(provider.calls) == 1
    assert await row(sql, "select status, recipient, payload from outbox") == ("sent", "", "{}")
    await assert_forgotten(sql)
    await assert_kept(engine)


async def test_nothing_personal_stays_wherever_it_was_written(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Input, results, payloads, what branches saw, what providers said, what people noted; of what has ended, too."""
    ada = await make(engine, "crm-1", attributes={"plan": "gold"})
    nodes: list[dict[str, object]] = [
        {"id": "ask", "type": "branch"},
        to_contact("hello", subject="Dear {{ contact.name }}", onFailure="continue"),
        {
            "id": "call",
            "type": "function",
            "function": "crm",
            "action": "note",
            "payload": {"who": "{{ contact.name }}"},
        },
        email("sales", to="desk@example.com", body="{{ contact.email }} wrote {{ note }}"),
    ]
    workflow = graph(*nodes)
    workflow["edges"][0]["condition"] = {"path": "contact.attributes.plan", "op": "equals", "value": "gold"}  # type: ignore[index]
    await engine.define("flow", workflow)
    provider.script = {
        "ada@example.com": [RetryLater("ada@example.com is busy", uses_attempt=True), Rejected("no ada@example.com")],
        "desk@example.com": [Rejected("desk does not know ada@example.com")],
    }
    started = await engine.executions.trigger(ANN, "flow", {"note": "lovelace"}, "k1", contact_id=ada)
    id = started.id
    await work(engine)
    clock.advance(hours=1)
    await work(engine)
    assert (await stored_execution(engine, id)).status is ExecutionStatus.FAILED
    await engine.executions.retry(ANN, id)
    provider.script = {"desk@example.com": [Rejected("still nothing for ada@example.com")]}
    await work(engine)
    before = await everything(sql)
    assert [word for word in ("ada@example.com", "gold", "lovelace") if word not in before] == []

    await engine.contacts.delete(ANN, ada)
    await work(engine)

    await assert_forgotten(sql)
    stored = await stored_execution(engine, id)
    assert stored.status is ExecutionStatus.FAILED
    assert stored.error == "erased with the contact"
    log = await engine.executions.log(ANN.workspace, id)
    assert [line.node for line in log] == ["ask", "hello", "call", "sales"]
    await assert_kept(engine)


async def test_a_contact_deleted_during_a_call_is_forgotten_by_whoever_made_it(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine, "crm-1")
    id = await start_for(engine, ada, to_contact(), to_contact("second"))
    provider.answer = RetryLater("ada@example.com is busy", uses_attempt=True)

    async with frozen_in_call(engine, provider) as answered:
        await engine.contacts.delete(ANN, ada)
        answered.set()
    await work(engine)

    assert len(provider.calls) == 1
    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED
    assert await row(sql, "select status, error from outbox") == ("skipped", "the contact was deleted")
    await assert_forgotten(sql)
    await assert_kept(engine)


async def test_a_call_that_a_worker_died_in_stays_in_doubt_and_is_never_made_again(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine, "crm-1")
    await start_for(engine, ada, to_contact())
    await crash_in_call(engine, provider)

    await engine.contacts.delete(ANN, ada)
    clock.advance(minutes=10)
    await work(engine)

    [item] = await items_in_doubt(engine)
    assert item.recipient == ""
    await assert_forgotten(sql)
    with pytest.raises(Conflict, match="erased with its contact"):
        await engine.outbox.resolve(TESTER, item.id, Resolution.RESEND, "she asked for it")
    await engine.outbox.resolve(TESTER, item.id, Resolution.FAILED, "nobody knows")
    await work(engine)
    assert len(provider.calls) == 1
    await assert_kept(engine)


async def test_work_that_was_started_while_its_contact_was_deleted_ends_at_its_first_look(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine, "crm-1")
    await engine.define("flow", graph(to_contact()))
    found = await find_workflow(engine.kernel, ANN.workspace, "flow")
    checked, wrong = await check_triggers(engine.kernel, ANN.workspace, found, [Trigger("k1", {"a": "lovelace"}, ada)])
    assert wrong == {}

    await engine.contacts.delete(ANN, ada)
    [started] = await trigger.store_triggers(engine.kernel, ANN.workspace, checked)
    await work(engine)

    assert provider.calls == []
    assert (await stored_execution(engine, started.id)).status is ExecutionStatus.CANCELLED
    await assert_forgotten(sql)
    await assert_kept(engine)


async def test_a_replay_of_what_failed_for_a_deleted_contact_sends_nothing(
    engine: Engine, provider: FakeProvider
) -> None:
    ada = await make(engine)
    provider.answer = Rejected("no")
    id = await start_for(engine, ada, to_contact())
    await work(engine)
    await engine.contacts.delete(ANN, ada)
    provider.answer = None

    await engine.executions.retry(ANN, id)
    await work(engine)

    assert len(provider.calls) == 1
    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED


async def test_the_items_of_runs_are_skipped_counted_and_erased(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada, bob = await make(engine, "crm-1"), await make(engine, "crm-2", email="bob@example.com")
    run = await deploy(engine, 3)
    await plan_runs(engine)
    await sql.execute(
        'update outbox set contact_id = $1, payload = \'{"body": "Dear Lovelace"}\' where ordinal = 1', ada
    )
    await sql.execute("update outbox set contact_id = $1 where ordinal = 2", bob)

    await engine.contacts.delete(ANN, ada)
    skipped = await row(sql, "select status, error, recipient, payload from outbox where ordinal = 1")
    await work(engine)
    clock.advance(minutes=1)
    await work(engine)

    assert skipped == ("skipped", "the contact was deleted", "", "{}")
    assert len(provider.calls) == 2
    counts = (await stored_run(engine, run)).counts
    assert (counts.sent, counts.skipped) == (2, 1)
    await engine.contacts.delete(ANN, bob)
    assert await row(sql, "select status, recipient from outbox where ordinal = 2") == ("sent", "")
    await assert_kept(engine)


async def test_a_test_send_reads_its_contact_when_it_is_rendered_and_is_erased_with_it(
    engine: Engine, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.kernel.people.erase.PAGE", 2)
    ada, bob = await make(engine, "crm-1"), await make(engine, "crm-2", name="Bob")
    content = {"subject": "Dear {{ contact.name }}", "body": "{{ contact.email }}"}
    made = await engine.campaigns.create(ANN, letter(content=content))
    runs = [(await engine.campaigns.test(ANN, made.id, "me@example.com", ada)).id for _ in range(5)]
    await engine.campaigns.test(ANN, made.id, "me@example.com", bob)
    await change(engine, ada, name="Countess")
    await work(engine)
    subjects = sorted(call.payload["subject"] for call in provider.calls)
    await engine.campaigns.test(ANN, made.id, "me@example.com", ada)
    unplanned = await engine.campaigns.test(ANN, made.id, "me@example.com", ada)

    await engine.contacts.delete(ANN, ada)
    await work(engine)

    assert subjects == ["Dear Bob", *["Dear Countess"] * 5]
    assert len(provider.calls) == 6
    left = await sql.fetch("select recipient from audience where recipient <> ''")
    assert [one["recipient"] for one in left] == ["me@example.com"]
    assert await sql.fetchval("select count(*) from outbox where recipient <> ''") == 1
    assert [(await stored_run(engine, id)).counts.sent for id in runs] == [1] * 5
    assert (await stored_run(engine, unplanned.id)).counts.skipped == 1
    assert "countess" not in await everything(sql)
    await assert_kept(engine)


async def test_a_test_that_was_planned_while_its_contact_was_deleted_sends_nothing(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    """Its deletion looked for tests before this one was an item."""
    ada = await make(engine, "crm-1")
    made = await engine.campaigns.create(ANN, letter())
    run = await engine.campaigns.test(ANN, made.id, "ada@example.com", ada)
    await plan_runs(engine)
    await sql.execute(
        "update contacts set external_id = null, name = null, email = null, phone = null, push_tokens = '{}',"
        " tags = '{}', attributes = '{}', deleted_at = '2026-03-02'"
    )
    await sql.execute("delete from contact_tags")

    await work(engine)

    assert provider.calls == []
    assert (await stored_run(engine, run.id)).counts.skipped == 1
    await assert_forgotten(sql)
    await assert_kept(engine)


async def test_a_test_that_is_tried_again_still_shows_its_contact_and_goes_with_it(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine, "crm-1")
    made = await engine.campaigns.create(ANN, letter())
    provider.answer = Rejected("no")
    run = await engine.campaigns.test(ANN, made.id, "me@example.com", ada)
    await work(engine)
    clock.advance(minutes=1)
    await work(engine)
    provider.answer = None
    await engine.runs.retry(ANN, run.id, RetryFilter(error="no"))
    await work(engine)

    again = provider.calls[-1].payload["subject"]
    await engine.contacts.delete(ANN, ada)

    assert (len(provider.calls), again) == (2, "Hello Ada Lovelace")
    assert await sql.fetchval("select count(*) from runs where retry_where is not null") == 0
    assert "lovelace" not in await everything(sql)


async def test_more_work_than_a_page_is_all_erased(engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.kernel.people.erase.PAGE", 3)
    ada = await make(engine, "crm-1")
    await engine.define("flow", graph(to_contact(channel="push")))
    await engine.trigger_many("flow", [Trigger(f"k{number}", {"a": "lovelace"}, ada) for number in range(40)])
    await work(engine)

    await engine.contacts.delete(ANN, ada)

    await assert_forgotten(sql)


async def test_others_keep_what_is_theirs(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    ada, bob = await make(engine, "crm-1"), await make(engine, "crm-2", email="bob@example.com", name="Bob")
    await start_for(engine, ada, to_contact())
    other = await start_for(engine, bob, to_contact(body="{{ contact.name }}"), delay("w", "P1D"), key="k2", a="mine")
    await work(engine)

    await engine.contacts.delete(ANN, ada)
    await work(engine)

    assert await row(sql, "select recipient, payload::text from outbox where contact_id = $1", bob) == (
        "bob@example.com",
        '{"body": "Bob", "subject": "Hi"}',
    )
    shown = await engine.executions.get(ANN.workspace, other)
    assert (shown.status, shown.input_payload) == ("processing", {"a": "mine"})


async def test_a_deletion_that_broke_off_is_finished_by_the_next(engine: Engine, sql: Sql) -> None:
    ada = await make(engine, "crm-1")
    id = await start_for(engine, ada, to_contact(), delay("wait", "P1D"), a="lovelace")
    await work(engine)
    await sql.execute(
        "update contacts set external_id = null, name = null, email = null, phone = null, push_tokens = '{}',"
        " tags = '{}', attributes = '{}', deleted_at = '2026-03-02'"
    )
    await sql.execute("delete from contact_tags")

    with pytest.raises(NotFound):
        await engine.contacts.delete(ANN, ada)
    await work(engine)

    assert (await stored_execution(engine, id)).status is ExecutionStatus.CANCELLED
    await assert_forgotten(sql)


async def test_lost_answers_change_nothing_about_a_deletion(engine: Engine, sql: Sql, clock: ManualClock) -> None:
    ada = await make(engine, "crm-1", suppressions=UNSUBSCRIBED)
    await start_for(engine, ada, to_contact(channel="sms"), delay("wait", "P1D"), a="lovelace")
    await work(engine)

    await with_lossy_database(engine, lose=lambda count: count % 2 == 1).contacts.delete(ANN, ada)
    await work(engine)

    await assert_forgotten(sql)
    assert len(await audited(engine, ANN, "deleted")) == 1
    assert await sql.fetchval("select count(*) from suppressed_addresses") == 1
    await assert_kept(engine)


async def test_two_deletions_at_once_are_one(engine: Engine) -> None:
    ada = await make(engine, "crm-1")

    answers = await asyncio.gather(*(engine.contacts.delete(ANN, ada) for _ in range(3)), return_exceptions=True)

    assert [type(answer) for answer in answers if answer is not None] == [NotFound, NotFound]
    assert len(await audited(engine, ANN, "deleted")) == 1


async def test_a_strangers_contact_is_not_found_and_nothing_of_it_is_touched(
    engine: Engine, sql: Sql, stranger: Caller
) -> None:
    ada = await make(engine, suppressions=UNSUBSCRIBED)
    id = await start_for(engine, ada, to_contact(), a="lovelace")

    with pytest.raises(NotFound):
        await engine.contacts.delete(stranger, ada)

    assert (await engine.executions.get(ANN.workspace, id)).input_payload == {"a": "lovelace"}
    assert await sql.fetchval("select count(*) from suppressed_addresses") == 0


# What it refused


async def import_ada(engine: Engine, line: bytes = b"ADA@example.com,+442071838750\n") -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"email,phone\n" + line

    await engine.contacts.import_file(ANN, ContactFile(FileFormat.CSV), pieces())


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"suppressions": {"email": {"reason": "complained", "at": "2026-01-02T03:04:05Z"}}}, {"email": "complained"}),
        ({"consent": {"sms": "withdrawn"}}, {"sms": "unsubscribed"}),
        ({"suppressions": {"voice": "manual", "whatsapp": "manual"}}, {"voice": "manual", "whatsapp": "manual"}),
        ({}, {}),
    ],
)
async def test_the_same_address_imported_again_is_born_suppressed(
    engine: Engine, sql: Sql, provider: FakeProvider, fields: dict[str, object], reasons: dict[str, str]
) -> None:
    ada = await make(engine, "crm-1", **fields)
    await engine.contacts.delete(ANN, ada)
    await assert_forgotten(sql)

    await import_ada(engine)

    again = await engine.contacts.find(ANN.workspace, "ada@example.com")
    assert {channel: entry["reason"] for channel, entry in again.suppressions.items()} == reasons
    await start_for(engine, again.id, to_contact())
    await work(engine)
    assert len(provider.calls) == ("email" not in reasons)
    if reasons == {"email": "complained"}:
        assert again.suppressions["email"]["at"] == "2026-01-02T03:04:05+00:00"


async def test_what_is_kept_is_a_hash_that_another_workspace_does_not_know(
    engine: Engine, sql: Sql, stranger: Caller
) -> None:
    ada = await make(engine, suppressions={"push": "manual", **UNSUBSCRIBED})
    await engine.contacts.delete(ANN, ada)

    elsewhere, _ = await engine.contacts.create(stranger, {"email": "ada@example.com"})

    assert elsewhere.suppressions == {}
    kept = await sql.fetch(
        "select octet_length(hash) as length, shard = shard_of_hash(hash) as placed from suppressed_addresses"
    )
    assert [tuple(one) for one in kept] == [(32, True)] * 3


async def test_a_contact_that_gets_such_an_address_later_is_suppressed_by_it(engine: Engine) -> None:
    await engine.contacts.delete(ANN, await make(engine, "crm-1", suppressions=UNSUBSCRIBED))
    bob = await make(engine, "bob", email="bob@example.com", phone=None, pushTokens=[])

    await change(engine, bob, email="ada@example.com")

    assert (await engine.contacts.get(ANN.workspace, bob)).suppressions["email"]["reason"] == "unsubscribed"


async def test_somebody_who_says_so_may_be_written_to_again_for_good(engine: Engine) -> None:
    await engine.contacts.delete(ANN, await make(engine, "crm-1", suppressions=UNSUBSCRIBED))
    again = await make(engine, "crm-2")
    born = (await engine.contacts.get(ANN.workspace, again)).suppressions

    await change(engine, again, suppressions={"email": None})
    await change(engine, again, email="ada@example.com", name="Countess")
    lifted = (await engine.contacts.get(ANN.workspace, again)).suppressions
    await engine.contacts.delete(ANN, again)
    third = await make(engine, "crm-3")

    assert (list(born), lifted) == (["email"], {})
    assert (await engine.contacts.get(ANN.workspace, third)).suppressions == {}


async def test_a_new_contact_that_is_said_to_be_writable_is(engine: Engine) -> None:
    await engine.contacts.delete(ANN, await make(engine, "crm-1", suppressions=UNSUBSCRIBED))

    again = await make(engine, "crm-2", suppressions={"email": None})

    assert (await engine.contacts.get(ANN.workspace, again)).suppressions == {}


async def test_an_import_that_finds_the_contact_again_changes_nothing_about_it(engine: Engine) -> None:
    """A suppression that was lifted by hand must not come back with the next file."""
    await engine.contacts.delete(ANN, await make(engine, "crm-1", suppressions=UNSUBSCRIBED))
    await import_ada(engine)
    again = await engine.contacts.find(ANN.workspace, "ada@example.com")
    await change(engine, again.id, suppressions={"email": None})

    await import_ada(engine)

    assert (await engine.contacts.get(ANN.workspace, again.id)).suppressions == {}
    [stored] = await engine.contacts.upsert_many(ANN, [{"externalId": "ada@example.com", "email": "ADA@example.com"}])
    assert stored.change is ContactOutcome.UNCHANGED


async def test_a_deleted_contact_cannot_be_triggered_for_but_a_repeat_is_answered(engine: Engine) -> None:
    ada = await make(engine)
    id = await start_for(engine, ada, to_contact())
    await engine.contacts.delete(ANN, ada)

    again = await engine.executions.trigger(ANN, "flow", {}, "k1", contact_id=ada)
    with pytest.raises(InputInvalid, match="no contact"):
        await engine.executions.trigger(ANN, "flow", {}, "k2", contact_id=ada)

    assert (again.id, again.duplicate) == (id, True)


# Whatever it is about


@pytest.fixture
def stage(server: str) -> SimulationStage:
    return SimulationStage(server=server)


async def test_nothing_of_a_person_is_left_wherever_it_was_stored_or_said(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, stage: SimulationStage
) -> None:
    """Proved by search: every column of every table of the catalog, and every line of the log."""
    with written_lines() as lines:
        id = await use_everything(engine, clock, provider, sql, stage)
        stored = await found_in_tables(sql, NEEDLES)
        await engine.contacts.delete(ANN, id)
        left = await found_in_tables(sql, NEEDLES)
        known = await found_in_tables(sql, STRANGERS_NEEDLES)
        counted = [await erase_by(engine, address, dry_run=True) for address in ADDRESSES]
        assert await found_in_tables(sql, STRANGERS_NEEDLES) == known, "a dry run changes nothing"
        erased = [await erase_by(engine, address) for address in ADDRESSES]
        forgotten = await found_in_tables(sql, STRANGERS_NEEDLES)
        await work(engine)
        clock.advance(days=40)
        await work(engine)

    assert stored.keys() >= HOLDING, "the scene does not reach everything any more"
    assert known.keys() >= HOLDING_STRANGERS, "the scene does not reach everything any more"
    assert (left, forgotten) == ({}, {})
    told = columns_about_people()
    for table, column in (one.split(".") for one in {*stored, *known}):
        assert column in told[table] or not told[table], f"docs/privacy.md does not name {table}.{column}"
    assert await found_in_tables(sql, (*NEEDLES, *STRANGERS_NEEDLES)) == {}
    assert [line for line in lines if found_in(line)] == []
    for name in ("executions", "events", "listed"):
        assert counted[0][name] == erased[0][name], name
    assert counted[0]["items"] > erased[0]["items"] > 0, "what goes with an execution or event is not counted again"
    hashes = [one.detail["hash"] for one in await audited(engine, ANN, "address_erased")]
    assert {*hashes} == {seek_address(address).hash_in(ANN.workspace).hex() for address in ADDRESSES}
    assert await recipients_of(sql) == {"", *OTHERS}, "others keep what is theirs"
    await assert_kept(engine)


async def erase_by(engine: Engine, address: str, *, dry_run: bool = False) -> Counter[str]:
    """Erase an address in the whole workspace, call by call; gives what was found in all."""
    found: Counter[str] = Counter()
    cursor: str | None = None
    while True:
        done = await engine.contacts.erase_address(ANN, address, dry_run=dry_run, cursor=cursor)
        found.update({name: getattr(done, name) for name in COUNTED})
        if done.next_cursor is None:
            return found
        cursor = done.next_cursor


async def recipients_of(sql: Sql) -> set[str]:
    return {row["recipient"] for row in await sql.fetch("select recipient from outbox where channel = 'email'")}
