"""Whom the items of a node are for: the recipients it names, or else the contact that its execution walks for.

Reached from plan.py. An item for a contact names it, since it is sent only while the contact allows it (rule 14).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from tidings.domain.flow.graph import Doer, Function, Send
from tidings.domain.flow.item import Channel
from tidings.domain.people.address import read_phone
from tidings.domain.people.contact import CONTACT, LoadedContact, addresses_of, lack_of

_NAMES_CONTACT = re.compile(rf"\{{\{{-?\s*{CONTACT}\s*[.\[]")


class Addressee(NamedTuple):
    """One recipient of a node."""

    ordinal: int
    address: str
    contact_id: UUID | None = None
    skip: str | None = None


def addressees_of(
    node: Doer, fields: Mapping[str, str], data: Mapping[str, object], person: LoadedContact | None
) -> list[Addressee]:
    """Return the recipient of each item, by ordinal; without repeats, ignoring case.

    `fields` are the node's rendered templates, `data` is their input.
    """
    if isinstance(node, Function):
        return [Addressee(0, node.function)]
    if not node.to:
        return _addresses(node.channel, data.get(CONTACT), person)
    named = [
        Addressee(place, spelled(node.channel, fields.get(f"to.{place}", source)))
        for place, source in enumerate(node.to)
    ]
    if len(named) > 1:
        seen: dict[str, Addressee] = {}
        for one in named:
            seen.setdefault(one.address.casefold(), one)
        named = list(seen.values())
    return named if person is None else _known(node, named, person)


def is_for_contact(node: Send) -> bool:
    """Whether a send is for the contact that its execution walks for: by leaving its recipient out, or by naming it."""
    return not node.to or any(map(_NAMES_CONTACT.search, node.to))


def spelled(channel: Channel, address: str) -> str:
    """An address in one spelling: a phone number as E.164 writes it; what is none is left to the provider."""
    if channel.traits.own_addresses != "customPhones":
        return address.strip()
    try:
        return read_phone(address)
    except ValueError:
        return address.strip()


def _addresses(channel: Channel, contact: object, person: LoadedContact | None) -> list[Addressee]:
    """Every address of the contact for a channel; where none exists or may be used, one addressee to be skipped."""
    id = person.id if person else None
    addresses = addresses_of(contact, channel) if isinstance(contact, Mapping) else []
    skip = (person.refusal(channel) if person else None) or (None if addresses else lack_of(channel))
    if skip:
        return [Addressee(0, addresses[0] if addresses else "", id, skip)]
    return [Addressee(place, address, id) for place, address in enumerate(addresses)]


def _known(node: Send, named: list[Addressee], person: LoadedContact) -> list[Addressee]:
    """Return the named addressees; one that is the contact's own, by address or by template, carries its id."""
    own = {address.casefold() for address in addresses_of(person.data, node.channel)}

    def known(one: Addressee) -> Addressee:
        if one.address.casefold() not in own and not _NAMES_CONTACT.search(node.to[one.ordinal]):
            return one
        skip = person.refusal(node.channel) or (None if one.address else lack_of(node.channel))
        return Addressee(one.ordinal, one.address, person.id, skip)

    return [known(one) for one in named]
