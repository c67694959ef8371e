"""Filters on lists, as in LiquidJS. Those that end in `_exp` evaluate an expression of their own for each item, and
count as a loop over them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key

from liquid import Environment, Markup, RenderContext
from liquid.builtin.tags.for_tag import ForLoop
from liquid.filter import with_context, with_environment

from tidings.domain.content.liquid.expressions import expression_of
from tidings.domain.content.liquid.strings import MAX_VALUE_CHARS, too_long
from tidings.domain.content.liquid.values import (
    LISTS,
    enumerated,
    equals,
    identity_of,
    is_nan,
    is_truthy,
    less,
    list_of,
    number_of,
    property_of,
    string_of,
    text_of,
    unique,
    utf16_length,
    whole_number,
    within_limits,
)

_NOT_GIVEN = object()


def list_filters() -> Mapping[str, Callable[..., object]]:
    """Every filter of this module by its name."""
    return {
        "compact": _compact,
        "concat": _concat,
        "find": _find,
        "find_exp": with_context(_find_exp),
        "find_index": _find_index,
        "find_index_exp": with_context(_find_index_exp),
        "first": _first,
        "group_by": _group_by,
        "group_by_exp": with_context(_group_by_exp),
        "has": _has,
        "has_exp": with_context(_has_exp),
        "join": with_environment(_join),
        "last": _last,
        "map": _map,
        "pop": _pop,
        "push": _push,
        "reject": _reject,
        "reject_exp": with_context(_reject_exp),
        "reverse": _reverse,
        "sample": with_context(_sample),
        "shift": _shift,
        "size": _size,
        "slice": _slice,
        "sort": _sort,
        "sort_natural": _sort_natural,
        "sum": _sum,
        "uniq": _uniq,
        "unshift": _unshift,
        "where": _where,
        "where_exp": with_context(_where_exp),
    }


def _properties(items: Sequence[object], name: object) -> list[object]:
    """The property of that name of each item; without a name, the items themselves."""
    path = text_of(name)
    return [property_of(item, path) for item in items] if path else list(items)


# The whole list


def _join(value: object, separator: object = None, *, environment: Environment) -> str:
    between = (Markup(" ") if environment.autoescape else " ") if separator is None else text_of(separator)
    items = ["" if item is None else (item if isinstance(item, str) else string_of(item)) for item in list_of(value)]
    if sum(map(len, items)) + len(between) * len(items) > MAX_VALUE_CHARS:
        raise too_long("join")
    return between.join(items)


def _size(value: object) -> int:
    if isinstance(value, str):
        return utf16_length(value)
    return len(value) if isinstance(value, LISTS) else 0


def _first(value: object) -> object:
    return value[0] if isinstance(value, list | tuple | range | str) and len(value) else None


def _last(value: object) -> object:
    return value[-1] if isinstance(value, list | tuple | range | str) and len(value) else None


def _reverse(value: object) -> list[object]:
    return list(list_of(value))[::-1]


def _slice(value: object, begin: object, length: object = 1) -> object:
    if value is None:
        return []
    items: Sequence[object] | str = value if isinstance(value, list | tuple | range | str) else text_of(value)
    start, count = whole_number(begin), whole_number(length)
    start += len(items) if start < 0 else 0
    cut = items[start : start + count] if start >= 0 and count >= 0 else items[:0]
    return cut if isinstance(cut, str) else list(cut)


def _sum(value: object, name: object = None) -> int | float:
    numbers = [number_of(item) for item in _properties(list_of(value), name)]
    return sum(number for number in numbers if not is_nan(number))


def _map(value: object, name: object) -> list[object]:
    return _properties(list_of(value), name)


def _compact(value: object, name: object = None) -> list[object]:
    items = list_of(value)
    return [item for item, one in zip(items, _properties(items, name), strict=True) if one is not None]


def _uniq(value: object, name: object = None) -> list[object]:
    items = list_of(value)
    return unique(items, _properties(items, name))


# Adding and taking away


def _concat(value: object, more: object = None) -> list[object]:
    return [*list_of(value), *within_limits("concat", list_of(more))]


def _push(value: object, item: object) -> list[object]:
    return [*list_of(value), item]


def _unshift(value: object, item: object) -> list[object]:
    return [item, *list_of(value)]


def _pop(value: object) -> list[object]:
    return list(list_of(value))[:-1]


def _shift(value: object) -> list[object]:
    return list(list_of(value))[1:]


def _sample(value: object, count: object = 1, *, context: RenderContext) -> object:
    """Choose by chance that the data of the message decides: rendered again, it is the same choice."""
    if value is None:
        return []
    items = list(within_limits("sample", value if isinstance(value, LISTS) else text_of(value)))
    seed = _next_seed(context)
    places = sorted(range(len(items)), key=lambda place: hashlib.sha256(seed + str(place).encode()).digest())
    shuffled = [items[place] for place in places]
    if count == 1:
        return shuffled[0] if shuffled else None
    return shuffled[: max(whole_number(count), 0)]


def _next_seed(context: RenderContext) -> bytes:
    """Another one for each choice in a message, the same ones each time it is rendered."""
    while context.parent_context:
        context = context.parent_context  # of what renders this template
    before: bytes | None = context.tag_namespace.get("seed")
    if before is None:
        data = {name: value for name, value in context.globals.items() if name not in {"now", "today"}}
        before = repr(data).encode(errors="replace")
    context.tag_namespace["seed"] = seed = hashlib.sha256(before).digest()
    return seed


# Sorting


def _sort(value: object, name: object = None) -> list[object]:
    return _sorted(value, name, lambda key: key)


def _sort_natural(value: object, name: object = None) -> list[object]:
    return _sorted(value, name, lambda key: string_of(key).lower())


def _sorted(value: object, name: object, change: Callable[[object], object]) -> list[object]:
    """Sort by the items or a property of them; nothing is last."""
    items = list_of(value)
    keys = _properties(items, name)
    known = [(change(key), item) for key, item in zip(keys, items, strict=True) if key is not None]
    known.sort(key=cmp_to_key(_order))
    return [item for _, item in known] + [item for key, item in zip(keys, items, strict=True) if key is None]


def _order(one: tuple[object, object], other: tuple[object, object]) -> int:
    """By the keys of two pairs."""
    return -1 if less(one[0], other[0]) else int(less(other[0], one[0]))


# Searching by a property


def _matches(items: Sequence[object], name: object, expected: object) -> list[bool]:
    """Whether the property of each item is the expected one; if none is, whether it is true."""
    found = _properties(items, name)
    return [is_truthy(one) if expected is _NOT_GIVEN else equals(one, expected) for one in found]


def _where(value: object, name: object, expected: object = _NOT_GIVEN) -> list[object]:
    items = list_of(value)
    return [item for item, is_match in zip(items, _matches(items, name, expected), strict=True) if is_match]


def _reject(value: object, name: object, expected: object = _NOT_GIVEN) -> list[object]:
    items = list_of(value)
    return [item for item, is_match in zip(items, _matches(items, name, expected), strict=True) if not is_match]


def _find_index(value: object, name: object, expected: object = _NOT_GIVEN) -> int | None:
    matches = _matches(list_of(value), name, expected)
    return matches.index(True) if True in matches else None


def _find(value: object, name: object, expected: object = _NOT_GIVEN) -> object:
    place = _find_index(value, name, expected)
    return None if place is None else list_of(value)[place]


def _has(value: object, name: object, expected: object = _NOT_GIVEN) -> bool:
    return _find_index(value, name, expected) is not None


def _group_by(value: object, name: object) -> list[object]:
    items = within_limits("group_by", enumerated(value))
    return _grouped(zip(_properties(items, name), items, strict=True))


def _grouped(pairs: Iterable[tuple[object, object]]) -> list[object]:
    groups: dict[object, tuple[object, list[object]]] = {}
    for key, item in pairs:
        groups.setdefault(identity_of(key), (key, []))[1].append(item)
    return [{"name": key, "items": items} for key, items in groups.values()]


# Searching by an expression


def _evaluated(
    items: Sequence[object], name: object, expression: object, context: RenderContext
) -> Iterator[tuple[object, object]]:
    """Yield what an expression says of each item, and the item."""
    parsed = expression_of(context.env, text_of(expression))
    variable = text_of(name)
    namespace: dict[str, object] = {}
    loop = ForLoop(variable, iter(()), len(items), None)
    with context.loop(namespace, loop):
        for item in items:
            namespace[variable] = item
            yield parsed.evaluate(context), item


def _where_exp(value: object, name: object, expression: object, *, context: RenderContext) -> list[object]:
    return [item for found, item in _evaluated(list_of(value), name, expression, context) if found is True]


def _reject_exp(value: object, name: object, expression: object, *, context: RenderContext) -> list[object]:
    return [item for found, item in _evaluated(list_of(value), name, expression, context) if found is False]


def _find_index_exp(value: object, name: object, expression: object, *, context: RenderContext) -> int | None:
    places = [_holds(found) for found, _ in _evaluated(list_of(value), name, expression, context)]
    return places.index(True) if True in places else None


def _find_exp(value: object, name: object, expression: object, *, context: RenderContext) -> object:
    place = _find_index_exp(value, name, expression, context=context)
    return None if place is None else list_of(value)[place]


def _has_exp(value: object, name: object, expression: object, *, context: RenderContext) -> bool:
    return _find_index_exp(value, name, expression, context=context) is not None


def _holds(found: object) -> bool:
    """Whether it is true in JavaScript, where 0 and an empty string are not."""
    return is_truthy(found) and not (isinstance(found, str | int | float) and not found)


def _group_by_exp(value: object, name: object, expression: object, *, context: RenderContext) -> list[object]:
    return _grouped(_evaluated(within_limits("group_by_exp", enumerated(value)), name, expression, context))
