"""A rule: what is sent when something happens, over one channel, to one audience.

Keyed by (trigger, channel, audience). Its steps are read, checked and put in order here; what an event makes of them
is in routing.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from uuid import UUID

from tidings.domain.channels import STEP_CHANNELS, Channel
from tidings.domain.content.linked import as_written
from tidings.domain.content.linking import Frozen, frozen_in, linked, unlinked_fields
from tidings.domain.content.message import MessageContent
from tidings.domain.content.template import has_liquid, required_variables
from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.flow.retry import RULE, RetryPolicy
from tidings.domain.messages import quoted, unfit
from tidings.domain.people.address import read_email, read_phone
from tidings.domain.people.recipients import RecipientConfig
from tidings.domain.rules.key import RuleKey, check_trigger
from tidings.domain.storable import UNSTORABLE, unstorable_places
from tidings.domain.timing import parse_duration, parse_time
from tidings.domain.workflows.content_reader import ContentReader
from tidings.domain.workflows.definition_reader import Raw
from tidings.views.rules import RuleAudience

MOST_STEPS = 100
MOST_CUSTOM = 100
MOST_ATTEMPTS = 20
LARGEST_ORDER = 1_000_000

_RULE_FIELDS = ("trigger", "channel", "audience", "enabled", "steps")
_READ_ONLY = frozenset(
    {"id", "createdAt", "updatedAt", "created_at", "updated_at", "notReady", "not_ready", "templates"}
)
"""What an answer says and a body may repeat, so that what was read can be changed and written back."""
_STEP_FIELDS = (
    *("id", "stepOrder", "enabled", "channel", "template", "delay", "sendBefore", "recipientConfig"),
    *("to", "maxAttempts", "attachments", "createdAt"),
)
_CONFIG_FIELDS = ("includeLeadContact", "includePartner", "includeAgent", "customPhones", "customEmails")
ATTACHMENTS = "attachments"
"""The one part of a message that a step names beside its template."""

TIME = "sendBefore.time"
"""The name under which the time a step is sent before is rendered with its templates."""


@dataclass(frozen=True)
class RuleStep:
    """One message of a rule; `id` and `created_at` are set when it is stored."""

    channel: Channel
    content: Mapping[str, object]
    step_order: int = 1
    enabled: bool = True
    recipients: RecipientConfig | None = None
    to: Sequence[str] = ()
    """Where it goes, over a channel that reaches no person; empty there is the connection's one place."""
    delay: timedelta = timedelta()
    before: timedelta | None = None
    """How long before `time` it is sent, instead of after a delay."""
    time: str | None = None
    max_attempts: int | None = None
    id: UUID | None = None
    created_at: datetime | None = None

    @cached_property
    def message(self) -> MessageContent:
        """What is sent to each recipient."""
        return MessageContent(self.channel, self.content)

    @cached_property
    def every_template(self) -> Mapping[str, str]:
        """What is rendered for one event: the message, and the time."""
        to = {to_name(place): source for place, source in enumerate(self.addresses)}
        return {**self.message.templates, **to, **({TIME: self.time} if self.time else {})}

    @property
    def addresses(self) -> Sequence[str]:
        """The templates of where it goes; nothing where it goes to people of the event."""
        place = self.channel.traits.default_recipient
        return self.to or ([place] if place else ())

    @property
    def retry(self) -> RetryPolicy:
        """Waits of 1, 2, 4, 8 … minutes, for as many attempts as the step allows."""
        return retry_policy(self.max_attempts)


def to_name(place: int) -> str:
    """The name under which one of the addresses of a step is rendered with its templates."""
    return f"to.{place}"


def retry_policy(max_attempts: int | None) -> RetryPolicy:
    """1, 2, 4, 8 minutes and so on, an hour at most; five attempts unless the maximum was raised."""
    return RULE if max_attempts is None else replace(RULE, attempts=max_attempts)


@dataclass(frozen=True)
class RuleDefinition:
    """Steps under one key."""

    key: RuleKey
    enabled: bool
    steps: tuple[RuleStep, ...]
    id: UUID | None = None
    frozen: Frozen = field(default_factory=dict)
    """The templates that its steps render, as they were when it was written."""

    @cached_property
    def enabled_steps(self) -> Sequence[RuleStep]:
        """The steps that are sent, in their order: `stepOrder`, then the older one, then as they were written."""
        newest = datetime.max.replace(tzinfo=UTC)
        enabled = [step for step in self.steps if step.enabled]
        return tuple(sorted(enabled, key=lambda step: (step.step_order, step.created_at or newest)))

    @cached_property
    def required(self) -> frozenset[str]:
        """The dotted paths that every event must have for what would be sent now."""
        sources = [source for step in self.enabled_steps for source in step.every_template.values()]
        return frozenset(path for source in sources for path in required_variables(source))


def read_rule(raw: object, *, is_stored: bool = False) -> RuleDefinition:
    """A rule as users write it, or DefinitionInvalid with everything that is wrong with it."""
    if not isinstance(raw, Mapping):
        raise DefinitionInvalid([Problem("", "a rule is an object with trigger, channel, audience and steps")])
    reader = _RuleReader(is_stored=is_stored)
    frozen = frozen_in(raw) if is_stored else {}
    raw = linked(raw) if is_stored else raw
    try:
        for place in unstorable_places(raw):
            reader.add(place, UNSTORABLE)
        rule = reader.rule(raw)
    except RecursionError:
        raise DefinitionInvalid([Problem("", "nested too deeply")]) from None
    reader.raise_if_any()
    return replace(rule, frozen=frozen)


def keep_steps(
    steps: Sequence[RuleStep], before: Sequence[RuleStep], now: datetime, new_id: Callable[[], UUID]
) -> list[RuleStep]:
    """Steps as they are stored: one that was there before keeps its id and its time, whether it was named or not."""
    known = {step.id: step for step in before}
    named = {step.id for step in steps}
    free = [step for step in before if step.id not in named]
    kept: list[RuleStep] = []
    for step in steps:
        same = known.get(step.id) if step.id else next((one for one in free if _says(one) == _says(step)), None)
        if same in free:
            free.remove(same)
        made = same.created_at if same else step.created_at
        kept.append(replace(step, id=same.id if same else step.id or new_id(), created_at=made or now))
    return kept


def _says(step: RuleStep) -> RuleStep:
    to = tuple(map(as_written, step.to))
    return replace(step, id=None, created_at=None, to=to, content=unlinked_fields(step.content))


def step_to_json(step: RuleStep) -> dict[str, object]:
    """A step as it is stored and shown; read_rule takes it back."""
    written = unlinked_fields(step.content)
    return {
        "id": str(step.id),
        "stepOrder": step.step_order,
        "enabled": step.enabled,
        "template": {name: one for name, one in written.items() if name != ATTACHMENTS},
        "recipientConfig": None if step.recipients is None else _config_to_json(step.recipients),
        **({"to": [as_written(one) for one in step.to]} if step.to else {}),
        "delay": _duration_to_json(step.delay),
        "sendBefore": None
        if step.before is None
        else {"time": step.time and as_written(step.time), "by": _duration_to_json(step.before) or "PT0S"},
        "maxAttempts": step.max_attempts,
        "attachments": written.get(ATTACHMENTS, []),
        "createdAt": step.created_at.isoformat() if step.created_at else None,
    }


def _config_to_json(config: RecipientConfig) -> dict[str, object]:
    return {
        "includeLeadContact": config.include_lead_contact,
        "includePartner": config.include_partner,
        "includeAgent": config.include_agent,
        "customPhones": list(config.custom_phones),
        "customEmails": list(config.custom_emails),
    }


def _duration_to_json(duration: timedelta) -> str | None:
    return f"PT{duration.total_seconds():.6f}".rstrip("0").rstrip(".") + "S" if duration else None


class _RuleReader(ContentReader):
    """Reads one rule and keeps every problem with its place."""

    def rule(self, raw: Raw) -> RuleDefinition:
        self.known_fields({name: one for name, one in raw.items() if name not in _READ_ONLY}, _RULE_FIELDS, "")
        key = self.key(raw)
        enabled = raw.get("enabled", True)
        if not isinstance(enabled, bool):
            self.add("enabled", f"{quoted(enabled)} is not true or false")
            enabled = True
        given = raw.get("steps", ())
        if not isinstance(given, list | tuple) or len(given) > MOST_STEPS:
            self.add("steps", f"give a list of at most {MOST_STEPS} steps")
            given = ()
        elif not given and enabled:
            self.add("steps", "give at least one step; a rule that is disabled may have none")
        found = [self.step(one, key.channel, place) for place, one in enumerate(given)]
        steps = tuple(step for step in found if step)
        if len({step.id for step in steps if step.id}) < len([step for step in steps if step.id]):
            self.add("steps", "two steps have the same id; leave it out of the newer one")
        return RuleDefinition(key, enabled, steps)

    def key(self, raw: Raw) -> RuleKey:
        trigger = ""
        try:
            trigger = check_trigger(raw.get("trigger"))
        except ValueError as error:
            self.add("trigger", str(error))
        channel, audience = raw.get("channel"), raw.get("audience")
        if channel not in STEP_CHANNELS:
            self.add("channel", f"{unfit(channel, 'is not a channel')}: use one of {', '.join(STEP_CHANNELS)}")
            channel = Channel.EMAIL
        if audience not in list(RuleAudience):
            self.add("audience", f"{unfit(audience, 'is no audience')}: use one of {', '.join(RuleAudience)}")
            audience = RuleAudience.LEAD
        return RuleKey(trigger, Channel(str(channel)), RuleAudience(str(audience)))

    def step(self, raw: object, channel: Channel, number: int) -> RuleStep | None:
        place = f"steps[{number}]"
        if not isinstance(raw, Mapping):
            self.add(place, "a step is an object with a template")
            return None
        self.known_fields(raw, _STEP_FIELDS, place)
        if raw.get("channel") not in (None, channel):
            self.add(
                f"{place}.channel",
                f"{quoted(raw['channel'])} is not the rule's channel, {channel}: a step has its rule's",
            )
        order = self.number(raw, "stepOrder", least=0, most=LARGEST_ORDER, place=place, whole=True)
        attempts = self.number(raw, "maxAttempts", least=1, most=MOST_ATTEMPTS, place=place, whole=True)
        before, time = self.send_before(self.get(raw, "sendBefore"), f"{place}.sendBefore")
        delay = self.wait(raw.get("delay"), f"{place}.delay")
        if delay and before is not None:
            self.add(f"{place}.sendBefore", "give either delay or sendBefore")
        return RuleStep(
            channel,
            self.template(raw.get("template"), channel, f"{place}.template")
            | self.attachments(raw.get(ATTACHMENTS), channel, f"{place}.{ATTACHMENTS}"),
            number + 1 if order is None else int(order),
            self.flag(raw, "enabled", True, place),
            self.config(self.get(raw, "recipientConfig"), channel, f"{place}.recipientConfig"),
            self.to(raw.get("to"), channel, place),
            delay,
            before,
            time,
            None if attempts is None else int(attempts),
            self.step_id(raw.get("id"), f"{place}.id"),
            self.created_at(self.get(raw, "createdAt"), f"{place}.createdAt"),
        )

    def template(self, raw: object, channel: Channel, place: str) -> dict[str, object]:
        known = [name for name in channel.content_fields if name != ATTACHMENTS]
        if not isinstance(raw, Mapping):
            self.add(place, f"give an object with {', '.join(known)}")
            return {}
        self.known_fields(raw, known, place)
        return dict(self.content(raw, channel, place))

    def config(self, raw: object, channel: Channel, place: str) -> RecipientConfig | None:
        """Without one, or with one that says nothing, a step is for its rule's audience."""
        if raw is None or raw == {}:
            return None
        if not isinstance(raw, Mapping):
            self.add(place, f"{quoted(raw)} is not an object with some of {', '.join(_CONFIG_FIELDS)}")
            return None
        self.known_fields(raw, _CONFIG_FIELDS, place)
        if not channel.reaches_contacts and any(raw.values()):
            self.add(place, f"a message over {channel} goes to no person: name where it goes in `to`")
        self.check_reachable(raw, channel, place)
        return RecipientConfig(
            self.flag(raw, "includeLeadContact", False, place),
            self.flag(raw, "includePartner", False, place),
            self.flag(raw, "includeAgent", False, place),
            self.custom(raw, "customPhones", read_phone, place),
            self.custom(raw, "customEmails", read_email, place),
        )

    def to(self, raw: object, channel: Channel, place: str) -> Sequence[str]:
        """Where a message goes that reaches no person of the event."""
        if raw in (None, [], ()):
            return ()
        if channel.reaches_contacts:
            remedy = f"use recipientConfig.{own}" if (own := channel.traits.own_addresses) else "leave it out"
            self.add(f"{place}.to", f"a message over {channel} goes to people; {remedy}")
            return ()
        return self.recipients(raw, channel, place)

    def check_reachable(self, raw: Raw, channel: Channel, place: str) -> None:
        """Refuse addresses that the step's channel cannot write to: they would be ignored silently."""
        own = channel.traits.own_addresses
        for name in () if self.is_stored else ("customPhones", "customEmails"):
            if self.get(raw, name) and name != own:
                remedy = f"use {own}" if own else "name people of the event"
                self.add(f"{place}.{name}", f"a message over {channel} cannot reach these; {remedy}, or leave it out")

    def custom(self, raw: Raw, name: str, read: Callable[[str], str], place: str) -> tuple[str, ...]:
        given = self.get(raw, name)
        where = f"{place}.{name}"
        if given is None:
            return ()
        if not isinstance(given, list | tuple) or len(given) > MOST_CUSTOM:
            self.add(where, f"give a list of at most {MOST_CUSTOM} strings")
            return ()
        found: list[str] = []
        for number, one in enumerate(given):
            try:
                found.append(read(one if isinstance(one, str) else repr(one)))
            except ValueError as error:
                self.add(f"{where}[{number}]", str(error))
        return tuple(found)

    def wait(self, raw: object, place: str) -> timedelta:
        if raw is None:
            return timedelta()
        try:
            return parse_duration(raw, or_seconds=True)
        except ValueError as error:
            self.add(place, str(error))
            return timedelta()

    def send_before(self, raw: object, place: str) -> tuple[timedelta | None, str | None]:
        if raw is None:
            return None, None
        if not isinstance(raw, Mapping):
            self.add(place, "write it like {time: '{{ appointment.startsAt }}', by: PT24H}")
            return None, None
        self.known_fields(raw, ("time", "by"), place)
        time = raw.get("time")
        if not isinstance(time, str) or not self.is_time(time):
            self.add(
                f"{place}.time",
                f"{unfit(time, 'is not a time')}: give one, or one variable like {{{{ appointment.startsAt }}}}",
            )
            time = None
        return self.wait(raw.get("by", 0), f"{place}.by"), time

    def is_time(self, text: str) -> bool:
        if has_liquid(text):
            return self.is_plain_variable(text)
        try:
            parse_time(text)
        except ValueError:
            return False
        return True

    def attachments(self, raw: object, channel: Channel, place: str) -> dict[str, object]:
        """The files of an e-mail, as a part of what it says."""
        if raw is None or raw in ([], ()):
            return {}
        field = next((one for one in channel.fields if one.name == ATTACHMENTS), None)
        if field is None:
            self.add(place, f"an {channel} has no attachments; only an email has")
            return {}
        return {ATTACHMENTS: self.field(field, raw, place)}

    def step_id(self, raw: object, place: str) -> UUID | None:
        if raw is None:
            return None
        try:
            return UUID(str(raw))
        except ValueError:
            self.add(place, f"{quoted(raw)} is not the id of a step; leave it out for a new one")
            return None

    def created_at(self, raw: object, place: str) -> datetime | None:
        if raw is None:
            return None
        try:
            return parse_time(str(raw))
        except ValueError as error:
            self.add(place, str(error))
            return None
