"""Templates that only put values into text: `Hello {{ contact.name }}`. Most are, and they need no Liquid to render.

Such a template cannot loop, allocate or call anything, so it is filled in place instead of in the rendering process.
Whatever is not plainly the same in Liquid (a missing value, a list, a decimal, a filter, a tag) is not done here: then
fill() returns None, and Liquid decides.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from tidings.domain.content.linked import SEPARATOR

MAX_VALUE_CHARS = 10_000
MAX_PARTS = 100
CACHED_TEMPLATES = 1024
_LARGEST_EXACT = 2**53

_OUTPUT = re.compile(r"\{\{[ \t]*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)[ \t]*\}\}", re.ASCII)
# Words that Liquid reads as something other than a name.
_RESERVED = frozenset(
    {"true", "false", "nil", "null", "empty", "blank", "and", "or", "not", "contains", "in", "if", "else", "elsif"}
    | {"with", "for", "as", "limit", "offset", "cols", "reversed", "continue", "size", "first", "last"}
)


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Text with named values between: each literal is followed by a path, and `tail` by nothing."""

    parts: tuple[tuple[str, tuple[str, ...]], ...]
    tail: str

    def fill(self, data: Mapping[str, object], *, html: bool) -> str | None:
        """The text with its values in, escaped when `html`; None where only Liquid knows what to print."""
        pieces: list[str] = []
        for literal, path in self.parts:
            value = _found(data, path)
            if value is None:
                return None
            pieces.append(literal)
            pieces.append(_escaped(value) if html else value)
        pieces.append(self.tail)
        text = "".join(pieces)
        return text if text.isascii() or _is_unicode(text) else None


@lru_cache(maxsize=CACHED_TEMPLATES)
def interpolation_of(source: str) -> Interpolation | None:
    """The template as an interpolation, or None where it is more than that."""
    if SEPARATOR in source:
        return None  # it renders others, or is wrapped in one
    parts: list[tuple[str, tuple[str, ...]]] = []
    position = 0
    for output in _OUTPUT.finditer(source):
        path = tuple(output[1].split("."))
        if not _RESERVED.isdisjoint(path) or len(parts) == MAX_PARTS:
            return None
        parts.append((source[position : output.start()], path))
        position = output.end()
    tail = source[position:]
    if any("{{" in text or "{%" in text for text in (tail, *(literal for literal, _ in parts))):
        return None
    return Interpolation(tuple(parts), tail)


def _found(data: object, path: tuple[str, ...]) -> str | None:
    """What a path leads to, as text, if it is text or a whole number."""
    for name in path:
        if type(data) is not dict or name not in data:
            return None
        data = data[name]
    if type(data) is str:
        return data if len(data) <= MAX_VALUE_CHARS else None
    if type(data) is int and -_LARGEST_EXACT < data < _LARGEST_EXACT:
        return str(data)
    return None


def _escaped(text: str) -> str:
    return escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def _is_unicode(text: str) -> bool:
    """Whether it can be stored and sent; half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
