"""000's own example, played over HTTP: the quote families, in its words and spelling, field by field.

Triggers `quote_sent`, `quote_accepted`, `quote_rejected`; email and WhatsApp to the lead, email to partner and agent;
the legacy paths it retains; its recipient matrix, its outbox records, its retries and its logs.
"""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.requirements.conftest import Json, Sql
from tests.requirements.rules import Legacy, look, outcomes
from tidings import App, Channel, Config, Engine, open_engine
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.providers.fake import FakeProvider

LEAD = {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750"}
PARTNER = {"name": "Grace", "email": "grace@example.com", "phone": "+442071838751"}
AGENT = {"name": "Alan", "email": "alan@example.com"}
QUOTE = {"number": "Q-17", "pdf": "https://example.com/quotes/17.pdf"}
RECORDS = """select kind, template, recipient, status, attempt_count from notification_outbox
              where event_id = $1 order by kind, recipient"""
PROPOSAL, THANKS, TO_AGENT = "proposal email sender", "thank-you with PDF attachment", "agent email"

RULES: list[Json] = [
    {
        "trigger": "quote_sent",
        "channel": "email",
        "audience": "lead",
        "enabled": True,
        "steps": [
            {
                "step_order": 2,
                "created_at": "2026-01-02T00:00:00Z",
                "template": {"subject": "Questions about {{ quote.number }}?", "body": "Just answer, {{ lead.name }}."},
                "recipient_config": {"includeLeadContact": True},
            },
            {
                "step_order": 2,
                "created_at": "2026-01-01T00:00:00Z",
                "template": {"subject": "The small print of {{ quote.number }}", "body": "Here it is."},
                "recipient_config": {"includeLeadContact": True},
            },
            {
                "step_order": 1,
                "template": {"subject": "Your quote {{ quote.number }}", "body": "Good day {{ lead.name }}."},
                "recipient_config": {
                    "includeLeadContact": True,
                    "includePartner": True,
                    "customEmails": ["ADA@example.com", "sales@example.com"],
                },
            },
            {"step_order": 0, "enabled": False, "template": {"subject": "Never", "body": "x"}},
        ],
    },
    {
        "trigger": "quote_sent",
        "channel": "whatsapp",
        "audience": "lead",
        "steps": [
            {
                "step_order": 1,
                "template": {"body": "Your quote {{ quote.number }} is there."},
                "recipient_config": {
                    "includeLeadContact": True,
                    "includePartner": False,
                    "customPhones": ["+442071838759", "+44 20 7183 8750"],
                },
            }
        ],
    },
    *(
        {
            "trigger": "quote_accepted",
            "channel": "email",
            "audience": audience,
            "steps": [{"step_order": 1, "template": {"subject": "{{ quote.number }} accepted", "body": "Thank you."}}],
        }
        for audience in ("lead", "partner", "agent")
    ),
    {
        "trigger": "quote_accepted",
        "channel": "whatsapp",
        "audience": "lead",
        "enabled": False,
        "steps": [{"step_order": 1, "template": {"body": "Thank you."}}],
    },
    *(
        {
            "trigger": "quote_rejected",
            "channel": channel,
            "audience": "lead",
            "steps": [{"step_order": 1, "template": template}],
        }
        for channel, template in (("email", {"subject": "A pity", "body": "x"}), ("whatsapp", {"body": "A pity."}))
    ),
]


@pytest.fixture
def legacy() -> Legacy:
    return Legacy()


@pytest.fixture
async def engine(dsn: str, clock: ManualClock, provider: FakeProvider, legacy: Legacy) -> AsyncIterator[Engine]:
    """The host application with the three legacy paths that 000 retains."""
    fallbacks = {
        ("quote_sent", "email", "lead"): legacy.path(PROPOSAL),
        ("quote_accepted", "email", "lead"): legacy.path(THANKS),
        ("quote_accepted", "email", "agent"): legacy.path(TO_AGENT),
    }
    routes: dict[Channel, str] = {Channel.EMAIL: provider.name, Channel.WHATSAPP: provider.name}
    config = Config(database_url=dsn, allow_unsafe_storage=True, rate_limit=0)
    engine = await open_engine(config, App([provider], routes, fallbacks=fallbacks), clock=clock)
    yield engine
    await engine.close()


async def send(operator: Person, trigger: str, key: str, quote: object = QUOTE) -> Json:
    people = {"lead": LEAD, "partner": PARTNER, "agent": AGENT}
    body = {"trigger": trigger, "idempotency_key": key, **people, "variables": {"quote": quote}}
    answer = await operator.post("/v1/events", body)
    assert answer.status_code == 201, answer.text
    sent: Json = answer.json()
    return sent


async def write_rules(manager: Person) -> dict[tuple[str, str, str], Json]:
    made = [(await manager.post("/v1/rules", rule)).json() for rule in RULES]
    return {(rule["trigger"], rule["channel"], rule["audience"]): rule for rule in made}


async def records(sql: Sql, event: Json) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await sql.fetch(RECORDS, event["id"])]


async def test_000_the_quote_families(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider, legacy: Legacy, sql: Sql
) -> None:
    # 2. If no rule exists, execute legacy behavior; of quote_rejected there is none.
    before = [await send(operator, trigger, "before") for trigger in ("quote_sent", "quote_accepted", "quote_rejected")]
    await engine.work_everything()

    assert [outcomes(event) for event in before] == [
        {("email", "lead"): "fallback"},
        {("email", "lead"): "fallback", ("email", "agent"): "fallback"},
        {},
    ]
    assert sorted(legacy.names) == sorted([PROPOSAL, THANKS, TO_AGENT])
    assert provider.calls == []

    # 1, 3 and 4. Rules are resolved by (trigger, channel, audience); a disabled one suppresses its channel.
    rules = await write_rules(manager)
    sent = await send(operator, "quote_sent", "quote-17")
    accepted = await send(operator, "quote_accepted", "quote-17")
    rejected = await send(operator, "quote_rejected", "quote-17")

    assert outcomes(sent) == {("email", "lead"): "enqueued", ("whatsapp", "lead"): "enqueued"}
    assert outcomes(accepted) == {
        ("email", "lead"): "enqueued",
        ("whatsapp", "lead"): "suppressed",
        ("email", "partner"): "enqueued",
        ("whatsapp", "partner"): "none",
        ("email", "agent"): "enqueued",
        ("whatsapp", "agent"): "none",
    }
    assert outcomes(rejected) == {("email", "lead"): "enqueued", ("whatsapp", "lead"): "enqueued"}
    assert [one["ruleId"] for one in sent["decisions"]] == [
        rules["quote_sent", channel, "lead"]["id"] for channel in ("email", "whatsapp")
    ]
    # Records in the order of step_order, then created_at; recipients without regard to case; whatsapp_send, email_send.
    assert [item["payload"].get("subject") for item in await look(operator, sent)] == [
        *["Your quote Q-17"] * 3,
        "The small print of Q-17",
        "Questions about Q-17?",
        *[None] * 2,
    ]
    assert await records(sql, sent) == [
        *[("email", "email_send", "ada@example.com", "pending", 0)] * 3,
        ("email", "email_send", "grace@example.com", "pending", 0),
        ("email", "email_send", "sales@example.com", "pending", 0),
        ("whatsapp", "whatsapp_send", "+442071838750", "pending", 0),
        ("whatsapp", "whatsapp_send", "+442071838759", "pending", 0),
    ]

    # The outbox delivers: succeeded, one attempt each, and the legacy paths are left alone.
    await engine.work_everything()

    assert [(status, attempts) for *_, status, attempts in await records(sql, sent)] == [("succeeded", 1)] * 7
    assert [recipient for _, _, recipient, *_ in await records(sql, accepted)] == [
        LEAD["email"],
        AGENT["email"],
        PARTNER["email"],
    ]
    assert [kind for kind, *_ in await records(sql, rejected)] == ["email", "whatsapp"]
    assert len(provider.calls) == 7 + 3 + 2
    assert len(legacy.calls) == 3


async def test_000_a_failed_enqueue_falls_back_for_channels_that_had_a_legacy_path(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider, legacy: Legacy
) -> None:
    """4: the quote has no number, which the templates print; whoever needs none of it gets theirs."""
    await write_rules(manager)
    plain = {"trigger": "quote_accepted", "channel": "email", "audience": "partner"}
    partner = next(rule for rule in RULES if rule.items() >= plain.items())
    steps = [{"step_order": 1, "template": {"subject": "Accepted", "body": "Please plan the work."}}]
    [listed] = (await manager.get("/v1/rules?trigger=quote_accepted&channel=email&audience=partner")).json()["data"]
    await manager.ask("PUT", f"/v1/rules/{listed['id']}", json={**partner, "steps": steps})

    with capture_logs() as logs:
        accepted = await send(operator, "quote_accepted", "quote-18", quote={})
        sent = await send(operator, "quote_sent", "quote-18", quote={})
    await engine.work_everything()

    assert {pair: one for pair, one in outcomes(accepted).items() if pair[0] == "email"} == {
        ("email", "lead"): "fallback",
        ("email", "partner"): "enqueued",
        ("email", "agent"): "fallback",
    }
    assert outcomes(sent) == {("email", "lead"): "fallback", ("whatsapp", "lead"): "none"}
    assert all("variables.quote.number is missing" in one["reason"] for one in sent["decisions"])
    assert sorted(legacy.names) == sorted([THANKS, TO_AGENT, PROPOSAL])
    assert [call.recipient for call in provider.calls] == [PARTNER["email"]]
    assert [(line["audience"], line["outcome"]) for line in logs if line["event"] == "enqueue_failed"] == [
        ("lead", "fallback"),
        ("agent", "fallback"),
        ("lead", "fallback"),
        ("lead", "none"),
    ]


async def test_000_retry_and_failure_policy_of_a_quote(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Max attempts 5, backoff 1, 2, 4, 8 minutes; failed at the fifth; an invalid payload fails immediately."""
    await write_rules(manager)
    provider.answer = lambda item: (
        RetryLater("mailbox busy") if item.channel is Channel.EMAIL else Rejected("the body is empty")
    )
    event = await send(operator, "quote_rejected", "quote-17")
    begun: datetime = clock.time
    seen: list[tuple[str, int, float]] = []

    with capture_logs() as logs:
        for minutes in (0, 1, 3, 7, 15):
            clock.time = begun + timedelta(minutes=minutes)
            await engine.work_everything()
            [row] = await sql.fetch(
                "select * from notification_outbox where event_id = $1 and kind = 'email'", event["id"]
            )
            seen.append((row["status"], row["attempt_count"], (row["run_at"] - begun) / timedelta(minutes=1)))

    assert seen == [("pending", 1, 1), ("pending", 2, 3), ("pending", 3, 7), ("pending", 4, 15), ("failed", 5, 15)]
    assert row["last_error"] == "gave up after 5 attempts: mailbox busy"
    [email, whatsapp] = await look(operator, event)
    assert (email["status"], email["attempts"], email["maxAttempts"]) == ("failed", 5, 5)
    assert (whatsapp["status"], whatsapp["attempts"], whatsapp["error"]) == ("failed", 1, "the body is empty")
    told = [(line["event"], line["attempt"], line.get("retry_at")) for line in logs if line.get("item") == email["id"]]
    assert told == [
        *(
            ("retry_scheduled", attempt, begun + timedelta(minutes=at))
            for attempt, at in ((1, 1), (2, 3), (3, 7), (4, 15))
        ),
        ("retries_exhausted", 5, None),
    ]
    assert [line["event"] for line in logs if line.get("item") == whatsapp["id"]] == ["permanent_failure"]
    assert [line for line in logs if "example.com" in str(line)] == []
