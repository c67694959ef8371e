"""Loads the named statements of sql/*.sql and turns their named parameters into PostgreSQL's numbered ones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
# A colon that is not part of a cast, and not inside a quoted text or a comment.
_PARAMETER = re.compile(r"'[^']*'|--[^\n]*|(?<![:\w]):([a-z_][a-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, ready for the driver: `arguments` gives values by name in the order of its numbers."""

    name: str
    text: str
    parameters: tuple[str, ...]

    def arguments(self, values: Mapping[str, object]) -> list[object]:
        """The values in the order of $1, $2, …; a missing or unknown name is an error of the caller."""
        if values.keys() != set(self.parameters):
            raise TypeError(f"{self.name} takes {sorted(self.parameters)}, not {sorted(values)}")
        return [values[name] for name in self.parameters]


@cache
def load(file: str) -> Mapping[str, Statement]:
    """The statements of one file, by name."""
    source = files("tidings.storage").joinpath("sql", f"{file}.sql").read_text()
    pieces = _NAME.split(source)[1:]
    return {name: _parse(name, body) for name, body in zip(pieces[::2], pieces[1::2], strict=True)}


def _parse(name: str, body: str) -> Statement:
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        return f"${numbers.setdefault(match[1], len(numbers) + 1)}"

    text = _PARAMETER.sub(number, body).strip().rstrip(";")
    return Statement(name, text, tuple(numbers))
