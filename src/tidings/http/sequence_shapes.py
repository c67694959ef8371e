"""Sequences and their steps, as models: what goes in is described here and read by domain/sequences/form.py."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from tidings.domain.flow.graph import OffsetFrom
from tidings.domain.flow.ids import made_at
from tidings.domain.flow.item import Channel
from tidings.domain.sequences import form
from tidings.domain.sequences.form import InFlightChoice, OnStepFailure, SequenceStatus
from tidings.http.channel_words import ContactChannel
from tidings.http.shapes import AT, ID, Given, Json, Name, NotReady, Shape, example
from tidings.resources.sequence_shown import Published, ShownSequence

EXAMPLE_STEP: Json = {
    "dayOffset": 3,
    "stepOrder": 2,
    "sendHour": 9,
    "channel": "email",
    "subject": "How is it going, {{ contact.name }}?",
    "content": "Three days in: write to us if anything is unclear.",
    "maxLateness": "PT12H",
}
EXAMPLE_SETTINGS: Json = {
    "offsetFrom": "enrollment",
    "timezone": "contact",
    "onStepFailure": "continue",
    "allowReentry": False,
}
OffsetFromWord = Literal["enrollment", "previous"]
OnStepFailureWord = Literal["continue", "stop"]
_ZONE = "`UTC`, the name of a zone such as `Europe/Berlin`, or `contact` for each contact's own."


class GivenStep(Given):
    """A message of a sequence."""

    model_config = example(EXAMPLE_STEP)
    day_offset: int = Field(ge=0, le=3650, description="Days after the enrollment, or after the step before.")
    step_order: int | None = Field(
        None, ge=0, le=1_000_000, description="Its place among the steps; last if not given."
    )
    send_hour: int | None = Field(None, ge=0, le=23, description="If not given, the time of day of the enrollment.")
    channel: ContactChannel
    subject: str | None = Field(None, description="Of an e-mail, or the title of a push message.")
    content: str = Field(min_length=1, description="What it says; sees `contact.*`.")
    max_lateness: str | float | None = Field(
        None, description="Skip it if it would leave later than this after its time: like `PT2H`, or in seconds."
    )


class ChangedStep(Given):
    """What is changed of a step: what is left out stays, null takes an optional field away."""

    model_config = example({"sendHour": 10, "content": "Three days in: how is it going?"})
    day_offset: int | None = Field(None, ge=0, le=3650)
    step_order: int | None = Field(None, ge=0, le=1_000_000)
    send_hour: int | None = Field(None, ge=0, le=23)
    channel: ContactChannel | None = None
    subject: str | None = None
    content: str | None = Field(None, min_length=1)
    max_lateness: str | float | None = None


class GivenSettings(Given):
    """What holds for every step."""

    offset_from: OffsetFromWord | None = None
    timezone: str | None = Field(None, max_length=500, description=_ZONE)
    on_step_failure: OnStepFailureWord | None = None
    allow_reentry: bool | None = Field(None, description="Whether a contact may come again after it was through.")

    def settings(self) -> Json:
        """What is given of them."""
        given = self.model_dump(include=set(GivenSettings.model_fields), by_alias=True)
        return {name: value for name, value in given.items() if value is not None}


class GivenSequence(GivenSettings):
    """A sequence to be made: a draft until it is published."""

    model_config = example({"name": "Onboarding", **EXAMPLE_SETTINGS, "steps": [EXAMPLE_STEP]})
    name: Name
    steps: list[Json] = Field([], max_length=1_000, description="As they are added one by one.")


class ChangedSequence(GivenSettings):
    """What is changed of a sequence: its name, the settings of its draft, its status."""

    model_config = example({"status": "active", "inFlight": "leave"})
    name: Name | None = None
    status: Literal["draft", "active", "paused"] | None = Field(
        None, description="`active` publishes the draft, or lets a paused sequence go on."
    )
    in_flight: Literal["leave", "move"] | None = Field(
        None, description="What becomes of those on the way when a changed draft is published."
    )


class Step(Shape):
    """A message of a sequence; its id is the same in every version."""

    model_config = example({"id": ID, "sequenceId": ID, **EXAMPLE_STEP, "createdAt": AT})
    id: UUID
    sequence_id: UUID
    day_offset: int
    step_order: int
    send_hour: int | None
    channel: Channel
    subject: str | None
    content: str
    max_lateness: str | None
    created_at: datetime = Field(description="When it was added; the same in every version.")


class PublishedVersion(Shape):
    """What contacts are enrolled into."""

    version: int
    offset_from: OffsetFrom
    timezone: str
    on_step_failure: OnStepFailure
    allow_reentry: bool
    steps: list[Step]
    published_at: datetime


class InFlight(Shape):
    """How many are on the way to one step of one version."""

    version: int
    step_id: UUID
    step_order: int
    count: int


class Moved(Shape):
    """What became of those on the way: `left` are still on their version; ask for the same again to move them."""

    moved: int
    completed: int = Field(description="Past the last step of the new version.")
    left: int = Field(description="A worker had them, or a message of a step that is gone is under way.")


class Sequence(Shape):
    """A sequence: its draft, beside what is published."""

    model_config = example(
        {
            "id": ID,
            "name": "Onboarding",
            "status": "active",
            **EXAMPLE_SETTINGS,
            "steps": [{"id": ID, "sequenceId": ID, **EXAMPLE_STEP, "createdAt": AT}],
            "hasDraft": False,
            "published": {
                "version": 1,
                **EXAMPLE_SETTINGS,
                "steps": [{"id": ID, "sequenceId": ID, **EXAMPLE_STEP, "createdAt": AT}],
                "publishedAt": AT,
            },
            "inFlight": [{"version": 1, "stepId": ID, "stepOrder": 2, "count": 1815}],
            "moved": None,
            "notReady": [],
            "createdAt": AT,
            "updatedAt": AT,
        }
    )
    id: UUID
    name: str
    status: SequenceStatus
    offset_from: OffsetFrom
    timezone: str
    on_step_failure: OnStepFailure
    allow_reentry: bool
    steps: list[Step] = Field(description="What is being written.")
    has_draft: bool = Field(description="Whether something was written that is not published.")
    published: PublishedVersion | None
    in_flight: list[InFlight] | None = Field(description="Who is on the way; null in lists.")
    moved: Moved | None = Field(description="After publishing with `inFlight: move`.")
    not_ready: NotReady
    created_at: datetime
    updated_at: datetime


def status_in(body: ChangedSequence) -> SequenceStatus | None:
    """The status that is asked for."""
    return SequenceStatus(body.status) if body.status else None


def choice_in(body: ChangedSequence) -> InFlightChoice | None:
    """What is to become of those on the way."""
    return InFlightChoice(body.in_flight) if body.in_flight else None


def show(sequence: ShownSequence) -> Sequence:
    """A sequence with the settings of its draft beside its own fields."""
    return Sequence.model_validate(
        {
            "id": sequence.id,
            "name": sequence.name,
            "status": sequence.status,
            **sequence.settings.to_json(),
            "steps": [show_step(step, sequence.id) for step in sequence.steps],
            "hasDraft": sequence.has_draft,
            "published": show_version(sequence.published, sequence.id) if sequence.published else None,
            "inFlight": None if sequence.in_flight is None else [*sequence.in_flight],
            "moved": sequence.moved,
            "notReady": sequence.not_ready,
            "createdAt": sequence.created_at,
            "updatedAt": sequence.updated_at,
        }
    )


def show_step(step: form.Step, sequence_id: UUID) -> Step:
    """A step with its optional fields, given or not, and with what its id tells."""
    known = {"sequenceId": sequence_id, "createdAt": made_at(UUID(step.id))}
    return Step.model_validate(dict.fromkeys(["sendHour", "subject", "maxLateness"]) | step.to_json() | known)


def show_version(published: Published, sequence_id: UUID) -> PublishedVersion:
    """What was published under one number."""
    return PublishedVersion.model_validate(
        {
            "version": published.version,
            **published.settings.to_json(),
            "steps": [show_step(step, sequence_id) for step in published.steps],
            "publishedAt": published.published_at,
        }
    )
