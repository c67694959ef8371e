"""The one filter on contacts, as a tree: what campaigns, segments, enrollments, branches and lists choose people by.

A leaf says what must be so of a contact, Compare compares one of its values; AllOf, AnyOf and Not join them.
filter_reader.py reads what callers write into such a tree, filter_words.py says it in words, storage/contact_parts.py
makes a statement of it, and `matches` answers for one contact without a database.
To add a leaf: an entry in LEAVES, its part in storage/sql/contact_parts.sql, and a line in http/audience_requests.py.
What people do (opened, bought) would be such a leaf, with a part of its own to find contacts by.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, assert_never
from uuid import UUID

import msgspec

from tidings.domain.channels import Channel
from tidings.domain.comparison import Compare, Op, compares, fold, value_at
from tidings.domain.errors import Problem
from tidings.domain.people.contact import refusal
from tidings.domain.people.contact_fields import (
    FIELDS,
    LONGEST_LABEL,
    LONGEST_TEXT,
    SEARCHED_FIELDS,
    Consent,
    camel_case,
)
from tidings.domain.people.filter_values import (
    NOTHING_SAID,
    read_attributes,
    read_channel,
    read_consent,
    read_tags,
    read_text,
)

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


AudienceFilter: TypeAlias = Where | Compare | NamedContacts | AllOf | AnyOf | Not
EVERYONE, NOBODY = AllOf(), AnyOf()
Holds: TypeAlias = Callable[[Compare | Where], bool]

ATTRIBUTES = "attributes"
TEXT_PATHS: Mapping[str, str] = {
    camel_case(name): name for name, one in FIELDS.items() if not one.most and not one.is_merged
}
TIME_PATHS: Mapping[str, str] = {"createdAt": "created_at", "updatedAt": "updated_at"}
"""What a path may begin with beside `attributes`, and the column it means: strings, and times."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a filter can ask of a contact."""

    read: Read
    holds: Callable[[Any, Any], bool] | None = None
    """Of its value and a contact, whose fields are attributes: whether the contact is meant."""
    means: Callable[[Any], AudienceFilter] | None = None
    """Of a leaf that is short for other filters: those filters."""
    asks: Callable[[Any], Mapping[str, object]] | None = None
    """The parts of SQL that all must hold, and the value of each; without it, `<name>_is` and the leaf's own value."""
    finds: int = 0
    """How much its index narrows: contacts are found by the leaf with the highest value. 0 means no index."""
    words: Callable[[Any], str] = str
    """The leaf after the word "contacts"."""
    for_audiences: bool = True


def decide(wanted: AudienceFilter, holds: Holds, is_named: Callable[[NamedContacts], bool]) -> bool:
    """Whether a tree holds, by what is said of its leaves."""
    match wanted:
        case Where(leaf, value) if (means := LEAVES[leaf].means) is not None:
            return decide(means(value), holds, is_named)
        case Where() | Compare():
            return holds(wanted)
        case NamedContacts():
            return is_named(wanted)
        case AllOf(parts):
            return all(decide(part, holds, is_named) for part in parts)
        case AnyOf(parts):
            return any(decide(part, holds, is_named) for part in parts)
        case Not(part):
            return not decide(part, holds, is_named)
        case _:
            assert_never(wanted)


def matches(wanted: AudienceFilter, contact: Any, now: datetime) -> bool:
    """Whether a contact matches a filter at a moment, exactly as the database decides it."""
    return decide(wanted, lambda one: is_so(one, contact, now), lambda named: contact.id in named.ids)


def is_so(one: Compare | Where, contact: Any, now: datetime) -> bool:
    """Whether a comparison or a leaf holds for a contact, whose fields are attributes."""
    if isinstance(one, Compare):
        return compares(one.op, contact_value(contact, one.path), one.value, now)
    held = LEAVES[one.leaf].holds
    return held is not None and held(one.value, contact)


def contact_value(contact: Any, path: Sequence[str]) -> object:
    """What a contact has at the path of a comparison."""
    root, *below = path
    if root == ATTRIBUTES:
        return value_at(contact.attributes, below)
    return getattr(contact, TEXT_PATHS.get(root) or TIME_PATHS[root])


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
    parts = wanted.parts if isinstance(wanted, AllOf) else (wanted,)
    ways = [way for one in parts if (way := _way_in(one)) is not None]
    return max(ways, key=_finds, default=None)


def _way_in(one: AudienceFilter) -> Where | NamedContacts | None:
    """A leaf with an index that holds for everyone for whom this does; perhaps this itself."""
    match one:
        case NamedContacts():
            return one
        case Where("tags", value) if value.get("all"):
            return Where("tag", value["all"][0])
        case Where(leaf):
            return one if LEAVES[leaf].finds else None
        case Compare(("company",), Op.EQUALS, str(value)):  # not the status: its index has upper and lower case
            return Where("company", value)
        case _:
            return None


def _finds(one: Where | NamedContacts) -> int:
    return 100 if isinstance(one, NamedContacts) else LEAVES[one.leaf].finds


def _same_text(value: str, *among: str | None) -> bool:
    return fold(value) in {fold(one) for one in among if one}


def _is_tagged(value: Json, one: Any) -> bool:
    tags, kinds = {fold(tag) for tag in one.tags}, {kind: {fold(tag) for tag in some} for kind, some in value.items()}
    is_any = "any" not in kinds or not tags.isdisjoint(kinds["any"])
    return is_any and kinds.get("all", set()) <= tags and tags.isdisjoint(kinds.get("none", set()))


def _tags_in_words(value: Json) -> str:
    kinds = {"any": "with one of the tags", "all": "with all of the tags", "none": "with none of the tags"}
    alone = {"any": "with the tag", "all": "with the tag", "none": "without the tag"}
    said = [f"{(kinds if len(some) > 1 else alone)[kind]} {', '.join(some)}" for kind, some in value.items()]
    return " and ".join(said)


def _equal_attributes(value: Json, path: tuple[str, ...] = (ATTRIBUTES,)) -> AudienceFilter:
    """Every attribute is as given, one below the other."""
    return both(
        *(
            _equal_attributes(one, (*path, name))
            if isinstance(one, Mapping) and one
            else Compare((*path, name), Op.EQUALS, one)
            for name, one in value.items()
        )
    )


def _has_address(value: str, one: Any) -> bool:
    return any(getattr(one, name) for name in Channel(value).traits.address_fields)


def _said_of(channel: str, one: Any) -> str:
    said: str = one.consent.get(channel, {}).get("status", NOTHING_SAID)
    return said


def _asked_consent(value: Json) -> Mapping[str, object]:
    said = {channel: {"status": word} for channel, word in value.items() if word != NOTHING_SAID}
    silent = [channel for channel, word in value.items() if word == NOTHING_SAID]
    return ({"consent_said": said} if said else {}) | ({"consent_unknown": silent} if silent else {})


def _consent_in_words(value: Json) -> str:
    words = {Consent.GRANTED: "agreed to", Consent.WITHDRAWN: "withdrew their consent to"}
    return "who " + " and ".join(
        f"{words.get(word, 'said nothing about')} {channel}" for channel, word in value.items()
    )


def _known_by(value: str, one: Any) -> bool:
    known = [getattr(one, name) for name in SEARCHED_FIELDS]
    return fold(value) in fold(" ".join(text for text in known if text is not None))


LEAVES: Mapping[str, Leaf] = {
    "company": Leaf(
        read_text(LONGEST_TEXT),
        lambda value, one: _same_text(value, one.company),
        finds=2,
        words=lambda value: f"at {value}",
    ),
    "tag": Leaf(
        read_text(LONGEST_LABEL),
        lambda value, one: _same_text(value, *one.tags),
        finds=3,
        words=lambda value: f"with the tag {value}",
    ),
    "tags": Leaf(
        read_tags,
        _is_tagged,
        asks=lambda value: {f"tags_{kind}": some for kind, some in value.items()},
        words=_tags_in_words,
    ),
    "status": Leaf(
        read_text(LONGEST_LABEL),
        lambda value, one: bool(value == one.status),
        finds=1,
        words=lambda value: f"with the status {value}",
    ),
    "attributes": Leaf(read_attributes, means=_equal_attributes),
    "has": Leaf(
        read_channel,
        _has_address,
        asks=lambda value: {"has_is": Channel(value).traits.address_fields},
        words=lambda value: f"with an address for {value}",
    ),
    "consent": Leaf(
        read_consent,
        lambda value, one: all(_said_of(channel, one) == word for channel, word in value.items()),
        asks=_asked_consent,
        words=_consent_in_words,
    ),
    "allows": Leaf(
        read_channel,
        lambda value, one: refusal(one.consent, one.suppressions, Channel(value)) is None,
        words=lambda value: f"who allow {value}",
    ),
    "text": Leaf(read_text(LONGEST_TEXT), _known_by, words=lambda value: f"known by {value!r}", for_audiences=False),
}
"""What a filter can ask of a contact, by the name under which callers ask it."""
