"""Filters on numbers, as in LiquidJS; whole numbers stay exact beyond what JavaScript can hold."""

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from math import ceil, floor, fmod, isfinite

from liquid.exceptions import FilterArgumentError

from tidings.domain.content.liquid.values import is_truthy, number_of, number_or_zero

LARGEST_EXACT = 2**53 - 1
MOST_PLACES = 400
Number = int | float


def number_filters() -> Mapping[str, Callable[..., object]]:
    """Every filter of this module by its name."""
    return {
        "abs": _abs,
        "at_least": _at_least,
        "at_most": _at_most,
        "ceil": _ceil,
        "divided_by": _divided_by,
        "floor": _floor,
        "minus": _minus,
        "modulo": _modulo,
        "plus": _plus,
        "round": _round,
        "times": _times,
        "to_integer": _to_integer,
    }


def _plus(value: object, other: object) -> Number:
    return number_or_zero(value) + number_or_zero(other)


def _minus(value: object, other: object) -> Number:
    return number_or_zero(value) - number_or_zero(other)


def _times(value: object, other: object) -> Number:
    return number_or_zero(value) * number_or_zero(other)


def _divided_by(value: object, divisor: object, whole: object = False) -> Number:
    left, right = number_or_zero(value), number_or_zero(divisor)
    if right == 0:
        raise FilterArgumentError("divided_by: cannot divide by 0", token=None)
    if is_truthy(whole) and number_or_zero(whole):
        return left // right
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _modulo(value: object, divisor: object) -> Number:
    left, right = number_or_zero(value), number_or_zero(divisor)
    if right == 0:
        raise FilterArgumentError("modulo: cannot divide by 0", token=None)
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    return fmod(fmod(left, right) + right, right) if isfinite(left) else left


def _abs(value: object) -> Number:
    return abs(number_or_zero(value))


def _at_least(value: object, least: object) -> Number:
    return max(number_or_zero(value), number_or_zero(least))


def _at_most(value: object, most: object) -> Number:
    return min(number_or_zero(value), number_or_zero(most))


def _ceil(value: object) -> Number:
    number = number_or_zero(value)
    return ceil(number) if _is_finite(number) else number


def _floor(value: object) -> Number:
    number = number_or_zero(value)
    return floor(number) if _is_finite(number) else number


def _round(value: object, digits: object = 0) -> Number:
    """Round half away from zero, on the digits as they are written; where a float has no more, nothing is rounded."""
    number, places = number_or_zero(value), number_or_zero(digits)
    if not _is_finite(number) or not -MOST_PLACES <= places <= MOST_PLACES or int(places) != places:
        return number
    exact = Decimal(str(number))
    if abs(exact.scaleb(int(places))) > LARGEST_EXACT:
        return number
    return float(exact.quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP))


def _is_finite(number: Number) -> bool:
    return isinstance(number, int) or isfinite(number)


def _to_integer(value: object) -> Number:
    return number_of(value)
