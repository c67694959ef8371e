"""Simulations, as models."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field

from tidings.domain.simulation import MOST_DATA, MOST_DAYS, MOST_SAMPLED, MOST_SHOWN, Simulated
from tidings.http.lack_shapes import Missing
from tidings.http.shapes import AT, ID, ContactReference, Given, Json, Shape, example
from tidings.views.workflows import EXAMPLE_DEFINITION

Seed = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class GivenSimulation(Given):
    """What to simulate for how long and for whom; everything has a default."""

    model_config = example({"days": 90, "contacts": {"tag": "trial"}, "sample": 1000, "messagesOf": [ID]})
    days: int = Field(90, ge=1, le=MOST_DAYS, description="How many days are run.")
    contacts: Json | None = Field(
        None,
        description="Whom it would be for: an audience, as a campaign has one.",
    )
    sample: int = Field(1_000, ge=1, le=MOST_SAMPLED, description="How many of them are simulated at most.")
    seed: Seed = Field(0, description="The same seed draws the same people.")
    messages_of: list[ContactReference] = Field(
        default_factory=list,
        max_length=MOST_SHOWN,
        description="Contacts whose messages are shown as rendered; they are always among those simulated.",
    )
    start: AwareDatetime | None = Field(None, strict=False, description="When it begins; now unless given.")
    time_zone: str = Field("UTC", max_length=100, description="Of the days and hours in the calendar.")


class GivenWorkflowSimulation(GivenSimulation):
    """The same of a workflow, with what it is triggered with."""

    model_config = example(
        {"days": 30, "data": [{"email": "ada@example.com", "name": "Ada", "phone": "+442071838750"}]}
    )
    data: list[Json] = Field(
        default_factory=list,
        max_length=MOST_DATA,
        description="It is triggered once with each, for each contact if there are contacts.",
    )
    results: Json = Field(default_factory=dict, description="What functions answer, by name; none is called.")
    definition: Json | None = Field(
        None,
        description="Another definition, to be simulated in place of the stored one.",
        examples=[EXAMPLE_DEFINITION],
    )


class GivenSequenceSimulation(GivenSimulation):
    """The same of a sequence; without `contacts` it is for everyone."""

    model_config = example({"days": 90, "contacts": {"tag": "trial"}, "sample": 1000, "messagesOf": [ID]})
    published: bool = Field(False, description="Simulate what is published instead of what is being written.")


class GivenCampaignSimulation(GivenSimulation):
    """The same of a campaign; without `contacts` it is for its own audience."""

    model_config = example({"days": 7, "scheduledFor": AT, "sample": 1000, "messagesOf": [ID]})
    scheduled_for: AwareDatetime | None = Field(
        None, strict=False, description="When it is deployed for; for the beginning unless given."
    )


class SimulatedStep(Shape):
    """What a step comes to over the whole time."""

    step: str
    label: str
    channel: str
    sent: int
    skipped: int
    failed: int
    waiting: int = Field(description="Planned, and not yet sent at the end.")
    first_at: datetime | None
    last_at: datetime | None


class SimulatedHour(Shape):
    """How many messages of a step leave within one hour of one day, in the time zone asked for."""

    day: date
    hour: int
    step: str
    channel: str
    count: int


class SimulatedReason(Shape):
    """Why messages of a step do not leave, and how many."""

    step: str
    reason: str
    count: int


class SimulatedMessage(Shape):
    """One message as it would be."""

    contact_id: UUID | None
    step: str
    channel: str
    recipient: str
    payload: dict[str, str]
    status: str
    reason: str | None
    at: datetime


class Simulation(Shape):
    """What would happen."""

    model_config = example(
        {
            "kind": "workflow",
            "name": "welcome",
            "version": 1,
            "start": AT,
            "end": "2026-03-05T09:00:00Z",
            "reached": "2026-03-05T09:00:00Z",
            "complete": True,
            "timeZone": "UTC",
            "audience": None,
            "contacts": 0,
            "seconds": 1.9,
            "started": 1,
            "ended": {"completed": 1},
            "sent": 1,
            "skipped": 0,
            "failed": 0,
            "waiting": 0,
            "steps": [],
            "calendar": [{"day": "2026-03-02", "hour": 9, "step": "hello", "channel": "email", "count": 1}],
            "skippedBecause": [],
            "failedBecause": [],
            "messages": [],
            "missing": [],
        }
    )
    kind: str
    name: str
    version: int | None = Field(description="Null for what is not published.")
    start: datetime
    end: datetime
    reached: datetime = Field(description="Before `end` only if the time for simulating was over.")
    complete: bool
    time_zone: str
    audience: int | None = Field(description="How many contacts it would be for.")
    contacts: int = Field(description="How many of them were simulated.")
    seconds: float
    started: int
    ended: dict[str, int] = Field(
        description="Executions, or a campaign's run, at the end, by status; `enqueued` (`active` in a sequence, "
        "`running` of a campaign) are under way."
    )
    sent: int
    skipped: int
    failed: int
    waiting: int
    steps: list[SimulatedStep]
    calendar: list[SimulatedHour]
    skipped_because: list[SimulatedReason]
    failed_because: list[SimulatedReason]
    messages: list[SimulatedMessage]
    missing: Missing


def show(found: Simulated) -> Simulation:
    """Everything in one object."""
    findings = found.findings
    own = {name: getattr(found, name) for name in found.__struct_fields__ if name != "findings"}
    told = {name: getattr(findings, name) for name in findings.__struct_fields__}
    return Simulation.model_validate({**own, "complete": found.is_complete, **told})
