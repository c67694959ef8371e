"""A contact as it is given: every field read into one spelling, and every problem with its place.

A field that is left out stays as it is, one that is null or empty is cleared; attributes, consent and suppressions go
over what is there, name by name. resources/contacts.py stores what is read here.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from typing import Any, assert_never
from uuid import UUID

import msgspec

from tidings.domain.errors import Problem
from tidings.domain.flow.ids import Bucket, Workspace, bucket_of_id, length_prefixed
from tidings.domain.flow.item import Channel
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

CHANNELS = (Channel.EMAIL, Channel.SMS, Channel.WHATSAPP, Channel.PUSH, Channel.VOICE)
"""The ways to reach one person."""
LONGEST_TEXT = 500
LONGEST_EXTERNAL_ID = 200
ContactReference = UUID | str
"""What names a contact: its id, or its external id. What is a contact's id is never taken for an external id."""
LONGEST_LABEL = 100
LONGEST_TOKEN = 4_096
MOST_TAGS = 100
MOST_TOKENS = 20
MOST_ATTRIBUTES = 200
LARGEST_ATTRIBUTES = 32_768
CONTACT = "contact"
"""The name under which templates and conditions see the contact."""
DELETED = "the contact was deleted"
SEPARATOR = "\x1f"
"""Between tags, tokens and names on their way into the database; none of them may hold a control character."""

Json = Mapping[str, Any]
Entries = Mapping[str, Json]
_WAYS: Mapping[Channel, str] = {
    Channel.SMS: "phone number",
    Channel.VOICE: "phone number",
    Channel.WHATSAPP: "whatsapp or phone number",
    Channel.PUSH: "push token",
}
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
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


class ContactChange(msgspec.Struct, frozen=True):
    """What is given of one contact: None leaves a field as it is, an empty text or list clears it."""

    external_id: str | None = None
    name: str | None = None
    email: str | None = None
    phone: str | None = None
    whatsapp: str | None = None
    company: str | None = None
    status: str | None = None
    time_zone: str | None = None
    locale: str | None = None
    push_tokens: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    attributes: Json = {}
    no_attributes: tuple[str, ...] = ()
    consent: Entries = {}
    no_consent: tuple[str, ...] = ()
    suppressions: Entries = {}
    no_suppressions: tuple[str, ...] = ()

    def given(self) -> list[str]:
        """The names of the fields that are given, for the audit log: never what they hold."""
        return [name for name, value in msgspec.structs.asdict(self).items() if value not in (None, {}, ())]

    def then(self, later: "ContactChange") -> "ContactChange":
        """Both changes in one: what is given later holds."""
        plain = {name: value for name in PLAIN_FIELDS if (value := getattr(later, name)) is not None}
        for name in MERGED_FIELDS:
            added, removed = getattr(later, name), getattr(later, f"no_{name}")
            kept = {key: value for key, value in getattr(self, name).items() if key not in removed}
            plain[name] = {**kept, **added}
            gone = [*getattr(self, f"no_{name}"), *removed]
            plain[f"no_{name}"] = tuple(dict.fromkeys(key for key in gone if key not in plain[name]))
        return msgspec.structs.replace(self, **plain)


TEXT_FIELDS = ("name", "email", "phone", "whatsapp", "company", "status", "time_zone", "locale")
PLAIN_FIELDS = (*TEXT_FIELDS, "push_tokens", "tags")
MERGED_FIELDS = ("attributes", "consent", "suppressions")
_READ_ONLY = frozenset(["id", "createdAt", "created_at", "updatedAt", "updated_at"])
"""What an answer says and a body may repeat, so that what was read can be changed and written back."""
SPELLINGS: Mapping[str, str] = {
    **{name: name for name in ("external_id", *PLAIN_FIELDS, *MERGED_FIELDS)},
    "externalId": "external_id",
    "timeZone": "time_zone",
    "pushTokens": "push_tokens",
}


def contact_bucket(workspace: Workspace, external_id: str) -> Bucket:
    """The bucket of a contact; of an external id that is itself an id, the one it carries.

    So a contact that was made without an external id, and has its id for one, is found by it like any other.
    """
    return bucket_of_id(UUID(external_id)) if _ID.fullmatch(external_id) else workspace.bucket_of(external_id)


def read_contact(raw: object, place: str = "") -> tuple[ContactChange, list[Problem]]:
    """What is given of one contact, and everything that is wrong with it; a change with problems is not complete."""
    if not isinstance(raw, Mapping):
        return ContactChange(), [Problem(place or "body", "must be an object with the fields of a contact")]
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    prefix = f"{place}." if place else ""
    for spelled, value in raw.items():
        name = SPELLINGS.get(spelled)
        if name is None:
            if spelled not in _READ_ONLY:
                what = "is not a field of a contact; put what is your own under attributes"
                problems.append(Problem(f"{prefix}{str(spelled)[:LONGEST_LABEL]}", what))
            continue
        if name in found:
            problems.append(Problem(f"{prefix}{spelled}", "is given twice, in both spellings"))
        try:
            found |= _FIELDS[name](name, value)
        except _Wrong as wrong:
            problems += [Problem(f"{prefix}{spelled}{one.place}", one.message) for one in wrong.problems]
        except ValueError as error:
            problems.append(Problem(f"{prefix}{spelled}", str(error)))
    return ContactChange(**found), problems


def refusal(consent: Entries, suppressions: Entries, channel: Channel) -> str | None:
    """Why nothing may be sent to a contact over a channel, or None when it may (rule 14)."""
    if channel in suppressions:
        return f"suppressed: {suppressions[channel].get('reason', SuppressionReason.MANUAL)}"
    if consent.get(channel, {}).get("status") == Consent.WITHDRAWN:
        return "consent withdrawn"
    return None


class Person(msgspec.Struct, frozen=True):
    """A contact as work for it sees it: `data` is what templates know as `contact`."""

    id: UUID
    data: Json
    consent: Entries
    suppressions: Entries
    is_deleted: bool = False

    def refusal(self, channel: Channel) -> str | None:
        """Why nothing may be sent to it over a channel, or None when it may."""
        return DELETED if self.is_deleted else refusal(self.consent, self.suppressions, channel)


def addresses_of(data: Json, channel: Channel) -> list[str]:
    """Where a contact is reached over a channel, as templates see the contact; empty where it cannot be."""
    match channel:
        case Channel.EMAIL:
            found = [data.get("email")]
        case Channel.SMS | Channel.VOICE:
            found = [data.get("phone")]
        case Channel.WHATSAPP:
            found = [data.get("whatsapp") or data.get("phone")]
        case Channel.PUSH:
            found = list(data.get("pushTokens") or ())
        case Channel.SOCIAL | Channel.FUNCTION:
            found = []
        case _:
            assert_never(channel)
    return [address for address in found if isinstance(address, str) and address]


def suppression_hash(workspace: Workspace, channel: Channel, address: str) -> bytes:
    """What is kept of an address that wants nothing more once its contact is deleted."""
    return sha256(length_prefixed((workspace.tenant, workspace.name, channel, address.casefold()))).digest()


def lack_of(channel: Channel) -> str:
    """Why a contact without an address for a channel is skipped."""
    return f"the contact has no {_WAYS.get(channel, channel)}"


class _Wrong(Exception):
    """Several problems inside one field."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)


def _text(value: object, longest: int = LONGEST_TEXT) -> str:
    """A text without what could not be shown or stored; empty for none."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004 – what the caller must change, told like the rest
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


def _plain_text(name: str, value: object) -> Json:
    return {name: _text(value)}


def _label(name: str, value: object) -> Json:
    return {name: _text(value, LONGEST_LABEL)}


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
            raise ValueError("must be a list of texts")
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
            raise _Wrong(problems)
        return {name: tuple(found)}

    return reader


def _attributes(name: str, value: object) -> Json:
    given = _object(value)
    wrong = [one for one in given if not 1 <= len(one) <= LONGEST_LABEL or NOT_SHOWN.search(one)]
    if wrong:
        use = f"use 1 to {LONGEST_LABEL} characters, none of them a control character"
        raise _Wrong(Problem(f".{one[:LONGEST_LABEL]!r}", use) for one in wrong)
    if len(given) > MOST_ATTRIBUTES:
        raise ValueError(f"has {len(given)} names: use at most {MOST_ATTRIBUTES}")
    _check_json(given)
    return _split(name, given)


def _check_json(given: Json) -> None:
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
        raise _Wrong(unstorable)
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
            raise _Wrong(problems)
        return _split(name, given)

    return reader


def _channel(name: str) -> str:
    if name not in [*CHANNELS]:
        raise ValueError(f"is no way to reach a person: use {', '.join(CHANNELS)}")
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


def _object(value: object) -> Json:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("must be an object")
    return value


def _split(name: str, given: Json) -> Json:
    """What is set, and the names that are taken away."""
    return {
        name: {key: value for key, value in given.items() if value is not None},
        f"no_{name}": tuple(key for key, value in given.items() if value is None),
    }


_FIELDS: Mapping[str, Callable[[str, object], Json]] = {
    "external_id": _external_id,
    "name": _plain_text,
    "email": _normal(read_email),
    "phone": _normal(read_phone),
    "whatsapp": _normal(read_phone),
    "company": _plain_text,
    "status": _label,
    "time_zone": _normal(read_time_zone),
    "locale": _normal(read_locale),
    "push_tokens": _texts(MOST_TOKENS, LONGEST_TOKEN),
    "tags": _texts(MOST_TAGS, LONGEST_LABEL),
    "attributes": _attributes,
    "consent": _entries("status", Consent),
    "suppressions": _entries("reason", SuppressionReason),
}
