"""Whom a step is for: people of the event and addresses of its own, each once, in order (000's recipient matrix).

Pure: an event's people come in as they were read, and whoever cannot be reached goes out with the reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tidings.domain.address import read_email, read_phone
from tidings.domain.item import Channel

LONGEST_TOKEN = 4_096
MOST_TOKENS = 20


class Audience(StrEnum):
    """The people an event is about; a rule is for one of them."""

    LEAD = "lead"
    PARTNER = "partner"
    AGENT = "agent"


RULE_CHANNELS = (Channel.EMAIL, Channel.WHATSAPP, Channel.SMS, Channel.PUSH, Channel.VOICE)
"""The channels that reach a person; `social` has no recipient, and `function` is no message."""

ADDRESS_FIELDS: Mapping[Channel, tuple[str, ...]] = {
    Channel.EMAIL: ("email",),
    Channel.SMS: ("phone",),
    Channel.VOICE: ("phone",),
    Channel.WHATSAPP: ("whatsapp", "phone"),
    Channel.PUSH: ("pushTokens",),
}
"""Where a person is reached by each channel; the first field that is there."""

ADDRESS_NAMES = {
    Channel.EMAIL: "e-mail address",
    Channel.SMS: "phone number",
    Channel.VOICE: "phone number",
    Channel.WHATSAPP: "WhatsApp or phone number",
    Channel.PUSH: "push token",
}


@dataclass(frozen=True, slots=True)
class RecipientConfig:
    """Whom a step writes to, as 000 has it; `include_agent` is for the third of an event's people."""

    include_lead_contact: bool = False
    include_partner: bool = False
    include_agent: bool = False
    custom_phones: tuple[str, ...] = ()
    custom_emails: tuple[str, ...] = ()

    @property
    def people(self) -> list[Audience]:
        """The people who are included, in the order in which they are written to."""
        included = (self.include_lead_contact, self.include_partner, self.include_agent)
        return [one for one, is_included in zip(Audience, included, strict=True) if is_included]

    def custom(self, channel: Channel) -> list[tuple[str, str]]:
        """The addresses of its own that this channel can reach, each with its place."""
        if channel is Channel.EMAIL:
            return [(f"customEmails[{place}]", one) for place, one in enumerate(self.custom_emails)]
        if channel is Channel.PUSH:
            return []
        return [(f"customPhones[{place}]", one) for place, one in enumerate(self.custom_phones)]


@dataclass(frozen=True, slots=True)
class Person:
    """One of an event's people: what templates see, and the addresses in their normal form."""

    data: Mapping[str, object]
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    """By field, what is wrong with an address that was given."""


@dataclass(frozen=True, slots=True)
class Addressee:
    """Somebody a step reaches, and where the address comes from."""

    source: str
    address: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Somebody a step was to reach and cannot; `place` is what is malformed, if that is why."""

    source: str
    reason: str
    place: str | None = None


def read_person(raw: Mapping[str, object]) -> Person:
    """A person as an event gives one; an address that is null or empty is not there."""
    addresses: dict[str, tuple[str, ...]] = {}
    wrong: dict[str, str] = {}
    for name, (spellings, read) in _READERS.items():
        given = next((raw[one] for one in spellings if raw.get(one) not in (None, "", [])), None)
        if given is None:
            continue
        try:
            addresses[name] = read(given)
        except ValueError as error:
            wrong[name] = str(error)
    return Person(raw, addresses, wrong)


def resolve_recipients(
    config: RecipientConfig | None, audience: Audience, channel: Channel, people: Mapping[Audience, Person]
) -> list[Addressee | Unreachable]:
    """Everybody a step is for, in order: lead, partner, agent, then its own addresses; nobody twice.

    Without a configuration it is whoever the rule is for. The case of letters makes no difference between addresses.
    """
    wanted = [audience] if config is None else config.people
    found: list[Addressee | Unreachable] = []
    for one in wanted:
        found += _addresses_of(one, channel, people.get(one))
    found += [Addressee(place, address) for place, address in (config.custom(channel) if config else [])]
    seen: set[str] = set()
    distinct: list[Addressee | Unreachable] = []
    for one_found in found:
        same = one_found.address.casefold() if isinstance(one_found, Addressee) else None
        if same is None or same not in seen:
            distinct.append(one_found)
        if same is not None:
            seen.add(same)
    return distinct


def _addresses_of(who: Audience, channel: Channel, person: Person | None) -> list[Addressee | Unreachable]:
    if person is None:
        return [Unreachable(who, f"the event has no {who}")]
    for name in ADDRESS_FIELDS[channel]:
        if name in person.wrong:
            return [Unreachable(who, person.wrong[name], f"{who}.{name}")]
        if name in person.addresses:
            return [Addressee(who, address) for address in person.addresses[name]]
    return [Unreachable(who, f"the {who} has no {ADDRESS_NAMES[channel]}")]


def _one(read: Callable[[str], str]) -> Callable[[object], tuple[str, ...]]:
    def read_one(given: object) -> tuple[str, ...]:
        if not isinstance(given, str):
            raise ValueError(f"{given!r} is not a text")  # noqa: TRY004 – whoever reads takes ValueErrors
        return (read(given),)

    return read_one


def _tokens(given: object) -> tuple[str, ...]:
    tokens = [given] if isinstance(given, str) else given
    if not isinstance(tokens, list | tuple) or len(tokens) > MOST_TOKENS or not all(map(_is_token, tokens)):
        raise ValueError(f"use a list of at most {MOST_TOKENS} texts of 1 to {LONGEST_TOKEN} characters")
    return tuple(dict.fromkeys(str(one) for one in tokens))


def _is_token(given: object) -> bool:
    return isinstance(given, str) and 0 < len(given) <= LONGEST_TOKEN


_READERS: Mapping[str, tuple[tuple[str, ...], Callable[[object], tuple[str, ...]]]] = {
    "email": (("email",), _one(read_email)),
    "phone": (("phone",), _one(read_phone)),
    "whatsapp": (("whatsapp",), _one(read_phone)),
    "pushTokens": (("pushTokens", "push_tokens"), _tokens),
}
