"""Liquid templates under limits: what they need, whether they are valid, and what they render to.

A template is untrusted. Here every limit that Liquid knows is set, and filters may not grow a value without bound;
kernel/render.py adds the hard limits of a process. Rendering is deterministic: the time is passed in. Numbers,
`round`, `divided_by`, `join`, `json` and `not` behave as in LiquidJS.

`liquid` takes a third of a second to import, so it is imported by the first template that has Liquid in it; that is
why its subclasses are made inside functions.
"""
# ruff: noqa: PLC0415

import json
import math
import re
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cache, lru_cache, wraps
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from tidings.domain.errors import TemplateInvalid

if TYPE_CHECKING:
    from liquid import BoundTemplate, Environment, Node, RenderContext, Token, Undefined
    from liquid.builtin.expressions import Path
    from liquid.expression import Expression

MAX_SOURCE_CHARS = 200_000
MAX_TAGS = 5_000
MAX_TAG_SPACES = 200
MAX_BLOCK_NESTING = 30
MAX_CONTEXT_DEPTH = 30
MAX_LOOP_ITERATIONS = 10_000
MAX_OUTPUT_BYTES = 1_000_000
MAX_LOCALS_BYTES = 1_000_000
MAX_VALUE_CHARS = 1_000_000
MAX_ITEMS = 10_000
MAX_INTEGER_BITS = 16_384
MAX_DATE_CHARS = 100
MAX_REASON_CHARS = 500
CACHED_TEMPLATES = 256
TOO_DEEP = "nested too deeply"

Filter = Callable[..., object]

_OPENING = re.compile(r"\{[{%]")
_VERBATIM = re.compile(r"\{%-?\s*(raw|doc)\s*-?%\}")
_END_VERBATIM = {name: re.compile(rf"\{{%-?\s*end{name}\s*-?%\}}") for name in ("raw", "doc")}
_LONG_SPACE = re.compile(rf"\s{{{MAX_TAG_SPACES},}}")

# Filters that answer from the ends or the length of a list, so its size costs nothing.
_ANY_LENGTH = frozenset({"first", "last", "size"})
# Names that are no property of the data: Liquid computes them.
_COMPUTED = frozenset({"size", "first", "last"})


@dataclass(frozen=True, slots=True)
class RenderFailed:
    """A template that cannot be rendered with this data: the reason names the variable, the place or the limit."""

    reason: str


class _TooLarge(Exception):
    """A value grew past its limit inside a filter."""


def has_liquid(source: str) -> bool:
    """Whether rendering could change the source."""
    return "{{" in source or "{%" in source


def check(source: str, *, html: bool) -> None:
    """Raise TemplateInvalid, with line and column, unless the template parses and knows all its filters."""
    if not has_liquid(source):
        return
    template = parse(source, html=html)
    with _depth_limited():
        used = template.analyze(include_partials=False).filters
    for name, spans in used.items():
        if name not in template.env.filters:
            raise _invalid(f"unknown filter {name!r}", source, spans[0].index)


def parse(source: str, *, html: bool) -> "BoundTemplate":
    """Parse a template, or return it from the cache; raise TemplateInvalid if it cannot be parsed."""
    return _parsed(source, html)


def forget_parsed() -> None:
    """Give back the memory of the parsed templates."""
    _parsed.cache_clear()


def required_variables(source: str) -> frozenset[str]:
    """Return the dotted paths that the data must have: every global that is output without `default`.

    Full paths (`contact.name`), cut before an index or a computed name (`items[0].x` and `items.size` need `items`).
    Not what is only tested, assigned or looped over, nor `step_*`, `vars.*`, `now`, `today`, nor the fallback given to
    `default`. A variable that is output inside an `if` is required: null is a value, and will do.
    """
    if not has_liquid(source):
        return frozenset()
    template = parse(source, html=False)
    with _depth_limited():
        return frozenset(_required(template))


def missing_variables(required: Iterable[str], data: Mapping[str, object]) -> frozenset[str]:
    """Return the paths that the data does not have; a null at the end of a path counts as present."""
    return frozenset(path for path in required if not _has_path(data, path.split(".")))


def render(source: str, data: Mapping[str, object], *, html: bool, now: datetime) -> str | RenderFailed:
    """Render a template; values are escaped when `html`, and `now` is the only time it can see.

    MemoryError is not a result: whoever limits the memory must handle it.
    """
    if not has_liquid(source):
        return source
    try:
        return _render(parse(source, html=html), data, now)
    except MemoryError:
        raise
    except TemplateInvalid as error:
        return RenderFailed(f"{error} (line {error.line}, column {error.column})")
    except Exception as error:  # a template is untrusted: whatever it makes Liquid raise is its own failure
        return RenderFailed(_reason(error))


def _render(template: "BoundTemplate", data: Mapping[str, object], now: datetime) -> str:
    from liquid.output import LimitedStringIO

    context = _context_type()(template, globals={"now": now, "today": now.date(), **data})
    context.tag_namespace["now"] = now
    buffer = LimitedStringIO(limit=MAX_OUTPUT_BYTES)
    template.render_with_context(context, buffer)
    return buffer.getvalue()


def _reason(error: Exception) -> str:
    from liquid.exceptions import LiquidError

    if not isinstance(error, LiquidError):
        named = str(error) if isinstance(error, _TooLarge) else f"{type(error).__name__}: {error}"
        return named[:MAX_REASON_CHARS]
    message = str(error.message)[:MAX_REASON_CHARS]
    if error.token is None or error.token.start_index < 0:
        return message
    line, column = _place(error.token.source, error.token.start_index)
    return f"{message} (line {line}, column {column})"


# Parsing


@lru_cache(maxsize=CACHED_TEMPLATES)
def _parsed(source: str, html: bool) -> "BoundTemplate":
    from liquid.exceptions import LiquidError

    _check_markup(source)
    try:
        return _environment(html).from_string(source)
    except LiquidError as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from None
        reason = TOO_DEEP if isinstance(error.__cause__, RecursionError) else str(error.message)
        raise _invalid(reason, source, error.token.start_index if error.token else 0) from None


def _check_markup(source: str) -> None:
    """Refuse what makes the lexer quadratic: unclosed tags, long blanks in a tag, very many tags, or a huge source."""
    if len(source) > MAX_SOURCE_CHARS:
        raise _invalid(f"the template has {len(source)} characters; the most is {MAX_SOURCE_CHARS}", source, 0)
    for count, (start, end) in enumerate(_tags(source)):
        if count >= MAX_TAGS:
            raise _invalid(f"more than {MAX_TAGS} tags", source, start)
        if _LONG_SPACE.search(source, start, end):
            raise _invalid(f"more than {MAX_TAG_SPACES} blanks in a row inside a tag", source, start)


def _tags(source: str) -> Iterator[tuple[int, int]]:
    """Yield where each tag starts and ends, skipping what `raw` and `doc` enclose."""
    position = 0
    while opening := _OPENING.search(source, position):
        start = opening.start()
        closing = "}}" if opening[0] == "{{" else "%}"
        end = source.find(closing, start + 2)
        if end < 0:
            raise _invalid(f"{opening[0]!r} is never closed: expected {closing!r}", source, start)
        yield start, end
        position = _after_verbatim(source, start) or end + 2


def _after_verbatim(source: str, start: int) -> int | None:
    tag = _VERBATIM.match(source, start)
    if tag is None:
        return None
    end = _END_VERBATIM[tag[1]].search(source, tag.end())
    if end is None:
        raise _invalid(f"{tag[1]!r} is never closed", source, start)
    return end.end()


def _invalid(message: str, source: str, index: int) -> TemplateInvalid:
    line, column = _place(source, index)
    return TemplateInvalid(message, line, column)


def _place(source: str, index: int) -> tuple[int, int]:
    """Line and column of an index, both counted from one."""
    index = max(index, 0)
    return source.count("\n", 0, index) + 1, index - source.rfind("\n", 0, index)


@contextmanager
def _depth_limited() -> Iterator[None]:
    """Walking a template may need a deeper stack than parsing it did."""
    try:
        yield
    except RecursionError:
        raise TemplateInvalid(TOO_DEEP, 1, 1) from None


# What a template needs


def _required(template: "BoundTemplate") -> Iterator[str]:
    from liquid import RenderContext

    static_context = RenderContext(template)
    assigned: set[str] = set()

    def visit(node: "Node", enclosing: frozenset[str]) -> Iterator[str]:
        for path in _output_paths(node):
            root = str(path.head())
            if root not in enclosing and root not in assigned and not _is_given(root):
                yield _dotted(path)
        assigned.update(map(str, node.template_scope()))
        inner = enclosing.union(map(str, node.block_scope()))
        for child in node.children(static_context, include_partials=False):
            yield from visit(child, inner)

    for node in template.nodes:
        yield from visit(node, frozenset())


def _is_given(root: str) -> bool:
    """Whether the walk or the clock provides it; a name with a dot in it cannot be told from a path, and is let be."""
    return root.startswith("step_") or root in {"vars", "now", "today"} or "." in root


def _output_paths(node: "Node") -> Iterator["Path"]:
    from liquid.builtin.output import OutputNode
    from liquid.builtin.tags.cycle_tag import CycleNode

    if isinstance(node, OutputNode | CycleNode):
        for expression in node.expressions():
            yield from _paths(expression)


def _paths(expression: "Expression") -> Iterator["Path"]:
    from liquid.builtin.expressions import FilteredExpression, Path

    if isinstance(expression, FilteredExpression):
        filters = expression.filters or []
        if not any(each.name == "default" for each in filters):
            yield from _paths(expression.left)
        for each in filters:
            if each.name != "default":
                for argument in each.children():
                    yield from _paths(argument)
        return
    if isinstance(expression, Path) and isinstance(expression.head(), str):
        yield expression
    for child in expression.children():
        yield from _paths(child)


def _dotted(path: "Path") -> str:
    names: list[str] = []
    for segment in path.path:
        if not isinstance(segment, str) or (names and (segment in _COMPUTED or "." in segment)):
            break
        names.append(segment)
    return ".".join(names)


def _has_path(data: object, names: Sequence[str]) -> bool:
    for name in names:
        if not isinstance(data, Mapping) or name not in data:
            return False
        data = data[name]
    return True


# The environment


@cache
def _environment(html: bool) -> "Environment":
    environment = _environment_type()(undefined=_missing_type(), autoescape=html)
    for tag in ("include", "render"):
        del environment.tags[tag]
    for name, function in {**environment.filters, **_own_filters(environment.filters)}.items():
        environment.add_filter(name, function if name == "default" else _limited(name, function))
    return environment


@cache
def _environment_type() -> type["Environment"]:
    from liquid import Environment
    from liquid.builtin.output import Output
    from liquid.builtin.tags.echo_tag import EchoNode, EchoTag
    from liquid.stringify import to_liquid_string

    class TextNode(EchoNode):
        def render_to_output(self, context: "RenderContext", buffer: TextIO) -> int:
            value = self.expression.evaluate(context)
            if isinstance(value, float | list):
                value = _text(value)
            return buffer.write(to_liquid_string(value, context.autoescape))

    class TextOutput(Output):
        node_class = TextNode

    class TextEcho(EchoTag):
        node_class = TextNode

    class Limited(Environment):
        block_nesting_limit = MAX_BLOCK_NESTING
        context_depth_limit = MAX_CONTEXT_DEPTH
        loop_iteration_limit = MAX_LOOP_ITERATIONS
        output_stream_limit = MAX_OUTPUT_BYTES
        local_namespace_limit = MAX_LOCALS_BYTES
        logical_not_operator = True
        suppress_blank_control_flow_blocks = False

        def setup_tags_and_filters(self, *, extra: bool = False) -> None:
            super().setup_tags_and_filters(extra=extra)
            self.add_tag(TextOutput)
            self.add_tag(TextEcho)

    return Limited


@cache
def _context_type() -> type["RenderContext"]:
    from liquid import RenderContext
    from liquid.exceptions import LoopIterationLimitError

    class Context(RenderContext):
        __slots__ = ()

        # A reversed loop copies its range before Liquid counts it; this is called just before.
        def stopindex(self, key: str, index: int | None = None) -> int:
            if index is not None and index > MAX_LOOP_ITERATIONS:
                raise LoopIterationLimitError("loop iteration limit reached", token=None)
            return super().stopindex(key, index)

    return Context


@cache
def _missing_type() -> type["Undefined"]:
    from liquid import StrictDefaultUndefined
    from liquid.undefined import UNDEFINED

    class Missing(StrictDefaultUndefined):
        """False in a condition, empty in a loop, replaced by `default`; an error that names it anywhere else."""

        __slots__ = ()
        allowed_properties = StrictDefaultUndefined.allowed_properties | {"__class__", "__liquid__", "items"}

        def __init__(
            self, name: str, *, token: "Token | None", obj: object = UNDEFINED, hint: str | None = None
        ) -> None:
            if hint == "index out of range":
                hint = f"{name!r}: {hint}"
            super().__init__(name, token=token, obj=obj, hint=hint)

        def __len__(self) -> int:
            return 0

        def items(self) -> ItemsView[object, object]:
            return {}.items()

    return Missing


# Filters


def _limited(name: str, function: Filter) -> Filter:
    """Bound what a filter takes and makes; a missing value passes through, for `default` or the output to judge."""
    missing = _missing_type()

    @wraps(function)
    def limited(value: object, *args: object, **kwargs: object) -> object:
        if type(value) is missing:
            return value
        if name not in _ANY_LENGTH:
            _check_length(name, value)
        return _plain(_bounded(name, function(_plain(value), *map(_argument, args), **kwargs)))

    return limited


def _argument(value: object) -> object:
    if type(value) is _missing_type():
        str(value)  # raises, naming the variable
    return _plain(value)


def _plain(value: object) -> object:
    """A float without a fraction is an integer, as it is in JavaScript."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


def _check_length(name: str, value: object) -> None:
    if isinstance(value, list | tuple | range) and len(value) > MAX_ITEMS:
        raise _TooLarge(f"{name!r} exceeds the limit of {MAX_ITEMS} items")


def _bounded(name: str, result: object) -> object:
    if isinstance(result, int):
        if result.bit_length() > MAX_INTEGER_BITS:
            raise _TooLarge(f"{name!r} exceeds the limit of {MAX_INTEGER_BITS} bits")
        return result
    _check_length(name, result)
    # A list may hold one long text many times over: it is small until somebody prints it.
    if _left_after(result, MAX_VALUE_CHARS) < 0:
        raise _too_long(name)
    return result


def _too_long(name: str) -> _TooLarge:
    return _TooLarge(f"{name!r} exceeds the limit of {MAX_VALUE_CHARS} characters")


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


def _text(value: object) -> str:
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
        return "".join(map(_text, value))
    return str(value)


def _float_text(value: float) -> str:
    text = str(_plain(value))
    if "e" not in text:
        return text
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(text), "f")
    return re.sub(r"e([+-])0", r"e\1", text)


def _own_filters(builtin: Mapping[str, Filter]) -> dict[str, Filter]:
    from liquid.filter import with_context

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
        text, old_text, new_text = _text(value), _text(old), _text(new)
        growth = len(new_text) - len(old_text)
        if growth > 0 and len(text) + text.count(old_text) * growth > MAX_VALUE_CHARS:
            raise _too_long("replace")
        return builtin(text, old_text, new_text)

    return replace


def _join(builtin: Filter) -> Filter:
    from liquid.filter import flatten

    @wraps(builtin)
    def join(value: object, separator: object = " ", *, environment: object) -> object:
        items = [_text(item) for item in flatten(value)] if isinstance(value, list | tuple | range) else value
        count = len(items) if isinstance(items, list) else 0
        if _left_after(items, MAX_VALUE_CHARS) < len(_text(separator)) * count:
            raise _too_long("join")
        return builtin(items, separator, environment=environment)

    return join


def _divided_by(value: object, divisor: object) -> int | float:
    from liquid.exceptions import FilterArgumentError

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
    from liquid.filter import num_arg

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


def _date(value: object, pattern: object, *, context: "RenderContext") -> str:
    """Format a time in its own zone, or in UTC where it has none; what is no time is printed as it is."""
    moment = _moment(value, context.tag_namespace["now"])
    if moment is None:
        return _text(value)
    wanted = _text(pattern)
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
