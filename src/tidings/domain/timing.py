"""Times and spans of time as people write them."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_ISO = re.compile(
    r"P(?:(?P<weeks>\d+(?:\.\d+)?)W)?(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
LONGEST_WAIT = timedelta(days=3650)


def parse_duration(text: str) -> timedelta:
    """Read an ISO 8601 duration of weeks, days, hours, minutes and seconds.

    Months and years are refused, because their length depends on the calendar; so are the empty `P` and `PT`.
    """
    match = _ISO.fullmatch(text)
    parts = {unit: float(value) for unit, value in match.groupdict().items() if value} if match else {}
    if not parts or text.endswith("T"):
        raise ValueError(f"{text!r} is not a duration: write it like PT30M, PT2H or P3D")
    try:
        wait = timedelta(**parts)
    except OverflowError:
        wait = timedelta.max
    if wait > LONGEST_WAIT:
        raise ValueError(f"{text!r} is longer than ten years")
    return wait


def format_duration(wait: timedelta) -> str:
    """Write a span of whole seconds as ISO 8601 does, in days, hours, minutes and seconds."""
    minutes, seconds = divmod(wait.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days = f"{wait.days}D" if wait.days else ""
    clock = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if count)
    if clock:
        return f"P{days}T{clock}"
    return f"P{days}" if days else "PT0S"


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; without an offset it is UTC, without an hour the start of the day."""
    try:
        time = datetime.fromisoformat(text.strip())
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time: write it like 2027-01-31T09:00:00Z") from None


@lru_cache(maxsize=16)
def shown_time(at: datetime) -> str:
    """A time of the database's clock, which is UTC, as ISO 8601; what is moved together shares it, so it is kept."""
    return at.isoformat()
