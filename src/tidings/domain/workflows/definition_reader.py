"""Reads the parts that definitions are made of, and keeps every problem it meets with its place."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import TypeGuard, TypeVar

from tidings.domain.comparison import OF_TIME, WITHOUT_VALUE, Compare, Op
from tidings.domain.content import template
from tidings.domain.content.interpolation import interpolation_of
from tidings.domain.content.template_facts import WalkVariable
from tidings.domain.errors import DefinitionInvalid, Problem, TemplateInvalid
from tidings.domain.flow.graph import OnFailure
from tidings.domain.flow.retry import RetryPolicy
from tidings.domain.messages import did_you_mean, quoted, shown_number, unfit
from tidings.domain.names import LONGEST_NAME, problem_of_name
from tidings.domain.people.audience_filter import AllOf, AnyOf, AudienceFilter, Not, both
from tidings.domain.people.filter_reader import FILTERS, read_leaves
from tidings.domain.people.filter_values import problems_of_time
from tidings.domain.storable import place_of
from tidings.domain.timing import LONGEST_WAIT, parse_duration
from tidings.domain.workflows.fields import (
    ATTEMPTS,
    BASE_SECONDS,
    CAP_SECONDS,
    FACTOR,
    JITTER,
    RETRIES,
    RETRY_FIELDS,
    THEN,
    NumberField,
    names_of,
)

MAX_CONDITIONS = 100
MAX_DEPTH = 20
MAX_TEXTS = 1_000
LONGEST_KEY = 1_000
MOST_PROBLEMS = 1_000
"""How many problems are reported; the rest are counted."""

Raw = Mapping[str, object]
Choice = TypeVar("Choice", bound=StrEnum)
_CAPITAL = re.compile(r"(?<!^)([A-Z])")


class Reader:
    """Keeps the problems of what it reads.

    What `is_stored` was accepted before, perhaps by an older release, and must be readable while anything runs by it:
    newer checks are for new definitions only.
    """

    def __init__(self, *, is_stored: bool = False) -> None:
        self.problems: list[Problem] = []
        self.found = 0
        self.is_stored = is_stored
        self.of_the_walk: list[tuple[str, WalkVariable]] = []

    def add(self, place: str, message: str) -> None:
        """Keep a problem, or count it when very many are kept already."""
        self.found += 1
        if self.found <= MOST_PROBLEMS:
            self.problems.append(Problem(place, message))

    def raise_if_any(self) -> None:
        """Raise DefinitionInvalid with all of them."""
        if self.found > MOST_PROBLEMS:
            raise DefinitionInvalid([*self.problems, Problem("", f"and {self.found - MOST_PROBLEMS} more problems")])
        if self.problems:
            raise DefinitionInvalid(self.problems)

    def get(self, raw: Raw, name: str, default: object = None) -> object:
        """A field under its name, or under the same name in snake_case."""
        return raw.get(name, raw.get(_other_spelling(name), default))

    def known_fields(self, raw: Raw, known: Sequence[str], place: str) -> None:
        """Refuse unknown fields, most of which are typing errors, and one field in two spellings."""
        allowed = _both_spellings(tuple(known))
        for name in raw:
            if name not in allowed and self.found >= MOST_PROBLEMS:
                self.found += 1  # what nobody is told need not be found out
            elif name not in allowed:
                use = f"use {', '.join(known)}{did_you_mean(str(name), known)}"
                self.add(below(place, str(name)[:LONGEST_NAME]), f"{quoted(name)} is not a field here; {use}")
        if not self.is_stored:
            self.once(raw, known, place)

    def once(self, raw: Raw, known: Sequence[str], place: str) -> None:
        """Refuse one field in two spellings: it is not clear which of them holds."""
        for name in known:
            other = _other_spelling(name)
            if other != name and name in raw and other in raw:
                self.add(below(place, other), f"is given twice, the other time as {name}; give it once")

    def name(self, raw: Raw, field: str, place: str, default: str | None = None) -> str:
        """A short string that names something."""
        given = raw.get(field, default)
        if given is None:
            self.add(below(place, field), f"is missing: use a string of 1 to {LONGEST_NAME} characters")
            return ""
        if self.is_stored and isinstance(given, str) and 0 < len(given) <= LONGEST_NAME:
            return given
        problem = problem_of_name(given)
        if problem:
            self.add(below(place, field), problem)
        return "" if problem else str(given)

    def choice(self, raw: Raw, name: str, kind: type[Choice], default: Choice, place: str) -> Choice:
        """One of a few words."""
        given = self.get(raw, name, default)
        try:
            return kind(str(given))
        except ValueError:
            self.add(below(place, name), f"{quoted(given)} is not one of {', '.join(kind)}")
            return default

    def flag(self, raw: Raw, name: str, default: bool, place: str) -> bool:
        """True or false."""
        given = self.get(raw, name, default)
        if isinstance(given, bool):
            return given
        self.add(below(place, name), f"{quoted(given)} is not true or false")
        return default

    def number(
        self, raw: Raw, name: str, *, least: float, most: float, place: str = "", whole: bool = False
    ) -> float | None:
        """A number within bounds, if one is given."""
        given = self.get(raw, name)
        if given is None:
            return None
        if is_within(given, least, most) and (not whole or given == int(given)):
            return float(given)
        kind = "a whole number" if whole else "a number"
        bounds = f"from {shown_number(least)} to {shown_number(most)}"
        self.add(below(place, name), f"{quoted(given)} is not {kind} {bounds}")
        return None

    def bounded(self, raw: Raw, field: NumberField, place: str = "") -> float | None:
        """A number within the bounds of its field, if one is given."""
        return self.number(raw, field.name, least=field.least, most=field.largest, place=place, whole=field.is_whole)

    def payload(self, raw: object, place: str) -> Mapping[str, object]:
        """What a function gets: any JSON object, each string in it a template."""
        return {} if raw is None else self.json_object(raw, f"{place}.payload")

    def json_object(self, raw: object, where: str) -> Mapping[str, object]:
        """Any JSON object, each string in it a template."""
        if not isinstance(raw, Mapping):
            self.add(where, f"{quoted(raw)} is not an object")
            return {}
        texts = list(islice(_texts(raw, (where,), MAX_DEPTH), MAX_TEXTS + 1))
        if None in texts or len(texts) > MAX_TEXTS:
            self.add(
                where,
                f"nested deeper than {MAX_DEPTH} levels, of more than {MAX_TEXTS} strings, or with a name of more than "
                f"{LONGEST_KEY} characters",
            )
            return {}
        for steps, source in filter(None, texts):
            self.check_template(source, place_of(steps), html=False)
        return raw

    def check_template(self, source: str, place: str, *, html: bool) -> None:
        """Parse a template, say where it is wrong, and keep what it wants of the walk."""
        if self.is_stored:
            return
        try:
            template.check(source, html=html)
            self.of_the_walk += [(place, one) for one in template.walk_variables(source)]
        except TemplateInvalid as error:
            self.add(place, f"{error} (line {error.line}, column {error.column})")

    def is_plain_variable(self, source: str) -> bool:
        """Whether a template is one variable and nothing else."""
        found = interpolation_of(source)
        return found is not None and len(found.parts) == 1 and not (found.parts[0][0] + found.tail).strip()

    def milliseconds(self, raw: object, place: str) -> timedelta:
        """A wait in milliseconds."""
        if not is_number(raw) or not raw >= 0:
            self.add(f"{place}.delayMs", f"{quoted(raw)} is not a wait: use a number of milliseconds from 0 on")
            return timedelta()
        if raw > LONGEST_WAIT.total_seconds() * 1000:
            self.add(f"{place}.delayMs", f"{quoted(raw)} is longer than ten years")
            return timedelta()
        return timedelta(milliseconds=raw)

    def duration(self, raw: object, place: str) -> timedelta:
        """A wait as ISO 8601 writes it."""
        try:
            return parse_duration(raw)
        except ValueError as error:
            self.add(f"{place}.duration", str(error))
            return timedelta()

    def retry(self, raw: Raw, default: RetryPolicy, place: str) -> RetryPolicy:
        """A policy with what is given changed."""
        given = self.get(raw, "retry")
        if given is None:
            return default
        where = below(place, "retry")
        if not isinstance(given, Mapping):
            self.add(
                where, f"{quoted(given)} is not an object with attempts, baseSeconds, factor, capSeconds and jitter"
            )
            return default
        self.known_fields(given, names_of(RETRY_FIELDS), where)
        attempts = self.bounded(given, ATTEMPTS, where)
        base = self.bounded(given, BASE_SECONDS, where)
        factor = self.bounded(given, FACTOR, where)
        cap = self.bounded(given, CAP_SECONDS, where)
        jitter = self.bounded(given, JITTER, where)
        return replace(
            default,
            attempts=default.attempts if attempts is None else int(attempts),
            base=default.base if base is None else timedelta(seconds=base),
            factor=default.factor if factor is None else factor,
            cap=default.cap if cap is None else timedelta(seconds=cap),
            jitter=default.jitter if jitter is None else jitter,
        )

    def on_failure(
        self, raw: Raw, retry: RetryPolicy, place: str, *, only_retry_repeats: bool
    ) -> tuple[RetryPolicy, OnFailure]:
        """What to do when a node fails; in steps, `continue` and `abort` mean at the first failure."""
        given = self.get(raw, "onFailure")
        where = f"{place}.onFailure"
        if given is None or given == "retry":
            return retry, OnFailure.ABORT
        if isinstance(given, Mapping):
            self.known_fields(given, names_of((RETRIES, THEN)), where)
            retries = self.bounded(given, RETRIES, where)
            attempts = retry.attempts if retries is None else int(retries) + 1
            return replace(retry, attempts=attempts), self.choice(given, "then", OnFailure, OnFailure.ABORT, where)
        try:
            then = OnFailure(str(given))
        except ValueError:
            self.add(
                where, f"{quoted(given)} is not one of abort, continue, retry or {{retry: n, then: abort | continue}}"
            )
            return retry, OnFailure.ABORT
        return (replace(retry, attempts=1) if only_retry_repeats else retry), then

    def condition(self, raw: object, place: str, depth: int = 0) -> AudienceFilter | None:
        """A condition on an edge."""
        if not isinstance(raw, Mapping) or depth > MAX_DEPTH:
            what = "{path, op, value}, {all: […]}, {any: […]}, {not: …} or a filter on the contact, as {tag: vip}"
            self.add(place, f"a condition is {what}, not nested too deeply")
            return None
        if "not" in raw:
            self.known_fields(raw, ("not",), place)
            negated = self.condition(raw["not"], f"{place}.not", depth + 1)
            return Not(negated) if negated else None
        for name, kind in (("all", AllOf), ("any", AnyOf)):
            if name in raw:
                self.known_fields(raw, (name,), place)
                return kind(self._conditions(raw[name], f"{place}.{name}", depth))
        return self._of_contact(raw, place) if raw.keys() & {*FILTERS} else self._compare(raw, place)

    def _of_contact(self, raw: Raw, place: str) -> AudienceFilter | None:
        """What is asked of the execution's contact, as an audience asks it."""
        self.known_fields(raw, FILTERS, place)
        wrong: list[Problem] = []
        parts = read_leaves({name: value for name, value in raw.items() if name in FILTERS}, place, wrong)
        for one in wrong:
            self.add(one.place, one.message)
        if not parts and not wrong:
            self.add(place, "asks nothing: leave it out")
        return both(*parts)

    def _conditions(self, raw: object, place: str, depth: int) -> tuple[AudienceFilter, ...]:
        if not isinstance(raw, list | tuple) or not 1 <= len(raw) <= MAX_CONDITIONS:
            self.add(place, f"give a list of 1 to {MAX_CONDITIONS} conditions")
            return ()
        found = [self.condition(one, f"{place}[{number}]", depth + 1) for number, one in enumerate(raw)]
        return tuple(one for one in found if one)

    def _compare(self, raw: Raw, place: str) -> AudienceFilter | None:
        self.known_fields(raw, ("path", "op", "value"), place)
        path = raw.get("path")
        if not isinstance(path, str) or not all(path.split(".")):
            self.add(f"{place}.path", f"{unfit(path, 'is not a path')}: write it like plan or vars.welcome.status")
            return None
        wanted = None if self.is_stored else template.walk_variable_in(path.split("."))
        self.of_the_walk += [(f"{place}.path", wanted)] if wanted else []
        op = self.choice(raw, "op", Op, Op.EQUALS, place)
        if ("value" in raw) == (op in WITHOUT_VALUE):
            self.add(f"{place}.value", f"{op} takes {'no' if op in WITHOUT_VALUE else 'a'} value")
        elif op in OF_TIME:
            for wrong in problems_of_time(raw.get("value")):
                self.add(f"{place}.value", wrong.message)
        return Compare(tuple(path.split(".")), op, raw.get("value"))


def is_number(given: object) -> TypeGuard[int | float]:
    """Whether a value is a number: true and false are none."""
    return isinstance(given, int | float) and not isinstance(given, bool)


def is_within(given: object, least: float, most: float) -> TypeGuard[int | float]:
    """Whether a value is a number within bounds; compared as it is, for a huge int is no float."""
    return is_number(given) and least <= given <= most


@cache  # for our own names alone: there are few of them, and others give any number
def _other_spelling(name: str) -> str:
    return snake_case(name)


@cache
def _both_spellings(known: tuple[str, ...]) -> frozenset[str]:
    return frozenset((*known, *map(snake_case, known)))


def snake_case(name: str) -> str:
    """A name in the other spelling."""
    return _CAPITAL.sub(lambda match: f"_{match[1].lower()}", name)


def below(place: str, name: str) -> str:
    """The place of a field inside another place."""
    return f"{place}.{name}" if place else name


def _texts(raw: object, steps: tuple[str | int, ...], depth: int) -> Iterator[tuple[tuple[str | int, ...], str] | None]:
    """Every string in a payload with the steps to it; None where it is too deep, or a name too long."""
    if isinstance(raw, str):
        yield steps, raw
        return
    if not isinstance(raw, Mapping | list | tuple):
        return
    if not depth or (isinstance(raw, Mapping) and any(len(str(name)) > LONGEST_KEY for name in raw)):
        yield None
        return
    for step, value in raw.items() if isinstance(raw, Mapping) else enumerate(raw):
        yield from _texts(value, (*steps, step), depth - 1)
