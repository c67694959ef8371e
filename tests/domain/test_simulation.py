"""What a simulation tells: counted from messages and walks, and nothing else."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest

from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.simulation import Scenario, SimulatedItem, Walk, problems_of, simulation_of
from tidings.views.simulations import SimulatedHour, SimulatedReason, SimulatedSpan, Simulation

ADA, BEN, OWNER = UUID(int=1), UUID(int=2), UUID(int=9)
MORNING = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
LABELS = {"hello": "day 0", "nudge": "day 3"}


def outgoing(
    step: str = "hello",
    status: ItemStatus = ItemStatus.SENT,
    at: datetime = MORNING,
    contact: UUID | None = ADA,
    reason: str | None = None,
) -> SimulatedItem:
    return SimulatedItem(
        id=UUID(int=3),
        owner=OWNER,
        contact_id=contact,
        step=step,
        channel=Channel.EMAIL,
        recipient="ada@example.com",
        payload={"body": step},
        status=status,
        reason=reason,
        at=at,
    )


def found_by(
    scenario: Scenario,
    labels: Mapping[str, str],
    sent: Sequence[SimulatedItem],
    walks: Sequence[Walk],
    words: Mapping[str, str] | None = None,
) -> Simulation:
    span = SimulatedSpan(
        kind="workflow", name="welcome", start=MORNING, end=MORNING, reached=MORNING, complete=True, contacts=0
    )
    return simulation_of(span, scenario, labels, sent, walks, words)


def hour(day: date, step: str, count: int) -> SimulatedHour:
    return SimulatedHour(day=day, hour=0, step=step, channel="email", count=count)


def reason(step: str, why: str, count: int) -> SimulatedReason:
    return SimulatedReason(step=step, reason=why, count=count)


def test_the_calendar_counts_what_leaves_by_day_hour_and_step_in_the_order_of_time() -> None:
    sent = [
        outgoing("nudge", at=MORNING + timedelta(days=3)),
        outgoing(),
        outgoing(contact=BEN, at=MORNING + timedelta(minutes=20)),
        outgoing(status=ItemStatus.SKIPPED),
    ]

    found = found_by(Scenario(), LABELS, sent, [])

    assert found.calendar == [
        hour(date(2026, 3, 29), "hello", 2),
        hour(date(2026, 4, 1), "nudge", 1),
    ]
    assert (found.sent, found.skipped, found.failed, found.waiting) == (3, 1, 0, 0)


@pytest.mark.parametrize(
    ("zone", "day", "hour"),
    [
        ("Europe/Berlin", date(2026, 3, 29), 1),
        ("America/New_York", date(2026, 3, 28), 20),
        ("UTC", date(2026, 3, 29), 0),
    ],
)
def test_days_and_hours_are_those_of_the_zone_asked_for(zone: str, day: date, hour: int) -> None:
    [cell] = found_by(Scenario(time_zone=zone), LABELS, [outgoing()], []).calendar

    assert (cell.day, cell.hour) == (day, hour)


def test_the_hour_after_the_clocks_are_put_forward_is_the_one_they_show() -> None:
    """At 01:00 UTC on this day Berlin goes from 02:00 to 03:00."""
    sent = [outgoing(at=MORNING), outgoing(at=MORNING + timedelta(hours=1))]

    found = found_by(Scenario(time_zone="Europe/Berlin"), LABELS, sent, [])

    assert [cell.hour for cell in found.calendar] == [1, 3]


def test_steps_are_in_their_order_with_what_became_of_each() -> None:
    found = found_by(
        Scenario(),
        LABELS,
        [
            outgoing("nudge", ItemStatus.FAILED, reason="no"),
            outgoing("nudge", ItemStatus.QUEUED),
            outgoing(at=MORNING + timedelta(hours=1)),
            outgoing(),
        ],
        [],
    )

    hello, nudge = found.steps
    assert (hello.label, hello.sent, hello.first_at, hello.last_at) == (
        *("day 0", 2, MORNING, MORNING + timedelta(hours=1)),
    )
    assert (nudge.label, nudge.sent, nudge.failed, nudge.waiting, nudge.first_at) == ("day 3", 0, 1, 1, None)


def test_reasons_are_counted_the_most_frequent_first() -> None:
    skipped = [outgoing(status=ItemStatus.SKIPPED, reason=reason) for reason in ("late", "consent withdrawn", "late")]

    found = found_by(Scenario(), LABELS, skipped, [])

    assert found.skipped_because == [reason("hello", "late", 2), reason("hello", "consent withdrawn", 1)]


def test_a_walk_that_failed_where_nothing_is_sent_is_told_and_one_whose_message_failed_is_told_once() -> None:
    walks = [
        Walk(OWNER, ADA, ExecutionStatus.FAILED, "no", "hello", MORNING),
        Walk(UUID(int=8), BEN, ExecutionStatus.FAILED, "until: '' is not a time", "wait", MORNING),
        Walk(UUID(int=7), BEN, ExecutionStatus.ENQUEUED, None, None, None),
    ]

    found = found_by(Scenario(), LABELS, [outgoing(status=ItemStatus.FAILED, reason="no")], walks)

    assert found.failed_because == [reason("hello", "no", 1), reason("wait", "until: '' is not a time", 1)]
    assert found.ended == {"failed": 2, "enqueued": 1}
    assert found.started == 3


def test_messages_are_those_of_whom_was_asked_about_and_of_nobody_in_particular() -> None:
    sent = [outgoing(at=MORNING + timedelta(hours=1)), outgoing(contact=BEN), outgoing(contact=None)]

    found = found_by(Scenario(messages_of=(ADA,)), LABELS, sent, [])

    assert [one.contact_id for one in found.messages] == [None, ADA]


@pytest.mark.parametrize(
    ("scenario", "place"),
    [
        (Scenario(days=0), "days"),
        (Scenario(days=3_661), "days"),
        (Scenario(sample=0), "sample"),
        (Scenario(sample=100_001), "sample"),
        (Scenario(messages_of=tuple(UUID(int=one) for one in range(101))), "messagesOf"),
        (Scenario(start=datetime(2026, 3, 2)), "start"),
        (Scenario(time_zone="Mars/Olympus"), "timeZone"),
        (Scenario(data=({},) * 10_001), "data"),
    ],
)
def test_what_cannot_be_simulated_is_told_with_its_place(scenario: Scenario, place: str) -> None:
    assert [problem.place for problem in problems_of(scenario)] == [place]


def test_what_can_be_simulated_has_no_problems() -> None:
    assert problems_of(Scenario()) == []
