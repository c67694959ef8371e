"""Whom messages are from: read as it is given, and written into a message before that is frozen.

Providers get it as `from` (an address, `Name <address>`, a number or a word) and as `replyTo`. What could forge a
header is refused when the sender is made, so no message fails for it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tidings.domain.channels import SENDER, SENDER_CHANNELS, Channel
from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.flow.item import Payload
from tidings.domain.messages import did_you_mean, quoted, unfit
from tidings.domain.names import problem_of_name, problem_of_slug
from tidings.domain.people.address import read_email, read_phone
from tidings.domain.storable import place_of
from tidings.views.senders import NamedSender

FROM, REPLY_TO = "from", "replyTo"
LONGEST_DISPLAY_NAME = 100
FIELDS = ("name", "displayName", *map(str, SENDER_CHANNELS), "replyTo", "defaultFor")
_SPELLINGS = {"display_name": "displayName", "reply_to": "replyTo", "default_for": "defaultFor"}
_READ_ONLY = frozenset({"id", "createdAt", "updatedAt", "created_at", "updated_at"})
"""What an answer says and a body may repeat, so that what was read can be changed and written back."""
_WORD = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9](?:[A-Za-z0-9 ]{0,9}[A-Za-z0-9])?", re.ASCII)
_SHORT_CODE = re.compile(r"[0-9]{3,8}", re.ASCII)
_ENDS_A_NAME = re.compile(r'[<>"\\]|=\?')
"""What would end the name in a header, or be read as something else there."""
_OTHERS_DATA = frozenset({"payload", "payloadTemplate", "payload_template"})


class SenderIdentity(msgspec.Struct, frozen=True):
    """A sender as messages are written with it."""

    name: str
    display_name: str | None
    addresses: Mapping[str, str]
    reply_to: str | None

    def fields(self, channel: Channel) -> Mapping[str, str]:
        """What it adds to a message; empty where it has no address for the channel."""
        address = self.addresses.get(channel)
        if address is None:
            return {}
        if channel is not Channel.EMAIL:
            return {FROM: address}
        shown = f"{self.display_name} <{address}>" if self.display_name else address
        return {FROM: shown, **({REPLY_TO: self.reply_to} if self.reply_to else {})}


class WrittenSender(msgspec.Struct, frozen=True):
    """A sender as it is given, and the channels whose messages are from it without naming it."""

    identity: SenderIdentity
    default_for: tuple[Channel, ...]


class SenderUse(NamedTuple):
    """That a message names a sender, where, and over which channel it goes if that is known."""

    place: str
    name: str
    channel: Channel | None


class WorkspaceSenders(msgspec.Struct, frozen=True):
    """The senders of one workspace, and which is the default for each channel."""

    identities: Mapping[str, SenderIdentity] = {}
    defaults: Mapping[str, str] = {}

    def problem(self, use: SenderUse) -> str | None:
        """Why a message cannot be from whom it names; None when it can."""
        found = self.identities.get(use.name)
        if found is None:
            hint = did_you_mean(use.name, self.identities) or "; add it first"
            return f"there is no sender {quoted(use.name)}{hint}"
        if use.channel is not None and use.channel in SENDER_CHANNELS and use.channel not in found.addresses:
            return f"sender {use.name!r} has no address for {use.channel}; add one to it"
        return None

    def fields(self, channel: Channel, named: str | None) -> Mapping[str, str]:
        """What the sender of a message adds to it: the one that it names, or else the default; ValueError if gone."""
        name = named or self.defaults.get(channel)
        if name is None:
            return {}
        if named and (wrong := self.problem(SenderUse("", named, channel))):
            raise ValueError(wrong)
        return self.identities[name].fields(channel) if name in self.identities else {}


def with_sender(payload: Payload, added: Mapping[str, str]) -> Payload:
    """Return a message with its sender in it, in the order in which it is stored; what it says itself stays."""
    if not added:
        return payload
    if FROM in payload:
        return payload  # and its answers go where it says, if anywhere
    return dict(sorted({**added, **payload}.items(), key=lambda one: (len(one[0].encode()), one[0].encode())))


def sender_uses(given: object) -> list[SenderUse]:
    """Return every sender that messages in what was given name, with the places."""
    return list(_uses(given, (), None))


def _uses(given: object, steps: tuple[str | int, ...], channel: Channel | None) -> Iterator[SenderUse]:
    if isinstance(given, Mapping):
        own = given.get("type", given.get("channel"))
        channel = Channel(own) if isinstance(own, str) and own in [*Channel] else channel
        if isinstance(name := given.get(SENDER), str):
            yield SenderUse(place_of((*steps, SENDER)), name, channel)
        for field, one in given.items():
            if field not in _OTHERS_DATA:
                yield from _uses(one, (*steps, str(field)), channel)
    elif isinstance(given, list | tuple):
        for number, one in enumerate(given):
            yield from _uses(one, (*steps, number), channel)


def read_sender(raw: Mapping[str, object], before: NamedSender | None = None) -> WrittenSender:
    """Read a sender, or raise DefinitionInvalid; of one that is there what is left out stays, and null removes."""
    reader = _SenderReader(raw, before)
    made = reader.sender()
    if reader.problems:
        raise DefinitionInvalid(reader.problems)
    return made


class _SenderReader:
    """Reads one sender and keeps every problem with its place."""

    def __init__(self, raw: Mapping[str, object], before: NamedSender | None) -> None:
        self.problems: list[Problem] = []
        kept = before.in_json() if before else {}
        given = {_SPELLINGS.get(name, name): value for name, value in raw.items() if name not in _READ_ONLY}
        for name in given:
            if name not in FIELDS:
                use = f"use {', '.join(FIELDS)}{did_you_mean(str(name), FIELDS)}"
                self.add(str(name)[:100], f"is not a field of a sender: {use}")
        self.given = {name: kept.get(name) for name in FIELDS} | given
        self.before = before

    def add(self, place: str, message: str) -> None:
        self.problems.append(Problem(place, message))

    def sender(self) -> WrittenSender:
        name = self.given["name"]
        if wrong := problem_of_slug(name):
            self.add("name", wrong)
        elif self.before and name != self.before.name:
            self.add("name", f"{quoted(name)} is another: a sender keeps its name, {self.before.name!r}")
        found = {one: self.read(one, _READERS.get(one, read_phone)) for one in SENDER_CHANNELS}
        addresses = {str(one): address for one, address in found.items() if address}
        if not addresses and not self.problems:
            self.add("email", f"is missing: give an address for one channel at least, {', '.join(SENDER_CHANNELS)}")
        identity = SenderIdentity(str(name), self.display_name(), addresses, self.read("replyTo", _read_own_email))
        if identity.reply_to and Channel.EMAIL not in addresses and not self.problems:
            self.add("replyTo", "is for answers to e-mail; give email as well")
        return WrittenSender(identity, self.default_for(addresses))

    def read(self, name: str, read: Callable[[str], str]) -> str | None:
        given = self.given[name]
        if given is None:
            return None
        if not isinstance(given, str):
            self.add(name, f"{quoted(given)} is not a string")
            return None
        try:
            return read(given)
        except ValueError as error:
            self.add(name, str(error))
            return None

    def display_name(self) -> str | None:
        given = self.given["displayName"]
        if given is None:
            return None
        if wrong := problem_of_name(given, LONGEST_DISPLAY_NAME):
            self.add("displayName", wrong)
        elif found := _ENDS_A_NAME.search(str(given)):
            self.add("displayName", f"holds {found[0]!a}, which would end it in a header; leave it out")
        return str(given).strip()

    def default_for(self, addresses: Mapping[str, str]) -> tuple[Channel, ...]:
        given = self.given["defaultFor"] or ()
        if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
            self.add("defaultFor", f"{quoted(given)} is not a list of channels: use some of {_some(SENDER_CHANNELS)}")
            return ()
        for one in given:
            if one not in [*SENDER_CHANNELS]:
                self.add("defaultFor", f"{unfit(one, 'has no senders')}: use some of {_some(SENDER_CHANNELS)}")
            elif one not in addresses and not self.problems:
                self.add("defaultFor", f"names {one}, for which it has no address; give {one} as well")
        return tuple(one for one in SENDER_CHANNELS if one in given)


def _some(channels: Iterable[str]) -> str:
    return ", ".join(channels)


def _read_own_email(text: str) -> str:
    address = read_email(text)
    if not address.isascii():
        raise ValueError(f"{quoted(text)}: not every mail server takes such an address from you; use one in ASCII")
    return address


def _read_sms_sender(text: str) -> str:
    if _WORD.fullmatch(text) or _SHORT_CODE.fullmatch(text):
        return text
    try:
        return read_phone(text)
    except ValueError:
        how = "a phone number such as +442071838750, a short code, or up to 11 letters and digits"
        raise ValueError(f"{quoted(text)} cannot be what an SMS is from: use {how}") from None


_READERS: Mapping[Channel, Callable[[str], str]] = {Channel.EMAIL: _read_own_email, Channel.SMS: _read_sms_sender}
