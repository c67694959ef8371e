"""Times and spans of time as people write them."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from tidings.domain.messages import quoted

_ISO = re.compile(
    r"P(?:(?P<weeks>\d+(?:\.\d+)?)W)?(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_OF_THE_CALENDAR = re.compile(r"P(?=[^T]*[YM])[0-9.,YMWD]+(?:T[0-9.,HMS]*)?", re.ASCII)
_MOMENT = re.compile(
    r"([1-8][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))"
    r"(?:[T ]((?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?)"
    r"(Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])?)?"
)
_AGO = re.compile(r"([0-9]{1,6}) (minute|hour|day|week)s? (ago|from now)", re.IGNORECASE)
_DAYS: dict[str, int] = {"yesterday": -1, "today": 0, "tomorrow": 1}
RELATIVE = "'30 days ago', '2 weeks from now', 'now', 'today', 'yesterday' or 'tomorrow'"
"""How a relative time is written, for messages."""
LONGEST_WAIT = timedelta(days=3650)
LONGEST_RELATIVE = 10 * LONGEST_WAIT
FIRST_YEAR, LAST_YEAR = 1970, 9000
"""Of times that are given: Python's calendar ends with the year 9999, wherever a zone or a wait is added."""


def parse_duration(given: object, *, or_seconds: bool = False) -> timedelta:
    """Read an ISO 8601 duration of weeks, days, hours, minutes and seconds, or a number of seconds where that may be.

    Months and years are refused, because their length depends on the calendar; so are the empty `P` and `PT`.
    """
    if or_seconds and isinstance(given, int | float) and not isinstance(given, bool) and given >= 0:
        wait = timedelta(seconds=given) if given <= LONGEST_WAIT.total_seconds() else timedelta.max
    else:
        wait = _parse_iso(given, "PT30M, PT2H or P3D, or as seconds" if or_seconds else "PT30M, PT2H or P3D")
    if wait > LONGEST_WAIT:
        raise ValueError(f"{quoted(given)} is longer than ten years")
    return wait


def _parse_iso(given: object, like: str) -> timedelta:
    text = given if isinstance(given, str) else ""
    match = _ISO.fullmatch(text)
    parts = {unit: float(value) for unit, value in match.groupdict().items() if value} if match else {}
    if _OF_THE_CALENDAR.fullmatch(text):
        raise ValueError(
            f"{quoted(text)} counts months or years, which are not always as long: write days, such as P30D or P365D"
        )
    if not parts or text.endswith("T"):
        raise ValueError(f"{quoted(given)} is not a duration: write it like {like}")
    try:
        return timedelta(**parts)
    except OverflowError:
        return timedelta.max


def format_duration(wait: timedelta) -> str:
    """Write a span of time as ISO 8601 does, in days, hours, minutes and seconds: parse_duration reads no years."""
    minutes, whole = divmod(wait.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{whole}.{wait.microseconds:06}".rstrip("0") if wait.microseconds else str(whole)
    days = f"{wait.days}D" if wait.days else ""
    counts = ((str(hours), "H"), (str(minutes), "M"), (seconds, "S"))
    clock = "".join(f"{count}{unit}" for count, unit in counts if count != "0")
    if clock:
        return f"P{days}T{clock}"
    return f"P{days}" if days else "PT0S"


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; without an offset it is UTC, without an hour the start of the day."""
    try:
        time = datetime.fromisoformat(text.strip())
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{quoted(text)} is not a time: write it like 2027-01-31T09:00:00Z") from None


def read_moment(given: object) -> datetime | None:
    """The time that a string is, from the year 1000 to 8999; None for anything else. As moment_in in schema.sql.

    Stricter than parse_time, for it decides of any string whether it is one: a whole date, perhaps with an hour.
    """
    found = _MOMENT.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        return None
    day, hour, zone = found.groups()
    try:
        return datetime.fromisoformat(f"{day}T{hour or '00:00'}{zone or 'Z'}").astimezone(UTC)
    except ValueError:  # the 31st of a month that has 30 days
        return None


def relative_time(text: str, now: datetime) -> datetime | None:
    """The time that is so long before or after now, in UTC; None where a string says nothing of the kind."""
    words = text.strip().lower()
    if words == "now":
        return now
    if words in _DAYS:
        start = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return start + timedelta(days=_DAYS[words])
    found = _AGO.fullmatch(words)
    if found is None:
        return None
    span = timedelta(**{f"{found[2]}s": int(found[1])})
    if span > LONGEST_RELATIVE:
        return None
    return now - span if found[3] == "ago" else now + span


def problem_of_moment(at: datetime) -> str | None:
    """Why a time cannot be calculated with, or None: it needs a zone, and room before and after it in the calendar."""
    if at.tzinfo is None:
        return f"has no time zone; write it like {at.isoformat()}Z"
    if FIRST_YEAR <= at.year <= LAST_YEAR:
        return None
    return f"{at.isoformat()} is too far away: use a time from the year {FIRST_YEAR} to {LAST_YEAR}"


@lru_cache(maxsize=16)
def shown_time(at: datetime) -> str:
    """A time of the database's clock, which is UTC, as ISO 8601; cached, since work moved together shares it."""
    return at.isoformat()
