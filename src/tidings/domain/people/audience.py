"""An audience, as callers write it: everyone, those who match filters, named contacts, without some of them.

Filters are joined by "and" and united with the named contacts; who is excluded, by a filter or by name, is left out,
however they came in. An audience that names nobody is refused: writing to everyone takes `all: true`. Campaigns,
segments and batch-enroll read theirs here; filter_reader.py reads the filters, audience_filter.py is what they mean.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from tidings.domain.comparison import fold
from tidings.domain.errors import Problem
from tidings.domain.messages import did_you_mean
from tidings.domain.people.audience_filter import (
    LEAVES,
    NOBODY,
    AudienceFilter,
    NamedContacts,
    Not,
    Where,
    both,
    either,
)
from tidings.domain.people.contact_fields import LONGEST_LABEL
from tidings.domain.people.filter_reader import (
    COMPARISON,
    FILTERS,
    JOINS,
    MOST_FILTERS,
    has_too_many,
    read_filter,
    read_joined,
    read_leaves,
    shown_part,
    shown_together,
)

MOST_IDS = 10_000
SPELLINGS: Mapping[str, str] = {
    **{name: name for name in ("all", *FILTERS, *COMPARISON, "any", "not", "exclude")},
    **{name: name for name in ("segment_id", "contact_ids", "exclude_contact_ids")},
    "segmentId": "segment_id",
    "contactIds": "contact_ids",
    "excludeContactIds": "exclude_contact_ids",
}
_SHOWN = {name: spelled for spelled, name in SPELLINGS.items() if spelled != name}
Problems = list[Problem]


class Audience(msgspec.Struct, frozen=True):
    """Contacts of one workspace, by filters and by name; `contact_ids` are in the order given, without repeats."""

    all: bool = False
    filters: tuple[AudienceFilter, ...] = ()
    """Each must hold."""
    exclude: AudienceFilter | None = None
    segment_id: UUID | None = None
    contact_ids: tuple[UUID, ...] = ()
    exclude_contact_ids: tuple[UUID, ...] = ()

    @property
    def has_filter(self) -> bool:
        """Whether contacts are chosen by a filter, and not only by id."""
        return self.all or self.segment_id is not None or bool(self.filters)

    @property
    def filter(self) -> AudienceFilter:
        """The filter of those chosen by what holds for them; it matches nobody where contacts are only named."""
        return both(*self.filters, *self.without) if self.has_filter else NOBODY

    @property
    def without(self) -> Sequence[AudienceFilter]:
        """What must hold for named contacts as well: that no filter excludes them."""
        return [] if self.exclude is None else [Not(self.exclude)]

    @property
    def everybody(self) -> AudienceFilter:
        """The filter of everyone in the audience, by filter or by name."""
        meant = both(*self.filters) if self.has_filter else NOBODY
        if self.contact_ids:
            meant = either(meant, NamedContacts(self.contact_ids))
        named = [Not(NamedContacts(self.exclude_contact_ids))] if self.exclude_contact_ids else []
        return both(meant, *self.without, *named) if self.without or named else meant

    def shown(self) -> dict[str, Any]:
        """The audience in the spelling of the API; it reads back as the same audience."""
        rest = {name: getattr(self, name) for name in ("all", "segment_id", "contact_ids", "exclude_contact_ids")}
        given = {_SHOWN.get(name, name): msgspec.to_builtins(value) for name, value in rest.items() if value}
        excluded = {} if self.exclude is None else {"exclude": shown_part(self.exclude)}
        return shown_together(self.filters) | excluded | given

    def inside(self, segment: "Audience") -> tuple["Audience", Problems]:
        """This audience with the people of its segment in place of the segment's id, as they are when it is asked.

        What both name must agree: people cannot be of two companies. Filters that narrow a segment cannot narrow
        the contacts it names one by one, so those two do not go together.
        """
        mine, theirs = _named_leaves(self.filters), _named_leaves(segment.filters)
        problems = [
            Problem(name, f"is {mine[name]!r}, and the segment's is {theirs[name]!r}: nobody is in both")
            for name in mine
            if name in theirs and name in _ONE_EACH and fold(mine[name]) != fold(theirs[name])
        ]
        if self.filters and segment.contact_ids:
            problems.append(Problem("segmentId", "names contacts one by one, which filters beside it cannot narrow"))
        excluded = [one for one in (segment.exclude, self.exclude) if one is not None]
        return msgspec.structs.replace(
            self,
            filters=_in_order((*segment.filters, *self.filters)),
            exclude=either(*excluded) if excluded else None,
            all=segment.all and not self.filters,
            segment_id=None,
            contact_ids=tuple(dict.fromkeys((*segment.contact_ids, *self.contact_ids))),
            exclude_contact_ids=tuple(dict.fromkeys((*segment.exclude_contact_ids, *self.exclude_contact_ids))),
        ), problems


_ONE_EACH = frozenset(["company", "tag", "status"])
"""Filters that a segment and what narrows it may both name only with one value: a mistake, as it is there to see."""


def _named_leaves(filters: Sequence[AudienceFilter]) -> Mapping[str, Any]:
    return {one.leaf: one.value for one in filters if isinstance(one, Where)}


def _in_order(filters: Sequence[AudienceFilter]) -> tuple[AudienceFilter, ...]:
    """Leaves in the order of their table, each once, and then the rest."""
    leaves = [one for name in FILTERS for one in filters if isinstance(one, Where) and one.leaf == name]
    rest = [one for one in filters if not isinstance(one, Where)]
    kept: dict[object, AudienceFilter] = {}
    for one in leaves:
        value = fold(one.value) if isinstance(one.value, str) else None
        kept.setdefault((one.leaf, value) if value is not None else one, one)
    return (*kept.values(), *rest)


def read_audience(raw: object, place: str = "audience", *, segments: bool = True) -> tuple[Audience, Problems]:
    """Return the audience, and everything that is wrong with it; one with problems is not complete.

    `place` is where it stood (empty for a whole body); without `segments` a segment is not known.
    """
    if not isinstance(raw, Mapping):
        return Audience(), [Problem(place or "body", "must be an object that says whom; for everyone {all: true}")]
    if has_too_many(raw):
        return Audience(), [Problem(place or "body", f"has more than {MOST_FILTERS:,} filters; use a tag instead")]
    prefix = f"{place}." if place else ""
    problems = _unknown_fields(raw, prefix, segments)
    found: dict[str, Any] = {}
    for spelled, value in raw.items():
        name = SPELLINGS.get(spelled, "")
        if name in _READERS and not (name == "all" and value is not None and not isinstance(value, bool)):
            found[name], wrong = _READERS[name](value)
            problems += [Problem(f"{prefix}{spelled}{one.place}", one.message) for one in wrong]
    audience = Audience(
        **{name: value for name, value in found.items() if value is not None},
        filters=_read_filters(raw, place, problems),
        exclude=_read_exclude(raw.get("exclude"), f"{prefix}exclude", problems),
    )
    return audience, problems or _wrong_together(audience, place, segments)


def _unknown_fields(raw: Mapping[str, object], prefix: str, segments: bool) -> Problems:
    """Fields that an audience does not have, and those that are there in both spellings."""
    problems: Problems = []
    seen: set[str] = set()
    for spelled in raw:
        name = SPELLINGS.get(spelled)
        if name is None or (name == "segment_id" and not segments):
            known = _known(segments)
            what = f"is unknown here: use {', '.join(known)}{did_you_mean(str(spelled), known)}"
            problems.append(Problem(f"{prefix}{str(spelled)[:LONGEST_LABEL]}", what))
        elif name in seen:
            problems.append(Problem(f"{prefix}{spelled}", "is given twice, in both spellings"))
        seen |= {name} if name else set()
    return problems


def _read_filters(raw: Mapping[str, object], place: str, problems: Problems) -> tuple[AudienceFilter, ...]:
    """The leaves, the comparison and the joins that stand in an audience itself."""
    prefix = f"{place}." if place else ""
    filters = read_leaves(raw, place, problems)
    for name in JOINS:
        value = raw.get(name)
        if not (name == "all" and isinstance(value, bool)):
            filters += read_joined(name, value, f"{prefix}{name}", problems, 1)
    return tuple(filters)


def _read_exclude(raw: object, place: str, problems: Problems) -> AudienceFilter | None:
    if raw is None:
        return None
    excluded, wrong = read_filter(raw, place)
    problems += wrong
    return excluded


def _wrong_together(audience: Audience, place: str, segments: bool) -> Problems:
    if not audience.has_filter and not audience.contact_ids:
        helps = ("contactIds", *(name for name in FILTERS if LEAVES[name].finds), *(["segmentId"] if segments else []))
        what = f"names nobody: give one of {', '.join(helps)}; for everyone {{all: true}}"
        return [Problem(place or "body", what)]
    narrowing = [*audience.shown().keys() - {"all", "contactIds", "exclude", "excludeContactIds"}]
    if audience.all and narrowing:
        what = f"says everyone, and {', '.join(sorted(narrowing))} only some: leave one of them out"
        return [Problem(f"{place}.all" if place else "all", what)]
    return []


def _known(segments: bool) -> list[str]:
    names = dict.fromkeys(_SHOWN.get(name, name) for name in SPELLINGS.values() if segments or name != "segment_id")
    return [*names]


def _flag(value: object) -> tuple[bool, list[Problem]]:
    return bool(value), []


def _id(value: object) -> tuple[UUID | None, list[Problem]]:
    if value is None or isinstance(value, UUID):
        return value, []
    try:
        return UUID(value) if isinstance(value, str) else None, [] if isinstance(value, str) else [_NO_ID]
    except ValueError:
        return None, [_NO_ID]


def _ids(value: object) -> tuple[tuple[UUID, ...], list[Problem]]:
    if value is None:
        return (), []
    if not isinstance(value, Sequence) or isinstance(value, str):
        return (), [Problem("", "must be a list of ids")]
    if len(value) > MOST_IDS:
        more = f"has {len(value):,} ids: use at most {MOST_IDS:,}, or a tag that those contacts have"
        return (), [Problem("", more)]
    found: dict[UUID, None] = {}
    problems = []
    for place, one in enumerate(value):
        id, wrong = _id(one)
        if id is None or wrong:
            problems.append(Problem(f"[{place}]", _NO_ID.message))
        else:
            found[id] = None
    return tuple(found), problems


_NO_ID = Problem("", "must be the id or the external id of a contact, as a string")
_READERS: Mapping[str, Callable[[object], tuple[Any, list[Problem]]]] = {
    "all": _flag,
    "segment_id": _id,
    "contact_ids": _ids,
    "exclude_contact_ids": _ids,
}
