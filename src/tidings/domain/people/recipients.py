"""The recipients of a step: people of the event and addresses of its own, each once, in order.

Pure: takes an event's people as they were read, and returns those who cannot be reached with the reason.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from tidings.domain.channels import CONTACT_CHANNELS, Channel
from tidings.domain.people.contact import ADDRESS_FIELDS, LoadedContact, addresses_of
from tidings.domain.people.contact_fields import FIELDS, LONGEST_TOKEN, MOST_TOKENS, ContactField, camel_case
from tidings.domain.workflows.definition_reader import snake_case
from tidings.views.rules import RuleAudience

CONTACT_ID = "contactId"
"""The field by which one of an event's people says which contact they are."""
_NAMES_PERSON = re.compile(rf"\{{\{{-?\s*({'|'.join(RuleAudience)})\s*[.\[]")
_NOTHING: tuple[object, ...] = (None, "", [])


@dataclass(frozen=True, slots=True)
class RecipientConfig:
    """Whom a step writes to; `include_agent` is for the third of an event's people."""

    include_lead_contact: bool = False
    include_partner: bool = False
    include_agent: bool = False
    custom_phones: tuple[str, ...] = ()
    custom_emails: tuple[str, ...] = ()

    @property
    def people(self) -> list[RuleAudience]:
        """The people who are included, in the order in which they are written to."""
        included = (self.include_lead_contact, self.include_partner, self.include_agent)
        return [one for one, is_included in zip(RuleAudience, included, strict=True) if is_included]

    def custom(self, channel: Channel) -> list[tuple[str, str]]:
        """The addresses of its own that this channel can reach, each with its place."""
        field = channel.traits.own_addresses
        own = {"customEmails": self.custom_emails, "customPhones": self.custom_phones, None: ()}[field]
        return [(f"{field}[{place}]", one) for place, one in enumerate(own)]


@dataclass(frozen=True, slots=True)
class EventPerson:
    """One of an event's people: as the event gives them, and the addresses in their normal form."""

    given: Mapping[str, object]
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    """By field, what is wrong with an address that was given."""
    contact_id: UUID | None = None
    """The contact that the event says this is."""
    contact: LoadedContact | None = None
    """That contact as it is now, once it was read."""

    @property
    def data(self) -> Mapping[str, object]:
        """What templates see: what the event gives, and what the contact has where the event gives nothing."""
        if self.contact is None:
            return self.given
        known = {name: value for name, value in self.contact.data.items() if _is_missing(self.given, name)}
        return {**self.given, **known}

    def refusal(self, channel: Channel) -> str | None:
        """Why nothing may be sent to this person over a channel (rule 14); one who is not a contact refuses nothing."""
        return self.contact.refusal(channel) if self.contact else None

    def has_address(self, address: str, channel: Channel) -> bool:
        """Whether an address is this person's, in the event or as a contact."""
        given = [one for name in ADDRESS_FIELDS[channel] for one in self.addresses.get(name, ())]
        known = addresses_of(self.contact.data, channel) if self.contact else []
        return address.casefold() in {one.casefold() for one in (*given, *known)}


@dataclass(frozen=True, slots=True)
class EventAddressee:
    """A person a step reaches, and where the address comes from; with a refusal, one it must not reach."""

    source: str
    address: str
    contact_id: UUID | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A person a step was to reach and cannot; `place` is what is malformed, if that is why."""

    source: str
    reason: str
    place: str | None = None
    contact_id: UUID | None = None


def read_person(raw: Mapping[str, object]) -> EventPerson:
    """A person as an event gives one; an address that is null or empty is not there."""
    addresses: dict[str, tuple[str, ...]] = {}
    wrong: dict[str, str] = {}
    for name, read in _READERS.items():
        given = _given(raw, name)
        if given is None:
            continue
        try:
            addresses[name] = read(given)
        except ValueError as error:
            wrong[name] = str(error)
    return EventPerson(raw, addresses, wrong, _contact_id(raw))


def problem_of_contact(raw: Mapping[str, object]) -> str | None:
    """What is wrong with the contact that a person says to be."""
    given = _given(raw, CONTACT_ID)
    if given is None or isinstance(given, str):
        return None
    return f"{given!r} names no contact: give its id or its externalId as a string, or leave it out"


def named_contact(raw: Mapping[str, object]) -> str | None:
    """What names the contact that a person says to be: an id or an external id."""
    given = _given(raw, CONTACT_ID)
    return given if isinstance(given, str) else None


def attach_contact(person: EventPerson, contact: LoadedContact) -> EventPerson:
    """Return a person with the contact they are: its addresses are used where the event has none."""
    missing = {name: contact.data.get(name) for name in _READERS if not {name} & {*person.addresses, *person.wrong}}
    return replace(person, contact=contact, addresses={**read_person(missing).addresses, **person.addresses})


def resolve_recipients(
    config: RecipientConfig | None, audience: RuleAudience, channel: Channel, people: Mapping[RuleAudience, EventPerson]
) -> list[EventAddressee | Unreachable]:
    """Everybody a step is for, in order: lead, partner, agent, then its own addresses; nobody twice.

    Without a configuration the rule's audience decides. Addresses are compared without case.
    """
    wanted = [audience] if config is None else config.people
    found: list[EventAddressee | Unreachable] = []
    for one in wanted:
        found += _addresses_of(one, channel, people.get(one))
    found += [EventAddressee(place, address) for place, address in (config.custom(channel) if config else [])]
    seen: set[str] = set()
    distinct: list[EventAddressee | Unreachable] = []
    for one_found in found:
        same = one_found.address.casefold() if isinstance(one_found, EventAddressee) else None
        if same is None or same not in seen:
            distinct.append(_recognised(one_found, channel, people))
        if same is not None:
            seen.add(same)
    return distinct


def named_recipient(
    source: str, address: str, channel: Channel, people: Mapping[RuleAudience, EventPerson]
) -> EventAddressee:
    """Where a message goes that reaches no contact: a template of it may name a person who is one, and may refuse."""
    named = _NAMES_PERSON.search(address)
    person = people.get(RuleAudience(named[1])) if named else None
    if person is None or person.contact_id is None:
        return EventAddressee(source, address)
    return EventAddressee(source, address, person.contact_id, person.refusal(channel))


def _recognised(
    found: EventAddressee | Unreachable, channel: Channel, people: Mapping[RuleAudience, EventPerson]
) -> EventAddressee | Unreachable:
    """An address that belongs to a contact of the event is that contact's, wherever it comes from."""
    if isinstance(found, Unreachable) or found.contact_id:
        return found
    owners = [one for one in people.values() if one.contact_id and one.has_address(found.address, channel)]
    if not owners:
        return found
    return replace(found, contact_id=owners[0].contact_id, refusal=owners[0].refusal(channel))


def _addresses_of(
    who: RuleAudience, channel: Channel, person: EventPerson | None
) -> list[EventAddressee | Unreachable]:
    if person is None:
        return [Unreachable(who, f"the event has no {who}")]
    contact_id, refusal = person.contact_id, person.refusal(channel)
    for name in ADDRESS_FIELDS[channel]:
        if name in person.wrong:
            return [Unreachable(who, person.wrong[name], f"{who}.{name}", contact_id)]
        if name in person.addresses:
            return [EventAddressee(who, address, contact_id, refusal) for address in person.addresses[name]]
    return [Unreachable(who, refusal or f"the {who} has no {channel.traits.address_name}", contact_id=contact_id)]


def _given(raw: Mapping[str, object], name: str) -> object:
    """What is given under a name in either spelling, or None."""
    for one in _SPELLINGS.get(name) or (name, snake_case(name)):
        if (found := raw.get(one)) not in _NOTHING:
            return found
    return None


def _is_missing(raw: Mapping[str, object], name: str) -> bool:
    return _given(raw, name) is None


def _contact_id(raw: Mapping[str, object]) -> UUID | None:
    given = _given(raw, CONTACT_ID)
    if not isinstance(given, str):
        return None
    try:
        return UUID(given)
    except ValueError:
        return None


def _one(read: Callable[[str], str]) -> Callable[[object], tuple[str, ...]]:
    def read_one(given: object) -> tuple[str, ...]:
        if not isinstance(given, str):
            raise ValueError(f"{given!r} is not a string")  # noqa: TRY004 – the caller handles ValueErrors
        return (read(given),)

    return read_one


def _tokens(given: object) -> tuple[str, ...]:
    tokens = [given] if isinstance(given, str) else given
    if not isinstance(tokens, list | tuple) or len(tokens) > MOST_TOKENS or not all(map(_is_token, tokens)):
        raise ValueError(f"use a list of at most {MOST_TOKENS} strings of 1 to {LONGEST_TOKEN} characters")
    return tuple(dict.fromkeys(str(one) for one in tokens))


def _is_token(given: object) -> bool:
    return isinstance(given, str) and 0 < len(given) <= LONGEST_TOKEN


def _reader(field: ContactField) -> Callable[[object], tuple[str, ...]]:
    return _one(field.normal) if field.normal else _tokens


_READERS: Mapping[str, Callable[[object], tuple[str, ...]]] = {
    camel_case(name): _reader(FIELDS[name]) for channel in CONTACT_CHANNELS for name in channel.traits.address_fields
}
"""How the addresses of an event's people are read."""
# Of the names that every event is asked for; a contact's data may have any.
_SPELLINGS = {name: tuple(dict.fromkeys((name, snake_case(name)))) for name in (*_READERS, CONTACT_ID)}
PERSON_FIELDS = tuple(name for name in (*_READERS, CONTACT_ID) if snake_case(name) != name)
"""What is read of a person and can be written in two spellings."""
