"""The one filter on contacts, as a tree: what campaigns, segments, enrollments, simulations and lists choose people by.

A leaf says what one field must be; AllOf, AnyOf and Not join them. audience.py reads what callers write into
such a tree, storage/contact_parts.py makes a statement of it, and `matches` answers for one contact without a database.
To add a leaf: an entry in LEAVES, its part in storage/sql/contact_parts.sql, and a line in Audience.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never
from uuid import UUID

import msgspec

from tidings.domain.errors import Problem
from tidings.domain.people.contact_fields import LONGEST_LABEL, LONGEST_TEXT, SEARCHED_FIELDS, WrongParts, check_json
from tidings.domain.storable import UNSTORABLE, is_storable

Json = Mapping[str, Any]
Read: TypeAlias = Callable[[object], tuple[Any, list[Problem]]]


class Where(msgspec.Struct, frozen=True, tag=True):
    """What one leaf of LEAVES must be."""

    leaf: str
    value: Any

    def __hash__(self) -> int:
        return hash((self.leaf, msgspec.json.encode(self.value, order="sorted")))


class NamedContacts(msgspec.Struct, frozen=True, tag=True):
    """Contacts that are named one by one."""

    ids: tuple[UUID, ...]


class AllOf(msgspec.Struct, frozen=True, tag=True):
    """All of these must hold; with none of them, everyone."""

    parts: "tuple[AudienceFilter, ...]" = ()


class AnyOf(msgspec.Struct, frozen=True, tag=True):
    """One of these must hold; with none of them, nobody."""

    parts: "tuple[AudienceFilter, ...]" = ()


class Not(msgspec.Struct, frozen=True, tag=True):
    """This must not hold. What a contact lacks does not hold."""

    part: "AudienceFilter"


AudienceFilter: TypeAlias = Where | NamedContacts | AllOf | AnyOf | Not
EVERYONE, NOBODY = AllOf(), AnyOf()


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a filter can ask of a contact."""

    read: Read
    holds: Callable[[Any, Any], bool]
    """Of its value and a contact, whose fields are attributes: whether the contact is meant."""
    finds: int = 0
    """How much its index narrows: contacts are found by the leaf with the highest value. 0 means no index."""
    folds_case: bool = False
    """Whether `Acme` is found when `acme` is asked for."""
    for_audiences: bool = True


def matches(wanted: AudienceFilter, contact: Any) -> bool:
    """Whether a contact matches a filter, exactly as the database decides it."""
    match wanted:
        case Where(leaf, value):
            return LEAVES[leaf].holds(value, contact)
        case NamedContacts(ids):
            return contact.id in ids
        case AllOf(parts):
            return all(matches(part, contact) for part in parts)
        case AnyOf(parts):
            return any(matches(part, contact) for part in parts)
        case Not(part):
            return not matches(part, contact)
        case _:
            assert_never(wanted)


def both(*parts: AudienceFilter) -> AudienceFilter:
    """The filter that all of these must hold for, without a level that says nothing."""
    flat = [one for part in parts for one in (part.parts if isinstance(part, AllOf) else (part,))]
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def either(*parts: AudienceFilter) -> AudienceFilter:
    """The filter that one of these must hold for, without a level that says nothing."""
    flat = [one for part in parts for one in (part.parts if isinstance(part, AnyOf) else (part,))]
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def found_by(wanted: AudienceFilter) -> Where | NamedContacts | None:
    """The leaf whose index narrows most among those that every contact of the filter has; None: all must be read."""
    leaves = [one for one in (wanted.parts if isinstance(wanted, AllOf) else (wanted,)) if _finds(one)]
    return max((one for one in leaves if isinstance(one, Where | NamedContacts)), key=_finds, default=None)


def _finds(one: AudienceFilter) -> int:
    if isinstance(one, NamedContacts):
        return 100
    return LEAVES[one.leaf].finds if isinstance(one, Where) else 0


def read_text(longest: int) -> Read:
    """A reader of a string with something in it."""

    def reader(value: object) -> tuple[str | None, list[Problem]]:
        if value is None:
            return None, []
        if not isinstance(value, str) or not value.strip():
            return None, [Problem("", "must be a string with something in it; leave it out to mean any")]
        if len(value) > longest or not is_storable(value):
            reason = UNSTORABLE if len(value) <= longest else f"has {len(value):,} characters: use at most {longest}"
            return None, [Problem("", reason)]
        return value.strip(), []

    return reader


def _read_attributes(value: object) -> tuple[Json | None, list[Problem]]:
    if value is None:
        return None, []
    if not isinstance(value, Mapping) or not value or not all(isinstance(name, str) for name in value):
        return None, [Problem("", "must be an object with attributes and what each must be")]
    if wrong := [*_not_comparable(value)]:
        return None, wrong
    try:
        check_json(value)
    except WrongParts as error:
        return None, error.problems
    except ValueError as error:
        return None, [Problem("", str(error))]
    return value, []


def _not_comparable(value: Json, place: str = "") -> Iterable[Problem]:
    for name, one in value.items():
        if isinstance(one, Mapping) and one:
            yield from _not_comparable(one, f"{place}.{name}")
        elif not isinstance(one, str | int | float | bool):
            yield Problem(f"{place}.{name}", "must be a string, a number, true or false")


def _same_text(value: str, *among: str | None) -> bool:
    return value.lower() in {one.lower() for one in among if one}


def _has_attributes(value: Json, attributes: object) -> bool:
    if not isinstance(attributes, Mapping):
        return False
    for name, wanted in value.items():
        there = attributes.get(name)
        if isinstance(wanted, Mapping):
            if not _has_attributes(wanted, there):
                return False
        elif there != wanted or isinstance(there, bool) != isinstance(wanted, bool):
            return False
    return True


def _known_by(value: str, one: Any) -> bool:
    known = [getattr(one, name) for name in SEARCHED_FIELDS]
    return value.lower() in " ".join(text for text in known if text is not None).lower()


LEAVES: Mapping[str, Leaf] = {
    "company": Leaf(read_text(LONGEST_TEXT), lambda value, one: _same_text(value, one.company), 2, folds_case=True),
    "tag": Leaf(read_text(LONGEST_LABEL), lambda value, one: _same_text(value, *one.tags), 3, folds_case=True),
    "status": Leaf(read_text(LONGEST_LABEL), lambda value, one: bool(value == one.status), 1),
    "attributes": Leaf(_read_attributes, lambda value, one: _has_attributes(value, one.attributes)),
    "text": Leaf(read_text(LONGEST_TEXT), _known_by, for_audiences=False),
}
"""What a filter can ask of a contact, by the name under which callers ask it."""
