"""The parts of a message that is no e-mail, as vendors' APIs take them."""

import msgspec

from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Rejected

_LONGEST_TEMPLATE_NAME = 512
ONE_PLACE = Rejected("a webhook posts to one place: use the recipient default")


class ApprovedTemplate(msgspec.Struct, frozen=True):
    """A message that WhatsApp approved beforehand, with what is filled in, in its order."""

    name: str
    language: str = ""
    parameters: tuple[str, ...] = ()


_decode_template = msgspec.json.Decoder(ApprovedTemplate).decode


def sender_of(payload: Payload, default_sender: str) -> str | Rejected:
    """Return whom a message is from: its own sender before that of its connection."""
    sender = payload.get("from") or default_sender
    return sender or Rejected("the message has no sender: give it a `from`, or give its connection one")


def text_of(item: Marked) -> str | Rejected:
    """Return what a message says."""
    name = item.channel.traits.text or "body"
    return item.payload.get(name) or Rejected(f"the message has no {name}")


def template_of(payload: Payload) -> ApprovedTemplate | Rejected | None:
    """Return the template that WhatsApp approved; None where the message is written freely."""
    given = payload.get("template")
    if not given:
        return None
    try:
        template = _decode_template(given)
    except (msgspec.DecodeError, RecursionError) as error:
        return Rejected(f"the template of the message cannot be read: {error}")
    if not 0 < len(template.name) <= _LONGEST_TEMPLATE_NAME:
        return Rejected("the template of the message has no name")
    return template


def is_default(recipient: str) -> bool:
    """Whether a message goes to the one place that its connection names."""
    return recipient in ("", "default")
