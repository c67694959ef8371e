"""000, current runtime integration scope: the families that ship as an example, under the test's clock."""

from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from tests.conftest import ManualClock
from tests.http.conftest import Person, caller
from tests.providers.function_server import function_server
from tests.providers.test_attachments import PDF, attached, file
from tests.providers.test_smtp import mail_server
from tests.requirements.rules import PEOPLE, look, outcomes, send
from tidings import Config, Engine, open_engine
from tidings.providers.fake import FakeProvider

RULES = sorted((Path(__file__).parents[2] / "examples" / "rules").glob("*.yaml"))


@pytest.fixture(autouse=True)
async def families(engine: Engine) -> None:
    """The rules of examples/rules."""
    for one in RULES:
        for given in yaml.safe_load_all(one.read_text()):
            await engine.rules.apply(caller(), given)


async def sends_of(engine: Engine, clock: ManualClock, provider: FakeProvider, hours: float) -> list[tuple[float, str]]:
    """What is sent in the next hours, each with its hour."""
    begun, found = clock.time, []
    for _ in range(int(hours * 4) + 1):
        before = len(provider.calls)
        await engine.work_everything()
        passed = (clock.time - begun) / timedelta(hours=1)
        found += [(passed, call.payload.get("subject", call.payload["body"])) for call in provider.calls[before:]]
        clock.advance(minutes=15)
    return found


async def test_000_scope_lead_welcome(
    operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """At once by e-mail and WhatsApp, and once more after three days."""
    await send(operator, "lead_welcome", variables={})

    assert sorted(await sends_of(engine, clock, provider, 80)) == [
        (0, "Welcome, Ada"),
        (0, "Welcome, Ada!"),
        (72, "Can we help, Ada?"),
    ]


async def test_000_scope_quote_sent_accepted_and_rejected(
    operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    sent = await send(operator, "quote_sent")
    accepted = await send(operator, "quote_accepted")
    rejected = await send(operator, "quote_rejected")

    assert outcomes(sent) == {("whatsapp", "lead"): "enqueued"}
    assert outcomes(accepted) == {
        ("email", "lead"): "enqueued",
        ("whatsapp", "lead"): "suppressed",
        ("email", "partner"): "enqueued",
        ("whatsapp", "partner"): "none",
    }
    assert outcomes(rejected) == {("email", "lead"): "enqueued"}
    assert sorted(await sends_of(engine, clock, provider, 2)) == [
        (0, "Q-17 was accepted"),
        (0, "Q-17 was accepted"),
        (0, "Thank you for accepting Q-17"),
        (0, "Your quote Q-17 is in your mailbox, Ada."),
        (1, "A pity"),
    ]


def appointment(clock: ManualClock, **later: float) -> dict[str, object]:
    at = clock.time + timedelta(**later)
    return {"appointment": {"startsAt": at.isoformat(), "place": "the office"}}


async def test_000_scope_appointment_reminders_come_before_the_appointment(
    operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await send(operator, "appointment_scheduled", variables=appointment(clock, hours=50))

    assert await sends_of(engine, clock, provider, 60) == [
        (0, "Your appointment"),
        (26, "Tomorrow: the office"),
        (49, "In an hour: the office"),
    ]


async def test_000_scope_appointment_reminders_are_cancelled_with_the_appointment(
    operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    key = {"trigger": "appointment_scheduled", "idempotencyKey": "appointment-17"}
    event = await send(operator, **key, variables=appointment(clock, hours=50))
    await sends_of(engine, clock, provider, 27)

    cancelled = await operator.post("/v1/events/cancel", key)
    later = await sends_of(engine, clock, provider, 40)

    assert (cancelled.status_code, later) == (200, [])
    assert [(one["status"], one["error"]) for one in await look(operator, event)] == [
        ("succeeded", None),
        ("succeeded", None),
        ("skipped", "cancelled"),
    ]


async def test_000_scope_a_reminder_whose_time_is_past_is_skipped_with_the_reason(
    operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """An appointment at short notice is not announced as tomorrow's."""
    event = await send(operator, "appointment_scheduled", variables=appointment(clock, hours=2))

    assert [subject for _, subject in await sends_of(engine, clock, provider, 3)] == [
        "Your appointment",
        "In an hour: the office",
    ]
    [_, tomorrow, _] = await look(operator, event)
    assert tomorrow["status"] == "skipped"
    assert "was past when the event came" in tomorrow["error"]


async def test_000_scope_the_accepted_quote_arrives_with_its_pdf(dsn: str, clock: ManualClock, engine: Engine) -> None:
    """Over real SMTP and real HTTP; the row holds where the file is, and nothing of it."""
    async with mail_server() as mailbox, function_server(file(PDF)) as server:
        config = Config(
            database_url=dsn, allow_unsafe_storage=True, allow_private_addresses=True, smtp_url=mailbox.url()
        )
        sender = await open_engine(config, clock=clock)
        await sender.workspaces.set(caller(), caller().workspace, private_addresses=["127.0.0.1"])
        quote = {"quote": {"number": "Q-17", "pdf": server.url("/17.pdf")}}
        await sender.events.send(caller(), {"trigger": "quote_accepted", **PEOPLE, "variables": quote})
        await sender.work_everything()
        await sender.close()

    [message] = [mailbox.message(place) for place in range(3) if "ada@" in str(mailbox.message(place)["To"])]
    assert attached(message) == [("Q-17.pdf", "application/pdf", PDF)]
