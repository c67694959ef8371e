"""A contact as callers write it and as work for it sees it: read field by field, every problem with its place.

A field that is left out stays as it is, one that is null or empty is cleared; attributes, consent and suppressions go
over what is there, name by name. contact_fields.py is the list of fields; resources/contacts.py stores what is read.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec

from tidings.domain.channels import Channel
from tidings.domain.errors import Problem
from tidings.domain.flow.ids import Bucket, Workspace, bucket_of_id, length_prefixed
from tidings.domain.people.contact_fields import (
    FIELDS,
    LIST_FIELDS,
    LONGEST_LABEL,
    MOST_TOKENS,
    SPELLINGS,
    TEMPLATE_FIELDS,
    Consent,
    ContactChange,
    Entries,
    Json,
    SuppressionReason,
    WrongParts,
    camel_case,
)

ContactReference = UUID | str
"""What names a contact: its id, or its external id. What is a contact's id is never taken for an external id."""
CONTACT = "contact"
"""The name under which templates and conditions see the contact."""
DELETED = "the contact was deleted"
ERASED = "the person was erased"
"""Why an item without a recipient is skipped."""
SEPARATOR = "\x1f"
"""Between tags, tokens and names on their way into the database; none of them may hold a control character."""
ADDRESS_FIELDS: Mapping[Channel, tuple[str, ...]] = {
    channel: tuple(map(camel_case, channel.traits.address_fields)) for channel in Channel
}
"""Where a person is reached by each channel, as templates name it: the first field that is filled."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_READERS = {name: one.read for name, one in FIELDS.items()}
_READ_ONLY = frozenset(["id", "createdAt", "created_at", "updatedAt", "updated_at"])
"""What an answer says and a body may repeat, so that what was read can be changed and written back."""


def contact_bucket(workspace: Workspace, external_id: str) -> Bucket:
    """The bucket of a contact; of an external id that is itself an id, the one it carries.

    So a contact that was made without an external id, and has its id for one, is found by it like any other.
    """
    return bucket_of_id(UUID(external_id)) if _ID.fullmatch(external_id) else workspace.bucket_of(external_id)


def read_contact(raw: object, place: str = "") -> tuple[ContactChange, list[Problem]]:
    """Return what a body changes of one contact, and everything wrong with it; with problems it is not complete."""
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
            found |= _READERS[name](name, value)
        except WrongParts as wrong:
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


class LoadedContact(msgspec.Struct, frozen=True):
    """A contact as work for it sees it: `data` is what templates know as `contact`."""

    id: UUID
    data: Json
    consent: Entries
    suppressions: Entries
    is_deleted: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def as_contact(self) -> SimpleNamespace:
        """Return it with its fields as attributes, as filters ask them."""
        fields = {name: self.data.get(shown) for shown, name in TEMPLATE_FIELDS.items()}
        lists = {name: fields[name] or () for name in LIST_FIELDS}
        rest = {name: getattr(self, name) for name in ("id", "consent", "suppressions", "created_at", "updated_at")}
        return SimpleNamespace(**{**fields, **lists, **rest})

    def refusal(self, channel: Channel) -> str | None:
        """Why nothing may be sent to it over a channel, or None when it may."""
        return DELETED if self.is_deleted else refusal(self.consent, self.suppressions, channel)


def addresses_of(data: Json, channel: Channel) -> list[str]:
    """Where a contact is reached over a channel, as templates see the contact; empty where it cannot be."""
    for name in ADDRESS_FIELDS[channel]:
        found = data.get(name)
        listed = found if isinstance(found, list | tuple) else [found]
        if addresses := [one for one in listed if isinstance(one, str) and one]:
            return addresses
    return []


def most_addresses(channel: Channel) -> int:
    """How many addresses one contact may have for a channel."""
    return MOST_TOKENS if LIST_FIELDS.intersection(channel.traits.address_fields) else 1


def suppression_hash(workspace: Workspace, channel: Channel, address: str) -> bytes:
    """The hash that is kept of a suppressed address once its contact is deleted."""
    return sha256(length_prefixed((workspace.tenant, workspace.name, channel, address.casefold()))).digest()


def lack_of(channel: Channel) -> str:
    """Why a contact without an address for a channel is skipped."""
    return f"the contact has no {channel.traits.address_name}"
