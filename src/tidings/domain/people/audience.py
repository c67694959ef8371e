"""An audience, as callers write it: everyone, those who match filters, named contacts, without some of them.

Filters are joined by "and" and united with the named contacts; who is excluded is left out, however they came in. Under
`all`, `any` and `not` stand filters again, as deep as they need. An audience that names nobody is refused: writing to
everyone takes `all: true`. Campaigns, segments and batch-enroll read theirs here; audience_filter.py is what it means.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from tidings.domain.errors import Problem
from tidings.domain.people.audience_filter import (
    LEAVES,
    NOBODY,
    AllOf,
    AnyOf,
    AudienceFilter,
    Json,
    NamedContacts,
    Not,
    Where,
    both,
    either,
)
from tidings.domain.people.contact_fields import LONGEST_LABEL

MOST_IDS = 10_000
DEEPEST = 10
MOST_LEAVES = 100
MOST_FILTERS = 1_000
"""Objects of filters in one audience, over all of its levels: each becomes a condition that every contact is asked."""
FILTERS = tuple(name for name, leaf in LEAVES.items() if leaf.for_audiences)
SPELLINGS: Mapping[str, str] = {
    **{name: name for name in ("all", *FILTERS, "any", "not", "segment_id", "contact_ids", "exclude_contact_ids")},
    "segmentId": "segment_id",
    "contactIds": "contact_ids",
    "excludeContactIds": "exclude_contact_ids",
}
_SHOWN = {name: spelled for spelled, name in SPELLINGS.items() if spelled != name}
_JOINED = ("all", "any", "not")
"""Under which other filters stand."""
Problems = list[Problem]


class Audience(msgspec.Struct, frozen=True):
    """Contacts of one workspace, by filters and by name; `contact_ids` are in the order given, without repeats."""

    all: bool = False
    company: str | None = None
    tag: str | None = None
    status: str | None = None
    attributes: Json | None = None
    joined: tuple[AudienceFilter, ...] = ()
    """What stands under `all`, `any` and `not`; each must hold."""
    segment_id: UUID | None = None
    contact_ids: tuple[UUID, ...] = ()
    exclude_contact_ids: tuple[UUID, ...] = ()

    @property
    def has_filter(self) -> bool:
        """Whether contacts are chosen by a filter, and not only by id."""
        return self.all or self.segment_id is not None or bool(self._filters())

    @property
    def filter(self) -> AudienceFilter:
        """The filter of those chosen by what holds for them; it matches nobody where contacts are only named."""
        return both(*self._filters()) if self.has_filter else NOBODY

    @property
    def everybody(self) -> AudienceFilter:
        """The filter of everyone in the audience, by filter or by name."""
        meant = either(self.filter, NamedContacts(self.contact_ids)) if self.contact_ids else self.filter
        return both(meant, Not(NamedContacts(self.exclude_contact_ids))) if self.exclude_contact_ids else meant

    def _filters(self) -> list[AudienceFilter]:
        given = [(name, getattr(self, name)) for name in FILTERS]
        return [*(Where(name, value) for name, value in given if value is not None), *self.joined]

    def shown(self) -> dict[str, Any]:
        """The audience in the spelling of the API; it reads back as the same audience."""
        rest = {name: getattr(self, name) for name in ("all", "segment_id", "contact_ids", "exclude_contact_ids")}
        given = {_SHOWN.get(name, name): msgspec.to_builtins(value) for name, value in rest.items() if value}
        return _shown_together(self._filters()) | given

    def inside(self, segment: "Audience") -> tuple["Audience", Problems]:
        """This audience with the people of its segment in place of the segment's id, as they are when it is asked.

        What both name must agree: people cannot be of two companies. Filters that narrow a segment cannot narrow
        the contacts it names one by one, so those two do not go together.
        """
        problems = [
            Problem(name, f"is {mine!r}, and the segment's is {theirs!r}: nobody is in both")
            for name in FILTERS
            if (mine := getattr(self, name)) and (theirs := getattr(segment, name)) and not _same(name, mine, theirs)
        ]
        narrows = bool(self._filters())
        if narrows and segment.contact_ids:
            problems.append(Problem("segmentId", "names contacts one by one, which filters beside it cannot narrow"))
        filters = {name: getattr(self, name) or getattr(segment, name) for name in FILTERS}
        return msgspec.structs.replace(
            self,
            **filters,
            joined=(*segment.joined, *self.joined),
            all=segment.all and not narrows,
            segment_id=None,
            contact_ids=tuple(dict.fromkeys((*segment.contact_ids, *self.contact_ids))),
            exclude_contact_ids=tuple(dict.fromkeys((*segment.exclude_contact_ids, *self.exclude_contact_ids))),
        ), problems


def _shown_together(filters: Sequence[AudienceFilter]) -> dict[str, Any]:
    """Filters that all must hold, as one object; as a list under `all`, where two would have one name."""
    shown = [_shown(one) for one in filters]
    together = {name: value for one in shown for name, value in one.items()}
    return together if len(together) == sum(map(len, shown)) else {"all": shown}


def _shown(one: AudienceFilter) -> dict[str, Any]:
    match one:
        case Where(leaf, value):
            return {leaf: value}
        case AllOf(parts):
            return {"all": [_shown(part) for part in parts]}
        case AnyOf(parts):
            return {"any": [_shown_part(part) for part in parts]}
        case Not(part):
            return {"not": _shown_part(part)}
        case NamedContacts():
            raise AssertionError("contacts are named beside the filters, not among them")


def _shown_part(one: AudienceFilter) -> dict[str, Any]:
    return _shown_together(one.parts) if isinstance(one, AllOf) else _shown(one)


def read_audience(raw: object, place: str = "audience", *, segments: bool = True) -> tuple[Audience, Problems]:
    """Return the audience, and everything that is wrong with it; one with problems is not complete.

    `place` is where it stood (empty for a whole body); without `segments` a segment is not known.
    """
    if not isinstance(raw, Mapping):
        return Audience(), [Problem(place or "body", "must be an object that says whom; for everyone {all: true}")]
    if _has_too_many(raw):
        return Audience(), [Problem(place or "body", f"has more than {MOST_FILTERS:,} filters; use a tag instead")]
    prefix = f"{place}." if place else ""
    found: dict[str, Any] = {}
    joined: list[AudienceFilter] = []
    problems: Problems = []
    for spelled, value in raw.items():
        name = SPELLINGS.get(spelled)
        if name is None or (name == "segment_id" and not segments):
            problems.append(
                Problem(f"{prefix}{str(spelled)[:LONGEST_LABEL]}", f"is unknown here: use {_known(segments)}")
            )
        elif name in found:
            problems.append(Problem(f"{prefix}{spelled}", "is given twice, in both spellings"))
        elif name in _JOINED and not (name == "all" and (value is None or isinstance(value, bool))):
            joined += _read_joined(name, value, f"{prefix}{spelled}", problems, 1)
        else:
            found[name], wrong = _reader(name)(value)
            problems += [Problem(f"{prefix}{spelled}{one.place}", one.message) for one in wrong]
    given = {name: value for name, value in found.items() if value is not None}
    audience = Audience(**given, joined=tuple(joined))
    return audience, problems or _wrong_together(audience, place, segments)


def _has_too_many(raw: Mapping[str, object]) -> bool:
    """Whether more objects stand under `all`, `any` and `not` than there may be."""
    count, left = 0, [raw]
    while left and count <= MOST_FILTERS:
        one = left.pop()
        count += 1
        inner = [one.get(name) for name in _JOINED]
        every = [each for value in inner for each in (value if isinstance(value, list | tuple) else [value])]
        left += [each for each in every if isinstance(each, Mapping)]
    return count > MOST_FILTERS


def _reader(name: str) -> Callable[[object], tuple[Any, Problems]]:
    return LEAVES[name].read if name in LEAVES else _LISTS.get(name, _flag)


def _read_joined(name: str, value: object, place: str, problems: Problems, depth: int) -> list[AudienceFilter]:
    """What stands under `all`, `any` or `not`; nothing beside the problems where it cannot be read."""
    if value is None:
        return []
    if name == "not":
        return [Not(one) for one in _read_object(value, place, problems, depth)]
    if not isinstance(value, Sequence) or isinstance(value, str) or not 1 <= len(value) <= MOST_LEAVES:
        more = " (or true, for everyone)" if name == "all" else ""
        problems.append(Problem(place, f"must be a list of 1 to {MOST_LEAVES} filters{more}"))
        return []
    parts = tuple(part for at, one in enumerate(value) for part in _read_object(one, f"{place}[{at}]", problems, depth))
    return [AllOf(parts) if name == "all" else AnyOf(parts)]


def _read_object(raw: object, place: str, problems: Problems, depth: int) -> list[AudienceFilter]:
    """One object of filters, all of which must hold."""
    if depth > DEEPEST:
        problems.append(Problem(place, f"is nested too deeply: use at most {DEEPEST} levels"))
        return []
    known = (*FILTERS, *_JOINED)
    if not isinstance(raw, Mapping) or not raw:
        problems.append(Problem(place, f"must be an object with some of {', '.join(known)}"))
        return []
    parts: list[AudienceFilter] = []
    for name, value in raw.items():
        if name in _JOINED:
            parts += _read_joined(name, value, f"{place}.{name}", problems, depth + 1)
        elif name in FILTERS:
            read, wrong = LEAVES[name].read(value)
            problems += [Problem(f"{place}.{name}{one.place}", one.message) for one in wrong]
            parts += [] if read is None else [Where(name, read)]
        else:
            what = f"is unknown here: use {', '.join(known)}"
            problems.append(Problem(f"{place}.{str(name)[:LONGEST_LABEL]}", what))
    if not parts and all(value is None for value in raw.values()):
        problems.append(Problem(place, "asks nothing: leave it out"))
    return [both(*parts)]


def _wrong_together(audience: Audience, place: str, segments: bool) -> Problems:
    if not audience.has_filter and not audience.contact_ids:
        helps = ("contactIds", *(name for name in FILTERS if LEAVES[name].finds), *(["segmentId"] if segments else []))
        what = f"names nobody: give one of {', '.join(helps)}; for everyone {{all: true}}"
        return [Problem(place or "body", what)]
    narrowing = [*audience.shown().keys() - {"all", "contactIds", "excludeContactIds"}]
    if audience.all and narrowing:
        what = f"says everyone, and {', '.join(sorted(narrowing))} only some: leave one of them out"
        return [Problem(f"{place}.all" if place else "all", what)]
    return []


def _same(name: str, one: object, other: object) -> bool:
    """Whether two values of a filter mean the same people: tags and companies compare without case."""
    return one == other or (LEAVES[name].folds_case and str(one).lower() == str(other).lower())


def _known(segments: bool) -> str:
    names = dict.fromkeys(_SHOWN.get(name, name) for name in SPELLINGS.values() if segments or name != "segment_id")
    return ", ".join(names)


def _flag(value: object) -> tuple[bool, list[Problem]]:
    if value is None or isinstance(value, bool):
        return bool(value), []
    return False, [Problem("", "must be true or false")]


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
_LISTS: Mapping[str, Callable[[object], tuple[Any, list[Problem]]]] = {
    "segment_id": _id,
    "contact_ids": _ids,
    "exclude_contact_ids": _ids,
}
