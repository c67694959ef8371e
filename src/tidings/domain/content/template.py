"""Liquid templates under limits: what they need, whether they are valid, and what they render to.

A template is untrusted. Here every limit that Liquid knows is set, and filters may not grow a value without bound;
environment.py and filters.py do that, and kernel/render/renderer.py adds the hard limits of a process. Rendering is
deterministic: the time is passed in, and what a template renders is part of its source (linked.py). Everything prints
what LiquidJS prints but for the differences in docs/reference/templates.md; tests/domain/liquidjs has the facts.

`liquid` takes a third of a second to import, so it is imported by the first template that has Liquid in it.
"""
# ruff: noqa: PLC0415

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from tidings.domain.content.linked import LinkedSource, Use, split
from tidings.domain.content.template_facts import OF_A_STEP, TemplateFacts, WalkVariable, known_facts
from tidings.domain.errors import TemplateInvalid

if TYPE_CHECKING:
    from liquid import BoundTemplate
    from liquid.exceptions import LiquidError

    from tidings.domain.content.liquid.variables import ParsedTemplate

MAX_SOURCE_CHARS = 200_000
MAX_TAGS = 5_000
MAX_TAG_SPACES = 200
MAX_TAG_BRACKETS = 200
MAX_REASON_CHARS = 500
CACHED_TEMPLATES = 256
TOO_DEEP = "nested too deeply"

_OPENING = re.compile(r"\{[{%]")
_VERBATIM = re.compile(r"\{%-?\s*(raw|doc)\s*-?%\}")
_END_VERBATIM = {name: re.compile(rf"\{{%-?\s*end{name}\s*-?%\}}") for name in ("raw", "doc")}
_LONG_SPACE = re.compile(rf"\s{{{MAX_TAG_SPACES},}}")

# Names that are no property of the data: Liquid computes them.
_COMPUTED = frozenset({"size", "first", "last", "length"})


@dataclass(frozen=True, slots=True)
class RenderFailed:
    """A template that cannot be rendered with this data: the reason names the variable, the place or the limit."""

    reason: str


def has_liquid(source: str) -> bool:
    """Whether rendering could change the source."""
    return "{{" in source or "{%" in source


def check(source: str, *, html: bool) -> None:
    """Raise TemplateInvalid, with line and column, unless the template parses and nothing in it must fail."""
    if not has_liquid(source):
        return
    if not html:
        _require_text(split(source))
    if known := known_facts(source):
        known.require_valid()
    else:
        _check_nodes(source, html=html)


def _check_nodes(source: str, *, html: bool) -> None:
    from tidings.domain.content.liquid.checks import mistakes_in

    parsed = parse(source, html=html)
    with _depth_limited():
        mistake = next(mistakes_in(parsed), None)
    if mistake:
        raise _invalid(mistake.message, split(source).main, mistake.index)


def facts_of(source: str) -> TemplateFacts:
    """Return all that is to be known of a template before it is stored."""
    problem = None
    try:
        _check_nodes(source, html=False)
    except TemplateInvalid as error:
        problem = (str(error), error.line, error.column)
    try:
        return TemplateFacts(
            problem,
            required=required_variables(source),
            walk=tuple(walk_variables(source)),
            fixed_text=fixed_text(source),
        )
    except TemplateInvalid as error:
        return TemplateFacts.invalid(*(problem or (str(error), error.line, error.column)))


def markup_chars(source: str) -> int:
    """Return how many characters stand inside of tags: what checking takes grows with them, not with the text."""
    if not has_liquid(source) or len(source) > MAX_SOURCE_CHARS:
        return 0  # which is refused at a glance, and so is a tag that is never closed
    try:
        return sum(end - start for text in split(source).texts for start, end in islice(tags_in(text), MAX_TAGS))
    except TemplateInvalid:
        return 0


def parse(source: str, *, html: bool) -> "ParsedTemplate":
    """Parse a template, or return it from the cache; raise TemplateInvalid if it cannot be parsed."""
    return _parsed(source, html)


def forget_parsed() -> None:
    """Free the memory of the parsed templates."""
    _parsed.cache_clear()


def required_variables(source: str) -> frozenset[str]:
    """Return the dotted paths that the data must have: every global that is output without `default`.

    Full paths (`contact.name`), cut before an index or a computed name (`items[0].x` and `items.size` need `items`).
    Not what is only tested, assigned or looped over, nor `step_*`, `vars.*`, `now`, `today`, nor the fallback given to
    `default`. A variable that is output inside an `if` is required: null is a value, and will do.
    """
    if not has_liquid(source):
        return frozenset()
    if known := known_facts(source):
        return known.require_parsed().required
    from tidings.domain.content.liquid.variables import printed

    with _depth_limited():
        found = [path for path, _ in printed(parse(source, html=False))]
    return frozenset(_dotted(path) for path in found if not _is_given(str(path[0])))


def fixed_text(source: str) -> str:
    """Return what every rendering of a template has in it, whatever the data: the text outside of its tags."""
    if not has_liquid(source):
        return source
    if known := known_facts(source):
        return known.require_parsed().fixed_text
    from tidings.domain.content.liquid import variables

    return variables.fixed_text(parse(source, html=False))


def walk_variables(source: str) -> list[WalkVariable]:
    """Return every use of what a walk through a workflow provides, be it printed, tested or looped over."""
    if "vars" not in source and "step_" not in source:
        return []
    if known := known_facts(source):
        return list(known.require_parsed().walk)
    from tidings.domain.content.liquid.variables import named

    with _depth_limited():
        found = [(_name_in_walk(path), index) for path, index in named(parse(source, html=False))]
    main = split(source).main
    return [WalkVariable(name, *place_in(main, index)) for name, index in found if name]


def walk_variable_in(path: Sequence[str]) -> WalkVariable | None:
    """Return what a path wants of a walk through a workflow, if it does."""
    name = f"vars.{path[1]}" if path[0] == "vars" and len(path) > 1 else path[0]
    found = WalkVariable(name)
    return None if found.node is None and found.step is None else found


def missing_variables(required: Iterable[str], data: Mapping[str, object]) -> frozenset[str]:
    """Return the paths that the data does not have; a null at the end of a path counts as present."""
    return frozenset(path for path in required if not has_path(data, path))


def render(source: str, data: Mapping[str, object], *, html: bool, now: datetime) -> str | RenderFailed:
    """Render a template; values are escaped when `html`, and `now` is the only time it can see.

    MemoryError is not a result: the caller that limits the memory must handle it.
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
        return RenderFailed(_reason(error, split(source)))


def _render(parsed: "ParsedTemplate", data: Mapping[str, object], now: datetime) -> str:
    from markupsafe import Markup

    from tidings.domain.content.liquid.variables import CONTENT

    seen = {"now": now, "today": now.date(), **data}
    text = _rendered(parsed.template, parsed, seen, now)
    if parsed.layout is None:
        return text
    # What was filled into it is escaped already: a layout prints it as it is.
    return _rendered(parsed.layout, parsed, {**seen, CONTENT: Markup(text)}, now)  # noqa: S704


def _rendered(template: "BoundTemplate", parsed: "ParsedTemplate", seen: Mapping[str, object], now: datetime) -> str:
    from liquid.output import LimitedStringIO

    from tidings.domain.content.liquid.context import Context
    from tidings.domain.content.liquid.environment import MAX_OUTPUT_BYTES

    context = Context(template, globals=seen, partials=parsed.partials)
    context.tag_namespace["now"] = now
    buffer = LimitedStringIO(limit=MAX_OUTPUT_BYTES)
    template.render_with_context(context, buffer)
    return buffer.getvalue()


def _reason(error: Exception, source: LinkedSource) -> str:
    from liquid.exceptions import LiquidError

    from tidings.domain.content.liquid.values import TooLarge

    if not isinstance(error, LiquidError):
        named = str(error) if isinstance(error, TooLarge) else f"{type(error).__name__}: {error}"
        return named[:MAX_REASON_CHARS]
    message = str(error.message)[:MAX_REASON_CHARS]
    if error.token is None or error.token.start_index < 0:
        return message
    line, column = place_in(error.token.source, error.token.start_index)
    return f"{source.named(error.token.source)}{message} (line {line}, column {column})"


@lru_cache(maxsize=CACHED_TEMPLATES)
def _parsed(source: str, html: bool) -> "ParsedTemplate":
    from tidings.domain.content.liquid.variables import ParsedTemplate

    linked = split(source)
    template = _parsed_text(linked.main, html)
    partials = {name: _parsed_part(name, part.text, html) for name, part in linked.parts.items()}
    layout = _parsed_part(linked.layout.name, linked.layout.text, html) if linked.layout else None
    return ParsedTemplate(template, partials, layout)


def _parsed_part(name: str, text: str, html: bool) -> "BoundTemplate":
    try:
        return _parsed_text(text, html)
    except TemplateInvalid as error:
        raise TemplateInvalid(f"in template {name!r}: {error}", error.line, error.column) from None


def _parsed_text(source: str, html: bool) -> "BoundTemplate":
    from liquid.exceptions import LiquidError

    from tidings.domain.content.liquid.environment import environment_for

    _check_markup(source)
    try:
        return environment_for(html).from_string(source)
    except LiquidError as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from None
        reason = TOO_DEEP if isinstance(error.__cause__, RecursionError) else str(error.message)
        raise _invalid(reason, source, _index_of(error, source, html)) from None


def _index_of(error: "LiquidError", source: str, html: bool) -> int:
    """Where an error is. An expression that ends too early does not know its place: then it is the first tag that is
    wrong by itself in the same way, or else the end, where something is still open."""
    if error.token is not None and error.token.start_index >= 0:
        return error.token.start_index
    for start, end in tags_in(source):
        if _error_in(source[start : end + 2], html) == error.message:
            return start
    return len(source)


def _error_in(tag: str, html: bool) -> str | None:
    """What is wrong with a tag by itself; that it is not closed by itself is nothing wrong."""
    from liquid.exceptions import LiquidError

    from tidings.domain.content.liquid.environment import environment_for

    try:
        environment_for(html).from_string(tag)
    except LiquidError as error:
        return None if str(error.message).startswith("expected tag end") else str(error.message)
    return None


def _check_markup(source: str) -> None:
    """Refuse what makes the lexer quadratic: unclosed tags, long blanks or many brackets in a tag, very many tags, or a
    huge source."""
    if len(source) > MAX_SOURCE_CHARS:
        raise _invalid(f"the template has {len(source)} characters; the most is {MAX_SOURCE_CHARS}", source, 0)
    for count, (start, end) in enumerate(tags_in(source)):
        if count >= MAX_TAGS:
            raise _invalid(f"more than {MAX_TAGS} tags", source, start)
        if _LONG_SPACE.search(source, start, end):
            raise _invalid(f"more than {MAX_TAG_SPACES} blanks in a row inside a tag", source, start)
        # At each of them the lexer looks ahead to the end of the tag: for the dots of a range, for a closing quote.
        if source.count("(", start, end) + source.count("[", start, end) > MAX_TAG_BRACKETS:
            raise _invalid(f"more than {MAX_TAG_BRACKETS} brackets inside a tag", source, start)


def tags_in(source: str) -> Iterator[tuple[int, int]]:
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
    line, column = place_in(source, index)
    return TemplateInvalid(message, line, column)


def place_in(source: str, index: int) -> tuple[int, int]:
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


def _is_given(root: str) -> bool:
    """Whether the walk or the clock provides it; a name with a dot in it cannot be told from a path: accepted."""
    return root in {"vars", "now", "today"} or "." in root or OF_A_STEP.fullmatch(root) is not None


def _name_in_walk(path: Sequence[object]) -> str | None:
    root, *names = path
    if root == "vars" and names and isinstance(names[0], str | int):
        return f"vars.{names[0]}"
    return root if isinstance(root, str) and OF_A_STEP.fullmatch(root) else None


def _dotted(path: Iterable[object]) -> str:
    names: list[str] = []
    for segment in path:
        if not isinstance(segment, str) or (names and (segment in _COMPUTED or "." in segment)):
            break
        names.append(segment)
    return ".".join(names)


def _require_text(source: LinkedSource) -> None:
    """Refuse to render what is written in HTML where nothing else is."""
    for part in source.parts.values():
        if part.use is Use.HTML:
            place = place_in(source.main, max(source.main.find(part.name), 0))
            raise TemplateInvalid(f"template {part.name!r} is HTML, and this is text: render one of text", *place)


def has_path(data: object, path: str) -> bool:
    """Whether data has a dotted path; a null at its end counts."""
    for name in path.split("."):
        if not isinstance(data, Mapping) or name not in data:
            return False
        data = data[name]
    return True
