"""Sequences: their drafts, their published versions, and the contacts in them."""

import collections.abc as several
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from tidings.views.view import ChannelName, Id, Time, View, doc


class SequenceStatus(StrEnum):
    """The states of a sequence: a draft, active (contacts can be enrolled), or paused."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"


class OffsetFrom(StrEnum):
    """What the days of a schedule are counted from."""

    ENROLLMENT = "enrollment"
    PREVIOUS = "previous"


class OnStepFailure(StrEnum):
    """What happens to an enrollment when a step has failed for good."""

    CONTINUE = "continue"
    STOP = "stop"


class SequenceSettings(View, frozen=True, kw_only=True):
    """The settings that hold for every step of a sequence."""

    offset_from: OffsetFrom = OffsetFrom.ENROLLMENT
    timezone: Annotated[str, doc(example="contact")] = "UTC"
    on_step_failure: OnStepFailure = OnStepFailure.CONTINUE
    allow_reentry: bool = False

    @property
    def settings(self) -> "SequenceSettings":
        """Return the settings alone, without the other fields of a sequence or version."""
        return SequenceSettings(**{name: getattr(self, name) for name in SequenceSettings.__struct_fields__})

    def to_json(self) -> dict[str, Any]:
        """Return them as they are stored."""
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
    to: Annotated[
        several.Sequence[str] | None,
        doc("Where a chat or webhook goes; without it `default`. What reaches contacts has none.", ["C0123456789"]),
    ] = None
    subject: Annotated[str | None, doc(example="How is it going, {{ contact.name }}?")] = None
    content: Annotated[
        str | several.Mapping[str, Any],
        doc(
            "The text, or an object with all fields of a message over its channel.",
            "Three days in: write to us if anything is unclear.",
        ),
    ]
    max_lateness: Annotated[str | None, doc(example="PT12H")] = None
    created_at: Annotated[Time, doc("When the step was added; the same in every version.")]


class PublishedVersion(SequenceSettings, frozen=True, kw_only=True):
    """A published version, into which contacts are enrolled."""

    version: int
    steps: several.Sequence[Step]
    published_at: Time


class InFlight(View, frozen=True, kw_only=True):
    """How many contacts are on their way to one step of one version."""

    version: int
    step_id: Id
    step_order: Annotated[int, doc(example=2)]
    count: Annotated[int, doc(example=1815)]


class MoveCounts(View, frozen=True, kw_only=True):
    """The result of moving enrollments to a new version; repeat the request to move those `left` on their own."""

    moved: int = 0
    completed: Annotated[int, doc("Enrollments past the last step of the new version.")] = 0
    left: Annotated[
        int, doc("Not moved: a worker had them, or a message of a step that no longer exists is under way.")
    ] = 0

    def __add__(self, other: "MoveCounts") -> "MoveCounts":
        return MoveCounts(
            moved=self.moved + other.moved, completed=self.completed + other.completed, left=self.left + other.left
        )


class Sequence(SequenceSettings, frozen=True, kw_only=True):
    """A sequence: its draft, and the version that is published."""

    id: Id
    name: Annotated[str, doc(example="Onboarding")]
    status: Annotated[SequenceStatus, doc(example="active")]
    steps: Annotated[several.Sequence[Step], doc("The steps of the draft.")]
    has_draft: Annotated[bool, doc("Whether the draft differs from what is published.")]
    published: PublishedVersion | None = None
    in_flight: Annotated[
        several.Sequence[InFlight] | None, doc("How many contacts are on their way to which step; null in lists.")
    ] = None
    moved: Annotated[
        MoveCounts | None, doc("What became of the contacts on their way, after publishing with `inFlight: move`.")
    ] = None
    not_ready: Annotated[
        several.Sequence[ChannelName],
        doc("The channels it needs for which no provider is set up; until each has one, it starts nothing (409)."),
    ] = ()
    created_at: Time
    updated_at: Time


class FunnelStep(View, frozen=True, kw_only=True):
    """Where enrollments are at one step, and what became of its messages."""

    step_id: Id
    step_order: Annotated[int, doc(example=2)]
    day_offset: Annotated[int, doc(example=3)]
    channel: ChannelName
    published: Annotated[bool, doc("Whether the published version has it; an older one had.", example=True)]
    waiting: Annotated[int, doc("Enrollments that come to it next.", 1815)] = 0
    sending: Annotated[int, doc("Messages that are planned or tried.", 0)] = 0
    sent: Annotated[int, doc(example=4711)] = 0
    failed: Annotated[int, doc(example=3)] = 0
    skipped: Annotated[int, doc(example=12)] = 0
    in_doubt: Annotated[int, doc(example=0)] = 0
    ended: Annotated[int, doc("Enrollments that failed here; where one was when it was cancelled is not kept.", 5)] = 0


class Funnel(View, frozen=True, kw_only=True):
    """How far the contacts of a sequence have come."""

    sequence_id: Id
    since: Annotated[Time | None, doc("Only enrollments made since.")] = None
    enrolled: Annotated[int, doc(example=6546)]
    under_way: Annotated[int, doc(example=1815)]
    completed: Annotated[int, doc(example=4726)]
    failed: Annotated[int, doc(example=3)]
    cancelled: Annotated[int, doc(example=2)]
    steps: several.Sequence[FunnelStep]
