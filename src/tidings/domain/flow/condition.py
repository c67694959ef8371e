"""Conditions on the edges out of a branch: data compared with data, so deciding needs no template or child process."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never


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
    EXISTS = "exists"
    MISSING = "missing"


WITHOUT_VALUE = frozenset({Op.EXISTS, Op.MISSING})


@dataclass(frozen=True, slots=True)
class Compare:
    """Compares one value of the context, by its dotted path, with a given one."""

    path: tuple[str, ...]
    op: Op
    value: object = None


@dataclass(frozen=True, slots=True)
class Every:
    """True if all conditions hold."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """True if at least one condition holds."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Neither:
    """True if the condition does not hold."""

    condition: "Condition"


Condition = Compare | Every | Either | Neither


class _Absent:
    """The value of a path that leads nowhere: unlike null, it equals nothing."""


_ABSENT = _Absent()
_LONGEST_INDEX = 18


def holds(condition: Condition, context: Mapping[str, object]) -> bool:
    """Whether a condition is true of a context; comparing values that have no order is false."""
    match condition:
        case Compare():
            return _compares(condition.op, _found(context, condition.path), condition.value)
        case Every(conditions):
            return all(holds(one, context) for one in conditions)
        case Either(conditions):
            return any(holds(one, context) for one in conditions)
        case Neither(negated):
            return not holds(negated, context)
        case _:
            assert_never(condition)


def _found(context: object, path: Sequence[str]) -> object:
    for name in path:
        if isinstance(context, Mapping) and name in context:
            context = context[name]
        elif isinstance(context, list) and _is_index(name) and int(name) < len(context):
            context = context[int(name)]
        else:
            return _ABSENT
    return context


def _is_index(name: str) -> bool:
    return name.isdecimal() and len(name) <= _LONGEST_INDEX  # Python refuses to read an int of thousands of digits


def _compares(op: Op, found: object, value: object) -> bool:
    if op is Op.EXISTS:
        return found is not _ABSENT and found is not None
    if op is Op.MISSING:
        return found is _ABSENT or found is None
    if op is Op.NOT_EQUALS:
        return not _equal(found, value)
    if found is _ABSENT:
        return False
    return _COMPARISONS[op](found, value)


def _equal(one: object, other: object) -> bool:
    """Whether two values are equal as JSON: 1 is not true, and 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def _contains(found: object, value: object) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    return isinstance(found, list) and any(_equal(one, value) for one in found)


def _is_in(found: object, value: object) -> bool:
    return _contains(value, found)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    """Compare numbers with numbers and strings with strings; nothing else has an order."""

    def comparison(found: object, value: object) -> bool:
        texts = isinstance(found, str) and isinstance(value, str)
        return (texts or (_is_number(found) and _is_number(value))) and compare(found, value)

    return comparison


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_COMPARISONS: Mapping[Op, Callable[[object, object], bool]] = {
    Op.EQUALS: _equal,
    Op.GREATER: _ordered(operator.gt),
    Op.GREATER_OR_EQUAL: _ordered(operator.ge),
    Op.LESS: _ordered(operator.lt),
    Op.LESS_OR_EQUAL: _ordered(operator.le),
    Op.CONTAINS: _contains,
    Op.IN: _is_in,
}
