"""The values that a filter's leaves and comparisons take, read from what callers write: each problem at its place."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from tidings.domain.channels import CONTACT_CHANNELS, one_of
from tidings.domain.comparison import OF_TIME, ORDERS, Op
from tidings.domain.errors import Problem
from tidings.domain.messages import did_you_mean, quoted
from tidings.domain.people.contact_fields import LONGEST_LABEL, LONGEST_TEXT, Consent, WrongParts, check_json
from tidings.domain.storable import UNSTORABLE, is_storable
from tidings.domain.timing import RELATIVE, parse_time, read_moment, relative_time

Json = Mapping[str, Any]
Problems = list[Problem]
NOTHING_SAID = "unknown"
"""What is asked of consent for those who said nothing about a channel."""
TAG_KINDS = ("any", "all", "none")
MOST_VALUES = 1_000
MOST_TAGS = 100


def read_text(longest: int) -> Callable[[object], tuple[str | None, Problems]]:
    """A reader of a string with something in it."""

    def reader(value: object) -> tuple[str | None, Problems]:
        if value is None:
            return None, []
        if not isinstance(value, str) or not value.strip():
            return None, [Problem("", "must be a string with something in it; leave it out to mean any")]
        if len(value) > longest or not is_storable(value):
            reason = UNSTORABLE if len(value) <= longest else f"has {len(value):,} characters: use at most {longest}"
            return None, [Problem("", reason)]
        return value.strip(), []

    return reader


def read_tags(value: object) -> tuple[Mapping[str, Sequence[str]] | None, Problems]:
    """Read tags of which one, all or none must be there."""
    if value is None:
        return None, []
    if not isinstance(value, Mapping) or not value:
        return None, [Problem("", "must be an object with any, all or none, each a list of tags")]
    read: dict[str, Sequence[str]] = {}
    problems: Problems = []
    for kind, some in value.items():
        if kind not in TAG_KINDS:
            problems.append(Problem(f".{str(kind)[:LONGEST_LABEL]}", f"is unknown here: use {', '.join(TAG_KINDS)}"))
        elif not isinstance(some, Sequence) or isinstance(some, str) or not 1 <= len(some) <= MOST_TAGS:
            problems.append(Problem(f".{kind}", f"must be a list of 1 to {MOST_TAGS} tags"))
        else:
            tags = [_tag(one) for one in some]
            problems += [Problem(f".{kind}[{at}]", wrong) for at, (_, wrong) in enumerate(tags) if wrong]
            read[kind] = [tag for tag, _ in tags if tag]
    return read, problems


def _tag(value: object) -> tuple[str | None, str | None]:
    tag, wrong = read_text(LONGEST_LABEL)(value)
    return tag, wrong[0].message if wrong else None if tag else "must be a string with something in it"


def read_channel(value: object) -> tuple[str | None, Problems]:
    """Read the name of a channel that reaches a person."""
    if value is None or (isinstance(value, str) and value in [*CONTACT_CHANNELS]):
        return value, []
    near = did_you_mean(value, map(str, CONTACT_CHANNELS)) if isinstance(value, str) else ""
    return None, [Problem("", f"{quoted(value)} is no way to reach a person: use {one_of(CONTACT_CHANNELS)}{near}")]


def read_consent(value: object) -> tuple[Mapping[str, str] | None, Problems]:
    """Read what people must have said about channels."""
    if value is None:
        return None, []
    words = [*Consent, NOTHING_SAID]
    if not isinstance(value, Mapping) or not value:
        return None, [Problem("", f"must be an object with channels, each {', '.join(words[:-1])} or {words[-1]}")]
    channels = {channel: read_channel(channel)[1] for channel in value}
    problems = [
        Problem(f".{str(name)[:LONGEST_LABEL]}", one.message) for name, some in channels.items() for one in some
    ]
    problems += [
        Problem(f".{channel}", f"{quoted(word)} is unknown here: use {', '.join(words)}")
        for channel, word in value.items()
        if not channels[channel] and word not in words
    ]
    return {channel: str(word) for channel, word in value.items()}, problems


def read_attributes(value: object) -> tuple[Json | None, Problems]:
    """Read what attributes must be, one object below the other."""
    if value is None:
        return None, []
    if not isinstance(value, Mapping) or not value or not all(isinstance(name, str) for name in value):
        return None, [Problem("", "must be an object with attributes and what each must be")]
    if wrong := _unfit(value):  # first, since it is what bounds the depth
        return None, wrong
    if wrong := [*_not_comparable(value)]:
        return None, wrong
    return value, []


def _not_comparable(value: Json, place: str = "") -> Iterable[Problem]:
    for name, one in value.items():
        if isinstance(one, Mapping) and one:
            yield from _not_comparable(one, f"{place}.{name}")
        elif not _is_scalar(one):
            yield Problem(f"{place}.{name}", "must be a string, a number, true or false")


def _is_scalar(value: object) -> bool:
    """Whether it is something that has an order or is equal to itself; JSON's 1e999 is read as infinity."""
    return isinstance(value, str | int | bool) or (isinstance(value, float) and isfinite(value))


def _unfit(value: Json) -> Problems:
    """What is wrong with JSON that no place can store, or that is too much."""
    try:
        check_json(value)
    except WrongParts as error:
        return error.problems
    except ValueError as error:
        return [Problem("", str(error))]
    return []


def problems_of_value(op: Op, value: object) -> Problems:
    """What is wrong with the value that an operator compares with."""
    if op is Op.IN:
        if not isinstance(value, Sequence) or isinstance(value, str) or not 1 <= len(value) <= MOST_VALUES:
            return [Problem("", f"{quoted(value)} is not a list of 1 to {MOST_VALUES:,} values")]
        return [
            Problem(f"[{at}]{wrong.place}", wrong.message) for at, one in enumerate(value) for wrong in _scalar(one)
        ]
    if op in OF_TIME:
        return problems_of_time(value)
    if op in ORDERS and isinstance(value, bool):
        return [Problem("", f"{op} takes a number, a string or a time, not {quoted(value)}")]
    return _scalar(value)


def problems_of_time(value: object) -> Problems:
    """What is wrong with a time that is compared with, a date or a relative one."""
    at = parse_time("2000-01-01")  # whether it is relative does not depend on the moment
    if read_moment(value) or (isinstance(value, str) and relative_time(value, at)):
        return []
    return [Problem("", f"{quoted(value)} is not a time: write 2027-01-31, 2027-01-31T09:00:00Z, {RELATIVE}")]


def _scalar(value: object) -> Problems:
    if not _is_scalar(value):
        return [Problem("", f"{quoted(value)} is not a string, a number, true or false; ask for null with missing")]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return [Problem("", f"has {len(value):,} characters: use at most {LONGEST_TEXT}")]
    return [Problem("", one.message) for one in _unfit({"value": value})]
