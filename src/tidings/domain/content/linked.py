"""A template together with everything that it renders, as one string.

Whatever knows templates by their source (the cache of parsed ones, the facts of expensive ones, the process that
renders) needs nothing else then, and a message is the same for ever: what it renders travels with it. linking.py makes
such strings of what is stored; they are themselves stored nowhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from tidings.domain.errors import TemplateInvalid

SEPARATOR = "\ufdd0"
"""A noncharacter, which Unicode keeps for use inside of programs: nobody can write one into a message."""
MAX_RENDER_DEPTH = 10
"""How many templates may render one another in a row."""
NOT_WRITTEN = "holds U+FDD0, which is no character; leave it out"


class Use(StrEnum):
    """What a part is to its template."""

    HTML = "html"
    TEXT = "text"
    LAYOUT = "layout"


class LinkedPart(NamedTuple):
    """A template that another renders, or is wrapped in."""

    name: str
    use: Use
    text: str


@dataclass(frozen=True, slots=True)
class LinkedSource:
    """A linked string taken apart."""

    main: str
    parts: Mapping[str, LinkedPart] = field(default_factory=dict)
    layout: LinkedPart | None = None

    @property
    def texts(self) -> list[str]:
        """Its own source, and those of everything that it renders."""
        return [self.main, *(part.text for part in self.parts.values()), *([self.layout.text] if self.layout else [])]

    def named(self, text: str) -> str:
        """Which of its templates a source is, for a message; empty for its own."""
        if text == self.main:
            return ""
        parts = [*self.parts.values(), *([self.layout] if self.layout else [])]
        return next((f"in template {part.name!r}: " for part in parts if part.text == text), "")


def join(main: str, parts: Iterable[LinkedPart]) -> str:
    """Make one string of a template and what it renders."""
    return SEPARATOR.join([main, *(piece for part in parts for piece in part)])


def split(source: str) -> LinkedSource:
    """Take a linked string apart; a plain one has no parts."""
    if SEPARATOR not in source:
        return LinkedSource(source)
    main, *pieces = source.split(SEPARATOR)
    try:
        found = [LinkedPart(pieces[at], Use(pieces[at + 1]), pieces[at + 2]) for at in range(0, len(pieces), 3)]
    except (IndexError, ValueError):
        raise TemplateInvalid(NOT_WRITTEN, 1, 1) from None
    layout = next((part for part in found if part.use is Use.LAYOUT), None)
    return LinkedSource(main, {part.name: part for part in found if part is not layout}, layout)


def as_written(source: str) -> str:
    """Return a template as its author wrote it."""
    return source.partition(SEPARATOR)[0]
