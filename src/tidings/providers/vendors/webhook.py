"""A signed webhook (Standard Webhooks 1.0) to a system of the workspace's own, or to whatever address an item names.

`webhook-id` is our key, the same at every attempt. The standard calls every answer but 2xx a failure that is sent
again, so an answer leaves no doubt, with two exceptions: 502 and 504 are a proxy's, and what stands behind it may have
taken the message. After these and after silence the same webhook is sent again only where the connection says
that the receiver keeps the ids it has seen.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from urllib.parse import urlsplit

import msgspec

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    SettingType,
    secret,
)
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.item import Marked
from tidings.domain.flow.keys import owner_time
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Keyed, Provider, ProviderClass
from tidings.domain.workflows.signing import PREFIX, secret_bytes, standard_headers
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import is_default
from tidings.providers.vendor_api import RecipientHosts, VendorAnswer, VendorCalls, nothing_to_ask, wall_seconds


class Webhook:
    """POST to an address, and what the standard says about answers."""

    def __init__(self, url: str, keys: Sequence[bytes], provider_class: ProviderClass) -> None:
        self._url, self._keys, self.provider_class = url, keys, provider_class

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request, signed with each secret that is valid now."""
        url = self.address_of(item.recipient)
        if not url:
            return Rejected("it is for the connection's own address, which has none: set `url`, or name an address")
        if not is_default(item.recipient) and not _is_https(url):
            return Rejected("its recipient is no https:// address: name one, or `default` for the connection's own")
        body = _body(item)
        if isinstance(body, Rejected):
            return body
        signed = standard_headers(self._keys, item.key.hex(), wall_seconds(), body)
        return HttpRequest("POST", url, [("Content-Type", "application/json"), *signed], body)

    def address_of(self, recipient: str) -> str:
        """Return the connection's own address for `default`, and else what the recipient is."""
        return self._url if is_default(recipient) else recipient

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        status, reason = answer.status, answer.reason()
        if answer.is_success:
            return Accepted()
        if status == 410:
            return Rejected(reason, is_gone=True)
        if 300 <= status < 400:
            return Rejected(f"{reason}: redirects are refused; correct the address")
        if status == 429:
            return RetryLater(reason, answer.delay, uses_attempt=False)
        if status in (502, 504):  # a key makes it safe to repeat with this receiver, but not to send to another
            return Unknown(reason)
        return RetryLater(reason, answer.delay)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence: a receiver has no question for this."""
        return await nothing_to_ask("the receiver of a webhook")


def _body(item: Marked) -> bytes | Rejected:
    """The body as it was written or, with an event, in the standard's form: type, timestamp and data."""
    written = item.payload.get("body", "").encode()
    try:
        msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError) as error:
        return Rejected(f"the body is no JSON: {error}")
    event = item.payload.get("event")
    if not event:
        return written
    at = owner_time(item.key).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return msgspec.json.encode({"type": event, "timestamp": at, "data": msgspec.Raw(written)})


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc


def _accepts(recipient: str) -> bool:
    return is_default(recipient) or _is_https(recipient)


def _problem_of_secret(value: str) -> str | None:
    try:
        secret_bytes(value)
    except InputInvalid as error:
        return str(error)
    return None


def _build(connection: ConnectionSettings) -> Provider:
    secrets = [one for one in (connection.text("secret"), connection.text("previousSecret")) if one]
    minutes = connection.number("receiverDedupesMinutes")
    provider_class = Keyed(timedelta(minutes=minutes)) if minutes else Blind()
    vendor = Webhook(connection.url("url"), [secret_bytes(one) for one in secrets], provider_class)
    return RecipientHosts(connection, vendor, [*secrets, *(one.removeprefix(PREFIX) for one in secrets)])


KIND = ProviderKind(
    name="webhook",
    title="A signed webhook",
    channels=(Channel.WEBHOOK,),
    settings=(
        secret(
            "secret", "what webhooks are signed with: whsec_ and 24 to 64 bytes in base64", check=_problem_of_secret
        ),
        secret(
            "previousSecret",
            "the secret before this one: webhooks are signed with both while receivers change over",
            is_required=False,
            check=_problem_of_secret,
        ),
        Setting(
            name="url",
            doc="where a webhook for `default` goes",
            type=SettingType.URL,
            example="https://example.com/hooks/tidings",
        ),
        Setting(
            name="receiverDedupesMinutes",
            doc="for how many minutes receivers keep each webhook-id and drop repeats; 0 when they do not",
            type=SettingType.NUMBER,
            default=0,
        ),
    ),
    build=_build,
    follows=(FollowedDocument("Standard Webhooks 1.0", date(2026, 11, 18)),),
    accepts=_accepts,
)
