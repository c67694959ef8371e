"""Rules and events as the users of 000 meet them, and the legacy paths of their host application."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.http.conftest import Person
from tests.requirements.conftest import Json

LEAD: Json = {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750", "pushTokens": ["lead"]}
PARTNER: Json = {"name": "Grace", "email": "grace@example.com", "phone": "+442071838751", "pushTokens": ["partner"]}
AGENT: Json = {"name": "Alan", "email": "alan@example.com", "phone": "+442071838752", "pushTokens": ["agent"]}
PEOPLE: Json = {"lead": LEAD, "partner": PARTNER, "agent": AGENT}
CONTENT: Mapping[str, Json] = {
    "email": {"subject": "Quote {{ quote.number }}", "body": "Good day {{ lead.name }}"},
    "whatsapp": {"body": "Quote {{ quote.number }}"},
    "sms": {"body": "Quote {{ quote.number }}"},
    "push": {"title": "Quote", "body": "{{ quote.number }}"},
    "voice": {"script": "Quote {{ quote.number }}"},
}
CHANNELS = tuple(CONTENT)
AUDIENCES = ("lead", "partner", "agent")
QUOTE: Json = {"quote": {"number": "Q-17", "pdf": "https://example.com/quotes/17.pdf"}}


@dataclass
class Legacy:
    """What the host application did before there were rules."""

    calls: list[tuple[str, Any]] = field(default_factory=list)

    def path(self, name: str) -> Any:
        async def send(action: str, payload: Any, *, idempotency_key: str) -> Json:
            assert action == "fallback"
            assert len(idempotency_key) == 64
            self.calls.append((name, payload))
            return {"sent": name}

        return send

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def step(channel: str = "email", **more: object) -> Json:
    return {"template": dict(CONTENT[channel])} | more


async def make_rule(
    manager: Person,
    *steps: Json,
    trigger: str = "quote_sent",
    channel: str = "email",
    audience: str = "lead",
    enabled: bool = True,
) -> Json:
    body = {"trigger": trigger, "channel": channel, "audience": audience, "enabled": enabled}
    answer = await manager.post("/v1/rules", {**body, "steps": list(steps) or [step(channel)]})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def send(operator: Person, trigger: str = "quote_sent", **more: object) -> Json:
    answer = await operator.post("/v1/events", {"trigger": trigger, **PEOPLE, "variables": QUOTE} | more)
    assert answer.status_code in {200, 201}, answer.text
    sent: Json = answer.json()
    return sent


async def look(operator: Person, event: Json) -> list[Json]:
    """The items of an event as they stand now."""
    shown = (await operator.get(f"/v1/events/{event['id']}")).json()
    return [item for decision in shown["decisions"] for item in decision["items"]]


def outcomes(event: Json) -> dict[tuple[str, str], str]:
    return {(one["channel"], one["audience"]): one["outcome"] for one in event["decisions"]}
