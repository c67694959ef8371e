"""One value compared with another: the operators that audiences and the branches of workflows share.

What is given decides how both are read. A number is compared with numbers and with strings that are one, a date or
`30 days ago` with dates, true and false with themselves and their words, any other string with strings, whose letters
are the same in upper and lower case. Whatever cannot be read in that way does not hold.
storage/contact_parts.py asks the database the same, with number_in, text_in and moment_in of storage/schema.sql.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from tidings.domain.timing import read_moment, relative_time

Sought: TypeAlias = bool | Decimal | datetime | str
"""What is compared, once it is read: never two kinds with each other."""


class Op(StrEnum):
    """How a value is compared; `exists` and `missing` take none."""

    EQUALS = "equals"
    NOT_EQUALS = "notEquals"
    GREATER = "greater"
    GREATER_OR_EQUAL = "greaterOrEqual"
    LESS = "less"
    LESS_OR_EQUAL = "lessOrEqual"
    CONTAINS = "contains"
    IN = "in"
    BEFORE = "before"
    AFTER = "after"
    EXISTS = "exists"
    MISSING = "missing"


WITHOUT_VALUE = frozenset({Op.EXISTS, Op.MISSING})
OF_TIME = frozenset({Op.BEFORE, Op.AFTER})
ORDERS: Mapping[Op, Callable[[Any, Any], bool]] = {
    Op.GREATER: operator.gt,
    Op.GREATER_OR_EQUAL: operator.ge,
    Op.LESS: operator.lt,
    Op.LESS_OR_EQUAL: operator.le,
    Op.BEFORE: operator.lt,
    Op.AFTER: operator.gt,
}
IN_WORDS: Mapping[Op, str] = {
    Op.EQUALS: "is",
    Op.NOT_EQUALS: "is not",
    Op.GREATER: "is greater than",
    Op.GREATER_OR_EQUAL: "is at least",
    Op.LESS: "is less than",
    Op.LESS_OR_EQUAL: "is at most",
    Op.CONTAINS: "contains",
    Op.IN: "is",
    Op.BEFORE: "is before",
    Op.AFTER: "is after",
    Op.EXISTS: "is there",
    Op.MISSING: "is missing",
}


class Compare(msgspec.Struct, frozen=True, tag=True):
    """Compares the value at a path with a given one."""

    path: tuple[str, ...]
    op: Op
    value: Any = None

    def __hash__(self) -> int:
        return hash((self.path, self.op, msgspec.json.encode(self.value, order="sorted")))


class _Absent:
    """The value of a path that leads nowhere: unlike null, it equals nothing."""


ABSENT = _Absent()
# As PostgreSQL reads the step of a path into a list.
_INDEX = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]{1,10}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def value_at(data: object, path: Sequence[str]) -> object:
    """The value at a path of names and places in lists; ABSENT where it leads nowhere."""
    for name in path:
        if isinstance(data, Mapping) and name in data:
            data = data[name]
        elif isinstance(data, list | tuple) and _INDEX.fullmatch(name) and -len(data) <= int(name) < len(data):
            data = data[int(name)]
        else:
            return ABSENT
    return data


def compares(op: Op, found: object, value: object, now: datetime) -> bool:
    """Whether what was found is as given; relative times are counted from `now`."""
    if op in ORDERS:
        sought = sought_in_order(value, now)
        seen = None if sought is None else read_as(sought, found)
        return seen is not None and ORDERS[op](seen, sought)
    return _COMPARISONS[op](found, value)


def sought_for_equality(value: object) -> Sought | None:
    """What a value is compared as, where it must be the same; None for null, lists and objects."""
    if isinstance(value, bool):
        return value
    return fold(value) if isinstance(value, str) else number_in(value)


def sought_in_order(value: object, now: datetime) -> Decimal | datetime | str | None:
    """What a value is compared as, where it is less or greater; None for what has no order."""
    if isinstance(value, str):
        return relative_time(value, now) or read_moment(value) or fold(value)
    return number_in(value)


def read_as(sought: Sought, found: object) -> Sought | None:
    """What was found, read as what is sought; None where it cannot be."""
    if isinstance(sought, bool):
        return truth_in(found)
    if isinstance(sought, Decimal):
        return number_in(found)
    if isinstance(sought, datetime):
        return found if isinstance(found, datetime) else read_moment(found)
    return fold(found) if isinstance(found, str) else None


def number_in(value: object) -> Decimal | None:
    """The number that a value is, or is written as: `12` and `-3.5`, not `1e3`, `1,000` or ` 7`."""
    if isinstance(value, str):
        return Decimal(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)  # of any size, also one that no float has room for
    return Decimal(repr(value)) if isinstance(value, float) and math.isfinite(value) else None


def truth_in(value: object) -> bool | None:
    """The truth that a value is, or is written as: `true` or `false`, in any case."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(fold(value)) if isinstance(value, str) else None


def fold(text: str) -> str:
    """A string with small letters, one for one, as lower() of a database with Unicode's own letters writes it."""
    if text.isascii():
        return text.lower()
    # Python writes İ as two characters, and the last Σ of a word as ς.
    return "".join(one.lower()[0] for one in text)


def _equals(found: object, value: object) -> bool:
    sought = sought_for_equality(value)
    if sought is None:
        return found == value and isinstance(found, bool) == isinstance(value, bool)
    seen = read_as(sought, found)
    return seen is not None and seen == sought


def _is_in(found: object, value: object) -> bool:
    """Whether it is one of a list, or stands in a string."""
    return any(_equals(found, one) for one in value) if isinstance(value, list | tuple) else _contains(value, found)


def _contains(found: object, value: object) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and fold(value) in fold(found)
    return isinstance(found, list | tuple) and any(_equals(one, value) for one in found)


_COMPARISONS: Mapping[Op, Callable[[object, object], bool]] = {
    Op.EQUALS: _equals,
    Op.NOT_EQUALS: lambda found, value: not _equals(found, value),
    Op.IN: _is_in,
    Op.CONTAINS: _contains,
    Op.EXISTS: lambda found, _: found is not ABSENT and found is not None,
    Op.MISSING: lambda found, _: found is ABSENT or found is None,
}
