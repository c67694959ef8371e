"""Strict JSON: a name that occurs twice in one object, and words that are not JSON, are refused.

Most parsers silently take the last of two; an author who wrote both meant something else.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Never

from tidings.domain.errors import Problem
from tidings.domain.workflows.definition_reader import snake_case

TWICE = "is there twice; give it once"
Pairs = list[tuple[str, Any]]


def parse_json(text: str) -> object:
    """Parse a string; raise ValueError when it is not JSON, or has a name twice in one object."""
    return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)


def names_given_twice(encoded: bytes) -> list[str]:
    """The names that occur twice in the outermost object of valid JSON."""
    outermost: list[str] = []

    def note(pairs: Pairs) -> None:
        outermost[:] = [name for name, _ in pairs]  # an object is read after those inside it, so the last one stays

    json.loads(encoded, object_pairs_hook=note)
    return [name for name, times in Counter(outermost).items() if times > 1]


def spelled_twice(given: Mapping[str, object], fields: Iterable[str] | None = None) -> list[Problem]:
    """The fields of an object (or only those of ours in it) that are given in camelCase and in snake_case."""
    pairs = [(name, snake_case(name)) for name in (given if fields is None else fields) if name in given]
    return [
        Problem(other, f"is given twice, the other time as {name}; give it once")
        for name, other in pairs
        if other != name and other in given
    ]


def _object(pairs: Pairs) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{name!r} {TWICE}")
    return found


def _refuse(word: str) -> Never:
    raise ValueError(f"{word} is no JSON; write a number, or null")
