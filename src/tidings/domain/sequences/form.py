"""A sequence as people write it: settings and steps, read with every problem's place, and compiled to the one graph.

Each step becomes a wait by its schedule and a send to the contact, in a line. Publishing freezes the same settings and
steps as a version in this form, so parse_workflow reads a sequence like any other workflow.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise

import msgspec

from tidings.domain.channels import STEP_CHANNELS, Channel
from tidings.domain.content.message import MessageContent
from tidings.domain.content.template import required_variables, walk_variables
from tidings.domain.errors import DefinitionInvalid, Problem, TemplateInvalid
from tidings.domain.flow.graph import (
    CONTACT_ZONE,
    Delay,
    Edge,
    Form,
    Graph,
    Node,
    OnFailure,
    Schedule,
    Send,
)
from tidings.domain.flow.retry import RULE
from tidings.domain.messages import quoted, unfit
from tidings.domain.people.address import read_time_zone
from tidings.domain.people.contact_fields import TEMPLATE_FIELDS
from tidings.domain.sequences.step_time import LONGEST_OFFSET
from tidings.domain.timing import format_duration, parse_duration
from tidings.domain.workflows.content_reader import ContentReader
from tidings.domain.workflows.definition_reader import Raw, below, snake_case
from tidings.views.sequences import OffsetFrom, OnStepFailure, SequenceSettings

MAX_STEPS = 1_000
MAX_ORDER = 1_000_000
WAIT = "wait_"
"""Before a step's id: the node that waits for the step's time."""
_WAIT_OF_STEP = re.compile(rf"{WAIT}[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}")


def is_wait_of_step(node: str) -> bool:
    """Whether a node only waits for a step of a sequence: people count steps, not the nodes they are made of."""
    return _WAIT_OF_STEP.fullmatch(node) is not None


class InFlightChoice(StrEnum):
    """What becomes of those on the way when a new version is published."""

    LEAVE = "leave"
    MOVE = "move"


class SequenceStep(msgspec.Struct, frozen=True, rename="camel"):
    """One message of a sequence; its id is the same in every version.

    Its content is the text alone, with the subject beside it, or an object with all fields of its channel.
    """

    id: str
    day_offset: int
    step_order: int
    send_hour: int | None
    channel: Channel
    subject: str | None
    content: str | Mapping[str, object]
    max_lateness: timedelta | None
    to: Sequence[str] | None = None
    """Where it goes, over a channel that reaches no contact; None there is the connection's one place."""

    @property
    def recipients(self) -> tuple[str, ...]:
        """Whom its message is for, as a node of the graph says it; empty is the contact."""
        place = self.channel.traits.default_recipient
        return tuple(self.to or ([place] if place else ()))

    @property
    def lateness(self) -> str | None:
        """How late it may leave, as people write it."""
        return None if self.max_lateness is None else format_duration(self.max_lateness)

    @property
    def message(self) -> MessageContent:
        """What it says, whichever way it was written."""
        traits = self.channel.traits
        if not isinstance(self.content, str):
            return MessageContent(self.channel, self.content)
        subject = {} if self.subject is None else {str(traits.subject): self.subject}
        return MessageContent(self.channel, {**subject, str(traits.text): self.content})

    def message_named(self, name: str) -> MessageContent:
        """What it says, with the sequence's name for the subject of an e-mail that has none."""
        message, traits = self.message, self.channel.traits
        if not traits.needs_subject:
            return message
        return MessageContent(self.channel, {str(traits.subject): _literal(name), **message.content})

    def to_json(self) -> dict[str, object]:
        """As it is stored; what is not given is left out."""
        fields = msgspec.to_builtins(self) | {"maxLateness": self.lateness}
        return {name: value for name, value in fields.items() if value is not None}


SETTINGS = tuple(field.encode_name for field in msgspec.structs.fields(SequenceSettings))
STEP_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(SequenceStep))


def definition_of(
    settings: SequenceSettings, steps: Sequence[SequenceStep], name: str | None = None
) -> dict[str, object]:
    """What publishing freezes: parse_workflow reads it. The name is the subject of e-mails that have none."""
    ordered = sorted(steps, key=lambda step: step.step_order)
    named = {} if name is None else {"name": name}
    return {"sequence": settings.to_json(), "steps": [step.to_json() for step in ordered], **named}


def settings_in(definition: Raw) -> SequenceSettings:
    """The settings of a frozen definition."""
    return SequenceForm(definition, is_stored=True).settings()


def steps_in(definition: Raw) -> list[SequenceStep]:
    """The steps of a frozen definition, in their order."""
    return list(SequenceForm(definition, is_stored=True).steps().values())


def read_settings(raw: Raw, before: SequenceSettings | None = None) -> SequenceSettings:
    """Settings with what is given changed, or DefinitionInvalid."""
    reader = SequenceForm({"sequence": {**(before or SequenceSettings()).to_json(), **_spelled(raw, SETTINGS)}})
    reader.once(raw, SETTINGS, "")
    settings = reader.settings(place="")
    reader.raise_if_any()
    return settings


def read_step(raw: Raw, before: SequenceStep | None = None) -> SequenceStep:
    """One step with what is given changed, or DefinitionInvalid; null removes an optional field."""
    given = {**(before.to_json() if before else {}), **_spelled(raw, STEP_FIELDS)}
    reader = SequenceForm({})
    reader.once(raw, STEP_FIELDS, "")
    step = reader.step(given, "")
    reader.raise_if_any()
    if step is None:
        raise DefinitionInvalid([Problem("", "a step is an object with dayOffset, stepOrder, channel and content")])
    return step


def read_steps(raw: Sequence[Raw]) -> list[SequenceStep]:
    """Steps that are given together, or DefinitionInvalid with every problem of each."""
    reader = SequenceForm({})
    for place, one in enumerate(raw):
        reader.once(one, STEP_FIELDS, f"steps[{place}]")
    steps = [reader.step(_spelled(one, STEP_FIELDS), f"steps[{place}]") for place, one in enumerate(raw)]
    reader.raise_if_any()
    return [step for step in steps if step]


def placed(step: Raw, place: int) -> dict[str, object]:
    """Give a step without an order the place where it stands."""
    return {**({} if is_placed(step) else {"stepOrder": place}), **step}


def is_placed(step: Raw) -> bool:
    """Whether a step says its order."""
    return step.get("stepOrder", step.get("step_order")) is not None


def _spelled(raw: Raw, names: Sequence[str]) -> dict[str, object]:
    """What is given under one spelling of each name."""
    spellings = {snake_case(name): name for name in names}
    return {spellings.get(name, name): value for name, value in raw.items()}


class SequenceForm(ContentReader):
    """Reads settings and steps, and draws the graph of them."""

    def __init__(self, raw: Raw, *, is_stored: bool = False) -> None:
        super().__init__(is_stored=is_stored)
        self.raw = raw

    def graph(self) -> Graph:
        """The graph, or DefinitionInvalid with everything that is wrong."""
        self.known_fields(self.raw, ("sequence", "steps", "name"), "")
        settings, steps = self.settings(), self.steps()
        if not self.problems:
            self.check_line(settings, list(steps.items()))
        self.raise_if_any()
        name = self.raw.get("name")
        named = name if isinstance(name, str) else None
        nodes = {node.id: node for step in steps.values() for node in _nodes(settings, step, named)}
        edges = tuple(Edge(one, other) for one, other in pairwise(nodes))
        return Graph(next(iter(nodes)), nodes, edges, form=Form.SEQUENCE)

    def settings(self, place: str = "sequence") -> SequenceSettings:
        """What holds for every step."""
        raw = self.raw.get("sequence")
        if not isinstance(raw, Mapping):
            self.add(place, f"{quoted(raw)} is not an object with {', '.join(SETTINGS)}")
            return SequenceSettings()
        self.known_fields(raw, SETTINGS, place)
        return SequenceSettings(
            offset_from=self.choice(raw, "offsetFrom", OffsetFrom, OffsetFrom.ENROLLMENT, place),
            timezone=self.timezone(self.get(raw, "timezone", "UTC"), below(place, "timezone")),
            on_step_failure=self.choice(raw, "onStepFailure", OnStepFailure, OnStepFailure.CONTINUE, place),
            allow_reentry=self.flag(raw, "allowReentry", False, place),
        )

    def timezone(self, raw: object, place: str) -> str:
        """The name of a time zone, or `contact`."""
        if raw == CONTACT_ZONE:
            return CONTACT_ZONE
        try:
            return read_time_zone(raw if isinstance(raw, str) else repr(raw))
        except ValueError as error:
            self.add(place, f"{error}, or contact for each contact's own")
            return "UTC"

    def steps(self) -> dict[int, SequenceStep]:
        """The steps that could be read, by their places, in their order."""
        raw = self.raw.get("steps")
        if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
            self.add("steps", "give at least one step")
            return {}
        if len(raw) > MAX_STEPS:
            self.add("steps", f"{len(raw)} steps are more than the {MAX_STEPS} a sequence may have")
            return {}
        read = {place: self.step(one, f"steps[{place}]") for place, one in enumerate(raw)}
        steps = {place: step for place, step in read.items() if step}
        return dict(sorted(steps.items(), key=lambda item: item[1].step_order))

    def step(self, raw: object, place: str) -> SequenceStep | None:
        """One step; None if a required part is missing."""
        if not isinstance(raw, Mapping):
            self.add(place, "a step is an object with dayOffset, stepOrder, channel and content")
            return None
        found = self.found
        self.known_fields(raw, STEP_FIELDS, place)
        id = self.name(raw, "id", place)
        day, order, hour = self.times(raw, place)
        lateness = self.lateness(self.get(raw, "maxLateness"), below(place, "maxLateness"))
        channel = self.channel(raw.get("channel"), below(place, "channel"))
        subject, content = self.texts(raw, channel, place)
        to = self.to(raw.get("to"), channel, place)
        if self.found > found or channel is None:
            return None
        return SequenceStep(id, day, order, hour, channel, subject, content, lateness, to)

    def times(self, raw: Raw, place: str) -> tuple[int, int, int | None]:
        """On which day, in which place, at which hour."""
        for name in ("dayOffset", "stepOrder"):
            if self.get(raw, name) is None:
                self.add(below(place, name), "is missing: use a whole number from 0 on")
        day = self.number(raw, "dayOffset", least=0, most=LONGEST_OFFSET, place=place, whole=True)
        order = self.number(raw, "stepOrder", least=0, most=MAX_ORDER, place=place, whole=True)
        hour = self.number(raw, "sendHour", least=0, most=23, place=place, whole=True)
        return int(day or 0), int(order or 0), None if hour is None else int(hour)

    def lateness(self, raw: object, place: str) -> timedelta | None:
        """How late a message may leave: in seconds, or as ISO 8601 writes a span of time."""
        if raw is None:
            return None
        try:
            return timedelta(seconds=int(parse_duration(raw, or_seconds=True).total_seconds()))
        except ValueError as error:
            self.add(place, str(error))
            return None

    def channel(self, raw: object, place: str) -> Channel | None:
        """How the message reaches the contact."""
        if isinstance(raw, str) and raw in STEP_CHANNELS:
            return Channel(raw)
        self.add(place, f"{unfit(raw, 'is not a channel')}: use one of {', '.join(STEP_CHANNELS)}")
        return None

    def to(self, raw: object, channel: Channel | None, place: str) -> Sequence[str] | None:
        """Where a message goes that reaches no contact: what it names is of the contact, like what it says."""
        if raw is None or channel is None:
            return None
        if channel.reaches_contacts:
            self.add(below(place, "to"), f"a message over {channel} goes to the contact; leave it out")
            return None
        given = self.recipients(raw, channel, place)
        for one in given:
            self.check_variables(one, below(place, "to"))
        return list(given)

    def texts(self, raw: Raw, channel: Channel | None, place: str) -> tuple[str | None, str | Mapping[str, object]]:
        """What the message says: a text with a subject, or an object with the fields of its channel."""
        subject, content = raw.get("subject"), raw.get("content")
        if isinstance(content, Mapping):
            return self.whole(raw, content, channel, place)
        if subject is not None and channel and channel.traits.subject is None:
            self.add(below(place, "subject"), f"a message over {channel} has no subject; leave it out")
        elif subject is not None:
            self.text(subject, below(place, "subject"))
            if channel and channel.traits.needs_subject and isinstance(subject, str):
                self.check_subject(subject, below(place, "subject"))
        if content is None or (isinstance(content, str) and not content.strip()):
            what = unfit(content, "says nothing")
            self.add(below(place, "content"), f"{what}: write what the message says")
        else:
            self.text(content, below(place, "content"))
        return str(subject) if isinstance(subject, str) and subject else None, str(content)

    def whole(
        self, raw: Raw, given: Raw, channel: Channel | None, place: str
    ) -> tuple[str | None, Mapping[str, object]]:
        """The content as an object; its subject stands in it, and is the sequence's name unless given."""
        if raw.get("subject") is not None:
            self.add(below(place, "subject"), "stands in content, when that is an object; give it there")
        if channel is None:
            return None, given
        self.known_fields(given, channel.content_fields, below(place, "content"))
        content = self.content(given, channel, below(place, "content"), needs_subject=False)
        for name, source in MessageContent(channel, content).templates.items():
            self.check_variables(source, below(place, f"content.{name}"))
        return None, content

    def text(self, raw: object, place: str) -> None:
        """A template that names nothing but the contact."""
        if not isinstance(raw, str):
            self.add(place, f"{quoted(raw)} is not a string")
            return
        self.check_template(raw, place, html=False)
        self.check_variables(raw, place)

    def check_variables(self, raw: str, place: str) -> None:
        """Refuse a template that names what no contact has."""
        if self.is_stored:
            return
        try:
            named = required_variables(raw) | {one.name for one in walk_variables(raw)}
            unknown = sorted(path for path in named if not _is_of_contact(path))
        except TemplateInvalid:
            return  # said already
        for path in unknown:
            self.add(
                place,
                f"{{{{ {path} }}}} is nothing a contact has; use contact.name, contact.email … or contact.attributes.*",
            )

    def check_line(self, settings: SequenceSettings, steps: Sequence[tuple[int, SequenceStep]]) -> None:
        """The steps as a whole: no order and no id twice, and no step before the one in front of it."""
        ids: dict[str, int] = {}
        for place, step in steps:
            if step.id in ids or step.id.startswith(WAIT):
                self.add(f"steps[{place}].id", f"{step.id!r} is used twice, or begins with {WAIT}")
            ids[step.id] = place
        for (before, one), (place, other) in pairwise(steps):
            if one.step_order == other.step_order:
                self.add(f"steps[{place}].stepOrder", f"{other.step_order} is the order of steps[{before}] as well")
            elif settings.offset_from is OffsetFrom.ENROLLMENT and _goes_back(one, other):
                self.add(
                    f"steps[{place}].dayOffset",
                    f"{_time(other)} is before {_time(one)} of steps[{before}], which is sent first",
                )


def _goes_back(one: SequenceStep, other: SequenceStep) -> bool:
    if one.day_offset != other.day_offset:
        return other.day_offset < one.day_offset
    return one.send_hour is not None and other.send_hour is not None and other.send_hour < one.send_hour


def _time(step: SequenceStep) -> str:
    return f"day {step.day_offset}" + ("" if step.send_hour is None else f" at {step.send_hour}:00")


def _is_of_contact(path: str) -> bool:
    root, _, rest = path.partition(".")
    return root == "contact" and (not rest or rest.partition(".")[0] in TEMPLATE_FIELDS)


def _literal(name: str) -> str:
    """A name as a template that renders to it, whatever it holds."""
    return name.replace("{{", "{ {").replace("{%", "{ %")


def _nodes(settings: SequenceSettings, step: SequenceStep, name: str | None) -> tuple[Node, Node]:
    schedule = Schedule(step.day_offset, step.send_hour, settings.timezone, settings.offset_from)
    message = step.message if name is None else step.message_named(name)
    stops = settings.on_step_failure is OnStepFailure.STOP
    send = Send(
        step.id,
        step.channel,
        step.recipients,
        message.content,
        retry=RULE,
        on_failure=OnFailure.ABORT if stops else OnFailure.CONTINUE,
        max_lateness=step.max_lateness,
    )
    return Delay(f"{WAIT}{step.id}", schedule=schedule), send
