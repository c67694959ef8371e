"""Filters that cannot grow a value without bound, and those that behave as in LiquidJS.

Part of liquid_environment.py, which wraps every filter in `limited`.
"""

import json
import math
import re
from collections.abc import Callable, ItemsView, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import wraps
from importlib import import_module

from liquid import RenderContext, StrictDefaultUndefined, Token
from liquid.exceptions import FilterArgumentError
from liquid.filter import flatten, num_arg, with_context
from liquid.undefined import UNDEFINED

MAX_VALUE_CHARS = 1_000_000
MAX_ITEMS = 10_000
MAX_INTEGER_BITS = 16_384
MAX_DATE_CHARS = 100

Filter = Callable[..., object]

# Filters that answer from the ends or the length of a list, so its size costs nothing.
_ANY_LENGTH = frozenset({"first", "last", "size"})


class TooLarge(Exception):
    """A filter would have made a value beyond the limits."""


class Missing(StrictDefaultUndefined):
    """False in a condition, empty in a loop, replaced by `default`; an error that names it anywhere else."""

    __slots__ = ()
    allowed_properties = StrictDefaultUndefined.allowed_properties | {"__class__", "__liquid__", "items"}

    def __init__(self, name: str, *, token: Token | None, obj: object = UNDEFINED, hint: str | None = None) -> None:
        if hint == "index out of range":
            hint = f"{name!r}: {hint}"
        super().__init__(name, token=token, obj=obj, hint=hint)

    def __len__(self) -> int:
        return 0

    def items(self) -> ItemsView[object, object]:
        """Nothing to loop over."""
        return {}.items()


def limited(name: str, function: Filter) -> Filter:
    """Bound what a filter takes and makes; a missing value passes through, for `default` or the output to judge."""

    @wraps(function)
    def limited(value: object, *args: object, **kwargs: object) -> object:
        if type(value) is Missing:
            return value
        if name not in _ANY_LENGTH:
            _check_length(name, value)
        return _plain(_bounded(name, function(_plain(value), *map(_argument, args), **kwargs)))

    return limited


def _argument(value: object) -> object:
    if type(value) is Missing:
        str(value)  # raises, naming the variable
    return _plain(value)


def _plain(value: object) -> object:
    """A float without a fraction is an integer, as it is in JavaScript."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


def _check_length(name: str, value: object) -> None:
    if isinstance(value, list | tuple | range) and len(value) > MAX_ITEMS:
        raise TooLarge(f"{name!r} exceeds the limit of {MAX_ITEMS} items")


def _bounded(name: str, result: object) -> object:
    if isinstance(result, int):
        if result.bit_length() > MAX_INTEGER_BITS:
            raise TooLarge(f"{name!r} exceeds the limit of {MAX_INTEGER_BITS} bits")
        return result
    _check_length(name, result)
    # A list may hold one long text many times over: it is small until somebody prints it.
    if _left_after(result, MAX_VALUE_CHARS) < 0:
        raise _too_long(name)
    return result


def _too_long(name: str) -> TooLarge:
    return TooLarge(f"{name!r} exceeds the limit of {MAX_VALUE_CHARS} characters")


def _left_after(value: object, budget: int) -> int:
    """Take the characters in a value off the budget; stop counting once it is overdrawn."""
    if isinstance(value, str):
        return budget - len(value)
    parts: Iterable[object] = ()
    if isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    for part in parts:
        if budget < 0:
            break
        budget = _left_after(part, budget)
    return budget


def text_of(value: object) -> str:
    """Print a value as LiquidJS does; text stays what it is, marked as safe or not."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, list | tuple):
        return "".join(map(text_of, value))
    return str(value)


def _float_text(value: float) -> str:
    text = str(_plain(value))
    if "e" not in text:
        return text
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(text), "f")
    return re.sub(r"e([+-])0", r"e\1", text)


def own_filters(builtin: Mapping[str, Filter]) -> dict[str, Filter]:
    """The filters that differ from Liquid's own: as in LiquidJS, or bounded before they allocate."""
    return {
        "date": with_context(_date),
        "divided_by": _divided_by,
        "join": _join(builtin["join"]),
        "json": _json,
        "replace": _replace(builtin["replace"]),
        "round": _round,
    }


def _replace(builtin: Filter) -> Filter:
    @wraps(builtin)
    def replace(value: object, old: object, new: object = "") -> object:
        text, old_text, new_text = text_of(value), text_of(old), text_of(new)
        growth = len(new_text) - len(old_text)
        if growth > 0 and len(text) + text.count(old_text) * growth > MAX_VALUE_CHARS:
            raise _too_long("replace")
        return builtin(text, old_text, new_text)

    return replace


def _join(builtin: Filter) -> Filter:
    @wraps(builtin)
    def join(value: object, separator: object = " ", *, environment: object) -> object:
        items = [text_of(item) for item in flatten(value)] if isinstance(value, list | tuple | range) else value
        count = len(items) if isinstance(items, list) else 0
        if _left_after(items, MAX_VALUE_CHARS) < len(text_of(separator)) * count:
            raise _too_long("join")
        return builtin(items, separator, environment=environment)

    return join


def _divided_by(value: object, divisor: object) -> int | float:
    left, right = _number(value), _number(divisor)
    if right == 0:
        raise FilterArgumentError("divided_by: cannot divide by 0", token=None)
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _round(value: object, digits: object = 0) -> int | float:
    """Round half away from zero, on the digits as they are written."""
    number = _number(value)
    try:
        unit = Decimal(1).scaleb(-int(_number(digits)))
        return float(Decimal(str(number)).quantize(unit, ROUND_HALF_UP))
    except InvalidOperation:  # more digits than a float has: nothing left to round
        return number


def _number(value: object) -> int | float:
    return num_arg(value, default=0)


def _json(value: object, indent: object = 0) -> str:
    spaces = min(int(_number(indent)), 10)
    separators = (",", ": ") if spaces > 0 else (",", ":")
    return json.dumps(_plain_deep(value), ensure_ascii=False, indent=max(spaces, 0) or None, separators=separators)


def _plain_deep(value: object) -> object:
    if isinstance(value, list | tuple | range):
        return [_plain_deep(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain_deep(item) for key, item in value.items()}
    return str(value) if isinstance(value, date) else _plain(value)


def _date(value: object, pattern: object, *, context: RenderContext) -> str:
    """Format a time in its own zone, or in UTC where it has none; what is no time is printed as it is."""
    moment = _moment(value, context.tag_namespace["now"])
    if moment is None:
        return text_of(value)
    wanted = text_of(pattern)
    text = moment.strftime(re.sub(r"(?<!%)%s", str(math.floor(moment.timestamp())), wanted))
    return type(wanted)(text)  # a pattern marked as safe HTML makes safe HTML


def _moment(value: object, now: datetime) -> datetime | None:
    if isinstance(value, str):
        text = value.strip()
        if text in {"now", "today"}:
            return now
        return _from_timestamp(int(text)) if text.isdecimal() and len(text) < 20 else _from_text(text, now)
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time.min)
        return _in_utc_if_naive(moment)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_timestamp(value)
    return None


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
    # What the text leaves out ("10:00", "May") comes from the given time; by default it is the wall clock's.
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    try:
        moment: datetime = parse_date(text, default=midnight, tzinfos=_zone)
    except (ValueError, OverflowError):
        return None
    return _in_utc_if_naive(moment)


def _zone(_name: str | None, offset: int | None) -> tzinfo | None:
    # By default an abbreviation may mean the zone of this machine, and an unknown one is a warning.
    return None if offset is None else timezone(timedelta(seconds=offset))


def _in_utc_if_naive(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
