"""What is wrong with a template that parses: what could never be rendered, whatever the data.

Called by template.py when a template is checked, not when it is rendered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, signature

from liquid import BoundTemplate, Environment, Expression, Node, RenderContext
from liquid.builtin.expressions import (
    Filter,
    FilteredExpression,
    KeywordArgument,
    Literal,
    LoopExpression,
    PositionalArgument,
)
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.builtin.output import OutputNode
from liquid.exceptions import LiquidError

from tidings.domain.content.liquid.dates import zone_of
from tidings.domain.content.liquid.environment import MAX_LOOP_ITERATIONS
from tidings.domain.content.liquid.expressions import expression_of
from tidings.domain.content.liquid.filters import ANY_LENGTH
from tidings.domain.content.liquid.partials import PartialNode
from tidings.domain.content.liquid.values import MAX_ITEMS, number_or_zero
from tidings.domain.content.liquid.variables import ParsedTemplate

_GIVEN_BY_LIQUID = frozenset({"context", "environment"})


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, and at which character."""

    message: str
    index: int


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a filter takes after the value: so many, and these by name."""

    least: int
    most: int
    names: frozenset[str]

    def __str__(self) -> str:
        if self.least == self.most:
            count = "no arguments" if not self.most else f"{self.most} argument{'s' * (self.most > 1)}"
        else:
            count = f"{self.least} to {self.most} arguments" if self.most > 1 else "at most 1 argument"
        return count + "".join(f" and {name}" for name in sorted(self.names))


def mistakes_in(parsed: ParsedTemplate) -> Iterator[Mistake]:
    """Yield everything that no data can make right, in the order it is written."""
    most_in = _MostIterations(parsed.partials)
    for node, iterations in _nodes(parsed.template):
        for expression in node.expressions():
            place = expression.token.start_index
            if isinstance(expression, LoopExpression) and iterations > MAX_LOOP_ITERATIONS:
                yield Mistake(f"loops {iterations} times; the most is {MAX_LOOP_ITERATIONS}", place)
            if isinstance(node, OutputNode) and _goes_over_a_long_range(expression):
                yield Mistake(f"prints a range of more than {MAX_ITEMS} numbers", place)
            yield from _mistakes_of(expression, parsed.template.env)
        total = iterations * most_in.partial(node.name) if isinstance(node, PartialNode) else 0
        if isinstance(node, PartialNode) and total > MAX_LOOP_ITERATIONS:
            message = f"template {node.name!r} loops {total} times here; the most is {MAX_LOOP_ITERATIONS}"
            yield Mistake(message, node.token.start_index)


class _MostIterations:
    """How often the innermost loop of what is rendered runs, as far as the templates say so."""

    def __init__(self, partials: Mapping[str, BoundTemplate]) -> None:
        self._partials = partials
        self._known: dict[str, int] = {}

    def partial(self, name: str) -> int:
        """Of one template; 1 where nothing loops a known number of times."""
        if name not in self._known:
            self._known[name] = 1  # of one that renders itself: linking.py refuses it
            nodes = _nodes(self._partials[name]) if name in self._partials else ()
            self._known[name] = max([1, *(self._of(node, times) for node, times in nodes)])
        return self._known[name]

    def _of(self, node: Node, times: int) -> int:
        return times * self.partial(node.name) if isinstance(node, PartialNode) else times


def _nodes(template: BoundTemplate) -> Iterator[tuple[Node, int]]:
    """Yield each node, and how often it runs at least if the loops around it and its own have a known length."""
    static_context = RenderContext(template)

    def visit(nodes: Iterable[Node], times: int) -> Iterator[tuple[Node, int]]:
        for node in nodes:
            inner = times * max([1, *map(_known_length, node.expressions())])
            yield node, inner
            yield from visit(node.children(static_context, include_partials=False), inner)

    return visit(template.nodes, 1)


def _known_length(expression: Expression) -> int:
    """How many items a loop goes over if the template says so; otherwise 0."""
    if not isinstance(expression, LoopExpression) or expression.limit or expression.offset:
        return 0
    return _range_length(expression.iterable)


def _range_length(expression: Expression) -> int:
    if not isinstance(expression, RangeLiteral):
        return 0
    ends = (expression.start, expression.stop)
    numbers = [end.value for end in ends if isinstance(end, Literal) and isinstance(end.value, int)]
    return max(numbers[1] - numbers[0] + 1, 0) if len(numbers) == 2 else 0


def _mistakes_of(expression: Expression, env: Environment) -> Iterator[Mistake]:
    if isinstance(expression, FilteredExpression):
        for each in expression.filters or ():
            yield from _mistakes_of_filter(each, env)
    for child in expression.children():
        yield from _mistakes_of(child, env)


def _goes_over_a_long_range(expression: Expression) -> bool:
    if not isinstance(expression, FilteredExpression) or _range_length(expression.left) <= MAX_ITEMS:
        return False
    return not expression.filters or expression.filters[0].name not in ANY_LENGTH


def _mistakes_of_filter(each: Filter, env: Environment) -> Iterator[Mistake]:
    place = each.token.start_index
    function = env.filters.get(each.name)
    if function is None:
        yield Mistake(f"unknown filter {each.name!r}", place)
        return
    takes = arguments_of(function)
    given = [one.value for one in each.args if isinstance(one, PositionalArgument)]
    named = {one.name for one in each.args if isinstance(one, KeywordArgument)}
    if not takes.least <= len(given) <= takes.most or not named <= takes.names:
        what = f"{len(given)}" + "".join(f" and {name}" for name in sorted(named))
        yield Mistake(f"{each.name!r} takes {takes}, not {what}", place)
    elif reason := _refusal(each.name, given, env):
        yield Mistake(reason, place)


@lru_cache(maxsize=256)
def arguments_of(function: Callable[..., object]) -> Arguments:
    """What a filter takes, as its own function says."""
    _value, *others = signature(function).parameters.values()
    positional = [one for one in others if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    required = [one for one in positional if one.default is Parameter.empty]
    names = {one.name for one in others if one.kind is Parameter.KEYWORD_ONLY} - _GIVEN_BY_LIQUID
    return Arguments(len(required), len(positional), frozenset(names))


# Arguments that the template itself gives


def _refusal(name: str, given: list[Expression], env: Environment) -> str | None:
    """Why a filter would fail with an argument that is written out in the template."""
    check = _CHECKED.get(name)
    if check is None or len(given) <= check[0] or not isinstance(given[check[0]], Literal):
        return None
    argument = given[check[0]]
    return check[1](argument.value if isinstance(argument, Literal) else None, env)


def _check_divisor(value: object, _env: Environment) -> str | None:
    return "cannot divide by 0" if number_or_zero(value) == 0 else None


def _check_zone(value: object, _env: Environment) -> str | None:
    try:
        zone_of(value)
    except LiquidError as error:
        return str(error.message)
    return None


def _check_expression(value: object, env: Environment) -> str | None:
    try:
        wrong = next(_mistakes_of(expression_of(env, str(value)), env), None)
    except LiquidError as error:
        return f"{value!r}: {error.message}"
    return f"{value!r}: {wrong.message}" if wrong else None


_EXPRESSION = (1, _check_expression)
_CHECKED: Mapping[str, tuple[int, Callable[[object, Environment], str | None]]] = {
    "divided_by": (0, _check_divisor),
    "modulo": (0, _check_divisor),
    "date": (1, _check_zone),
    **dict.fromkeys(("where_exp", "reject_exp", "find_exp", "find_index_exp", "has_exp", "group_by_exp"), _EXPRESSION),
}
