"""Loads the named statements of sql/*.sql and turns their named parameters into PostgreSQL's numbered ones.

What several statements have in common is a part, written once in a file of parts: `{contact_columns}` in a statement
stands for the part of that name. A statement may be asked for with other parts in place of those it names; every value
is a parameter, whatever the parts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PART = re.compile(r"^-- part: (\w+)$", re.MULTILINE)
# A colon that is not part of a cast, and not inside a quoted text or a comment; a part's name in braces, likewise.
_PARAMETER = re.compile(r"'[^']*'|--[^\n]*|(?<![:\w]):([a-z_][a-z0-9_]*)")
_PLACE = re.compile(r"'[^']*'|--[^\n]*|\{([a-z_]+)\}")
_FILES_OF_PARTS = ("contact_parts",)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, ready for the driver: `arguments` gives values by name in the order of its numbers."""

    name: str
    text: str
    parameters: tuple[str, ...]
    source: str = field(default="", compare=False, repr=False)
    """As it is written, with the names of its parts."""

    def arguments(self, values: Mapping[str, object]) -> list[object]:
        """The values in the order of $1, $2, …; a missing or unknown name is an error of the caller."""
        if values.keys() != set(self.parameters):
            raise TypeError(f"{self.name} takes {sorted(self.parameters)}, not {sorted(values)}")
        return [values[name] for name in self.parameters]

    def with_parts(self, **parts: str) -> "Statement":
        """The same statement with other texts in place of some of its parts."""
        return _with_parts(self.name, self.source, tuple(parts.items()))


@cache
def load(file: str) -> Mapping[str, Statement]:
    """The statements of one file, by name."""
    return {name: _parse(name, body) for name, body in _pieces(file, _NAME).items()}


@cache
def load_parts() -> Mapping[str, str]:
    """Every part of statements, by name."""
    return {name: body.strip() for file in _FILES_OF_PARTS for name, body in _pieces(file, _PART).items()}


def _pieces(file: str, heading: re.Pattern[str]) -> Mapping[str, str]:
    source = files("tidings.storage").joinpath("sql", f"{file}.sql").read_text()
    pieces = heading.split(source)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


@lru_cache(maxsize=1_024)
def _with_parts(name: str, source: str, parts: tuple[tuple[str, str], ...]) -> Statement:
    return _parse(name, source, dict(parts))


def _parse(name: str, source: str, parts: Mapping[str, str] | None = None) -> Statement:
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        return f"${numbers.setdefault(match[1], len(numbers) + 1)}"

    text = _PARAMETER.sub(number, _filled(source, parts or {})).strip().rstrip(";")
    return Statement(name, text, tuple(numbers), source)


def _filled(source: str, parts: Mapping[str, str]) -> str:
    def fill(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else parts.get(match[1]) or load_parts()[match[1]]

    return _PLACE.sub(fill, source)
