"""What the tests of rules and events have in common."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.rules.key import RuleKey, fallback_name
from tidings.engine import Engine
from tidings.views.events import Decision, Event, EventItem
from tidings.views.rules import Rule, RuleAudience

ME = Caller(Workspace(), "test")
LEAD = {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750", "pushTokens": ["token-1"]}
PARTNER = {"name": "Grace", "email": "grace@example.com", "phone": "+442071838751", "pushTokens": ["token-2"]}
AGENT = {"name": "Alan", "email": "alan@example.com", "phone": "+442071838752", "pushTokens": ["token-3"]}
PEOPLE = {"lead": LEAD, "partner": PARTNER, "agent": AGENT}
# Without variables: starting the process that renders them is most of a test's time.
CONTENT: Mapping[str, Mapping[str, str]] = {
    "email": {"subject": "Your quote", "body": "Here it is."},
    "whatsapp": {"body": "Your quote is there."},
    "sms": {"body": "Your quote is there."},
    "push": {"title": "Quote", "body": "It is there."},
    "voice": {"script": "Your quote is there."},
}
FAILING = "{{ 1 | divided_by: lead.name }}"
"""A template that no data can make render."""


def step(channel: str = "email", **more: Any) -> dict[str, Any]:
    return {"template": dict(CONTENT[channel])} | more


async def make_rule(
    engine: Engine,
    *steps: Mapping[str, Any],
    trigger: str = "quote_sent",
    channel: str = "email",
    audience: str = "lead",
    enabled: bool = True,
    by: Caller = ME,
) -> Rule:
    given = {
        "trigger": trigger,
        "channel": channel,
        "audience": audience,
        "enabled": enabled,
        "steps": list(steps) or [step(channel)],
    }
    return await engine.rules.create(by, given)


async def send(engine: Engine, key: str | None = "k1", trigger: str = "quote_sent", **more: Any) -> Event:
    given = {"trigger": trigger, **PEOPLE, **more} | ({} if key is None else {"idempotencyKey": key})
    return await engine.events.send(ME, {name: value for name, value in given.items() if value is not None})


def outcomes(event: Event) -> dict[tuple[str, str], str]:
    return {(one.channel, one.audience): one.outcome for one in event.decisions}


def only(event: Event) -> Decision:
    """The only decision of an event."""
    [decision] = event.decisions
    return decision


def items_of(event: Event) -> list[EventItem]:
    return [item for decision in event.decisions for item in decision.items]


async def standing(engine: Engine, event: Event) -> list[str]:
    """How the items of an event stand now."""
    return [item.status for item in items_of(await engine.events.get(ME.workspace, event.id))]


def key(trigger: str = "quote_sent", channel: str = "email", audience: str = "lead") -> RuleKey:
    return RuleKey(trigger, Channel(channel), RuleAudience(audience))


def with_fallbacks(engine: Engine, *keys: RuleKey) -> Engine:
    """The same engine in a host application that has registered these fallbacks, which its fake provider plays."""
    fake = engine.kernel.providers["fake"]
    providers = {**engine.kernel.providers, **{fallback_name(key): fake for key in keys}}
    kernel = replace(engine.kernel, fallbacks=frozenset(keys), providers=providers)
    object.__setattr__(kernel, "notifier", engine.kernel.notifier)
    return Engine(kernel)
