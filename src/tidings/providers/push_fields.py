"""A push message in parts, as push services take it, and which service a contact's token is for.

A contact's tokens are plain strings. One may say whose it is with a prefix, `fcm:`, `apns:` or `webpush:`; a
subscription to Web Push is recognised by being JSON. Without a prefix a token is taken by FCM and by APNs, whichever
serves the channel.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

import msgspec

from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Rejected

LONGEST_COLLAPSE_BYTES = 64
"""What APNs takes; the others take as much."""
_decode_data = msgspec.json.Decoder(dict[str, str]).decode


class PushService(StrEnum):
    """Whose token it is, by its prefix."""

    FCM = "fcm"
    APNS = "apns"
    WEB_PUSH = "webpush"


def service_of(recipient: str) -> PushService | None:
    """Whose token a recipient is; None where it does not say."""
    if recipient.lstrip().startswith("{"):
        return PushService.WEB_PUSH
    prefix, colon, _ = recipient.partition(":")
    return PushService(prefix) if colon and prefix in set(PushService) else None


def token_of(recipient: str) -> str:
    """A recipient without its prefix."""
    service = service_of(recipient)
    return recipient.removeprefix(f"{service}:") if service else recipient


def reaches(service: PushService, recipient: str) -> bool:
    """Whether a service may know a token that says nothing, or that says it is the service's own."""
    return bool(token_of(recipient)) and service_of(recipient) in (service, None)


@dataclass(frozen=True, slots=True)
class PushFields:
    """The parts of one push message."""

    token: str
    title: str | None
    body: str | None
    data: Mapping[str, str] = field(default_factory=dict)
    collapse: str | None = None
    url: str | None = None
    image: str | None = None
    tag: str = ""
    """What replaces what on a screen: of `collapse` or, without it, the item's own, so that a repeat shows once."""


def push_fields(item: Marked, service: PushService) -> PushFields | Rejected:
    """Return the parts of an item's push message, or why it can never be sent."""
    if not reaches(service, item.recipient):
        return Rejected(f"its recipient is no token of {service}: it is another service's, or empty")
    payload = item.payload
    try:
        data = _decode_data(payload.get("data") or "{}")
    except (msgspec.DecodeError, RecursionError) as error:
        return Rejected(f"the data of the message is no object of strings: {error}")
    collapse = payload.get("collapse") or None
    return PushFields(
        token_of(item.recipient),
        payload.get("title") or None,
        payload.get("body") or None,
        data,
        collapse,
        payload.get("url") or None,
        payload.get("image") or None,
        _fitting(collapse) if collapse else item.key.hex(),
    )


def _fitting(collapse: str) -> str:
    """A word that is too long for a push service becomes its hash: only whether two are the same matters."""
    encoded = collapse.encode("utf-8", "surrogatepass")
    return collapse if len(encoded) <= LONGEST_COLLAPSE_BYTES else sha256(encoded).hexdigest()
