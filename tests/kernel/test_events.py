"""Events: one row, one job and its items in one transaction; once for each key, whatever happens to the answer."""

import asyncio
import contextvars
import json
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.event_scenes import (
    AGENT,
    FAILING,
    LEAD,
    ME,
    PARTNER,
    PEOPLE,
    items_of,
    key,
    make_rule,
    only,
    outcomes,
    send,
    standing,
    step,
    with_fallbacks,
)
from tests.kernel.people import make
from tests.kernel.scenes import Sql, assert_kept, claim, crash_in_call, row, with_lossy_database, work
from tidings.domain.caller import Caller
from tidings.domain.content import template
from tidings.domain.errors import Conflict, EventInvalid, RendererUnavailable
from tidings.domain.flow.ids import Workspace, shard_of
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater
from tidings.domain.rules.rule import RuleDefinition
from tidings.engine import Engine, Resolution
from tidings.kernel.start.ruling import find_ruling
from tidings.kernel.templates import CHEAP_MARKUP_CHARS
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import OutboxFilter
from tidings.storage.events import ItemsRefused, route_event
from tidings.storage.rules import LONGEST_KEPT

# Reading rules


async def test_a_rule_is_read_once_while_it_stays_as_it_is_and_anew_after_each_change(engine: Engine) -> None:
    rule = await make_rule(engine)

    async def read() -> RuleDefinition:
        [found] = (await find_ruling(engine.kernel, Workspace(), "quote_sent")).rules.values()
        return found

    first = await read()
    assert await read() is first

    changed = {"trigger": "quote_sent", "channel": "email", "audience": "lead", "steps": [step(), step(delay="PT1H")]}
    await engine.rules.update(ME, rule.id, changed)
    assert [one.delay for one in (await read()).enabled_steps] == [timedelta(), timedelta(hours=1)]
    await engine.rules.update(ME, rule.id, {**changed, "enabled": False})
    assert not (await read()).enabled
    await engine.rules.delete(ME, rule.id)
    await make_rule(engine)
    assert (await read()).id != first.id


async def test_a_rule_too_long_to_be_kept_is_read_each_time(engine: Engine) -> None:
    await make_rule(engine, step(template={"subject": "Long", "body": "x" * LONGEST_KEPT}))

    found = [await find_ruling(engine.kernel, Workspace(), "quote_sent") for _ in range(2)]

    [first], [second] = (one.rules.values() for one in found)
    assert first == second
    assert first is not second


async def test_an_expensive_template_is_read_in_the_rendering_process_before_an_event_is_checked(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "{{ lead.name }}" * (CHEAP_MARKUP_CHARS // 5)
    await make_rule(engine, step(template={"subject": "Hello", "body": body}))
    monkeypatch.setattr(template, "parse", lambda *_, **__: pytest.fail("parsed in this process"))

    sending = contextvars.Context().run(asyncio.ensure_future, send(engine))  # knows nothing of the rule's making

    assert outcomes(await sending)["email", "lead"] == "enqueued"


# Storing


async def test_an_event_its_job_and_its_items_share_one_shard_and_every_promise_holds(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    await make_rule(engine, step(recipientConfig={"includeLeadContact": True, "includePartner": True}))

    event = await send(engine)

    assert await row(sql, "select shard, trigger, idempotency_key, source from events where id = $1", event.id) == (
        shard_of(event.id, engine.kernel.shards),
        "quote_sent",
        "k1",
        "api",
    )
    assert await row(
        sql,
        "select j.planned, j.run_id, j.status, q.lane, count(o.id) from jobs j join queue q using (shard, id)"
        " join outbox o on o.shard = j.shard and o.job_id = j.id and o.event_id = j.event_id"
        " where j.event_id = $1 group by 1, 2, 3, 4",
        event.id,
    ) == (2, None, "queued", 0, 2)
    await assert_kept(engine)

    await work(engine)

    assert {call.recipient for call in provider.calls} == {"ada@example.com", "grace@example.com"}
    assert [call.payload for call in provider.calls] == [{"subject": "Your quote", "body": "Here it is."}] * 2
    assert await standing(engine, event) == ["succeeded", "succeeded"]
    assert await row(sql, "select status, planned, sent from jobs") == ("completed", 2, 2)
    assert await sql.fetch("select 1 from queue") == []
    await assert_kept(engine)


async def test_a_template_is_rendered_with_the_event_and_html_is_escaped(
    engine: Engine, provider: FakeProvider
) -> None:
    template = {
        "subject": "{{ trigger }} {{ quote.number }}",
        "body": "{% if vip %}Dear{% endif %} {{ lead.name }}",
        "html": "<b>{{ lead.name }}</b>",
    }
    await make_rule(engine, step(template=template))

    await send(engine, lead={"name": "A&B", "email": "a@example.com"}, variables={"quote": {"number": 7}, "vip": True})
    await work(engine)

    assert provider.calls[0].payload == {"subject": "quote_sent 7", "body": "Dear A&B", "html": "<b>A&amp;B</b>"}


async def test_without_a_key_each_event_is_its_own(engine: Engine, provider: FakeProvider) -> None:
    await make_rule(engine)

    first, second = await send(engine, None), await send(engine, None)
    await work(engine)

    assert first.id != second.id
    assert first.idempotency_key != second.idempotency_key
    assert len(provider.calls) == 2


async def test_the_same_key_of_another_trigger_is_another_event(engine: Engine, provider: FakeProvider) -> None:
    await make_rule(engine)
    await make_rule(engine, trigger="quote_accepted")

    await send(engine, "quote-17")
    accepted = await send(engine, "quote-17", trigger="quote_accepted")
    await work(engine)

    assert not accepted.duplicate
    assert len(provider.calls) == 2


async def test_a_key_with_the_hash_of_another_is_refused_and_sends_nothing(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    await make_rule(engine)
    await send(engine, "mine")
    await sql.execute("update events set idempotency_key = 'with the same hash'")

    with pytest.raises(Conflict, match="'mine' cannot be told from another one: use another key"):
        await send(engine, "mine")
    await work(engine)

    assert len(provider.calls) == 1


async def test_a_duplicate_gives_the_first_event_whatever_its_data_and_the_rules_say_now(
    engine: Engine, provider: FakeProvider
) -> None:
    made = await make_rule(engine, step(template={"subject": "{{ lead.name }}", "body": "x"}))
    first = await send(engine)
    changed = [step(template={"subject": "{{ lead.nowhere }}", "body": "x"})]
    given = {"trigger": "quote_sent", "channel": "email", "audience": "lead", "steps": changed}
    await engine.rules.update(ME, made.id, given)

    again = await send(engine, lead={"email": "somebody else"})
    await work(engine)

    assert again.duplicate
    assert again.note == (
        "this key had other data before, which holds: lead.email, lead.name, lead.phone, lead.pushTokens"
    )
    assert again.id == first.id
    assert [item.id for item in items_of(again)] == [item.id for item in items_of(first)]
    assert [call.recipient for call in provider.calls] == ["ada@example.com"]


async def test_a_repeat_with_the_same_data_has_no_note_however_it_is_written(engine: Engine, sql: Sql) -> None:
    ada = await make(engine)
    lead = {"contactId": "ada", "phone": None}
    await send(engine, lead=lead, variables={"quote": {"number": 7}})

    again = await send(engine, lead=lead, variables={"quote": {"number": 7.0}})
    by_id = await send(engine, lead={"contactId": str(ada), "phone": None}, variables={"quote": {"number": 7}})
    other = await send(engine, lead=lead, variables={"quote": {"number": 8}, "extra": 1})

    assert (again.duplicate, again.note, by_id.note) == (True, None, None)
    assert other.note == "this key had other data before, which holds: variables.extra, variables.quote"
    assert (await send(engine, "k2")).note is None
    await engine.contacts.delete(ME, ada)
    erased = await send(engine, lead={"email": "a@example.com"})
    assert (erased.duplicate, erased.note) == (True, None)  # nobody knows any more


async def test_a_hundred_at_once_enqueue_one(engine: Engine, sql: Sql, provider: FakeProvider) -> None:
    await make_rule(engine)
    engine = with_fallbacks(engine, key(channel="whatsapp"))

    sent = await asyncio.gather(*(send(engine) for _ in range(100)))
    await work(engine)

    assert len({event.id for event in sent}) == 1
    assert [event.duplicate for event in sent].count(False) == 1
    assert sorted(call.recipient for call in provider.calls) == ["ada@example.com", "fallback:quote_sent/whatsapp/lead"]
    assert await sql.fetchval("select count(*) from jobs") == 1
    await assert_kept(engine)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("lost", range(1, 5))
async def test_an_event_whose_answer_is_lost_is_read_again_and_is_no_duplicate_of_itself(
    engine: Engine, sql: Sql, provider: FakeProvider, when: str, lost: int
) -> None:
    await make_rule(engine)
    lossy = with_lossy_database(with_fallbacks(engine, key()), lose=lambda number: number == lost, when=when)

    event = await send(lossy)
    await work(engine)

    assert not event.duplicate
    assert only(event).outcome == "enqueued"
    assert [call.recipient for call in provider.calls] == ["ada@example.com"]
    assert await sql.fetchval("select count(*) from outbox") == 1
    await assert_kept(engine)


async def test_an_event_that_is_refused_leaves_nothing_behind(engine: Engine, sql: Sql) -> None:
    await make_rule(engine, step(template={"subject": "{{ quote.number }}", "body": "x"}))

    with pytest.raises(EventInvalid, match=r"variables\.quote\.number"):
        await send(engine)

    assert await sql.fetchval("select count(*) from events") == 0


# Variables that are missing


async def test_a_missing_variable_concerns_the_decision_about_its_rule_alone_from_the_api_and_from_sql(
    engine: Engine, sql: Sql, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_rule(engine)
    await make_rule(engine, step(template={"subject": "{{ fee }}", "body": "{{ fee }}"}), audience="partner")
    await make_rule(engine, step(template={"subject": "{{ fee }}", "body": "x"}), step(delay="P1D"), audience="agent")
    app = with_fallbacks(engine, key(audience="agent"))

    with capture_logs() as logs:
        event = await send(app)
    explained = await app.events.explain(Workspace(), {"trigger": "quote_sent", **PEOPLE})
    from_sql = await sql_event(sql, idempotency_key="k2")
    clock.time = await sql.fetchval("select clock_timestamp()")
    with capture_logs() as logs_of_worker:
        await work(app)

    expected = {("email", "lead"): "enqueued", ("email", "partner"): "none", ("email", "agent"): "fallback"}
    assert outcomes(event) == outcomes(await app.events.get(Workspace(), from_sql)) == expected
    assert {(one.channel, one.audience): one.outcome for one in explained} == expected
    reason = "variables.fee is missing: the template of a step prints 'fee'; null will do"
    [_, partner, agent] = event.decisions
    assert partner.reason == f"enqueueing failed, and there is no fallback for quote_sent/email/partner: {reason}"
    assert agent.reason == f"enqueueing failed, so the registered fallback is called: {reason}"
    assert [(item.recipient, item.status, item.error) for item in partner.items] == [
        ("grace@example.com", "failed", reason)
    ]
    assert sorted(call.recipient for call in provider.calls) == [
        *["ada@example.com"] * 2,
        *["fallback:quote_sent/email/agent"] * 2,
    ]
    for id, lines in ((event.id, logs), (from_sql, logs_of_worker)):
        told = [line for line in lines if line["event"] == "enqueue_failed" and line["event_id"] == str(id)]
        assert [(line["audience"], line["outcome"], line["log_level"]) for line in told] == [
            ("partner", "none", "warning"),
            ("agent", "fallback", "warning"),
        ]
    await assert_kept(engine)


# Who cannot be reached


async def test_a_missing_address_is_a_skipped_item_with_the_reason(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    await make_rule(engine, step(recipientConfig={"includeLeadContact": True, "includePartner": True}))

    event = await send(engine, lead={"name": "Ada"})
    await work(engine)

    assert only(event).outcome == "enqueued"
    assert [(item.recipient, item.status, item.error) for item in items_of(event)] == [
        ("lead", "skipped", "the lead has no e-mail address"),
        ("grace@example.com", "pending", None),
    ]
    assert [call.recipient for call in provider.calls] == ["grace@example.com"]
    assert await row(sql, "select status, planned, sent, skipped from jobs") == ("completed", 2, 1, 1)
    await assert_kept(engine)


async def test_an_event_with_nobody_to_send_to_is_none_and_done_at_once(engine: Engine, sql: Sql) -> None:
    await make_rule(engine)

    event = await send(engine, lead=None)

    assert (only(event).outcome, only(event).reason) == ("none", "there is nobody to send to: the event has no lead")
    assert await row(sql, "select status, planned, skipped from jobs") == ("completed", 1, 1)
    assert await sql.fetch("select 1 from queue") == []
    await assert_kept(engine)


async def test_an_event_that_does_nothing_has_no_job(engine: Engine, sql: Sql) -> None:
    await make_rule(engine, enabled=False)
    await make_rule(engine, step(enabled=False), trigger="other")

    suppressed, without_steps = await send(engine), await send(engine, trigger="other")

    assert only(suppressed).outcome == "suppressed"
    assert only(without_steps).reason == "the rule for other/email/lead has no enabled step"
    assert await sql.fetch("select 1 from jobs") == []
    await assert_kept(engine)


# Times


async def test_attempts_are_at_0_1_3_7_and_15_minutes_and_the_fifth_is_the_last(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_rule(engine)
    provider.answer = RetryLater("busy")
    event = await send(engine)
    begun, at = clock.time, []

    for _ in range(120):
        calls = len(provider.calls)
        await work(engine)
        at += [(clock.time - begun) / timedelta(minutes=1)] * (len(provider.calls) - calls)
        clock.advance(seconds=30)

    assert at == [0, 1, 3, 7, 15]
    [item] = items_of(await engine.events.get(ME.workspace, event.id))
    assert (item.status, item.attempts, item.error) == ("failed", 5, "gave up after 5 attempts: busy")
    await assert_kept(engine)


async def test_a_lowered_maximum_holds_for_its_own_step_alone(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_rule(engine, step(maxAttempts=1), step(template={"subject": "b", "body": "y"}))
    provider.answer = RetryLater("busy")
    event = await send(engine)

    await work(engine)

    assert await standing(engine, event) == ["failed", "pending"]


async def test_a_delayed_step_is_sent_at_its_time_and_not_before(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_rule(engine, step(), step(delay="PT1H", template={"subject": "Still there?", "body": "x"}))
    event = await send(engine)

    await work(engine)
    clock.advance(minutes=59, seconds=59)
    await work(engine)
    early = len(provider.calls)
    clock.advance(seconds=1)
    await work(engine)

    assert early == 1
    assert [call.payload["subject"] for call in provider.calls] == ["Your quote", "Still there?"]
    assert [item.run_at - clock.time for item in items_of(event)] == [timedelta(hours=-1), timedelta()]
    clock.advance(minutes=1)
    ended = items_of(await engine.events.get(ME.workspace, event.id))
    assert [item.run_at for item in ended] == [item.run_at for item in items_of(event)]


async def test_an_item_that_has_ended_keeps_the_time_its_last_call_was_planned_for(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await make_rule(engine, step(delay="PT1H"), step(delay="P1D", template={"subject": "b", "body": "y"}))
    reminder = {"time": "2026-01-01T00:00:00Z", "by": "PT1H"}
    await make_rule(engine, step("sms", sendBefore=reminder), channel="sms")
    provider.script = {"ada@example.com": [RetryLater("busy")]}
    event = await send(engine)
    begun = clock.time

    clock.advance(hours=1, seconds=2)
    await work(engine)
    clock.advance(minutes=1, seconds=3)
    await work(engine)
    cancelled = await engine.events.cancel(ME, event.id)

    planned = {item.status: item.run_at for item in items_of(cancelled)}
    assert planned["succeeded"] == begun + timedelta(hours=1, minutes=1, seconds=2)
    late, skipped = sorted(item.run_at for item in items_of(cancelled) if item.status == "skipped")
    assert late.isoformat() == "2025-12-31T23:00:00+00:00"
    assert skipped == begun + timedelta(days=1)
    rows = await sql.fetch("select status, run_at from notification_outbox order by run_at")
    assert [tuple(one) for one in rows] == [
        ("skipped", late),
        ("succeeded", planned["succeeded"]),
        ("skipped", skipped),
    ]


# Rules that do not stand any more


@pytest.mark.parametrize(
    ("change", "words"), [("disable", "its rule was disabled"), ("delete", "its rule was deleted")]
)
async def test_what_waits_does_not_leave_once_its_rule_is_disabled_or_deleted(
    engine: Engine, clock: ManualClock, provider: FakeProvider, change: str, words: str
) -> None:
    made = await make_rule(engine, step(), step(delay="PT1H", template={"subject": "b", "body": "y"}))
    await make_rule(engine, step("sms", delay="PT1H"), channel="sms")
    provider.script = {"ada@example.com": [RetryLater("busy")]}
    event = await send(engine)
    await work(engine)

    await (engine.rules.delete(ME, made.id) if change == "delete" else engine.rules.disable(ME, made.id))
    clock.advance(hours=1)
    await work(engine)

    items = items_of(await engine.events.get(ME.workspace, event.id))
    assert [(item.kind, item.status, item.error) for item in items] == [
        ("email", "skipped", words),
        ("email", "skipped", words),
        ("sms", "succeeded", None),
    ]
    assert len(provider.calls) == 2
    await assert_kept(engine)


async def test_a_rule_that_is_disabled_while_its_items_wait_for_a_slot_is_asked_about_before_each_mark(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """The first reading may be old by then: it is never older than two seconds at a mark."""
    made = await make_rule(engine, *(step(template={"subject": f"{n}", "body": "x"}) for n in range(3)))
    event = await send(engine)
    provider.concurrency = 1

    async def disable_the_rule(_: Marked) -> Outcome:
        await engine.rules.disable(ME, made.id)
        clock.advance(seconds=3)
        return Accepted("m-1")

    provider.answer = disable_the_rule
    await work(with_fallbacks(engine))

    assert await standing(engine, event) == ["succeeded", "skipped", "skipped"]
    await assert_kept(engine)


async def test_a_rule_that_is_enabled_again_in_time_sends_what_waits(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    made = await make_rule(engine, step(delay="PT1H"))
    await send(engine)

    await engine.rules.disable(ME, made.id)
    clock.advance(minutes=30)
    await work(engine)
    await engine.rules.enable(ME, made.id)
    clock.advance(minutes=30)
    await work(engine)

    assert [call.recipient for call in provider.calls] == ["ada@example.com"]


async def test_a_reminder_whose_time_is_no_time_fails_with_that_reason(engine: Engine) -> None:
    await make_rule(engine, step(sendBefore={"time": "{{ at }}", "by": "PT1H"}))

    event = await send(engine, variables={"at": "soon"})

    assert only(event).outcome == "none"
    assert [item.error for item in items_of(event)] == [
        "sendBefore.time: 'soon' is not a time: write it like 2027-01-31T09:00:00Z"
    ]


async def test_a_rejected_item_fails_at_once(engine: Engine, provider: FakeProvider) -> None:
    await make_rule(engine)
    provider.answer = Rejected("no such mailbox")
    event = await send(engine)

    await work(engine)

    assert len(provider.calls) == 1
    assert await standing(engine, event) == ["failed"]
    await assert_kept(engine)


# Attachments


async def test_an_attachment_is_a_reference_in_the_row_and_nothing_more(engine: Engine, sql: Sql) -> None:
    file = {"url": "{{ quote.pdf }}", "filename": "{{ quote.number }}.pdf", "contentType": "application/pdf"}
    await make_rule(engine, step(attachments=[file]))

    await send(engine, variables={"quote": {"pdf": "https://example.com/17.pdf?s=1", "number": "Q-17"}})

    payload = json.loads(await sql.fetchval("select payload from outbox"))
    assert json.loads(payload["attachments"]) == [
        {"url": "https://example.com/17.pdf?s=1", "filename": "Q-17.pdf", "contentType": "application/pdf"}
    ]


@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ({"pdf": "file:///etc/passwd", "number": "1"}, "its URL must begin with http:// or https://"),
        ({"pdf": "https://example.com/", "number": "../1"}, "is no name for an attachment"),
    ],
)
async def test_an_attachment_that_cannot_be_sent_is_a_failure_to_enqueue(
    engine: Engine, quote: dict[str, str], reason: str
) -> None:
    await make_rule(engine, step(attachments=[{"url": "{{ quote.pdf }}", "filename": "{{ quote.number }}.pdf"}]))

    alone = await send(engine, variables={"quote": quote})
    rescued = await send(with_fallbacks(engine, key()), "k2", variables={"quote": quote})

    assert (only(alone).outcome, only(rescued).outcome) == ("none", "fallback")
    assert reason in only(alone).reason


# Fallbacks


async def test_a_fallback_is_an_item_and_a_duplicate_never_runs_it_twice(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    engine = with_fallbacks(engine, key())

    event = await send(engine, variables={"quote": {"number": 7}})
    await work(engine)
    again = await send(engine)
    await work(engine)

    assert only(event).outcome == only(again).outcome == "fallback"
    [call] = provider.calls
    assert (call.channel, call.recipient, call.payload["action"]) == (
        Channel.FUNCTION,
        "fallback:quote_sent/email/lead",
        "fallback",
    )
    told = json.loads(call.payload["payload"])
    assert (told["idempotencyKey"], told["lead"], told["variables"]) == ("k1", LEAD, {"quote": {"number": 7}})
    assert await standing(engine, event) == ["succeeded"]
    await assert_kept(engine)


async def test_a_rule_whose_template_fails_is_left_to_its_fallback(engine: Engine, provider: FakeProvider) -> None:
    await make_rule(engine, step(), step(template={"subject": FAILING, "body": "x"}))
    await make_rule(engine, channel="whatsapp")
    engine = with_fallbacks(engine, key(), key(channel="whatsapp"))

    event = await send(engine)
    await work(engine)

    assert outcomes(event) == {("email", "lead"): "fallback", ("whatsapp", "lead"): "enqueued"}
    assert "enqueueing failed" in event.decisions[0].reason
    assert sorted(call.recipient for call in provider.calls) == ["+442071838750", "fallback:quote_sent/email/lead"]


async def test_a_rule_whose_template_fails_without_a_fallback_leaves_a_failed_item(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    await make_rule(engine, step(template={"subject": FAILING, "body": "x"}))

    event = await send(engine)

    assert only(event).outcome == "none"
    assert [item.status for item in items_of(event)] == ["failed"]
    assert await row(sql, "select status, failed from jobs") == ("failed", 1)
    await assert_kept(engine)


async def test_the_steps_that_can_be_sent_are_sent_where_there_is_no_fallback(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    await make_rule(engine, step(), step(template={"subject": FAILING, "body": "x"}))

    event = await send(engine)
    await work(engine)

    assert only(event).outcome == "enqueued"
    assert only(event).reason.startswith("1 of 2 items; the others failed: ")
    assert await standing(engine, event) == ["succeeded", "failed"]
    assert await row(sql, "select status from jobs") == ("partial",)
    await assert_kept(engine)


async def test_items_that_the_database_refuses_are_left_to_the_fallback(
    engine: Engine, sql: Sql, provider: FakeProvider
) -> None:
    await sql.execute("alter table outbox add constraint no_mail check (channel <> 'email')")
    await make_rule(engine)
    engine = with_fallbacks(engine, key())

    event = await send(engine)
    await work(engine)

    assert only(event).outcome == "fallback"
    assert "the database refused it" in only(event).reason
    assert [call.recipient for call in provider.calls] == ["fallback:quote_sent/email/lead"]
    await assert_kept(engine)


async def test_items_that_the_database_refuses_without_a_fallback_are_told_and_nothing_is_stored(
    engine: Engine, sql: Sql
) -> None:
    await sql.execute("alter table outbox add constraint no_mail check (channel <> 'email')")
    await make_rule(engine)

    with pytest.raises(ItemsRefused):
        await send(engine)

    assert await sql.fetchval("select count(*) from events") == 0
    await sql.execute("alter table outbox drop constraint no_mail")
    assert not (await send(engine)).duplicate


async def test_without_a_renderer_everything_falls_back_or_nothing_is_stored(
    engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(_: object) -> None:
        raise RendererUnavailable("no memory for another process")

    await make_rule(engine)
    await make_rule(engine, channel="whatsapp")
    monkeypatch.setattr(engine.kernel.renderer, "render", unavailable)

    with pytest.raises(RendererUnavailable):
        await send(with_fallbacks(engine, key()))
    assert await sql.fetchval("select count(*) from events") == 0
    event = await send(with_fallbacks(engine, key(), key(channel="whatsapp")))

    assert set(outcomes(event).values()) == {"fallback"}


async def test_a_channel_without_a_provider_is_a_failure_to_enqueue(engine: Engine) -> None:
    await engine.providers.unroute(Caller(Workspace(), "ann"), Channel.WHATSAPP)
    await make_rule(engine, channel="whatsapp")

    event = await send(engine)

    assert only(event).outcome == "none"
    assert "no provider is set up for whatsapp" in only(event).reason


async def test_only_the_decisions_of_a_channel_without_a_provider_fall_back_whoever_sends_the_event(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    await engine.providers.unroute(Caller(Workspace(), "ann"), Channel.WHATSAPP)
    await make_rule(engine)
    await make_rule(engine, channel="whatsapp")
    app = with_fallbacks(engine, key(), key(channel="whatsapp"))
    expected = {("email", "lead"): "enqueued", ("whatsapp", "lead"): "fallback"}

    sent = await send(app)
    explained = await app.events.explain(Workspace(), {"trigger": "quote_sent", **PEOPLE})
    from_sql = await sql_event(sql, idempotency_key="k2")
    clock.time = await sql.fetchval("select clock_timestamp()")
    await work(app)

    assert outcomes(sent) == expected
    assert {(one.channel, one.audience): one.outcome for one in explained} == expected
    assert outcomes(await app.events.get(Workspace(), from_sql)) == expected
    fallback = next(one for one in sent.decisions if one.outcome == "fallback")
    assert "no provider is set up for whatsapp" in fallback.reason


# Doubt, cancelling


async def test_a_worker_that_dies_in_a_call_leaves_the_item_in_doubt_and_a_person_ends_that(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await make_rule(engine)
    event = await send(engine)
    await crash_in_call(engine, provider)

    clock.advance(minutes=6)
    await work(other)
    assert await standing(other, event) == ["in_doubt"]
    [item] = items_of(await other.events.get(ME.workspace, event.id))
    assert item.id is not None
    shown = await other.outbox.get(ME.workspace, item.id)
    listed = (await other.outbox.list(ME.workspace, OutboxFilter(in_doubt=True))).items
    assert [item.attempts, shown.attempts, *(one.attempts for one in listed)] == [1, 1, 1]
    assert await row(sql, "select status, attempt_count from notification_outbox") == ("in_doubt", 1)
    await other.outbox.resolve(ME, item.id, Resolution.RESEND, "the mail server has no trace of it")
    await work(other)

    [item] = items_of(await other.events.get(ME.workspace, event.id))
    assert (item.status, item.attempts) == ("succeeded", 1)
    await assert_kept(other)


async def test_a_cancelled_event_skips_what_it_has_not_sent(
    engine: Engine, clock: ManualClock, sql: Sql, provider: FakeProvider
) -> None:
    await make_rule(engine, step(), step(delay="P1D"))
    event = await send(engine)
    await work(engine)

    cancelled = await engine.events.cancel(ME, event.id)
    assert [(item.status, item.error) for item in items_of(cancelled)] == [
        ("succeeded", None),
        ("skipped", "cancelled"),
    ]
    await assert_kept(engine)
    await work(engine)
    clock.advance(days=2)
    await work(engine)

    assert await standing(engine, event) == ["succeeded", "skipped"]
    assert len(provider.calls) == 1
    assert await row(sql, "select event, actor from audit_log where subject_id = $1", event.id) == ("cancelled", "test")
    await assert_kept(engine)


# From SQL


async def sql_event(sql: Sql, **given: Any) -> Any:
    people = {
        name: given.pop(name, person) for name, person in (("lead", LEAD), ("partner", PARTNER), ("agent", AGENT))
    }
    named = {"trigger": "quote_sent", "idempotency_key": "k1", **people, **given}
    casts = dict.fromkeys(("lead", "partner", "agent", "variables"), "::jsonb")
    call = ", ".join(f"{name} => ${number}{casts.get(name, '')}" for number, name in enumerate(named, start=1))
    values = [json.dumps(value) if isinstance(value, dict) else value for value in named.values()]
    return await sql.fetchval(f"select tidings.event({call})", *values)


async def test_an_event_from_sql_is_routed_by_the_worker_that_claims_it(
    engine: Engine, sql: Sql, provider: FakeProvider, clock: ManualClock
) -> None:
    await sql_event(sql)
    clock.time = await sql.fetchval("select clock_timestamp()")
    await make_rule(engine)
    await make_rule(engine, channel="whatsapp", enabled=False)
    id = await sql_event(sql, idempotency_key="k2")
    unrouted = await engine.events.get(ME.workspace, id)
    clock.time = await sql.fetchval("select clock_timestamp()")

    await work(with_fallbacks(engine, key(audience="agent")))

    event = await engine.events.get(ME.workspace, id)
    assert (unrouted.routed_at, list(unrouted.decisions), unrouted.source) == (None, [], "sql")
    assert outcomes(event) == {
        ("email", "lead"): "enqueued",
        ("whatsapp", "lead"): "suppressed",
        ("email", "agent"): "fallback",
        ("whatsapp", "agent"): "none",
    }
    assert sorted(call.recipient for call in provider.calls) == [
        *["ada@example.com"] * 2,
        *["fallback:quote_sent/email/agent"] * 2,
    ]
    await assert_kept(engine)


async def test_rule_2_a_worker_that_lost_its_lease_routes_no_event(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    id = await sql_event(sql)
    clock.time = await sql.fetchval("select clock_timestamp()")
    [lost] = await claim(engine)
    clock.advance(minutes=6)
    [held] = await claim(engine)

    routed = []
    for lease in (lost, held, held):
        async with engine.kernel.db.transaction() as tx:
            shard = engine.kernel.shard_of(id)
            routed.append(await route_event(tx, shard=shard, id=id, fence=lease.fence, decisions=[], now=clock.time))

    assert routed == [False, True, False]


async def test_an_event_from_sql_that_does_nothing_ends_when_it_is_routed(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    id = await sql_event(sql)
    clock.time = await sql.fetchval("select clock_timestamp()")
    await assert_kept(engine)

    await work(engine)

    event = await engine.events.get(ME.workspace, id)
    assert event.routed_at is not None
    assert list(event.decisions) == []
    assert await row(sql, "select status, planned from jobs") == ("completed", 0)
    await assert_kept(engine)


async def test_an_event_from_sql_with_a_malformed_address_skips_it_with_the_reason(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    await make_rule(engine)
    id = await sql_event(sql, lead={"email": "nowhere"})
    clock.time = await sql.fetchval("select clock_timestamp()")

    await work(engine)

    [item] = items_of(await engine.events.get(ME.workspace, id))
    assert (item.status, item.error) == (
        "skipped",
        "'nowhere' is not an e-mail address: write it like ada@example.com",
    )
    await assert_kept(engine)


async def test_an_event_from_sql_whose_items_the_database_refuses_is_routed_all_the_same(
    engine: Engine, sql: Sql, clock: ManualClock
) -> None:
    await sql.execute("alter table outbox add constraint no_mail check (channel <> 'email')")
    await make_rule(engine)
    id = await sql_event(sql)
    clock.time = await sql.fetchval("select clock_timestamp()")

    await work(engine)

    event = await engine.events.get(ME.workspace, id)
    assert only(event).outcome == "none"
    assert "the database refused it" in only(event).reason
    await assert_kept(engine)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("lost", range(1, 9))
async def test_routing_survives_a_lost_answer_anywhere(
    engine: Engine, sql: Sql, clock: ManualClock, provider: FakeProvider, when: str, lost: int
) -> None:
    await make_rule(engine)
    await sql_event(sql)
    clock.time = await sql.fetchval("select clock_timestamp()")

    await work(with_lossy_database(engine, lose=lambda number: number == lost, when=when))
    clock.advance(minutes=10)
    await work(engine)

    assert [call.recipient for call in provider.calls] == ["ada@example.com"]
    await assert_kept(engine)


async def test_a_cancelled_event_from_sql_sends_nothing(
    engine: Engine, sql: Sql, clock: ManualClock, provider: FakeProvider
) -> None:
    await make_rule(engine)
    id = await sql_event(sql)
    clock.time = await sql.fetchval("select clock_timestamp()")

    await engine.events.cancel_by_key(ME, "quote_sent", "k1")
    await work(engine)

    assert provider.calls == []
    assert [item.status for item in items_of(await engine.events.get(ME.workspace, id))] == ["skipped"]
    await assert_kept(engine)
