"""SMS through Vonage's SMS API: blind, since nothing that an account has for certain shows what became of a request.

It answers 200 with a status for each part of a message, under our key as `client-ref`, which receipts repeat. A text
that is taken in parts only is neither sent nor not sent.
"""

from base64 import b64encode
from datetime import date
from typing import Any

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    base_url,
    secret,
)
from tidings.domain.content.segments import count_segments
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import sender_of, text_of
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    form_request,
    judge_refusal,
    nothing_to_ask,
)

_TAKEN = "0"
_TOO_FAST = frozenset({"1", "10"})  # messages in a second, connections at once
_UNCERTAIN = frozenset({"5"})  # an error within the platform
_NO_CREDIT = frozenset({"9"})
_OUR_TROUBLE = frozenset({"4", "8", "11", "14", "32"})  # credentials, account barred, no SMS API, signature


class Vonage:
    """POST /sms/json, and what its statuses mean."""

    provider_class = Blind()

    def __init__(self, url: str, key: str, key_secret: str, sender: str) -> None:
        self._url, self._sender = url, sender
        self._signed_in = ("Authorization", f"Basic {b64encode(f'{key}:{key_secret}'.encode()).decode()}")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request; numbers go without their plus sign."""
        sender, text = sender_of(item.payload, self._sender), text_of(item)
        if isinstance(sender, Rejected):
            return sender
        if isinstance(text, Rejected):
            return text
        fields = {"from": sender.removeprefix("+"), "to": item.recipient.removeprefix("+"), "text": text}
        fields |= {"type": "text" if count_segments(text).encoding == "gsm" else "unicode"}
        return form_request(f"{self._url}/sms/json", {**fields, "client-ref": item.key.hex()}, self._signed_in)

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        parts = answer.fields.get("messages")
        if not answer.is_success:
            return judge_refusal(answer)
        if not isinstance(parts, list) or not parts or not all(isinstance(one, dict) for one in parts):
            return Unknown(answer.reason("the answer has no messages"))
        refused = [one for one in parts if one.get("status") != _TAKEN]
        if not refused:
            id = parts[0].get("message-id")
            return (
                Accepted(id) if isinstance(id, str) and id else Unknown(answer.reason("the answer has no message-id"))
            )
        if len(refused) < len(parts):
            return Unknown(answer.reason(f"{len(refused)} of {len(parts)} parts were refused"))
        return _judge_refused(refused[0], answer)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence."""
        return await nothing_to_ask("Vonage's SMS API")


def _judge_refused(part: dict[str, Any], answer: VendorAnswer) -> Outcome:
    status = str(part.get("status", ""))
    reason = answer.shown(f"{status} {part.get('error-text') or ''}".strip())
    if status in _UNCERTAIN or not status.isdigit():
        return Unknown(reason)
    if status in _TOO_FAST:
        return RetryLater(reason, answer.delay, uses_attempt=False)
    if status in _NO_CREDIT:
        return Unavailable(reason)
    return Unavailable(reason, is_refused=True) if status in _OUR_TROUBLE else Rejected(reason)


def _build(connection: ConnectionSettings) -> Provider:
    key_secret = connection.text("apiSecret")
    vendor = Vonage(connection.url(), connection.text("apiKey"), key_secret, connection.text("from"))
    return VendorProvider(connection, vendor, [key_secret])


KIND = ProviderKind(
    name="vonage",
    title="Vonage",
    channels=(Channel.SMS,),
    settings=(
        Setting(name="apiKey", doc="the API key of the account", is_required=True, example="abcd1234"),
        secret("apiSecret", "the API secret of the account"),
        Setting(name="from", doc="the sender where a message names none: a number or a name", example="447700900000"),
        base_url("https://rest.nexmo.com"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Vonage API reference: SMS API", date(2026, 11, 18)),
        FollowedDocument("Vonage documentation: troubleshooting SMS", date(2026, 11, 18)),
    ),
)
