"""000 (M3): events become steps, steps become outbox records, and those are delivered, retried and given up."""

import asyncio
from datetime import timedelta
from itertools import pairwise, product
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.kernel.scenes import until, with_lossy_database
from tests.requirements.conftest import Sql, in_call
from tests.requirements.rules import AGENT, LEAD, PARTNER, look, make_rule, outcomes, send, step
from tidings import Engine
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.providers.fake import FakeProvider

BOOLEANS = (False, True)
CUSTOM_EMAIL, CUSTOM_PHONE = "custom@example.com", "+442071838759"

# Step scheduling flow


@pytest.mark.parametrize("trigger", ["lead_welcome", "quote_sent", "appointment_scheduled"])
async def test_000_1_runtime_receives_a_domain_event(trigger: str, manager: Person, operator: Person) -> None:
    """1: for example lead welcome, quote sent, appointment reminders."""
    await make_rule(manager, trigger=trigger)

    event = await send(operator, trigger)

    assert (event["trigger"], outcomes(event)) == (trigger, {("email", "lead"): "enqueued"})


async def test_000_2_runtime_builds_one_or_more_workflow_steps(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """2: a rule has one step or several, and each makes its own records."""
    await make_rule(manager, step(), step(template={"subject": "And again", "body": "x"}))
    await make_rule(manager, channel="whatsapp")

    event = await send(operator)
    await engine.work_everything()

    assert [len(one["items"]) for one in event["decisions"]] == [2, 1]
    assert len(provider.calls) == 3


async def test_000_3_steps_are_ordered_by_step_order_and_then_by_created_at(
    manager: Person, operator: Person, clock: ManualClock
) -> None:
    """3: primary key step_order ascending, tie-break created_at ascending."""

    def named(name: str, order: int) -> dict[str, Any]:
        return step(stepOrder=order, template={"subject": name, "body": "x"})

    rule = await make_rule(manager, named("older", 2), named("last", 3))
    clock.advance(minutes=1)
    steps = [named("newer", 2), *rule["steps"], named("first", 1)]
    await manager.ask("PUT", f"/v1/rules/{rule['id']}", json=rule | {"steps": steps})

    event = await send(operator)

    assert [item["payload"]["subject"] for item in await look(operator, event)] == ["first", "older", "newer", "last"]


async def test_000_4_for_each_enabled_step_the_template_is_rendered_with_variables(
    manager: Person, operator: Person
) -> None:
    """4: render body and subject; a step that is disabled makes nothing."""
    await make_rule(manager, step(), step(enabled=False))

    [item] = await look(operator, await send(operator))

    assert item["payload"] == {"subject": "Quote Q-17", "body": "Good day Ada"}


@pytest.mark.parametrize(
    ("channel", "recipient"),
    [
        ("whatsapp", LEAD["phone"]),
        ("email", LEAD["email"]),
        ("sms", LEAD["phone"]),
        ("voice", LEAD["phone"]),
        ("push", "lead"),
    ],
)
async def test_000_4_outbox_records_are_created_by_channel(
    channel: str, recipient: str, manager: Person, operator: Person, sql: Sql
) -> None:
    """4: WhatsApp => kind=whatsapp, template=whatsapp_send; Email => kind=email, template=email_send; and so on."""
    await make_rule(manager, channel=channel)

    [item] = await look(operator, await send(operator))
    [record] = await sql.fetch("select kind, template, recipient, status, attempt_count from notification_outbox")

    assert (item["kind"], item["template"], item["recipient"]) == (channel, f"{channel}_send", recipient)
    assert tuple(record) == (channel, f"{channel}_send", recipient, "pending", 0)


# Recipient matrix behavior


async def test_000_recipient_matrix(manager: Person, operator: Person) -> None:
    """Every combination of who is included, what is custom and what is available, over both of 000's channels."""
    cases = list(product(BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS))
    for channel in ("email", "whatsapp"):
        field, custom = ("email", CUSTOM_EMAIL) if channel == "email" else ("phone", CUSTOM_PHONE)
        for number, (lead, partner, has_custom, has_lead, has_partner) in enumerate(cases):
            config = {
                "includeLeadContact": lead,
                "includePartner": partner,
                "customEmails": [CUSTOM_EMAIL, str(LEAD["email"]).upper()] if has_custom and field == "email" else [],
                "customPhones": [CUSTOM_PHONE, LEAD["phone"]] if has_custom and field == "phone" else [],
            }
            trigger = f"{channel}-{number}"
            await make_rule(manager, step(channel, recipientConfig=config), trigger=trigger, channel=channel)
            people = {
                "lead": LEAD if has_lead else {"name": "Ada"},
                "partner": PARTNER if has_partner else {"name": "Grace"},
            }

            event = await send(operator, trigger, **people)

            expected = [LEAD[field]] * (lead and has_lead) + [PARTNER[field]] * (partner and has_partner)
            if has_custom:
                expected += [custom] + [LEAD[field].upper() if field == "phone" else "ADA@example.com"] * (
                    not (lead and has_lead)
                )
            items = event["decisions"][0]["items"]
            case = (channel, lead, partner, has_custom, has_lead, has_partner)
            assert [one["recipient"] for one in items if one["status"] == "pending"] == expected, case
            assert [one["recipient"] for one in items if one["status"] == "skipped"] == ["lead"] * (
                lead and not has_lead
            ) + ["partner"] * (partner and not has_partner), case


async def test_000_recipients_are_de_duplicated_case_insensitively(manager: Person, operator: Person) -> None:
    """Across all sources, the first keeping its place."""
    config = {"includeLeadContact": True, "includePartner": True, "customEmails": ["ADA@EXAMPLE.COM", "z@example.com"]}
    await make_rule(manager, step(recipientConfig=config))

    event = await send(operator, partner={"email": "Ada@Example.Com"})

    assert [one["recipient"] for one in await look(operator, event)] == ["ada@example.com", "z@example.com"]


async def test_000_without_a_recipient_config_the_audience_is_written_to(manager: Person, operator: Person) -> None:
    """Where 000 is silent: a rule for the agent writes to the agent."""
    for audience in ("lead", "partner", "agent"):
        await make_rule(manager, audience=audience)

    event = await send(operator)

    assert [one["recipient"] for one in await look(operator, event)] == [
        person["email"] for person in (LEAD, PARTNER, AGENT)
    ]


# Outbox delivery flow


async def test_000_delivery_marks_a_record_processing_with_its_attempt_and_then_succeeded(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    """1-4: claimed, processing (attempt count increments), sent, succeeded."""
    await make_rule(manager)
    event = await send(operator)
    provider.hang = asyncio.Event()
    async with in_call(engine, lambda: len(provider.calls)):
        [processing] = await look(operator, event)
        record = tuple((await sql.fetch("select status, attempt_count from notification_outbox"))[0])
        provider.hang.set()
        provider.hang = None

        async def done() -> bool:
            return bool((await look(operator, event))[0]["status"] == "succeeded")

        await until(done)

    assert (processing["status"], processing["attempts"]) == ("processing", 1)
    assert record == ("processing", 1)
    [succeeded] = await look(operator, event)
    assert (succeeded["status"], succeeded["attempts"]) == ("succeeded", 1)
    assert succeeded["messageId"]


# Retry/failure policy


async def attempts_until(engine: Engine, clock: ManualClock, provider: FakeProvider, minutes: int) -> list[float]:
    """When the provider was called, in minutes from now."""
    begun, at = clock.time, []
    for _ in range(minutes):
        before = len(provider.calls)
        await engine.work_everything()
        at += [(clock.time - begun) / timedelta(minutes=1)] * (len(provider.calls) - before)
        clock.advance(minutes=1)
    return at


async def test_000_five_attempts_after_waits_of_1_2_4_and_8_minutes(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """Max attempts 5; exactly 0, 1, 3, 7 and 15 minutes after the first, then failed."""
    await make_rule(manager)
    provider.answer = RetryLater("mailbox busy")
    event = await send(operator)

    at = await attempts_until(engine, clock, provider, 40)

    assert at == [0, 1, 3, 7, 15]
    [item] = await look(operator, event)
    assert (item["status"], item["attempts"], item["error"]) == ("failed", 5, "gave up after 5 attempts: mailbox busy")


async def test_000_the_backoff_goes_on_with_16_and_is_capped_at_60_minutes(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """Where the maximum is raised: 1, 2, 4, 8, 16, 32, 60, 60."""
    await make_rule(manager, step(maxAttempts=9))
    provider.answer = RetryLater("mailbox busy")
    await send(operator)

    at = await attempts_until(engine, clock, provider, 190)

    assert [late - early for early, late in pairwise(at)] == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_000_after_a_transient_error_the_record_is_pending_and_its_run_time_moved(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Attempts remaining: status back to pending, run_at moved forward by the backoff; then it can succeed."""
    await make_rule(manager)
    provider.script = {str(LEAD["email"]): [RetryLater("mailbox busy")]}
    event = await send(operator)

    await engine.work_everything()
    [record] = await sql.fetch("select status, attempt_count, run_at, last_error from notification_outbox")
    clock.advance(minutes=1)
    await engine.work_everything()

    assert tuple(record) == ("pending", 1, clock.time, "mailbox busy")
    assert [(one["status"], one["attempts"]) for one in await look(operator, event)] == [("succeeded", 2)]


async def test_000_a_payload_that_cannot_be_sent_fails_at_once(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """Non-retryable payload or configuration errors: failed immediately, with the reason."""
    await make_rule(manager)
    provider.answer = Rejected("subject has a control character")
    event = await send(operator)

    at = await attempts_until(engine, clock, provider, 3)

    assert at == [0]
    assert [(one["status"], one["error"]) for one in await look(operator, event)] == [
        ("failed", "subject has a control character")
    ]


async def test_000_a_message_that_cannot_be_rendered_is_failed_with_the_reason(
    manager: Person, operator: Person
) -> None:
    await make_rule(manager, step(template={"subject": "{{ 1 | divided_by: lead.name }}", "body": "x"}))

    event = await send(operator)

    assert outcomes(event) == {("email", "lead"): "none"}
    [item] = await look(operator, event)
    assert item["status"] == "failed"
    assert "divided by 0" in item["error"] or "divide" in item["error"]


# Safety and observability


async def test_000_logs_tell_of_retry_scheduling_and_of_exhaustion(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """With attempt and next retry time; then retry exhaustion."""
    await make_rule(manager)
    provider.answer = RetryLater("mailbox busy")
    await send(operator)
    begun = clock.time

    with capture_logs() as logs:
        await attempts_until(engine, clock, provider, 16)

    scheduled = [line for line in logs if line["event"] == "retry_scheduled"]
    assert [(line["attempt"], (line["retry_at"] - begun) / timedelta(minutes=1)) for line in scheduled] == [
        (1, 1),
        (2, 3),
        (3, 7),
        (4, 15),
    ]
    assert [line["attempt"] for line in logs if line["event"] == "retries_exhausted"] == [5]


async def test_000_a_retry_whose_scheduling_fails_is_scheduled_again_and_the_log_says_so(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """Retry scheduling failure fallback: the write is repeated until it is known, and no attempt is lost or added."""
    await make_rule(manager)
    provider.answer = RetryLater("mailbox busy")
    event = await send(operator)
    called = False

    def lose(_: int) -> bool:
        nonlocal called
        is_first, called = bool(provider.calls) and not called, called or bool(provider.calls)
        return is_first

    with capture_logs() as logs:
        await with_lossy_database(engine, lose=lose, when="before").work_everything()

    assert [line["event"] for line in logs if line["event"] == "storage_retry"] == ["storage_retry"]
    [item] = await look(operator, event)
    assert (item["status"], item["attempts"], len(provider.calls)) == ("pending", 1, 1)
    clock.advance(minutes=1)
    provider.answer = None
    await engine.work_everything()
    assert [one["status"] for one in await look(operator, event)] == ["succeeded"]


async def test_000_an_unsupported_kind_fails_fast_with_an_explicit_reason(manager: Person, sql: Sql) -> None:
    """A rule for it is refused, and the outbox takes no record of it from anybody."""
    body = {"trigger": "t", "channel": "pigeon", "audience": "lead", "steps": [{"template": {"body": "x"}}]}
    answer = await manager.post("/v1/rules", body)

    assert answer.status_code == 422
    assert "'pigeon' is not a channel: use one of email, sms, whatsapp" in answer.json()["detail"]
    await make_rule(manager)
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_channel_check"):
        await sql.execute(
            "insert into outbox (shard, id, tenant_id, workspace_id, event_id, job_id, ordinal, channel, provider,"
            " recipient, status, idempotency_key, created_at) values (0, new_id(0, '2026-01-01'), 't', 'w',"
            " new_id(0, '2026-01-01'), new_id(0, '2026-01-01'), 0, 'pigeon', 'p', 'r', 'queued',"
            " decode(rpad('0000000000007000', 64, '0'), 'hex'),"
            " '2026-01-01')"
        )


async def test_000_an_unsupported_template_fails_fast_with_an_explicit_reason(manager: Person) -> None:
    """What a channel cannot send is refused with the rule."""
    body = {"trigger": "t", "channel": "sms", "audience": "lead"}
    answer = await manager.post("/v1/rules", {**body, "steps": [{"template": {"script": "x"}}]})

    assert answer.status_code == 422
    assert {one["place"] for one in answer.json()["errors"]} >= {"steps[0].template.script", "steps[0].template.body"}


async def test_000_every_promise_holds_at_the_end(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    await make_rule(manager, step(), step(delay="PT1H"))
    await send(operator)
    await engine.work_everything()

    assert [check.name for check in await engine.verify() if check.offences] == []
