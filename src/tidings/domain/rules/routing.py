"""What an event does: for each channel and audience it is enqueued, suppressed, left to a fallback, or nothing.

Pure, so that explaining an event and sending one are the same decision. kernel/start/event.py renders and stores.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidings.domain.channels import STEP_CHANNELS, Channel
from tidings.domain.content.template import has_path
from tidings.domain.errors import EventInvalid, Problem
from tidings.domain.people.recipients import EventAddressee, Unreachable, named_recipient, resolve_recipients
from tidings.domain.rules.event import IncomingEvent
from tidings.domain.rules.key import RuleKey
from tidings.domain.rules.rule import TIME, RuleDefinition, RuleStep, to_name
from tidings.domain.timing import parse_time
from tidings.views.events import RouteOutcome as RouteOutcome  # noqa: PLC0414 – asked for with the routes
from tidings.views.rules import RuleAudience

FALLBACK_ACTION = "fallback"


@dataclass(frozen=True, slots=True)
class Route:
    """A decision and why."""

    outcome: RouteOutcome
    reason: str


def decide_route(
    key: RuleKey,
    rule: RuleDefinition | None,
    *,
    has_fallback: bool,
    failure: str | None = None,
    refusal: str | None = None,
) -> Route:
    """Decide what becomes of one channel and audience, by its rule and its fallback.

    `failure` says why enqueueing is known to have failed; only a registered fallback can stand in.
    `refusal` says why the audience, a contact, must not be written to over the channel: then no fallback does either.
    """
    if rule and not rule.enabled:
        return Route(RouteOutcome.SUPPRESSED, f"the rule for {key} is disabled")
    if rule and failure is None:
        return Route(RouteOutcome.ENQUEUED, f"the rule for {key} is enabled")
    if has_fallback and refusal:
        return Route(RouteOutcome.NONE, f"the registered fallback for {key} is not called: {refusal}")
    if has_fallback:
        failed = f"enqueueing failed, so the registered fallback is called: {failure}"
        no_rule = f"there is no rule for {key}: the registered fallback is called"
        return Route(RouteOutcome.FALLBACK, failed if rule else no_rule)
    failed = f"enqueueing failed, and there is no fallback for {key}: {failure}"
    return Route(RouteOutcome.NONE, failed if rule else f"there is neither a rule nor a fallback for {key}")


def keys_of(trigger: str, rules: Mapping[RuleKey, RuleDefinition], fallbacks: Collection[RuleKey]) -> list[RuleKey]:
    """Every channel and audience that a trigger decides about: all the channels it uses for all those it is for.

    A trigger that no rule and no fallback knows has none.
    """
    known = {key for key in (*rules, *fallbacks) if key.trigger == trigger}
    channels = [channel for channel in STEP_CHANNELS if any(key.channel is channel for key in known)]
    audiences = [audience for audience in RuleAudience if any(key.audience is audience for key in known)]
    return [RuleKey(trigger, channel, audience) for audience in audiences for channel in channels]


@dataclass(frozen=True, slots=True)
class Intent:
    """What one step of a rule means to do for one event: whom it reaches, whom it cannot."""

    rule: RuleDefinition
    step: RuleStep
    recipients: Sequence[EventAddressee | Unreachable]


def intents_of(event: IncomingEvent, rule: RuleDefinition) -> list[Intent]:
    """The enabled steps of a rule in their order, each with its recipients."""
    return [Intent(rule, step, _recipients_of(step, event, rule.key.audience)) for step in rule.enabled_steps]


def _recipients_of(
    step: RuleStep, event: IncomingEvent, audience: RuleAudience
) -> Sequence[EventAddressee | Unreachable]:
    if step.channel.reaches_contacts:
        return resolve_recipients(step.recipients, audience, step.channel, event.people)
    return [
        named_recipient(f"to[{place}]", source, step.channel, event.people)
        for place, source in enumerate(step.addresses)
    ]


def rendered_recipients(intent: Intent, fields: Mapping[str, str]) -> Sequence[EventAddressee | Unreachable]:
    """Where a step goes once its addresses are rendered: nothing twice, and none that came out empty."""
    if intent.step.channel.reaches_contacts:
        return intent.recipients
    found: dict[str, EventAddressee | Unreachable] = {}
    for place, one in enumerate(intent.recipients):
        address = fields.get(to_name(place), "").strip()
        made = _addressed(one, address) if isinstance(one, EventAddressee) else one
        found.setdefault(address.casefold(), made)
    return [*found.values()]


def _addressed(one: EventAddressee, address: str) -> EventAddressee | Unreachable:
    if address:
        return replace(one, address=address)
    return Unreachable(one.source, f"{one.source} is empty for this event", contact_id=one.contact_id)


def malformed_in(intents: Sequence[Intent]) -> list[Problem]:
    """Recipients that are not addresses: the sender of the event must correct them."""
    found = {
        one.place: one.reason
        for intent in intents
        for one in intent.recipients
        if isinstance(one, Unreachable) and one.place
    }
    return [Problem(place, reason) for place, reason in found.items()]


def missing_for(event: IncomingEvent, rule: RuleDefinition) -> list[Problem]:
    """The variables that a rule's templates print and the event lacks; they concern that rule's decision alone."""
    return [
        Problem(_place_of(path), f"is missing: the template of a step prints {path!r}; null will do")
        for path in sorted(rule.required)
        if not has_path(event.data, path)
    ]


def check_event(event: IncomingEvent, rules: Mapping[RuleKey, RuleDefinition], fallbacks: Collection[RuleKey]) -> None:
    """Raise EventInvalid with everything that keeps the event from being taken.

    A variable that is missing does so only where nothing else would come of the event: then nothing is stored, and it
    may be sent again under its key.
    """
    intents = {key: intents_of(event, rule) for key, rule in rules.items() if rule.enabled}
    problems = malformed_in([intent for own in intents.values() for intent in own])
    missing = {key: found for key in intents if (found := missing_for(event, rules[key]))}
    is_of_use = any(key not in missing and _reaches_somebody(intents[key]) for key in intents) or any(
        _may_fall_back(event, rules, key) for key in fallbacks if key.trigger == event.trigger
    )
    if problems or (missing and not is_of_use):
        raise EventInvalid([*problems, *dict.fromkeys(one for found in missing.values() for one in found)])


def _reaches_somebody(intents: Sequence[Intent]) -> bool:
    return any(isinstance(one, EventAddressee) and not one.refusal for intent in intents for one in intent.recipients)


def _may_fall_back(event: IncomingEvent, rules: Mapping[RuleKey, RuleDefinition], key: RuleKey) -> bool:
    rule, person = rules.get(key), event.people.get(key.audience)
    is_refused = person is not None and person.refusal(key.channel) is not None
    return not is_refused and (rule is None or rule.enabled)


def _place_of(path: str) -> str:
    root = path.partition(".")[0]
    return path if root in {*RuleAudience, "trigger"} else f"variables.{path}"


@dataclass(frozen=True, slots=True)
class Timing:
    """When a message is to be sent; `skip` says why it is not, if that time is over."""

    at: datetime
    skip: str | None = None


def timing_of(step: RuleStep, fields: Mapping[str, str], now: datetime) -> Timing:
    """When a step is due: after its delay, or so long before a time; ValueError if that is not a time.

    A reminder whose moment has passed when the event comes is not sent late: it would say something that is not so.
    """
    if step.before is None:
        return Timing(now + step.delay)
    at = parse_time(fields[TIME]) - step.before
    if at < now:
        return Timing(at, f"its time, {at.isoformat()}, was past when the event came")
    return Timing(at)


def fallback_payload(event: IncomingEvent, key: RuleKey) -> dict[str, object]:
    """The payload of a fallback: the whole event, and what it stands in for."""
    missing: dict[str, object] = dict.fromkeys(RuleAudience)
    return {
        "trigger": key.trigger,
        "channel": key.channel,
        "audience": key.audience,
        "idempotencyKey": event.idempotency_key,
        **missing,
        **event.stored,
        **event.seen_people,
    }


def template_of(channel: Channel) -> str:
    """The name that the view `notification_outbox` has for what sends an item of this channel."""
    return f"{channel}_send"
