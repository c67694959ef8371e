"""Whom something is for, as it is given: everyone, those who match filters, named contacts, without some of them.

Filters are joined by "and" and united with the named contacts; who is excluded is left out, however they came in. An
audience that names nobody is refused: writing to everyone takes the word `all`. Campaigns, segments and batch-enroll
read theirs here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from tidings.domain.errors import Problem
from tidings.domain.people.contact import LONGEST_LABEL, LONGEST_TEXT
from tidings.domain.storable import UNSTORABLE, is_storable

MOST_IDS = 10_000
FILTERS = ("company", "tag", "status")
WITHOUT_CASE = frozenset({"company", "tag"})
"""Filters that find `Acme` when they are asked for `acme`."""
SPELLINGS: Mapping[str, str] = {
    **{name: name for name in ("all", *FILTERS, "segment_id", "contact_ids", "exclude_contact_ids")},
    "segmentId": "segment_id",
    "contactIds": "contact_ids",
    "excludeContactIds": "exclude_contact_ids",
}
_SHOWN = {name: spelled for spelled, name in SPELLINGS.items() if spelled != name}


class Audience(msgspec.Struct, frozen=True):
    """Contacts of one workspace, told by what holds for them; `contact_ids` are in the order given, without repeats."""

    all: bool = False
    company: str | None = None
    tag: str | None = None
    status: str | None = None
    segment_id: UUID | None = None
    contact_ids: tuple[UUID, ...] = ()
    exclude_contact_ids: tuple[UUID, ...] = ()

    @property
    def has_filter(self) -> bool:
        """Whether somebody is meant by what holds for them, and not only by id."""
        return self.all or any(getattr(self, name) is not None for name in (*FILTERS, "segment_id"))

    def shown(self) -> dict[str, Any]:
        """What was given, in the spelling of the API; it reads back as the same audience."""
        given = {name: value for name, value in msgspec.to_builtins(self).items() if value not in (None, False, [], ())}
        return {_SHOWN.get(name, name): value for name, value in given.items()}

    def inside(self, segment: "Audience") -> tuple["Audience", list[Problem]]:
        """This audience with the people of its segment in place of the segment's id, as they are when it is asked.

        What both name must agree: people cannot be of two companies. Filters that narrow a segment cannot narrow
        the contacts it names one by one, so those two do not go together.
        """
        problems = [
            Problem(name, f"is {mine!r}, and the segment's is {theirs!r}: nobody is in both")
            for name in FILTERS
            if (mine := getattr(self, name)) and (theirs := getattr(segment, name)) and not _same(name, mine, theirs)
        ]
        narrows = any(getattr(self, name) is not None for name in FILTERS)
        if narrows and segment.contact_ids:
            problems.append(Problem("segmentId", "names contacts one by one, which filters beside it cannot narrow"))
        filters = {name: getattr(self, name) or getattr(segment, name) for name in FILTERS}
        return msgspec.structs.replace(
            self,
            **filters,
            all=segment.all and not narrows,
            segment_id=None,
            contact_ids=tuple(dict.fromkeys((*segment.contact_ids, *self.contact_ids))),
            exclude_contact_ids=tuple(dict.fromkeys((*segment.exclude_contact_ids, *self.exclude_contact_ids))),
        ), problems


def read_audience(raw: object, place: str = "audience", *, segments: bool = True) -> tuple[Audience, list[Problem]]:
    """Whom is meant, and everything that is wrong with it; an audience with problems is not complete.

    `place` is where it stood (empty for a whole body); without `segments` a segment is not known.
    """
    if not isinstance(raw, Mapping):
        return Audience(), [Problem(place or "body", "must be an object that says whom; for everyone {all: true}")]
    prefix = f"{place}." if place else ""
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for spelled, value in raw.items():
        name = SPELLINGS.get(spelled)
        if name is None or (name == "segment_id" and not segments):
            problems.append(
                Problem(f"{prefix}{str(spelled)[:LONGEST_LABEL]}", f"is unknown here: use {_known(segments)}")
            )
        elif name in found:
            problems.append(Problem(f"{prefix}{spelled}", "is given twice, in both spellings"))
        else:
            found[name], wrong = _READERS[name](value)
            problems += [Problem(f"{prefix}{spelled}{one.place}", one.message) for one in wrong]
    audience = Audience(**{name: value for name, value in found.items() if value is not None})
    return audience, problems or _wrong_together(audience, place, segments)


def _wrong_together(audience: Audience, place: str, segments: bool) -> list[Problem]:
    if not audience.has_filter and not audience.contact_ids:
        helps = ("contactIds", *FILTERS, *(["segmentId"] if segments else []))
        what = f"names nobody: give one of {', '.join(helps)}; for everyone {{all: true}}"
        return [Problem(place or "body", what)]
    narrowing = [_SHOWN.get(name, name) for name in (*FILTERS, "segment_id") if getattr(audience, name) is not None]
    if audience.all and narrowing:
        what = f"says everyone, and {', '.join(narrowing)} only some: leave one of them out"
        return [Problem(f"{place}.all" if place else "all", what)]
    return []


def _same(name: str, one: str, other: str) -> bool:
    """Whether two values of a filter mean the same people: tags and companies compare without case."""
    return one == other or (name in WITHOUT_CASE and one.lower() == other.lower())


def _known(segments: bool) -> str:
    names = [_SHOWN.get(name, name) for name in Audience.__struct_fields__ if segments or name != "segment_id"]
    return ", ".join(names)


def _flag(value: object) -> tuple[bool, list[Problem]]:
    if value is None or isinstance(value, bool):
        return bool(value), []
    return False, [Problem("", "must be true or false")]


def _text(longest: int) -> Callable[[object], tuple[str | None, list[Problem]]]:
    def reader(value: object) -> tuple[str | None, list[Problem]]:
        if value is None:
            return None, []
        if not isinstance(value, str) or not value.strip():
            return None, [Problem("", "must be a text with something in it; leave it out to mean any")]
        if len(value) > longest or not is_storable(value):
            reason = UNSTORABLE if len(value) <= longest else f"has {len(value):,} characters: use at most {longest}"
            return None, [Problem("", reason)]
        return value.strip(), []

    return reader


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
    "company": _text(LONGEST_TEXT),
    "tag": _text(LONGEST_LABEL),
    "status": _text(LONGEST_LABEL),
    "segment_id": _id,
    "contact_ids": _ids,
    "exclude_contact_ids": _ids,
}
