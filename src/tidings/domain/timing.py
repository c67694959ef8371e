"""Spans of time as people write them."""

import re
from datetime import timedelta

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
