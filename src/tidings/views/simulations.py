"""Simulations: what would be sent, by day and by step, and why some messages would not be."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated

from tidings.views.lacks import Lack
from tidings.views.view import Id, Time, View, doc

_CHANNEL = doc(example="email")
_STEP = doc(example="hello")
_END = "2026-03-05T09:00:00Z"


class SimulatedStep(View, frozen=True, kw_only=True):
    """What a step does over the whole simulated time."""

    step: Annotated[str, _STEP]
    label: Annotated[str, _STEP]
    channel: Annotated[str, _CHANNEL]
    sent: int = 0
    skipped: Annotated[int, doc(example=0)] = 0
    failed: Annotated[int, doc(example=0)] = 0
    waiting: Annotated[int, doc("Messages that are planned and not yet sent at the end.", 0)] = 0
    first_at: Time | None = None
    last_at: Time | None = None


class SimulatedHour(View, frozen=True, kw_only=True):
    """How many messages of a step are sent within one hour of one day, in the time zone asked for."""

    day: Annotated[date, doc(example="2026-03-02")]
    hour: Annotated[int, doc(example=9)]
    step: Annotated[str, _STEP]
    channel: Annotated[str, _CHANNEL]
    count: int


class SimulatedReason(View, frozen=True, kw_only=True):
    """A reason why messages of a step are not sent, and how many."""

    step: Annotated[str, _STEP]
    reason: Annotated[str, doc(example="email is suppressed: unsubscribed")]
    count: int


class SimulatedMessage(View, frozen=True, kw_only=True):
    """One message as it would be sent."""

    contact_id: Id | None = None
    step: Annotated[str, _STEP]
    channel: Annotated[str, _CHANNEL]
    recipient: Annotated[str, doc(example="ada@example.com")]
    payload: Annotated[Mapping[str, str], doc(example={"subject": "Welcome, Ada", "body": "Good day."})]
    status: Annotated[str, doc(example="sent")]
    reason: str | None = None
    at: Time


class SimulatedSpan(View, frozen=True, kw_only=True):
    """What was simulated, for how long, and for how many contacts."""

    kind: Annotated[str, doc(example="workflow")]
    name: Annotated[str, doc(example="welcome")]
    version: Annotated[int | None, doc("The version; null for what is not published.", 1)] = None
    start: Time
    end: Annotated[Time, doc(example=_END)]
    reached: Annotated[Time, doc("How far the simulation came; before `end` only if it ran out of its time.", _END)]
    complete: Annotated[bool, doc("Whether the whole time was simulated.", example=True)]
    time_zone: Annotated[str, doc(example="UTC")] = "UTC"
    audience: Annotated[int | None, doc("The number of contacts it would be for.")] = None
    contacts: Annotated[int, doc("The number of those contacts that were simulated.", 0)]
    seconds: Annotated[float, doc(example=1.9)] = 0.0


class Simulation(SimulatedSpan, frozen=True, kw_only=True):
    """What would happen."""

    started: int
    ended: Annotated[
        Mapping[str, int],
        doc(
            "Executions, or a campaign's run, at the end, by status; those still under way are `enqueued` (`active` in "
            "a sequence, `running` for a campaign).",
            {"completed": 1},
        ),
    ]
    sent: int
    skipped: Annotated[int, doc(example=0)]
    failed: Annotated[int, doc(example=0)]
    waiting: Annotated[int, doc(example=0)]
    steps: Sequence[SimulatedStep]
    calendar: Sequence[SimulatedHour]
    skipped_because: Sequence[SimulatedReason]
    failed_because: Sequence[SimulatedReason]
    messages: Annotated[
        Sequence[SimulatedMessage],
        doc("The messages of the contacts in `messagesOf`, and those that are for no contact."),
    ]
    missing: Annotated[
        Sequence[Lack],
        doc("Attributes that the templates print and that some contacts lack; their message would fail."),
    ] = ()
