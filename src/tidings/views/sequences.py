"""Sequences: what is being written, what is published, and who is on the way."""

import collections.abc as several
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from tidings.views.view import ChannelName, Id, Time, View, doc


class SequenceStatus(StrEnum):
    """What a sequence is: being written, taking contacts in, or paused."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"


class OffsetFrom(StrEnum):
    """What the days of a schedule are counted from."""

    ENROLLMENT = "enrollment"
    PREVIOUS = "previous"


class OnStepFailure(StrEnum):
    """What becomes of an enrollment when a step has failed for good."""

    CONTINUE = "continue"
    STOP = "stop"


class SequenceSettings(View, frozen=True, kw_only=True):
    """What holds for every step of a sequence."""

    offset_from: OffsetFrom = OffsetFrom.ENROLLMENT
    timezone: Annotated[str, doc(example="contact")] = "UTC"
    on_step_failure: OnStepFailure = OnStepFailure.CONTINUE
    allow_reentry: bool = False

    @property
    def settings(self) -> "SequenceSettings":
        """These alone, without what a sequence or a version has beside."""
        return SequenceSettings(**{name: getattr(self, name) for name in SequenceSettings.__struct_fields__})

    def to_json(self) -> dict[str, Any]:
        """As they are stored."""
        settings: dict[str, Any] = msgspec.to_builtins(self)
        return settings


class Step(View, frozen=True, kw_only=True):
    """A message of a sequence; its id is the same in every version."""

    id: Id
    sequence_id: Id
    day_offset: Annotated[int, doc(example=3)]
    step_order: Annotated[int, doc(example=2)]
    send_hour: Annotated[int | None, doc(example=9)] = None
    channel: ChannelName
    subject: Annotated[str | None, doc(example="How is it going, {{ contact.name }}?")] = None
    content: Annotated[str, doc(example="Three days in: write to us if anything is unclear.")]
    max_lateness: Annotated[str | None, doc(example="PT12H")] = None
    created_at: Annotated[Time, doc("When it was added; the same in every version.")]


class PublishedVersion(SequenceSettings, frozen=True, kw_only=True):
    """What contacts are enrolled into."""

    version: int
    steps: several.Sequence[Step]
    published_at: Time


class InFlight(View, frozen=True, kw_only=True):
    """How many are on the way to one step of one version."""

    version: int
    step_id: Id
    step_order: Annotated[int, doc(example=2)]
    count: Annotated[int, doc(example=1815)]


class MoveCounts(View, frozen=True, kw_only=True):
    """What became of those on the way: `left` are still on their version; ask for the same again to move them."""

    moved: int = 0
    completed: Annotated[int, doc("Past the last step of the new version.")] = 0
    left: Annotated[int, doc("A worker had them, or a message of a step that is gone is under way.")] = 0

    def __add__(self, other: "MoveCounts") -> "MoveCounts":
        return MoveCounts(
            moved=self.moved + other.moved, completed=self.completed + other.completed, left=self.left + other.left
        )


class Sequence(SequenceSettings, frozen=True, kw_only=True):
    """A sequence: its draft, beside what is published."""

    id: Id
    name: Annotated[str, doc(example="Onboarding")]
    status: Annotated[SequenceStatus, doc(example="active")]
    steps: Annotated[several.Sequence[Step], doc("What is being written.")]
    has_draft: Annotated[bool, doc("Whether something was written that is not published.")]
    published: PublishedVersion | None = None
    in_flight: Annotated[several.Sequence[InFlight] | None, doc("Who is on the way; null in lists.")] = None
    moved: Annotated[MoveCounts | None, doc("After publishing with `inFlight: move`.")] = None
    not_ready: Annotated[
        several.Sequence[ChannelName],
        doc("Channels it needs that no provider is set up for: until then it starts nothing (409)."),
    ] = ()
    created_at: Time
    updated_at: Time
