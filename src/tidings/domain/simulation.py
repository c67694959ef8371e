"""The input and the result of a simulation: a calendar of sends, what is skipped and why, what fails.

simulation/ runs the real kernel on a scratch database and hands what it finds there to `simulation_of`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from tidings.domain.errors import Problem
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.item import SUCCESSES, Channel, ItemStatus
from tidings.domain.people.address import read_time_zone
from tidings.domain.people.audience import Audience
from tidings.domain.timing import problem_of_moment
from tidings.views.lacks import Lack
from tidings.views.simulations import (
    SimulatedHour,
    SimulatedMessage,
    SimulatedReason,
    SimulatedSpan,
    SimulatedStep,
    Simulation,
)

MOST_DAYS = 3_660
MOST_SAMPLED = 100_000
MOST_SHOWN = 100
"""The number of contacts whose messages are shown."""
MOST_MESSAGES = 1_000
MOST_DATA = 10_000

Json = Mapping[str, Any]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate for how long and for whom."""

    days: int = 90
    contacts: Audience | None = None
    """Whom it would be for; a campaign has an audience of its own."""
    sample: int = 1_000
    """How many of them are simulated at most, drawn by `seed`: the same seed draws the same people."""
    seed: int = 0
    messages_of: tuple[UUID, ...] = ()
    """Contacts whose messages are shown; they are always among those who are simulated."""
    start: datetime | None = None
    """When it begins; now unless given."""
    time_zone: str = "UTC"
    """Of the days and hours in the calendar."""
    data: tuple[Json, ...] = ()
    """What a workflow is triggered with: once for each, and for each contact when there are contacts."""
    results: Json = {}
    """What functions answer, by their name: none is called."""
    scheduled_for: datetime | None = None
    """When a campaign is deployed for; for the beginning unless given."""


class SimulatedItem(msgspec.Struct, frozen=True, kw_only=True):
    """One message, and what became of it."""

    id: UUID
    owner: UUID
    contact_id: UUID | None
    step: str
    channel: Channel
    recipient: str
    payload: Mapping[str, str]
    status: ItemStatus
    reason: str | None
    at: datetime


class Walk(msgspec.Struct, frozen=True):
    """One execution, or a campaign's run, at the end of the simulated time."""

    id: UUID
    contact_id: UUID | None
    status: str
    error: str | None
    error_node: str | None
    ended_at: datetime | None


def problems_of(scenario: Scenario) -> list[Problem]:
    """Everything that is wrong with what is asked, each with its place."""
    problems = [
        Problem(place, f"is {given:,}: use {least:,} to {most:,}")
        for place, given, least, most in (
            ("days", scenario.days, 1, MOST_DAYS),
            ("sample", scenario.sample, 1, MOST_SAMPLED),
        )
        if not least <= given <= most
    ]
    if len(scenario.messages_of) > MOST_SHOWN:
        problems.append(Problem("messagesOf", f"names {len(scenario.messages_of)}: use at most {MOST_SHOWN}"))
    if len(scenario.data) > MOST_DATA:
        problems.append(Problem("data", f"is given {len(scenario.data):,} times: use at most {MOST_DATA:,}"))
    for place, moment in (("start", scenario.start), ("scheduledFor", scenario.scheduled_for)):
        if moment and (wrong := problem_of_moment(moment)):
            problems.append(Problem(place, wrong))
    try:
        read_time_zone(scenario.time_zone)
    except ValueError as error:
        problems.append(Problem("timeZone", str(error)))
    return problems


def simulation_of(
    span: SimulatedSpan,
    scenario: Scenario,
    labels: Mapping[str, str],
    outgoing: Sequence[SimulatedItem],
    walks: Sequence[Walk],
    words: Mapping[str, str] | None = None,
    missing: Sequence[Lack] = (),
) -> Simulation:
    """Count what was found; `labels` are the steps in their order and how each is called, `words` the states."""
    by_status = Counter(_word_for(one.status) for one in outgoing)
    skipped = [one for one in outgoing if one.status is ItemStatus.SKIPPED]
    failed = [(one.step, one.reason or "") for one in outgoing if one.status is ItemStatus.FAILED]
    return Simulation(
        **msgspec.structs.asdict(span),
        started=len(walks),
        ended=dict(Counter((words or {}).get(walk.status, walk.status) for walk in walks)),
        sent=by_status["sent"],
        skipped=by_status["skipped"],
        failed=by_status["failed"],
        waiting=by_status["waiting"],
        steps=_steps(labels, outgoing),
        calendar=_calendar(labels, outgoing, ZoneInfo(scenario.time_zone)),
        skipped_because=_reasons((one.step, one.reason or "") for one in skipped),
        failed_because=_reasons([*failed, *_failed_without_a_message(outgoing, walks)]),
        messages=_messages(scenario, labels, outgoing),
        missing=missing,
    )


def _word_for(status: ItemStatus) -> str:
    if status in SUCCESSES:
        return "sent"
    return "waiting" if status is ItemStatus.QUEUED else str(status)


def _steps(labels: Mapping[str, str], outgoing: Iterable[SimulatedItem]) -> list[SimulatedStep]:
    by_step: dict[tuple[str, Channel], list[SimulatedItem]] = {}
    for one in outgoing:
        by_step.setdefault((one.step, one.channel), []).append(one)
    found, order = [], _order(labels)
    for step, channel in sorted(by_step, key=lambda key: (order(key[0]), key)):
        own = by_step[step, channel]
        counts = Counter(_word_for(one.status) for one in own)
        times = [one.at for one in own if one.status in SUCCESSES]
        found.append(
            SimulatedStep(
                step=step,
                label=labels.get(step, step),
                channel=channel,
                **{word: counts[word] for word in ("sent", "skipped", "failed", "waiting")},
                first_at=min(times, default=None),
                last_at=max(times, default=None),
            )
        )
    return found


def _calendar(labels: Mapping[str, str], outgoing: Iterable[SimulatedItem], zone: ZoneInfo) -> list[SimulatedHour]:
    counts = Counter(
        (local.date(), local.hour, one.step, one.channel)
        for one in outgoing
        if one.status in SUCCESSES
        for local in [one.at.astimezone(zone)]
    )
    order = _order(labels)
    keys = sorted(counts, key=lambda key: (key[0], key[1], order(key[2]), key[2], key[3]))
    return [
        SimulatedHour(day=day, hour=hour, step=step, channel=channel, count=counts[day, hour, step, channel])
        for day, hour, step, channel in keys
    ]


def _reasons(pairs: Iterable[tuple[str, str]]) -> list[SimulatedReason]:
    return [
        SimulatedReason(step=step, reason=reason, count=count)
        for (step, reason), count in sorted(Counter(pairs).items(), key=lambda one: -one[1])
    ]


def _failed_without_a_message(outgoing: Iterable[SimulatedItem], walks: Iterable[Walk]) -> list[tuple[str, str]]:
    """Executions that failed at a node that sends nothing: a wait whose time cannot be read, say."""
    told = {(one.owner, one.step) for one in outgoing if one.status is ItemStatus.FAILED}
    return [
        (walk.error_node or "", walk.error or "")
        for walk in walks
        if walk.status == ExecutionStatus.FAILED and (walk.id, walk.error_node) not in told
    ]


def _messages(
    scenario: Scenario, labels: Mapping[str, str], outgoing: Iterable[SimulatedItem]
) -> list[SimulatedMessage]:
    wanted, order = set(scenario.messages_of), _order(labels)
    found = [one for one in outgoing if one.contact_id in wanted or one.contact_id is None]
    ordered = sorted(found, key=lambda one: (one.at, one.owner, order(one.step)))
    return [
        SimulatedMessage(
            contact_id=one.contact_id,
            step=one.step,
            channel=one.channel,
            recipient=one.recipient,
            payload=one.payload,
            status=one.status,
            reason=one.reason,
            at=one.at,
        )
        for one in ordered[:MOST_MESSAGES]
    ]


def _order(labels: Mapping[str, str]) -> Callable[[str], int]:
    """A step's place among the others; what is no step comes last."""
    places = {step: place for place, step in enumerate(labels)}
    return lambda step: places.get(step, len(places))
