"""An e-mail in parts, as vendors' APIs take it; checked as letter.py checks what it writes itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Rejected
from tidings.providers.acceptance import refusal_of
from tidings.providers.enclosed import references_in

_decode_addresses = msgspec.json.Decoder(list[str]).decode
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True)
class EmailFields:
    """The parts of one e-mail; `sender` and `reply_to` may have a name before the address in angle brackets."""

    sender: str
    recipient: str
    subject: str
    text: str | None
    html: str | None
    reply_to: str | None = None
    cc: Sequence[str] = ()
    bcc: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    attachments: Sequence[AttachmentReference] = ()


def email_fields(item: Marked, default_sender: str) -> EmailFields | Rejected:
    """Return the parts of an item's e-mail, or why it can never be sent."""
    if refused := refusal_of(item.channel, item):
        return refused
    payload = item.payload
    sender = payload.get("from") or default_sender
    if not sender:
        return Rejected("the message has no sender: give it a `from`, or give its connection one")
    attachments = references_in(payload)
    if isinstance(attachments, Rejected):
        return attachments
    try:
        return EmailFields(
            sender,
            item.recipient,
            payload["subject"],
            payload.get("body"),
            payload.get("html"),
            payload.get("replyTo"),
            _decode_addresses(payload.get("cc", "[]")),
            _decode_addresses(payload.get("bcc", "[]")),
            _decode_headers(payload.get("headers", "{}")),
            attachments,
        )
    except (msgspec.DecodeError, RecursionError) as error:
        return Rejected(f"the copies or headers of the message cannot be read: {error}")
