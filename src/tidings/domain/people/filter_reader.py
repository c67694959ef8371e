"""Filters as callers write them, read into a tree: every problem with its place and its remedy.

An object has leaves, one comparison `{path, op, value}`, and `all`, `any` and `not` with filters again; all that it
has must hold. audience.py adds what stands beside a filter in an audience; branches of workflows read leaves here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tidings.domain.comparison import ORDERS, WITHOUT_VALUE, Compare, Op
from tidings.domain.errors import Problem
from tidings.domain.messages import did_you_mean, quoted, unfit
from tidings.domain.people.audience_filter import (
    ATTRIBUTES,
    LEAVES,
    TEXT_PATHS,
    TIME_PATHS,
    AllOf,
    AnyOf,
    AudienceFilter,
    Not,
    Where,
    both,
)
from tidings.domain.people.contact_fields import LONGEST_LABEL
from tidings.domain.people.filter_values import problems_of_value
from tidings.domain.storable import UNSTORABLE, is_storable

DEEPEST = 10
MOST_LEAVES = 100
MOST_FILTERS = 1_000
"""Objects of filters in one audience, over all of its levels: each becomes a condition that every contact is asked."""
FILTERS = tuple(name for name, leaf in LEAVES.items() if leaf.for_audiences)
JOINS = ("all", "any", "not")
"""Under which other filters stand."""
COMPARISON = ("path", "op", "value")
KNOWN = (*FILTERS, *COMPARISON, *JOINS)
Problems = list[Problem]
Path = tuple[str, ...]


def read_filter(raw: object, place: str) -> tuple[AudienceFilter, Problems]:
    """Return a filter, and everything that is wrong with it; one with problems is not complete."""
    problems: Problems = []
    if has_too_many(raw):
        return AllOf(), [Problem(place, f"has more than {MOST_FILTERS:,} filters; use a tag instead")]
    return both(*read_object(raw, place, problems, 1)), problems


def has_too_many(raw: object) -> bool:
    """Whether more objects stand under `all`, `any` and `not` than there may be."""
    count, left = 0, [raw]
    while left and count <= MOST_FILTERS:
        one = left.pop()
        if isinstance(one, Mapping):
            count += 1
            inner = [one.get(name) for name in JOINS]
            left += [each for value in inner for each in (value if isinstance(value, list | tuple) else [value])]
    return count > MOST_FILTERS


def read_object(raw: object, place: str, problems: Problems, depth: int) -> list[AudienceFilter]:
    """One object of filters, all of which must hold."""
    if depth > DEEPEST:
        problems.append(Problem(place, f"is nested too deeply: use at most {DEEPEST} levels"))
        return []
    if not isinstance(raw, Mapping) or not raw:
        problems.append(Problem(place, f"must be an object with some of {', '.join(KNOWN)}"))
        return []
    for name in raw:
        if name not in KNOWN:
            what = f"is unknown here: use {', '.join(KNOWN)}{did_you_mean(str(name), KNOWN)}"
            problems.append(Problem(f"{place}.{str(name)[:LONGEST_LABEL]}", what))
    parts = read_leaves(raw, place, problems)
    for name in JOINS:
        parts += read_joined(name, raw.get(name), f"{place}.{name}", problems, depth + 1)
    if not parts and all(value is None for value in raw.values()):
        problems.append(Problem(place, "asks nothing: leave it out"))
    return [both(*parts)]


def read_leaves(raw: Mapping[str, object], place: str, problems: Problems) -> list[AudienceFilter]:
    """The leaves and the comparison of one object."""
    prefix = f"{place}." if place else ""
    parts: list[AudienceFilter] = []
    for name in FILTERS:
        read, wrong = LEAVES[name].read(raw.get(name))
        problems += [Problem(f"{prefix}{name}{one.place}", one.message) for one in wrong]
        parts += [] if read is None else [Where(name, read)]
    given = {name: raw[name] for name in COMPARISON if name in raw}
    if any(value is not None for value in given.values()):
        compare, wrong = read_comparison(given)
        problems += [Problem(f"{prefix}{one.place}", one.message) for one in wrong]
        parts += [] if compare is None else [compare]
    return parts


def read_joined(name: str, value: object, place: str, problems: Problems, depth: int) -> list[AudienceFilter]:
    """What stands under `all`, `any` or `not`; nothing beside the problems where it cannot be read."""
    if value is None:
        return []
    if name == "not":
        return [Not(one) for one in read_object(value, place, problems, depth)]
    if not isinstance(value, Sequence) or isinstance(value, str) or not 1 <= len(value) <= MOST_LEAVES:
        more = " (or true, for everyone)" if name == "all" else ""
        problems.append(Problem(place, f"must be a list of 1 to {MOST_LEAVES} filters{more}"))
        return []
    parts = tuple(part for at, one in enumerate(value) for part in read_object(one, f"{place}[{at}]", problems, depth))
    return [AllOf(parts) if name == "all" else AnyOf(parts)]


def read_comparison(given: Mapping[str, object]) -> tuple[Compare | None, Problems]:
    """A comparison of one value of a contact, and what is wrong with it."""
    path, problems = _read_path(given.get("path"))
    try:
        op = Op(str(given.get("op") or Op.EQUALS))
    except ValueError:
        use = f"use {', '.join(Op)}{did_you_mean(str(given['op']), map(str, Op))}"
        return None, [*problems, Problem("op", f"{quoted(given['op'])} is unknown: {use}")]
    value = given.get("value")
    if op in WITHOUT_VALUE or value is None:
        if (value is None) != (op in WITHOUT_VALUE):
            needs = (
                "takes no value: leave it out"
                if op in WITHOUT_VALUE
                else "needs a value; for what is not there use missing"
            )
            problems.append(Problem("value", f"{op} {needs}"))
    else:
        problems += [Problem(f"value{one.place}", one.message) for one in problems_of_value(op, value)]
    if path and path[0] in TIME_PATHS and not problems:
        problems += _wrong_for_time(path[0], op, value)
    kept = tuple(value) if isinstance(value, list) else value
    return (None, problems) if path is None or problems else (Compare(path, op, kept), [])


def _wrong_for_time(name: str, op: Op, value: object) -> Problems:
    if op not in ORDERS:
        return [Problem("op", f"{name} is a time, which {op} does not compare: use {', '.join(ORDERS)}")]
    return [Problem(f"value{one.place}", one.message) for one in problems_of_value(Op.BEFORE, value)]


def _read_path(given: object) -> tuple[Path | None, Problems]:
    """The names of a path, written with dots between them, or as a list where a name has a dot itself."""
    steps: list[Any] = (
        given.split(".") if isinstance(given, str) else [*given] if isinstance(given, list | tuple) else []
    )
    if not steps or not all(isinstance(one, str) and one and is_storable(one) for one in steps):
        what = UNSTORABLE if isinstance(given, str) and not is_storable(given) else unfit(given, "is not a path")
        return None, [Problem("path", f"{what}: write it like attributes.plan or createdAt")]
    root, *below = steps
    known = (ATTRIBUTES, *TEXT_PATHS, *TIME_PATHS)
    if root not in known:
        use = f"write attributes.{root[:LONGEST_LABEL]} for what is your own, or use {', '.join(known[1:])}"
        return None, [Problem("path", f"{quoted(root)} is not a field of a contact: {use}")]
    if (root == ATTRIBUTES) != bool(below):
        what = (
            "attributes needs a name below it, as attributes.plan"
            if root == ATTRIBUTES
            else f"{root} has nothing below it"
        )
        return None, [Problem("path", what)]
    return tuple(steps), []


def shown_together(filters: Sequence[AudienceFilter]) -> dict[str, Any]:
    """Filters that all must hold, as one object; as a list under `all`, where two would have one name."""
    shown = [shown_filter(one) for one in filters]
    together = {name: value for one in shown for name, value in one.items()}
    return together if len(together) == sum(map(len, shown)) else {"all": shown}


def shown_filter(one: AudienceFilter) -> dict[str, Any]:
    """A filter as callers write it; it reads back as the same."""
    match one:
        case Where(leaf, value):
            return {leaf: value}
        case Compare(path, op, value):
            dotted = any("." in step for step in path)
            shown = {"path": [*path] if dotted else ".".join(path), "op": str(op)}
            return shown if op in WITHOUT_VALUE else {**shown, "value": [*value] if isinstance(value, tuple) else value}
        case AllOf(parts):
            return {"all": [shown_filter(part) for part in parts]}
        case AnyOf(parts):
            return {"any": [shown_part(part) for part in parts]}
        case Not(part):
            return {"not": shown_part(part)}
        case _:
            raise AssertionError("contacts are named beside the filters, not among them")


def shown_part(one: AudienceFilter) -> dict[str, Any]:
    """A filter as one object."""
    return shown_together(one.parts) if isinstance(one, AllOf) else shown_filter(one)
