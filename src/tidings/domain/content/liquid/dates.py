"""Filters on dates: by the time that rendering was given, never by the clock, zone or locale of the machine."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from importlib import import_module
from zoneinfo import ZoneInfo

from liquid import RenderContext
from liquid.exceptions import FilterArgumentError
from liquid.filter import with_context

from tidings.domain.content.liquid.values import text_of

MAX_DATE_CHARS = 100
MAX_WIDTH = 100
DEFAULT_FORMAT = "%A, %B %-e, %Y at %-l:%M %P %z"

_CODE = re.compile(r"%([-_0^#:]+)?(\d+)?([EO])?(.)", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WIDTHS = {**dict.fromkeys("CdeHIklmMSUVWy", 2), **dict.fromkeys("jL", 3), **dict.fromkeys("GY", 4)}
_PADDED_WITH_BLANKS = frozenset("aAbBceklpP")
# Codes that stand for several others. LiquidJS has none of them.
_COMPOSED = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "D": "%m/%d/%y", "R": "%H:%M", "r": "%I:%M:%S %p"}


def date_filters() -> Mapping[str, Callable[..., object]]:
    """Every filter of this module by its name."""
    return {
        "date": with_context(_date),
        "date_to_long_string": with_context(_date_to_long_string),
        "date_to_rfc822": with_context(_date_to_rfc822),
        "date_to_string": with_context(_date_to_string),
        "date_to_xmlschema": with_context(_date_to_xmlschema),
    }


def _date(value: object, pattern: object = None, zone: object = None, *, context: RenderContext) -> object:
    """Format a time in a given zone, else in its own, else in UTC; what is not a time stays as it is."""
    place = None if zone is None else zone_of(zone)
    moment = _moment(value, context.tag_namespace["now"])
    if moment is None:
        return value
    wanted = DEFAULT_FORMAT if pattern is None else text_of(pattern)
    text = formatted(moment if place is None else moment.astimezone(place), wanted)
    return type(wanted)(text)  # a pattern marked as safe HTML makes safe HTML


def _date_to_xmlschema(value: object, *, context: RenderContext) -> object:
    return _date(value, "%Y-%m-%dT%H:%M:%S%:z", context=context)


def _date_to_rfc822(value: object, *, context: RenderContext) -> object:
    return _date(value, "%a, %d %b %Y %H:%M:%S %z", context=context)


def _date_to_string(value: object, kind: object = None, style: object = None, *, context: RenderContext) -> object:
    return _date(value, _day_pattern("%b", kind, style), context=context)


def _date_to_long_string(value: object, kind: object = None, style: object = None, *, context: RenderContext) -> object:
    return _date(value, _day_pattern("%B", kind, style), context=context)


def _day_pattern(month: str, kind: object, style: object) -> str:
    if text_of(kind) != "ordinal":
        return f"%d {month} %Y"
    return f"{month} %-d%q, %Y" if text_of(style) == "US" else f"%-d%q {month} %Y"


# Reading


@lru_cache(maxsize=64)
def _named_zone(name: str) -> tzinfo:
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3])
        return _offset(minutes if offset[1] == "+" else -minutes, name)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise _no_zone(name) from None


def zone_of(given: object) -> tzinfo:
    """The zone of a name like Europe/Prague or +02:00, or of a number of minutes west of UTC, as JavaScript counts."""
    if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given):
        return _offset(-given, given)
    return _named_zone(str(text_of(given))[:MAX_DATE_CHARS])


def _offset(minutes: float, given: object) -> tzinfo:
    try:
        return timezone(timedelta(minutes=int(minutes)))
    except (ValueError, OverflowError):
        raise _no_zone(given) from None


def _no_zone(given: object) -> FilterArgumentError:
    return FilterArgumentError(
        f"date: {given!r} is not a time zone; use a name like Europe/Prague or +02:00", token=None
    )


def _moment(value: object, now: datetime) -> datetime | None:
    if isinstance(value, str):
        text = value.strip()
        if text in {"now", "today"}:
            return now
        is_timestamp = text.isdecimal() and text.isascii() and len(text) < 20
        return _from_timestamp(int(text)) if is_timestamp else _from_text(text, now)
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time.min)
        return _in_utc_if_naive(moment)
    if isinstance(value, bool):
        return _from_timestamp(value / 1000)
    return _from_timestamp(value) if isinstance(value, int | float) else None


def _from_timestamp(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _from_text(text: str, now: datetime) -> datetime | None:
    if len(text) > MAX_DATE_CHARS:
        return None
    try:
        return _in_utc_if_naive(datetime.fromisoformat(text))
    except ValueError:
        return _from_prose(text, now)


def _from_prose(text: str, now: datetime) -> datetime | None:
    parse_date = import_module("dateutil.parser").parse
    # What the text leaves out comes from the given time ("10:00"), or is the first day ("May 2026"); by default it is
    # the wall clock's.
    day = now.day if ":" in text else 1
    midnight = now.replace(day=day, hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    try:
        moment: datetime = parse_date(text, default=midnight, tzinfos=_zone_in_text)
    except (ValueError, OverflowError):
        return None
    return _in_utc_if_naive(moment)


def _zone_in_text(_name: str | None, offset: int | None) -> tzinfo | None:
    # By default an abbreviation may mean the zone of this machine, and an unknown one is a warning.
    return None if offset is None else timezone(timedelta(seconds=offset))


def _in_utc_if_naive(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# Writing


def formatted(moment: datetime, pattern: str) -> str:
    """Write a time by the codes that LiquidJS knows, and %F %T %D %R %r %G %V; others stay as they are."""
    return _CODE.sub(lambda code: _field(moment, code), pattern)


def _field(moment: datetime, code: re.Match[str]) -> str:
    flags, width, conversion = code[1] or "", code[2], code[4]
    if conversion in _COMPOSED:
        return formatted(moment, _COMPOSED[conversion])
    text = _converted(moment, conversion, ":" in flags, width)
    if text is None:
        return code[0]
    if "^" in flags:
        text = text.upper()
    elif "#" in flags:
        text = text.upper() if re.search("[a-z]", text) else text.lower()
    return _padded(text, conversion, flags, width)


def _padded(text: str, conversion: str, flags: str, width: str | None) -> str:
    blanks = "_" in flags or ("0" not in flags and conversion in _PADDED_WITH_BLANKS)
    wanted = 0 if "-" in flags else _width(width) or _WIDTHS.get(conversion, 0)
    if blanks:
        return text.rjust(wanted)
    return f"-{text[1:].rjust(wanted - 1, '0')}" if text.startswith("-") else text.rjust(wanted, "0")


def _width(given: str | None) -> int:
    return min(int(given), MAX_WIDTH) if given and len(given) < 10 else MAX_WIDTH if given else 0


def _converted(moment: datetime, conversion: str, colon: bool, width: str | None) -> str | None:
    """One field without its padding; None for a code that is none."""
    if conversion in _NUMBERS:
        return str(_NUMBERS[conversion](moment))
    if conversion in _WORDS:
        return _WORDS[conversion](moment)
    if conversion == "z":
        return _offset_text(moment, colon)
    if conversion == "Z":
        return moment.tzinfo.key if isinstance(moment.tzinfo, ZoneInfo) else _utc_or_offset(moment, colon)
    if conversion == "N":
        digits = f"{moment.microsecond // 1000:03}"
        return digits[: _width(width) or 9].ljust(_width(width) or 9, "0")
    return None


def _offset_text(moment: datetime, colon: bool) -> str:
    seconds = int((moment.utcoffset() or timedelta()).total_seconds())
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}{':' if colon else ''}{minutes:02}"


def _utc_or_offset(moment: datetime, colon: bool) -> str:
    return _offset_text(moment, colon) if moment.utcoffset() else "UTC"


def _week(moment: datetime, first_weekday: int) -> int:
    """The week of the year; days before the first Sunday (0) or Monday (1) are in week 0."""
    weekday = (moment.isoweekday() % 7 - first_weekday) % 7
    return (moment.timetuple().tm_yday + 6 - weekday) // 7


def _ordinal(moment: datetime) -> str:
    return "th" if moment.day in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(moment.day % 10, "th")


def _day_text(moment: datetime) -> str:
    return f"{moment.month}/{moment.day}/{moment.year}"


def _clock_text(moment: datetime) -> str:
    return f"{moment.hour % 12 or 12}:{moment:%M:%S} {'AM' if moment.hour < 12 else 'PM'}"


_NUMBERS: Mapping[str, Callable[[datetime], int]] = {
    "C": lambda moment: moment.year // 100,
    "d": lambda moment: moment.day,
    "e": lambda moment: moment.day,
    "G": lambda moment: moment.isocalendar().year,
    "H": lambda moment: moment.hour,
    "I": lambda moment: moment.hour % 12 or 12,
    "j": lambda moment: moment.timetuple().tm_yday,
    "k": lambda moment: moment.hour,
    "l": lambda moment: moment.hour % 12 or 12,
    "L": lambda moment: moment.microsecond // 1000,
    "m": lambda moment: moment.month,
    "M": lambda moment: moment.minute,
    "s": lambda moment: math.floor(moment.timestamp()),
    "S": lambda moment: moment.second,
    "u": lambda moment: moment.isoweekday(),
    "U": lambda moment: _week(moment, 0),
    "V": lambda moment: moment.isocalendar().week,
    "w": lambda moment: moment.isoweekday() % 7,
    "W": lambda moment: _week(moment, 1),
    "y": lambda moment: moment.year % 100,
    "Y": lambda moment: moment.year,
}
_WORDS: Mapping[str, Callable[[datetime], str]] = {
    "a": lambda moment: _DAYS[moment.weekday()][:3],
    "A": lambda moment: _DAYS[moment.weekday()],
    "b": lambda moment: _MONTHS[moment.month - 1][:3],
    "B": lambda moment: _MONTHS[moment.month - 1],
    "c": lambda moment: f"{_day_text(moment)}, {_clock_text(moment)}",
    "h": lambda moment: _MONTHS[moment.month - 1][:3],
    "n": lambda _moment: "\n",
    "p": lambda moment: "AM" if moment.hour < 12 else "PM",
    "P": lambda moment: "am" if moment.hour < 12 else "pm",
    "q": _ordinal,
    "t": lambda _moment: "\t",
    "x": _day_text,
    "X": _clock_text,
    "%": lambda _moment: "%",
}
