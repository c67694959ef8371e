"""Every filter a template may use, each bounded in what it takes and makes.

Part of environment.py; the filters themselves are in strings.py, numbers.py, lists.py and
dates.py.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import wraps
from math import isfinite

from tidings.domain.content.liquid.dates import date_filters
from tidings.domain.content.liquid.lists import list_filters
from tidings.domain.content.liquid.numbers import number_filters
from tidings.domain.content.liquid.strings import MAX_VALUE_CHARS, string_filters, too_long
from tidings.domain.content.liquid.values import (
    LISTS,
    MAX_ITEMS,
    Missing,
    TooLarge,
    is_missing,
    is_truthy,
    number_or_zero,
    plain,
)

MAX_INTEGER_BITS = 16_384
MOST_INDENT = 10

Filter = Callable[..., object]

ANY_LENGTH = frozenset({"first", "last", "size"})
"""Filters that answer from the ends or the length of a list, so its size costs nothing."""
# Filters of python-liquid that LiquidJS does not have.
_KEPT = frozenset({"base64_url_safe_decode", "base64_url_safe_encode", "escapejs", "safe"})


def every_filter(builtin: Mapping[str, Filter]) -> dict[str, Filter]:
    """All filters by their names; `builtin` are python-liquid's."""
    found = {name: builtin[name] for name in _KEPT}
    found |= {**string_filters(), **number_filters(), **list_filters(), **date_filters()}
    found |= {"json": _json, "jsonify": _json, "inspect": _json}
    return {name: limited(name, function) for name, function in found.items()} | {"default": _default}


def limited(name: str, function: Filter) -> Filter:
    """Bound what a filter takes and makes; a missing value passes through, for `default` or the output to judge."""

    @wraps(function)
    def limited(value: object, *args: object, **kwargs: object) -> object:
        if type(value) is Missing:
            return value
        if name not in ANY_LENGTH:
            _check_length(name, value)
        return plain(_bounded(name, function(plain(value), *map(_argument, args), **kwargs)))

    return limited


def _argument(value: object) -> object:
    if type(value) is Missing:
        str(value)  # raises, naming the variable
    return plain(value)


def _check_length(name: str, value: object) -> None:
    if isinstance(value, LISTS) and len(value) > MAX_ITEMS:
        raise TooLarge(f"{name!r} exceeds the limit of {MAX_ITEMS} items")


def _bounded(name: str, result: object) -> object:
    if isinstance(result, int):
        if result.bit_length() > MAX_INTEGER_BITS:
            raise TooLarge(f"{name!r} exceeds the limit of {MAX_INTEGER_BITS} bits")
        return result
    _check_length(name, result)
    # A list may hold one long string, or one list, many times over: it is small until it is printed.
    if _left_after(result, MAX_VALUE_CHARS) < 0:
        raise too_long(name)
    return result


def _left_after(value: object, budget: int) -> int:
    """Take the characters and items in a value off the budget; stop counting once it is overdrawn."""
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
        budget = _left_after(part, budget - 1)
    return budget


def _default(value: object, fallback: object = "", *, allow_false: object = False) -> object:
    """Replace null, false, what is missing, and an empty string or list."""
    if is_missing(value) or value is None:
        return fallback
    if value is False:
        return value if is_truthy(allow_false) else fallback
    found = plain(value)
    return fallback if isinstance(found, str | list | tuple | range) and not len(found) else value


def _json(value: object, indent: object = 0) -> str:
    if isinstance(indent, str) and not indent.isdecimal():
        space: int | str | None = indent[:MOST_INDENT] or None
    else:
        space = max(min(int(number_or_zero(indent)), MOST_INDENT), 0) or None
    separators = (",", ": ") if space else (",", ":")
    return json.dumps(_plain_deep(value), ensure_ascii=False, indent=space, separators=separators)


def _plain_deep(value: object) -> object:
    if isinstance(value, LISTS):
        return [_plain_deep(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain_deep(item) for key, item in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return None
    return str(value) if isinstance(value, date) else plain(value)
