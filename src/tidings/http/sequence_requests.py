"""The bodies of requests about sequences and their steps; domain/sequences/form.py reads them."""

from typing import Annotated, Literal

from pydantic import Field

from tidings.domain.sequences.form import InFlightChoice
from tidings.http.channel_words import StepChannel
from tidings.http.message_requests import GivenMessage
from tidings.http.requests import Given, Json, Name, example
from tidings.views.sequences import SequenceStatus

EXAMPLE_STEP: Json = {
    "dayOffset": 3,
    "stepOrder": 2,
    "sendHour": 9,
    "channel": "email",
    "subject": "How is it going, {{ contact.name }}?",
    "content": "Three days in: write to us if anything is unclear.",
    "maxLateness": "PT12H",
}
OffsetFromWord = Literal["enrollment", "previous"]
OnStepFailureWord = Literal["continue", "stop"]
_TO = "Where a chat or webhook goes, one or several: an address, or a template of `contact.*`; else `default`."
_CONTENT = "What it says: a text, or an object with the fields of a message. Sees `contact.*`."
Address = Annotated[str, Field(min_length=1)]
Content = str | GivenMessage
_ZONE = "`UTC`, the name of a zone such as `Europe/Berlin`, or `contact` for each contact's own."


class GivenStep(Given):
    """A message of a sequence."""

    model_config = example(EXAMPLE_STEP)
    day_offset: int = Field(ge=0, le=3650, description="Days after the enrollment, or after the step before.")
    step_order: int | None = Field(
        None, ge=0, le=1_000_000, description="Its place among the steps; last if not given."
    )
    send_hour: int | None = Field(None, ge=0, le=23, description="If not given, the time of day of the enrollment.")
    channel: StepChannel
    to: Address | list[Address] | None = Field(None, description=_TO)
    subject: str | None = Field(None, description="Of an e-mail, or the title of a push message.")
    content: Content = Field(min_length=1, description=_CONTENT)
    max_lateness: str | float | None = Field(
        None, description="Skip it if it would leave later than this after its time: like `PT2H`, or in seconds."
    )


class ChangedStep(Given):
    """Changes to a step: what is left out stays, null clears an optional field."""

    model_config = example({"sendHour": 10, "content": "Three days in: how is it going?"})
    day_offset: int | None = Field(None, ge=0, le=3650)
    step_order: int | None = Field(None, ge=0, le=1_000_000)
    send_hour: int | None = Field(None, ge=0, le=23)
    channel: StepChannel | None = None
    to: Address | list[Address] | None = None
    subject: str | None = None
    content: Content | None = Field(None, min_length=1)
    max_lateness: str | float | None = None


class GivenSettings(Given):
    """What holds for every step."""

    offset_from: OffsetFromWord | None = None
    timezone: str | None = Field(None, max_length=500, description=_ZONE)
    on_step_failure: OnStepFailureWord | None = None
    allow_reentry: bool | None = Field(None, description="Whether a contact may come again after it was through.")

    def settings(self) -> Json:
        """Return the settings that are given."""
        given = self.model_dump(include=set(GivenSettings.model_fields), by_alias=True)
        return {name: value for name, value in given.items() if value is not None}


class DraftedSequence(GivenSettings):
    """The settings and steps of a sequence."""

    model_config = example({"timezone": "contact", "steps": [EXAMPLE_STEP]})
    steps: list[Json] = Field([], max_length=1_000, description="As they are added one by one.")


class GivenSequence(DraftedSequence):
    """A sequence to create: a draft until it is published."""

    model_config = example({"name": "Onboarding", "timezone": "contact", "steps": [EXAMPLE_STEP]})
    name: Name


class ChangedSequence(GivenSettings):
    """Changes to a sequence: its name, the settings of its draft, its status."""

    model_config = example({"status": "active", "inFlight": "leave"})
    name: Name | None = None
    status: Literal["draft", "active", "paused"] | None = Field(
        None, description="`active` publishes the draft, or lets a paused sequence go on."
    )
    in_flight: Literal["leave", "move"] | None = Field(
        None, description="What becomes of those on the way when a changed draft is published."
    )


def status_in(body: ChangedSequence) -> SequenceStatus | None:
    """Return the status that is asked for."""
    return SequenceStatus(body.status) if body.status else None


def choice_in(body: ChangedSequence) -> InFlightChoice | None:
    """Return what is to become of the contacts on their way."""
    return InFlightChoice(body.in_flight) if body.in_flight else None
