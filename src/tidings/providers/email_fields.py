"""An e-mail in parts, as vendors' APIs take it; checked as letter.py checks what it writes itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from tidings.domain.connections.kind import Setting
from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Outcome, Rejected, Unavailable
from tidings.providers.acceptance import refusal_of
from tidings.providers.enclosed import references_in
from tidings.providers.letter import Sender, message_id_of, no_address, sender_of

KEY_NAME = "tidings_key"
"""What vendors that carry data of ours with a message are given the item's key under: their events show it."""
SENDER_SETTING = Setting(
    name="from",
    doc="the sender where a message names none",
    example="You <you@example.com>",
    matches=r"[^<>@]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+",
)
_decode_addresses = msgspec.json.Decoder(list[str]).decode
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True)
class EmailFields:
    """The parts of one e-mail; addresses other than the recipient's may have a name before them."""

    sender: Sender
    recipient: str
    subject: str
    text: str | None
    html: str | None
    message_id: str
    reply_to: Sender | None = None
    cc: Sequence[Sender] = ()
    bcc: Sequence[Sender] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    attachments: Sequence[AttachmentReference] = ()


class _NoAddress(Exception):
    """Which part of a message is no address."""


def email_fields(item: Marked, default_sender: str) -> EmailFields | Outcome:
    """Return the parts of an item's e-mail, or why it cannot be sent."""
    if refused := refusal_of(item.channel, item) or _without_sender(item, default_sender):
        return refused
    attachments = references_in(item.payload)
    if isinstance(attachments, Rejected):
        return attachments
    try:
        return _fields(item, default_sender, attachments)
    except (msgspec.DecodeError, RecursionError) as error:
        return Rejected(f"the copies or headers of the message cannot be read: {error}")
    except _NoAddress as error:
        return Rejected(str(error))


def sender_refused(item: Marked, reason: str) -> Outcome:
    """What it means that a vendor refuses the sender: it is the message's own, or else the connection's to mend."""
    return Rejected(reason) if item.payload.get("from") else Unavailable(reason, is_refused=True)


def shown_address(one: Sender) -> str:
    """An address as it stands in a header, its name in quotes where it must be; a name may be of any script."""
    if not one.name:
        return one.address
    name = one.name.replace("\\", "\\\\").replace('"', '\\"')
    is_plain = all(char.isalnum() or char in " -_'" for char in one.name)
    return f"{one.name} <{one.address}>" if is_plain else f'"{name}" <{one.address}>'


def _without_sender(item: Marked, default_sender: str) -> Outcome | None:
    if item.payload.get("from"):
        return None
    if not default_sender:
        return Rejected("the message has no sender: give it a `from`, or give its connection one")
    if sender_of(default_sender) is None:
        return Unavailable(f"the connection's from, {no_address(default_sender)}", is_refused=True)
    return None


def _fields(item: Marked, default_sender: str, attachments: Sequence[AttachmentReference]) -> EmailFields:
    payload = item.payload
    sender = _address("from", payload.get("from") or default_sender)
    reply_to = payload.get("replyTo")
    taken = {item.recipient.casefold()}
    return EmailFields(
        sender,
        item.recipient,
        payload["subject"],
        payload.get("body"),
        payload.get("html"),
        message_id_of(sender, item.key.hex()),
        _address("replyTo", reply_to) if reply_to else None,
        _copies("cc", payload.get("cc", "[]"), taken),
        _copies("bcc", payload.get("bcc", "[]"), taken),
        _decode_headers(payload.get("headers", "{}")),
        attachments,
    )


def _copies(name: str, text: str, taken: set[str]) -> Sequence[Sender]:
    """Whom copies go to, each once: some vendors refuse a message that names somebody twice."""
    return list(_untaken((_address(name, one) for one in _decode_addresses(text)), taken))


def _untaken(copies: Iterable[Sender], taken: set[str]) -> Iterable[Sender]:
    for one in copies:
        if one.address.casefold() not in taken:
            taken.add(one.address.casefold())
            yield one


def _address(name: str, text: str) -> Sender:
    found = sender_of(text)
    if found is None:
        raise _NoAddress(f"{name} {no_address(text)}")
    return found
