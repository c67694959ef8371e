"""The one list of a contact's fields: ContactChange, each field with how it is read and what a file may call it.

Everything that treats contacts field by field takes it from here: reading and merging changes, columns of a file, what
templates see, what is stored, copied and compared. To add a field: a line in ContactChange, a column in
storage/schema.sql, its place in storage/sql/contact_parts.sql, and a line in the view of a contact.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import msgspec

from tidings.domain.channels import CONTACT_CHANNELS
from tidings.domain.errors import Problem
from tidings.domain.names import NOT_SHOWN, problem_of_characters
from tidings.domain.people.address import read_email, read_locale, read_phone, read_time_zone
from tidings.domain.storable import (
    TOO_DEEP,
    UNSTORABLE,
    is_storable,
    is_surely_storable,
    is_too_deep,
    unstorable_places,
)
from tidings.domain.timing import parse_time

LONGEST_TEXT = 500
LONGEST_EXTERNAL_ID = 200
LONGEST_LABEL = 100
LONGEST_TOKEN = 4_096
MOST_TAGS = 100
MOST_TOKENS = 20
MOST_ATTRIBUTES = 200
LARGEST_ATTRIBUTES = 32_768

Json = Mapping[str, Any]
Entries = Mapping[str, Json]
_PRINTABLE = re.compile(r"[ -~]*")


class Consent(StrEnum):
    """What a person said about one channel."""

    GRANTED = "granted"
    WITHDRAWN = "withdrawn"


class SuppressionReason(StrEnum):
    """Why nothing may be sent over one channel, whatever was consented to."""

    UNSUBSCRIBED = "unsubscribed"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    INVALID = "invalid"
    MANUAL = "manual"


class WrongParts(Exception):
    """Several problems inside one field."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)


def _text(value: object, longest: int = LONGEST_TEXT) -> str:
    """Read a string, refusing what could not be shown or stored; empty for none."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("must be a string")  # noqa: TRY004 – what the caller must change, told like the rest
    if len(value) <= longest and _PRINTABLE.fullmatch(value):
        return value.strip()  # as most are; nothing below would find anything
    text = unicodedata.normalize("NFC", value).strip()
    if max(len(value), len(text)) > longest:
        raise ValueError(f"has {len(value):,} characters: use at most {longest}")
    if not is_storable(text):
        raise ValueError(UNSTORABLE)
    if wrong := problem_of_characters(text):
        raise ValueError(wrong)
    return text


def _plain_text(longest: int) -> Callable[[str, object], Json]:
    return lambda name, value: {name: _text(value, longest)}


def _external_id(name: str, value: object) -> Json:
    text = _text(value, LONGEST_EXTERNAL_ID)
    if value is None:
        return {}
    if not text:
        raise ValueError("is empty: give the contact's id in your own system, or leave it out")
    return {name: text}


def _normal(read: Callable[[str], str]) -> Callable[[str, object], Json]:
    def reader(name: str, value: object) -> Json:
        text = _text(value)
        return {name: read(text) if text else ""}

    return reader


def _texts(most: int, longest: int) -> Callable[[str, object], Json]:
    def reader(name: str, value: object) -> Json:
        if value is not None and (not isinstance(value, Sequence) or isinstance(value, str)):
            raise ValueError("must be a list of strings")
        if len(value or ()) > most:
            raise ValueError(f"has {len(value or ())} of them: use at most {most}")
        found: dict[str, None] = {}
        problems = []
        for place, one in enumerate(value or ()):
            try:
                text = _text(one, longest)
                if not text:
                    raise ValueError("is empty; leave it out")  # noqa: TRY301 – told with its place, below
                found[text] = None
            except ValueError as error:
                problems.append(Problem(f"[{place}]", str(error)))
        if problems:
            raise WrongParts(problems)
        return {name: tuple(found)}

    return reader


def _attributes(name: str, value: object) -> Json:
    given = _object(value)
    wrong = [one for one in given if not 1 <= len(one) <= LONGEST_LABEL or NOT_SHOWN.search(one)]
    if wrong:
        use = f"use 1 to {LONGEST_LABEL} characters, none of them a control character"
        raise WrongParts(Problem(f".{one[:LONGEST_LABEL]!r}", use) for one in wrong)
    if len(given) > MOST_ATTRIBUTES:
        raise ValueError(f"has {len(given)} names: use at most {MOST_ATTRIBUTES}")
    check_json(given)
    return _split(name, given)


def check_json(given: Json) -> None:
    """Refuse JSON that is too large or too deep, or that the database cannot store."""
    try:
        with suppress(UnicodeEncodeError):  # half of a surrogate pair: the walk below says where
            encoded = msgspec.json.encode(given)
            if len(encoded) > LARGEST_ATTRIBUTES:
                raise ValueError(f"has {len(encoded):,} bytes: use at most {LARGEST_ATTRIBUTES:,}")
            if is_surely_storable(encoded):
                return
        unstorable = [Problem(f".{place}", UNSTORABLE) for place in unstorable_places(given)]
    except (TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"is not JSON: {error}") from error
    if unstorable:
        raise WrongParts(unstorable)
    if is_too_deep(given):
        raise ValueError(TOO_DEEP)


def _entries(field: str, kinds: type[Consent] | type[SuppressionReason]) -> Callable[[str, object], Json]:
    """A reader of what holds for each channel."""

    def reader(name: str, value: object) -> Json:
        given: dict[str, Json | None] = {}
        problems = []
        for channel, one in _object(value).items():
            try:
                given[_channel(channel)] = None if one is None else _entry(field, kinds, one)
            except ValueError as error:
                problems.append(Problem(f".{channel[:LONGEST_LABEL]}", str(error)))
        if problems:
            raise WrongParts(problems)
        return _split(name, given)

    return reader


def _channel(name: str) -> str:
    if name not in [*CONTACT_CHANNELS]:
        raise ValueError(f"is no way to reach a person: use {', '.join(CONTACT_CHANNELS)}")
    return name


def _entry(field: str, kinds: type[Consent] | type[SuppressionReason], value: object) -> Json:
    """One word, or an object with the word, when it was said (`at`) and where (`source`)."""
    found = {field: value} if isinstance(value, str) else _object(value)
    if unknown := found.keys() - {field, "at", "source"}:
        raise ValueError(f"has {', '.join(sorted(unknown))}, which nobody reads; use {field}, at and source")
    if found.get(field) not in [*kinds]:
        raise ValueError(f"must be one of {', '.join(kinds)}")
    read: dict[str, Any] = {field: str(found[field])}
    if found.get("at") is not None:
        read["at"] = parse_time(_text(found["at"])).isoformat()
    return read | ({"source": _text(found["source"])} if found.get("source") else {})


def _words(kinds: type[StrEnum]) -> str:
    *others, last = (f"`{one}`" for one in kinds)
    return f"{', '.join(others)} or {last}"


def _object(value: object) -> Json:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("must be an object")
    return value


def _split(name: str, given: Json) -> Json:
    """Split entries into those that are set and the names that are removed."""
    return {
        name: {key: value for key, value in given.items() if value is not None},
        f"no_{name}": tuple(key for key, value in given.items() if value is None),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactField:
    """How one field of a contact is read, and what the API's description says of it."""

    read: Callable[[str, object], Json]
    """From its name and what is given, what of a ContactChange that is; raises ValueError or WrongParts."""
    columns: tuple[str, ...] = ()
    """What else a column of a file may be called, in small letters and without spaces."""
    longest: int = LONGEST_TEXT
    most: int = 0
    """The most entries of a list."""
    is_merged: bool = False
    """Whether a change is merged into what is stored, name by name."""
    is_for_templates: bool = True
    is_searched: bool = False
    """Whether people are known by it: what a list of contacts looks for a string in."""
    normal: Callable[[str], str] | None = None
    """What makes one spelling of a string, where the field has one."""
    description: str | None = None


def _string(
    *columns: str, longest: int = LONGEST_TEXT, is_searched: bool = False, description: str | None = None
) -> ContactField:
    return ContactField(
        read=_plain_text(longest), columns=columns, longest=longest, is_searched=is_searched, description=description
    )


def _spelled(
    normal: Callable[[str], str], *columns: str, is_searched: bool = False, description: str | None = None
) -> ContactField:
    return ContactField(
        read=_normal(normal), columns=columns, normal=normal, is_searched=is_searched, description=description
    )


def _strings(*columns: str, most: int, longest: int, description: str | None = None) -> ContactField:
    return ContactField(
        read=_texts(most, longest), columns=columns, most=most, longest=longest, description=description
    )


def _by_channel(word: str, kinds: type[Consent] | type[SuppressionReason], description: str) -> ContactField:
    return ContactField(read=_entries(word, kinds), is_merged=True, is_for_templates=False, description=description)


class ContactChange(msgspec.Struct, frozen=True):
    """What is given of one contact: None leaves a field as it is, an empty string or list clears it."""

    external_id: Annotated[
        str | None,
        ContactField(
            read=_external_id,
            longest=LONGEST_EXTERNAL_ID,
            is_searched=True,
            description="The contact's id in your own system; never changes.",
        ),
    ] = None
    name: Annotated[str | None, _string("fullname", is_searched=True)] = None
    email: Annotated[str | None, _spelled(read_email, "emailaddress", "mail", is_searched=True)] = None
    phone: Annotated[
        str | None,
        _spelled(
            read_phone,
            "phonenumber",
            "mobile",
            is_searched=True,
            description="With its country's code; kept as E.164 writes it.",
        ),
    ] = None
    whatsapp: Annotated[str | None, _spelled(read_phone, is_searched=True, description="A number, likewise.")] = None
    push_tokens: Annotated[tuple[str, ...] | None, _strings(most=MOST_TOKENS, longest=LONGEST_TOKEN)] = None
    company: Annotated[str | None, _string("organisation", "organization", is_searched=True)] = None
    status: Annotated[
        str | None, _string(longest=LONGEST_LABEL, description="A word of your own; `active` unless given.")
    ] = None
    time_zone: Annotated[str | None, _spelled(read_time_zone, "tz")] = None
    locale: Annotated[str | None, _spelled(read_locale, "language")] = None
    tags: Annotated[
        tuple[str, ...] | None,
        _strings("tag", most=MOST_TAGS, longest=LONGEST_LABEL, description="These and no others."),
    ] = None
    attributes: Annotated[
        Json,
        ContactField(
            read=_attributes,
            is_merged=True,
            description="Your own; templates see them as `contact.attributes.*`.",
        ),
    ] = {}
    consent: Annotated[
        Entries,
        _by_channel("status", Consent, f"By channel ({', '.join(CONTACT_CHANNELS)}): {_words(Consent)}."),
    ] = {}
    suppressions: Annotated[
        Entries,
        _by_channel("reason", SuppressionReason, f"By channel: {_words(SuppressionReason)}. Nothing is sent."),
    ] = {}
    no_attributes: tuple[str, ...] = ()
    no_consent: tuple[str, ...] = ()
    no_suppressions: tuple[str, ...] = ()

    def given(self) -> list[str]:
        """The names of the fields that are given, for the audit log: never what they hold."""
        return [name for name, value in msgspec.structs.asdict(self).items() if value not in (None, {}, ())]

    def then(self, later: "ContactChange") -> "ContactChange":
        """Merge two changes into one: the later one wins."""
        plain = {name: value for name in PLAIN_FIELDS if (value := getattr(later, name)) is not None}
        for name in MERGED_FIELDS:
            added, removed = getattr(later, name), getattr(later, f"no_{name}")
            kept = {key: value for key, value in getattr(self, name).items() if key not in removed}
            plain[name] = {**kept, **added}
            gone = [*getattr(self, f"no_{name}"), *removed]
            plain[f"no_{name}"] = tuple(dict.fromkeys(key for key in gone if key not in plain[name]))
        return msgspec.structs.replace(self, **plain)


def _fields() -> Mapping[str, ContactField]:
    hints = get_type_hints(ContactChange, include_extras=True)
    return {name: one for name, hint in hints.items() for one in getattr(hint, "__metadata__", ())}


def camel_case(name: str) -> str:
    """A field's name as the API and templates write it."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


FIELDS = _fields()
"""The fields of a contact by name, in the order in which they are shown."""
PLAIN_FIELDS = tuple(name for name, one in FIELDS.items() if not one.is_merged and name != "external_id")
LIST_FIELDS = frozenset(name for name, one in FIELDS.items() if one.most)
MERGED_FIELDS = tuple(name for name, one in FIELDS.items() if one.is_merged)
TEMPLATE_FIELDS: Mapping[str, str] = {
    "id": "id",
    **{camel_case(name): name for name, one in FIELDS.items() if one.is_for_templates},
}
"""What templates see of a contact, and the column it comes from; what is under attributes is the user's own."""
SEARCHED_FIELDS = tuple(name for name, one in FIELDS.items() if one.is_searched)
"""What a list of contacts looks for a string in."""
SPELLINGS: Mapping[str, str] = {**{name: name for name in FIELDS}, **{camel_case(name): name for name in FIELDS}}
"""The fields as a body may spell them."""
