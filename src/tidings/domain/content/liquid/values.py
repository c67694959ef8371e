"""Values as LiquidJS sees them: how they print, compare, count as numbers and lists, and what is inside them.

Part of environment.py. Every function here takes any value that a template can hold and raises nothing but
TooLarge: what a template may say must not fail for the type of what it meets.
"""

import re
from collections.abc import ItemsView, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from math import isfinite, isnan, nan

from liquid import StrictDefaultUndefined, Token
from liquid.builtin.expressions.primitive import Blank, Empty
from liquid.undefined import UNDEFINED

MAX_ITEMS = 10_000
LONGEST_NUMBER = 400
"""Of the characters in a string that counts as a number."""

List = list[object] | tuple[object, ...] | range
LISTS = (list, tuple, range)
_EMPTY = (Empty, Blank)

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?Infinity", re.ASCII)
_OTHER_BASES = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_NAME = re.compile(r"[^.\[\]'\"]+")


class TooLarge(Exception):
    """A filter would have made a value beyond the limits."""


class Missing(StrictDefaultUndefined):
    """False in a condition, empty in a loop, replaced by `default`; an error that names it anywhere else."""

    __slots__ = ()
    allowed_properties = StrictDefaultUndefined.allowed_properties | {"__class__", "__liquid__", "items"}

    def __init__(self, name: str, *, token: Token | None, obj: object = UNDEFINED, hint: str | None = None) -> None:
        super().__init__(name, token=token, obj=obj, hint=hint)

    def __len__(self) -> int:
        return 0

    def items(self) -> ItemsView[object, object]:
        """Nothing to loop over."""
        return {}.items()


def is_missing(value: object) -> bool:
    """Whether it stands for a variable that is not there."""
    return type(value) is Missing


class MissingValue:
    """What read() returns where there is nothing; a null is something."""


ABSENT = MissingValue()


# As text


def text_of(value: object) -> str:
    """Print a value; a string stays what it is, marked as safe or not."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, LISTS):
        return "".join(map(text_of, within_limits("output", value)))
    return string_of(value)


def string_of(value: object) -> str:
    """JavaScript's String(): what an element of a list prints in `join`, where it is not null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, LISTS):
        return ",".join("" if one is None else string_of(one) for one in within_limits("output", value))
    if isinstance(value, Mapping) and not is_missing(value):
        return "[object Object]"
    if isinstance(value, _EMPTY):
        return ""
    return "null" if value is None else str(value)  # of what is missing: raises, naming it


def plain(value: object) -> object:
    """A float without a fraction is an integer, as it is in JavaScript; `empty` and `blank` are an empty string."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    return "" if isinstance(value, _EMPTY) else value


def _float_text(value: float) -> str:
    if not isfinite(value):
        return "NaN" if isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    text = str(plain(value))
    if "e" not in text:
        return text
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(text), "f")
    return re.sub(r"e([+-])0", r"e\1", text)


def utf16_length(text: str) -> int:
    """The length that JavaScript counts: an emoji is two."""
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)


# As a number


def number_of(value: object) -> int | float:
    """JavaScript's Number(): null and an empty string are 0, what is no number is NaN."""
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        return value
    if value is None or isinstance(value, _EMPTY):
        return 0
    if isinstance(value, LISTS):
        return number_of(string_of(value)) if len(value) < 2 else nan
    return _parsed_number(value.strip()) if isinstance(value, str) else nan


def _parsed_number(text: str) -> int | float:
    if not text:
        return 0
    if len(text) > LONGEST_NUMBER:
        return nan
    if _OTHER_BASES.fullmatch(text):
        return int(text, 0)
    if not _NUMBER.fullmatch(text):
        return nan
    return int(text) if text.lstrip("+-").isdecimal() else float(text)


def number_or_zero(value: object) -> int | float:
    """The number that filters calculate with."""
    number = number_of(value)
    return 0 if is_nan(number) else number


def is_nan(number: int | float) -> bool:
    """Whether it is the number that is none."""
    return type(number) is float and isnan(number)


def whole_number(value: object) -> int:
    """A number without its fraction, within what an index can be."""
    number = number_or_zero(value)
    return int(max(min(number, MAX_INDEX), -MAX_INDEX))


MAX_INDEX = 2**31


# As a list


def list_of(value: object) -> Sequence[object]:
    """A list as it is, nothing as an empty one, anything else as a list of one."""
    if isinstance(value, LISTS):
        return value
    return () if value is None or is_missing(value) else (value,)


def enumerated(value: object) -> Sequence[object]:
    """What a loop goes over: the names and values of an object, a string as a whole."""
    if isinstance(value, LISTS):
        return value
    if isinstance(value, Mapping):
        return [[name, one] for name, one in value.items()]
    return (value,) if isinstance(value, str) and value else ()


def within_limits(name: str, value: Sequence[object]) -> Sequence[object]:
    """The list itself, unless it has too many items to go over."""
    if len(value) > MAX_ITEMS:
        raise TooLarge(f"{name!r} exceeds the limit of {MAX_ITEMS} items")
    return value


# What is inside


def read(value: object, key: object) -> object:
    """A property, an element, or a computed name; null beyond the ends of a list; ABSENT where there is nothing."""
    if type(value) is dict or (isinstance(value, Mapping) and not is_missing(value)):
        return _read_mapping(value, key)
    if isinstance(value, LISTS):
        return _read_list(value, key)
    if isinstance(value, str):
        return _read_string(value, key)
    return ABSENT


def _read_mapping(value: Mapping[str, object], key: object) -> object:
    name = key if isinstance(key, str) else string_of(plain(key))
    try:
        return value[name]
    except KeyError:
        return len(value) if name == "size" else ABSENT


def _read_list(value: List, key: object) -> object:
    if key in ("size", "length"):
        return len(value)
    if key in ("first", "last"):
        key = 0 if key == "first" else -1
    elif isinstance(key, str):
        if not (key.isdecimal() and key.isascii() and len(key) < 20):
            return ABSENT
        key = int(key)
    index = plain(key)
    if isinstance(index, bool) or not isinstance(index, int):
        return ABSENT
    return value[index] if -len(value) <= index < len(value) else None


def _read_string(value: str, key: object) -> object:
    if key in ("size", "length"):
        return utf16_length(value)
    index = plain(key)
    if isinstance(index, bool) or not isinstance(index, int):
        return ABSENT
    return value[index] if 0 <= index < len(value) else None


@lru_cache(maxsize=256)
def _names(path: str) -> tuple[str, ...]:
    return tuple(_NAME.findall(path))


def property_of(value: object, path: str) -> object:
    """What a path like `address.city` or `tags[0]` leads to, or null."""
    for name in _names(path):
        value = read(value, name)
        if value is ABSENT:
            return None
    return value


# Compared


def is_truthy(value: object) -> bool:
    """Everything is, but null, false and what is missing."""
    return not (value is None or value is False or is_missing(value))


def equals(left: object, right: object) -> bool:
    """The same type and the same value; `empty` and `blank` are equal to what is."""
    if isinstance(left, _EMPTY):
        return _is_empty(left, right)
    if isinstance(right, _EMPTY):
        return _is_empty(right, left)
    if left is None or right is None or is_missing(left) or is_missing(right):
        return (left is None or is_missing(left)) and (right is None or is_missing(right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, LISTS) and isinstance(right, LISTS):
        return _same_items(left, right)
    return left is right if isinstance(left, Mapping) else left == right


def _is_empty(kind: Empty | Blank, value: object) -> bool:
    if isinstance(kind, Blank):
        if value is None or value is False or is_missing(value):
            return True
        if isinstance(value, str):
            return not value.strip()
    return isinstance(value, str | list | tuple | range | Mapping) and not len(value)


def _same_items(left: List, right: List) -> bool:
    if isinstance(left, range) and isinstance(right, range):
        return left == right
    return len(left) == len(right) and all(map(equals, left, right))


def less(left: object, right: object) -> bool:
    """JavaScript's `<`: strings by their characters, anything else by its number; never where one has none."""
    return _order(left, right) == -1


def at_most(left: object, right: object) -> bool:
    """JavaScript's `<=`."""
    return _order(left, right) in {-1, 0}


def _order(left: object, right: object) -> int | None:
    """-1, 0 or 1; None where they cannot be compared."""
    if is_missing(left) or is_missing(right):
        return None
    one, other = _primitive(left), _primitive(right)
    if isinstance(one, str) and isinstance(other, str):
        return (one > other) - (one < other)
    first, second = number_of(one), number_of(other)
    return None if is_nan(first) or is_nan(second) else (first > second) - (first < second)


def _primitive(value: object) -> object:
    return string_of(value) if isinstance(value, list | tuple | range | Mapping) else value


def contains(left: object, right: object) -> bool:
    """Whether a list has an item, or a string another one."""
    if isinstance(left, range):
        return not isinstance(right, bool) and isinstance(right, int | float) and right in left
    if isinstance(left, list | tuple):
        return any(equals(one, right) for one in left)
    if not isinstance(left, str) or is_missing(right):
        return False
    return string_of(right) in left if not isinstance(right, str) else right in left


def identity_of(value: object) -> tuple[object, object]:
    """A key for a value as JavaScript's Set and Map keep it: lists and objects by themselves, not by what they hold."""
    if isinstance(value, str):
        return "string", str(value)
    if value is None or isinstance(value, bool):
        return "word", value
    return ("number", value) if isinstance(value, int | float) else ("object", id(value))


def unique(values: Iterable[object], keys: Iterable[object]) -> list[object]:
    """The values without those whose key was there before."""
    found: dict[object, object] = {}
    for value, key in zip(values, keys, strict=True):
        found.setdefault(identity_of(key), value)
    return list(found.values())
