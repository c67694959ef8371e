"""When a step of a sequence is due: days counted on the calendar of a time zone, an hour read from its clocks.

Where the clocks are put forward, an hour that does not exist means the first moment after the gap; where they are put
back, an hour that comes twice means its first time, once.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from tidings.domain.flow.graph import CONTACT_ZONE, Delay, Graph, Node, Schedule, Send
from tidings.views.sequences import OffsetFrom

LONGEST_OFFSET = 3650
"""Days: as long as any wait."""


def due_of(schedule: Schedule, base: datetime, contact_zone: str | None) -> datetime:
    """The planned time, in UTC. One that would be before `base`, which it is counted from, is `base` itself."""
    zone = zone_named(contact_zone if schedule.zone == CONTACT_ZONE else schedule.zone)
    local = base.astimezone(zone)
    day = local.date() + timedelta(days=schedule.day_offset)
    # Of the time of day only the clock's reading counts, not which of two equal readings it was.
    clock = local.time().replace(fold=0) if schedule.hour is None else time(schedule.hour)
    return max(base.astimezone(UTC), moment_of(day, clock, zone))


class Times(msgspec.Struct, frozen=True):
    """What the time of a node that a walk reaches comes from."""

    now: datetime
    begun_at: datetime
    planned_at: datetime
    zone: str | None  # of the contact


def planned_at(graph: Graph, node: str, due_at: datetime, now: datetime) -> datetime:
    """The time of what comes after a node: now, but after a schedule the time it named, to tell how late it is."""
    left = graph.nodes[node]
    return due_at if isinstance(left, Delay) and left.schedule else now


def kept_plan(node: Node, planned_at: datetime) -> datetime | None:
    """The time that a node was planned for, if it must be known for as long as it is tried: a send that may be late."""
    return planned_at if isinstance(node, Send) and node.max_lateness is not None else None


def arrival(graph: Graph, node: str, times: Times) -> datetime:
    """When a node that is reached is due; a time that a delay waits `until` is looked at then."""
    match graph.nodes[node]:
        case Delay(schedule=Schedule() as schedule):
            base = times.begun_at if schedule.offset_from is OffsetFrom.ENROLLMENT else times.now
            return due_of(schedule, base, times.zone)
        case Delay(wait=wait):
            return times.now + wait
        case _:
            return times.planned_at


def moment_of(day: date, clock: time, zone: ZoneInfo) -> datetime:
    """When the clocks of a zone first show this; the first moment after the gap if they never do."""
    shown = datetime.combine(day, clock, tzinfo=zone)
    moment = shown.astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == shown.replace(tzinfo=None):
        return moment
    return _end_of_gap(shown.replace(fold=1).astimezone(UTC), moment, zone)


def _end_of_gap(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The second at which the clocks were put forward, between a moment before it and one after."""
    offset = before.astimezone(zone).utcoffset()
    before, after = before.replace(microsecond=0), after.replace(microsecond=0)
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=int((after - before).total_seconds()) // 2)
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


@lru_cache(maxsize=1024)
def zone_named(name: str | None) -> ZoneInfo:
    """A time zone by its name; UTC where there is none of that name, since a message must go out at some hour."""
    if not name:
        return ZoneInfo("UTC")
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # no such zone, or not even a name
        return ZoneInfo("UTC")


def zone_of(contact: object) -> str | None:
    """The time zone that a contact names, as templates see the contact."""
    if contact is None:
        return None
    zone = contact.get("timeZone") if isinstance(contact, Mapping) else None
    return zone if isinstance(zone, str) else None
