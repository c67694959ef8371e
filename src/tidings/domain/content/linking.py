"""Put the templates of a workspace into what renders them: `{% render 'footer' %}`, and `layout` beside HTML.

What is defined freezes the versions it uses (rule 16) and is stored with them, as it was written. Whoever reads it
links it: each string that renders others becomes one with everything in it (linked.py). Which templates there are is
passed in; kernel/templates.py finds them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from tidings.domain.channels import HTML_FIELDS, LAYOUT
from tidings.domain.content.linked import MAX_RENDER_DEPTH, NOT_WRITTEN, SEPARATOR, LinkedPart, Use, as_written, join
from tidings.domain.content.template import MAX_SOURCE_CHARS, MAX_TAGS, place_in, tags_in
from tidings.domain.errors import Problem, TemplateInvalid
from tidings.domain.messages import did_you_mean, quoted
from tidings.domain.storable import place_of
from tidings.views.templates import TemplateFormat, TemplateKind

FROZEN = "templates"
"""Under which a stored definition keeps the templates that it was published with."""

_RENDERS = re.compile(r"""(?:^\{%-?|\n)\s*render\s+(["'])(?P<name>[^"'\n]*)\1""")
_OTHERS_DATA = frozenset({"payload", "payloadTemplate", "payload_template"})
"""What a function gets may have a field called layout: that is the function's."""


class FrozenTemplate(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version of a template, as what uses it keeps it."""

    version: int
    text: str
    kind: TemplateKind = TemplateKind.PARTIAL
    format: TemplateFormat = TemplateFormat.HTML

    @property
    def use(self) -> Use:
        """What it is to a message."""
        return Use.LAYOUT if self.kind is TemplateKind.LAYOUT else Use(self.format.value)


Frozen = Mapping[str, FrozenTemplate]


class TemplateUse(NamedTuple):
    """That a string names a template, and where."""

    place: str
    name: str
    is_layout: bool
    where: str = ""
    """The line and the column, for a message."""


@dataclass(frozen=True, slots=True)
class _GivenText:
    """A string of what was given, and the layout beside it."""

    steps: tuple[str | int, ...]
    source: str
    layout: str | None = None


def frozen_in(definition: Mapping[str, object]) -> Frozen:
    """The templates that a stored definition keeps."""
    return msgspec.convert(definition.get(FROZEN, {}), dict[str, FrozenTemplate])


def frozen_json(frozen: Frozen) -> dict[str, object]:
    """Return templates as they are stored with what keeps them."""
    return {name: msgspec.to_builtins(frozen[name]) for name in sorted(frozen)}


def with_frozen(definition: Mapping[str, object], frozen: Frozen) -> dict[str, object]:
    """Return a definition to be stored with its templates."""
    return {**definition, **({FROZEN: frozen_json(frozen)} if frozen else {})}


def without_frozen(definition: Mapping[str, object]) -> dict[str, object]:
    """Return a stored definition as it was written."""
    return {name: value for name, value in definition.items() if name != FROZEN}


def linked(definition: Mapping[str, object]) -> Mapping[str, object]:
    """Return a stored definition with its templates in their places."""
    if FROZEN not in definition:
        return definition
    return link(without_frozen(definition), frozen_in(definition))


def link(given: Mapping[str, object], frozen: Frozen) -> Mapping[str, object]:
    """Return what was given with everything that its strings render in them."""
    if not frozen:
        return given
    made = _linked(given, frozen)
    return made if isinstance(made, Mapping) else given


def unlinked(given: object) -> object:
    """Return what was linked as its author wrote it."""
    if isinstance(given, str):
        return as_written(given)
    if isinstance(given, Mapping):
        return {name: unlinked(one) for name, one in given.items()}
    return [unlinked(one) for one in given] if isinstance(given, list | tuple) else given


def unlinked_fields(given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a message as its author wrote them."""
    return {name: unlinked(one) for name, one in given.items()}


def uses_in(given: object) -> list[TemplateUse]:
    """Return every template that strings in what was given name, with the places."""
    return [use for text in _texts(given) for use in _uses_of(text)]


def names_rendered_by(source: str) -> list[str]:
    """Return the templates that one renders itself, each once, in their order."""
    return list(dict.fromkeys(name for name, _ in _rendered_in(source)))


def problems_of(given: object, frozen: Frozen, known: Iterable[str]) -> list[Problem]:
    """Return what keeps strings from being linked: unknown names, templates used wrongly, too much of it."""
    known = list(known)
    found = []
    for text in _texts(given):
        wrong = [Problem(use.place, said) for use in _uses_of(text) if (said := _wrong_use(use, frozen, known))]
        if SEPARATOR in text.source:
            wrong = [Problem(place_of(text.steps), NOT_WRITTEN)]
        elif not wrong and (said := _too_much(text, frozen)):
            wrong = [Problem(place_of(text.steps), said)]
        found += wrong
    return found


def _wrong_use(use: TemplateUse, frozen: Frozen, known: Iterable[str]) -> str | None:
    what = LAYOUT if use.is_layout else "template"
    template = frozen.get(use.name)
    if template is None:
        hint = did_you_mean(use.name, known) or "; make it first"
        return f"there is no {what} {quoted(use.name)}{hint}{use.where}"
    if use.is_layout is not (template.kind is TemplateKind.LAYOUT):
        is_a = f"{use.name!r} is a {template.kind}"
        return f"{is_a}, not a layout: render it in the text" if use.is_layout else f"{is_a}: name it beside html"
    return None


class _WrittenOut(NamedTuple):
    """How large a template is with everything that it renders in its place."""

    chars: int
    tags: int
    height: int
    """How many templates render one another below it."""


def _too_much(text: _GivenText, frozen: Frozen) -> str | None:
    """Why a string cannot be linked with templates that exist."""
    sizes, sources = _Sizes(frozen), [text.source, *([frozen[text.layout].text] if text.layout else [])]
    try:
        found = [sizes.of_text(source, ()) for source in sources]
    except TemplateInvalid as error:
        return str(error)
    chars, tags = sum(one.chars for one in found), sum(one.tags for one in found)
    if chars > MAX_SOURCE_CHARS:
        return f"has {chars:,} characters with everything that it renders; the most is {MAX_SOURCE_CHARS:,}"
    if tags > MAX_TAGS:
        return f"has {tags:,} tags with everything that it renders; the most is {MAX_TAGS:,}"
    if max(one.height for one in found) > MAX_RENDER_DEPTH:
        return f"renders templates that render templates, more than {MAX_RENDER_DEPTH} deep"
    return None


class _Sizes:
    """Measures templates with everything that they render, each once."""

    def __init__(self, frozen: Frozen) -> None:
        self._frozen = frozen
        self._known: dict[str, _WrittenOut] = {}

    def of_text(self, source: str, way: tuple[str, ...]) -> _WrittenOut:
        """Measure a source that is reached by rendering these, one inside of the other."""
        chars, tags, height = len(source), _count_tags(source), 0
        for name, _ in _rendered_in(source):
            inner = self._of(name, way)
            chars, tags, height = chars + inner.chars, tags + inner.tags, max(height, inner.height + 1)
        return _WrittenOut(chars, tags, height)

    def _of(self, name: str, way: tuple[str, ...]) -> _WrittenOut:
        if name in way:
            circle = " → ".join((*way[way.index(name) :], name))
            raise TemplateInvalid(f"templates render each other in a circle: {circle}", 1, 1)
        if name not in self._known:
            if len(way) > MAX_RENDER_DEPTH:
                return _WrittenOut(0, 0, 0)  # too deep whatever follows
            if name not in self._frozen:
                raise TemplateInvalid(f"template {way[-1]!r} renders {name!r}, which there is not", 1, 1)
            self._known[name] = self.of_text(self._frozen[name].text, (*way, name))
        return self._known[name]


def _count_tags(source: str) -> int:
    try:
        return sum(1 for _ in tags_in(source))
    except TemplateInvalid:
        return 0  # which is said when the template itself is checked


def _linked(given: object, frozen: Frozen, layout: str | None = None, *, wraps: bool = True) -> object:
    if isinstance(given, str):
        return linked_text(given, frozen, layout)
    if isinstance(given, Mapping):
        own = _fields(given, wraps=wraps)
        return {name: _linked(one, frozen, wrapping, wraps=below) for name, one, wrapping, below in own}
    if isinstance(given, list | tuple):
        return [_linked(one, frozen, wraps=wraps) for one in given]
    return given


def linked_text(source: str, frozen: Frozen, layout: str | None = None) -> str:
    """Return one template with everything that it renders in it."""
    wrapping = frozen.get(layout) if layout else None
    needed = _needed_by(source, frozen, {}) | ({} if wrapping is None else _needed_by(wrapping.text, frozen, {}))
    parts = [LinkedPart(name, one.use, one.text) for name, one in needed.items()]
    if wrapping and layout:
        parts.append(LinkedPart(layout, Use.LAYOUT, wrapping.text))
    return join(source, parts) if parts else source


def _needed_by(source: str, frozen: Frozen, found: dict[str, FrozenTemplate]) -> dict[str, FrozenTemplate]:
    """The templates that one renders, and those that they render in turn."""
    for name in names_rendered_by(source):
        if name in frozen and name not in found:
            found[name] = frozen[name]
            _needed_by(frozen[name].text, frozen, found)
    return found


def _texts(
    given: object, steps: tuple[str | int, ...] = (), layout: str | None = None, *, wraps: bool = True
) -> Iterator[_GivenText]:
    if isinstance(given, str):
        yield _GivenText(steps, given, layout)
    elif isinstance(given, Mapping):
        for name, one, wrapping, below in _fields(given, wraps=wraps):
            yield from _texts(one, (*steps, name), wrapping, wraps=below)
    elif isinstance(given, list | tuple):
        for number, one in enumerate(given):
            yield from _texts(one, (*steps, number), wraps=wraps)


def _fields(given: Mapping[str, object], *, wraps: bool) -> Iterator[tuple[str, object, str | None, bool]]:
    """Each field of an object, the layout that wraps it if it is HTML, and whether there may be layouts below it."""
    layout = given.get(LAYOUT) if wraps else None
    for name, one in given.items():
        wrapping = layout if name in HTML_FIELDS and isinstance(layout, str) and layout else None
        yield name, one, wrapping, wraps and name not in _OTHERS_DATA


def _uses_of(text: _GivenText) -> Iterator[TemplateUse]:
    place = place_of(text.steps)
    for name, index in _rendered_in(text.source):
        line, column = place_in(text.source, index)
        yield TemplateUse(place, name, is_layout=False, where=f" (line {line}, column {column})")
    if text.layout:
        yield TemplateUse(place_of((*text.steps[:-1], LAYOUT)), text.layout, is_layout=True)


def _rendered_in(source: str) -> Iterator[tuple[str, int]]:
    """The names that the tags of a source render, and where; of one that does not parse, as far as it goes."""
    if "render" not in source or "{%" not in source:
        return
    try:
        for start, end in tags_in(source):
            for found in _RENDERS.finditer(source[start:end]):
                yield found["name"], start + found.start()
    except TemplateInvalid:
        return
