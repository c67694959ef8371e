"""When a step is due: the hour asked for on the day asked for, whatever the clocks do in between."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.domain.flow.execution import (
    ExecutionState,
    ExecutionStatus,
    Finish,
    Frontier,
    ItemState,
    Plan,
    Ready,
    Sleep,
    begin,
    decide,
)
from tidings.domain.flow.graph import Graph, Schedule
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.lateness import Appointment, appointment_of
from tidings.domain.sequences.step_time import due_of, zone_named
from tidings.domain.workflows.definition import parse_workflow
from tidings.storage.load import frontier_from_json, frontier_to_json
from tidings.views.sequences import OffsetFrom

SETTINGS: dict[str, object] = {
    "offsetFrom": "enrollment",
    "timezone": "UTC",
    "onStepFailure": "continue",
    "allowReentry": False,
}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def local(moment: datetime, zone: str) -> str:
    return moment.astimezone(ZoneInfo(zone)).isoformat()


# The clocks


@pytest.mark.parametrize(
    ("zone", "enrolled", "days", "hour", "due"),
    [
        # Put forward: the hour asked for on both sides of the change.
        ("Europe/Berlin", "2026-03-27T08:00:00+01:00", 0, 9, "2026-03-27T09:00:00+01:00"),
        ("Europe/Berlin", "2026-03-27T08:00:00+01:00", 3, 9, "2026-03-30T09:00:00+02:00"),
        ("Europe/Berlin", "2026-03-27T08:00:00+01:00", 7, 9, "2026-04-03T09:00:00+02:00"),
        # Put back.
        ("America/New_York", "2026-10-30T08:00:00-04:00", 3, 9, "2026-11-02T09:00:00-05:00"),
        # The gap: 2:00 is never shown; the first moment after it is 3:00.
        ("Europe/Berlin", "2026-03-28T08:00:00+01:00", 1, 2, "2026-03-29T03:00:00+02:00"),
        ("America/New_York", "2026-03-07T08:00:00-05:00", 1, 2, "2026-03-08T03:00:00-04:00"),
        ("Australia/Lord_Howe", "2026-10-03T08:00:00+10:30", 1, 2, "2026-10-04T02:30:00+11:00"),  # by half an hour
        ("Africa/Cairo", "2026-04-23T08:00:00+02:00", 1, 0, "2026-04-24T01:00:00+03:00"),  # at midnight
        ("America/Santiago", "2026-09-05T08:00:00-04:00", 1, 0, "2026-09-06T01:00:00-03:00"),
        ("Pacific/Apia", "2011-12-29T08:00:00-10:00", 1, 9, "2011-12-31T00:00:00+14:00"),  # a whole day was left out
        # The fold: 2:00 is shown twice; the first one counts.
        ("Europe/Berlin", "2026-10-24T08:00:00+02:00", 1, 2, "2026-10-25T02:00:00+02:00"),
        ("America/New_York", "2026-10-31T08:00:00-04:00", 1, 1, "2026-11-01T01:00:00-04:00"),
        ("Australia/Lord_Howe", "2026-04-04T08:00:00+11:00", 1, 2, "2026-04-05T02:00:00+10:30"),
        # No change at all, and half hours.
        ("Asia/Kolkata", "2026-03-28T08:00:00+05:30", 1, 2, "2026-03-29T02:00:00+05:30"),
        ("UTC", "2026-03-28T08:00:00+00:00", 1, 2, "2026-03-29T02:00:00+00:00"),
    ],
)
def test_a_step_is_due_at_its_hour_by_the_clocks_of_its_zone(
    zone: str, enrolled: str, days: int, hour: int, due: str
) -> None:
    assert local(due_of(Schedule(days, hour, zone), at(enrolled), None), zone) == due
    assert local(due_of(Schedule(days, hour, "contact"), at(enrolled), zone), zone) == due


@pytest.mark.parametrize(
    ("enrolled", "days", "due"),
    [
        ("2026-03-27T17:41:12.5+01:00", 7, "2026-04-03T17:41:12.500000+02:00"),
        ("2026-03-28T02:30:00+01:00", 1, "2026-03-29T03:00:00+02:00"),  # in the gap
        ("2026-10-24T02:30:00+02:00", 1, "2026-10-25T02:30:00+02:00"),  # in the fold
        ("2026-10-25T02:30:00+01:00", 1, "2026-10-26T02:30:00+01:00"),  # from the second of two
        ("2026-10-25T02:30:00+01:00", 0, "2026-10-25T02:30:00+01:00"),  # not before the enrollment
    ],
)
def test_without_an_hour_it_is_due_at_the_time_of_day_of_the_enrollment(enrolled: str, days: int, due: str) -> None:
    assert local(due_of(Schedule(days, None, "Europe/Berlin"), at(enrolled), None), "Europe/Berlin") == due


def test_a_time_already_past_is_due_now() -> None:
    enrolled = at("2026-06-01T15:00:00+00:00")

    assert due_of(Schedule(0, 9), enrolled, None) == enrolled
    assert due_of(Schedule(0, 16), enrolled, None) == at("2026-06-01T16:00:00+00:00")


def test_the_day_is_counted_on_the_calendar_of_the_zone() -> None:
    enrolled = at("2026-06-01T22:00:00+00:00")  # June 2 in Auckland, June 1 in Los Angeles

    assert local(due_of(Schedule(1, 9, "contact"), enrolled, "Pacific/Auckland"), "Pacific/Auckland") == (
        "2026-06-03T09:00:00+12:00"
    )
    assert local(due_of(Schedule(1, 9, "contact"), enrolled, "America/Los_Angeles"), "America/Los_Angeles") == (
        "2026-06-02T09:00:00-07:00"
    )


@pytest.mark.parametrize("zone", [None, "", "Mars/Olympus", "../etc/passwd", "Europe", "a\x00b", "x" * 9_999])
def test_a_contact_without_a_zone_that_exists_counts_in_utc(zone: str | None) -> None:
    assert zone_named(zone).key == "UTC"
    assert due_of(Schedule(1, 9, "contact"), at("2026-06-01T15:00:00+00:00"), zone) == at("2026-06-02T09:00:00+00:00")


@given(
    st.sampled_from(sorted(available_timezones() - {"localtime", "Factory"})),
    st.datetimes(datetime(2000, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
    st.integers(0, 400),
    st.none() | st.integers(0, 23),
)
def test_in_every_zone_the_clocks_show_the_hour_or_there_was_no_such_hour(
    zone: str, base: datetime, days: int, hour: int | None
) -> None:
    due = due_of(Schedule(days, hour, zone), base, None)

    shown, began = due.astimezone(ZoneInfo(zone)), base.astimezone(ZoneInfo(zone))
    wanted = datetime.combine(began.date() + timedelta(days=days), began.time().replace(fold=0))
    if hour is not None:
        wanted = wanted.replace(hour=hour, minute=0, second=0, microsecond=0)
    assert due >= base
    assert due_of(Schedule(days, hour, zone), base, None) == due
    if due != base and shown.replace(tzinfo=None) != wanted:
        just_before = (due - timedelta(microseconds=1)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert just_before < wanted < shown.replace(tzinfo=None)
    elif due != base:
        assert shown.fold == 0


# The walk


def sequence(*steps: Mapping[str, object], **settings: object) -> Graph:
    written: list[dict[str, object]] = [
        {"id": f"s{place}", "stepOrder": place, "channel": "email", "content": "Hi", **step}
        for place, step in enumerate(steps)
    ]
    return parse_workflow({"sequence": SETTINGS | settings, "steps": written})


def enrolled(graph: Graph, now: datetime, zone: str | None = None) -> ExecutionState:
    contact = {"timeZone": zone}
    frontier = begin(graph, now, contact)
    return ExecutionState(UUID(int=1), ExecutionStatus.ENQUEUED, frontier, {}, now, input={"contact": contact})


def sends(graph: Graph, execution: ExecutionState, moment: datetime, takes: timedelta = timedelta()) -> list[datetime]:
    """Walk to the end as a worker would, waking at each due time; give when each step was planned."""
    times: list[datetime] = []
    while True:
        execution, action = decide(graph, execution, [], moment)
        if isinstance(action, Finish):
            return times
        if isinstance(action, Sleep):
            moment = action.until
            continue
        assert isinstance(action, Plan)
        times.append(moment)
        sent = ItemState(action.node.id, ItemStatus.SENT, False, None, 1, "m", None)
        moment += takes
        execution, _ = decide(graph, execution, [sent], moment)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney"])
def test_days_0_3_and_7_land_at_the_hour_asked_for_across_a_change_of_clocks(zone: str) -> None:
    graph = sequence(
        *({"dayOffset": day, "sendHour": 9} for day in (0, 3, 7)), timezone="contact", offsetFrom="enrollment"
    )
    for day in (date for month in (3, 4, 10, 11) for date in (datetime(2026, month, 5), datetime(2026, month, 27))):
        began = day.replace(hour=8, tzinfo=ZoneInfo(zone)).astimezone(UTC)

        times = [one.astimezone(ZoneInfo(zone)) for one in sends(graph, enrolled(graph, began, zone), began)]

        assert [one.hour for one in times] == [9, 9, 9]
        assert [(one.date() - day.date()).days for one in times] == [0, 3, 7]


def test_contacts_in_several_zones_get_it_at_their_own_hour() -> None:
    graph = sequence({"dayOffset": 1, "sendHour": 9}, timezone="contact")
    now = at("2026-06-01T12:00:00+00:00")

    due = {
        zone: begin(graph, now, {"timeZone": zone}).ready[0].due_at.isoformat()
        for zone in ("Asia/Tokyo", "Europe/Berlin", "America/Los_Angeles")
    }

    assert due == {
        "Asia/Tokyo": "2026-06-02T00:00:00+00:00",
        "Europe/Berlin": "2026-06-02T07:00:00+00:00",
        "America/Los_Angeles": "2026-06-02T16:00:00+00:00",
    }
    assert begin(graph, now).ready[0].due_at == at("2026-06-02T09:00:00+00:00")


def test_offsets_from_enrollment_do_not_drift_and_those_from_the_previous_step_add_up() -> None:
    steps = [{"dayOffset": day} for day in (1, 2, 5)]
    now, hour = at("2026-06-01T12:00:00+00:00"), timedelta(hours=1)

    fixed = sequence(*steps, offsetFrom=OffsetFrom.ENROLLMENT.value)
    added = sequence(*steps, offsetFrom=OffsetFrom.PREVIOUS.value)

    assert sends(fixed, enrolled(fixed, now), now, hour) == [now + timedelta(days=day) for day in (1, 2, 5)]
    assert sends(added, enrolled(added, now), now, hour) == [
        now + timedelta(days=1),
        now + timedelta(days=3) + hour,
        now + timedelta(days=8) + 2 * hour,
    ]


def test_a_worker_that_comes_late_changes_no_later_step() -> None:
    graph = sequence(*({"dayOffset": day, "sendHour": 9} for day in (0, 1, 2)))
    now = at("2026-06-01T08:00:00+00:00")

    assert sends(graph, enrolled(graph, now), now + timedelta(days=1, hours=4)) == [
        at("2026-06-02T12:00:00+00:00"),
        at("2026-06-02T12:00:00+00:00"),
        at("2026-06-03T09:00:00+00:00"),
    ]


# Lateness


def waiting(graph: Graph, now: datetime) -> ExecutionState:
    return decide(graph, enrolled(graph, now), [], now)[0]


def test_a_send_is_late_from_its_planned_time_on_however_long_its_worker_was_away() -> None:
    graph = sequence({"dayOffset": 1, "sendHour": 9, "maxLateness": "PT2H"}, {"dayOffset": 2, "maxLateness": 60})
    now = at("2026-06-01T08:00:00+00:00")

    def late(moment: datetime) -> str | None:
        execution, action = decide(graph, waiting(graph, now), [], moment)
        assert isinstance(action, Plan)
        appointment = appointment_of(graph, execution, action.node.id)
        assert appointment is not None
        return appointment.lateness(moment)

    assert late(at("2026-06-02T11:00:00+00:00")) is None
    assert late(at("2026-06-02T11:00:01+00:00")) == (
        "late by 2:00:01: it was planned for 2026-06-02T09:00:00+00:00, and may be late by 2:00:00"
    )


def test_a_step_whose_hour_was_over_at_the_enrollment_is_not_late() -> None:
    graph = sequence({"dayOffset": 0, "sendHour": 9, "maxLateness": "PT1H"})
    now = at("2026-06-01T15:00:00+00:00")

    execution, action = decide(graph, enrolled(graph, now), [], now)

    assert isinstance(action, Plan)
    appointment = appointment_of(graph, execution, action.node.id)
    assert appointment is not None
    assert appointment.lateness(now) is None


def test_a_step_that_says_nothing_of_lateness_is_never_too_late() -> None:
    graph = sequence({"dayOffset": 0})
    execution = replace(
        enrolled(graph, at("2026-06-01T15:00:00+00:00")),
        frontier=Frontier((Ready("s0", at("2026-06-01T15:00:00+00:00")),)),
    )

    assert appointment_of(graph, execution, "s0") is None


def test_a_send_keeps_its_planned_time_while_its_items_are_tried_again() -> None:
    graph = sequence({"dayOffset": 1, "sendHour": 9, "maxLateness": "PT2H"})
    planned = at("2026-06-02T09:00:00+00:00")
    standing = decide(graph, waiting(graph, at("2026-06-01T08:00:00+00:00")), [], planned)[0]

    for minutes in (10, 20, 30):
        retry_at = planned + timedelta(minutes=minutes)
        item = ItemState("s0", ItemStatus.QUEUED, False, retry_at, 1, None, None)
        standing, action = decide(graph, standing, [item], planned)

        assert action == Sleep(retry_at)
        assert standing.frontier.ready[0].due_at == retry_at
        assert appointment_of(graph, standing, "s0") == Appointment(planned, timedelta(hours=2))
        standing = replace(standing, frontier=frontier_from_json(frontier_to_json(standing.frontier)))


def test_whoever_enrolled_in_the_second_of_two_equal_hours_gets_the_first_of_the_next_two() -> None:
    """The clocks of Berlin showed half past two twice on both days; this was the second time of the first day."""
    enrolled_at = datetime(2025, 10, 26, 1, 30, tzinfo=UTC)

    due_at = due_of(Schedule(364, zone="Europe/Berlin"), enrolled_at, None)

    assert due_at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
