"""Push to browsers (RFC 8030), encrypted for each (RFC 8291) and signed with the application's key (RFC 8292).

The recipient is the subscription's JSON, as a browser makes it; its endpoint names the push service that is called.
Blind: no push service takes a key or can be asked. `Topic` lets a later message replace one that was not delivered yet.
"""

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    SettingType,
    secret,
)
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.http_request import HttpRequest
from tidings.providers.jwt import base64url, es256, from_base64url, p256_key
from tidings.providers.push_fields import PushFields, PushService, push_fields, service_of, token_of
from tidings.providers.vendor_api import RecipientHosts, VendorAnswer, VendorCalls, judge_refusal, nothing_to_ask
from tidings.providers.web_push_crypto import LARGEST_MESSAGE, BrowserKeys, encrypt, point_of

_TOKEN_SECONDS = 12 * 3600
"""A signature holds so long, of the 24 hours that RFC 8292 allows, and is used for half of it."""
_MOST_ORIGINS = 100
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class _SubscribedKeys(msgspec.Struct, frozen=True):
    p256dh: str
    auth: str


class _SubscriptionJson(msgspec.Struct, frozen=True):
    endpoint: str
    keys: _SubscribedKeys


@dataclass(frozen=True, slots=True)
class Subscription:
    """Where a browser gets its messages, and how they are encrypted for it."""

    endpoint: str
    origin: str
    keys: BrowserKeys


class ApplicationKey:
    """The key that subscriptions were made for: signs who sends, for each push service (VAPID)."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, subject: str, clock: Callable[[], float] = time.time) -> None:
        self._key, self._subject, self._clock = key, subject, clock
        self._public = base64url(point_of(key))
        self._signed: dict[str, tuple[float, str]] = {}

    def authorization(self, origin: str) -> str:
        """Return the header for a push service."""
        now = self._clock()
        signed_at, token = self._signed.get(origin, (0.0, ""))
        if not token or not 0 <= now - signed_at < _TOKEN_SECONDS / 2:
            claims = {"aud": origin, "exp": int(now) + _TOKEN_SECONDS, "sub": self._subject}
            token = es256(self._key, claims)
            self.forget(origin)
            self._signed[origin] = (now, token)
        return f"vapid t={token}, k={self._public}"

    def forget(self, origin: str) -> None:
        """Sign anew next time; of too many push services the oldest is forgotten too."""
        self._signed.pop(origin, None)
        if len(self._signed) >= _MOST_ORIGINS:
            self._signed.pop(next(iter(self._signed)))


class WebPush:
    """POST to a subscription's endpoint, and what push services answer."""

    provider_class = Blind()

    def __init__(self, key: ApplicationKey, ttl_seconds: int, urgency: str) -> None:
        self._key, self._ttl, self._urgency = key, ttl_seconds, urgency

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request: encrypted for the browser, signed for its push service."""
        fields = push_fields(item, PushService.WEB_PUSH)
        if not isinstance(fields, PushFields):
            return fields
        message = msgspec.json.encode(_message(fields), order="deterministic")
        if len(message) > LARGEST_MESSAGE:
            return Rejected(f"the message has {len(message):,} bytes; push services take {LARGEST_MESSAGE:,}")
        try:
            subscription = _subscription(fields.token)
            body = encrypt(message, subscription.keys)
        except ValueError as error:
            return Rejected(f"its recipient is no subscription of a browser: {error}")
        headers = [
            ("Authorization", self._key.authorization(subscription.origin)),
            ("Content-Encoding", "aes128gcm"),
            ("Content-Type", "application/octet-stream"),
            ("TTL", str(self._ttl)),
            ("Urgency", self._urgency),
            ("Topic", _topic(fields.tag)),
        ]
        return HttpRequest("POST", subscription.endpoint, headers, body)

    def address_of(self, recipient: str) -> str:
        """Return the endpoint of a subscription; raise ValueError for what is none."""
        return _subscription(token_of(recipient)).endpoint

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means."""
        if answer.is_success:
            return Accepted(answer.headers.get("location"))
        if answer.status in (404, 410):
            return Rejected(answer.reason(), is_gone=True)
        if answer.status == 401:  # the signature may have grown old; a wrong key ends with the attempts
            self._key.forget(_subscription(token_of(item.recipient)).origin)
            return RetryLater(answer.reason(), answer.delay)
        return judge_refusal(answer)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence: push services keep none."""
        return await nothing_to_ask("a push service")


def _message(fields: PushFields) -> Mapping[str, Any]:
    parts = {
        "title": fields.title,
        "body": fields.body,
        "url": fields.url,
        "image": fields.image,
        "tag": fields.tag,
        "data": dict(fields.data) or None,
    }
    return {name: part for name, part in parts.items() if part is not None}


def _topic(tag: str) -> str:
    """At most 32 letters of base64url: only whether two are the same matters."""
    return urlsafe_b64encode(sha256(tag.encode("utf-8", "surrogatepass")).digest()[:24]).decode()


def _subscription(text: str) -> Subscription:
    """Read a subscription; raise ValueError for what is none."""
    try:
        read = msgspec.json.decode(text, type=_SubscriptionJson)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    parts = urlsplit(read.endpoint)
    is_open = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS)
    if not is_open or not parts.hostname or "@" in parts.netloc:
        raise ValueError("its endpoint is no https:// address")
    keys = BrowserKeys(from_base64url(read.keys.p256dh), from_base64url(read.keys.auth))
    return Subscription(read.endpoint, f"{parts.scheme}://{parts.netloc}", keys)


def _application_key(text: str) -> ec.EllipticCurvePrivateKey:
    """Read the key as PEM, or as 32 bytes in base64url; raise ValueError for what is neither."""
    if "-----BEGIN" in text:
        return p256_key(text)
    try:
        raw = from_base64url(text)
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise ValueError("the key is neither PEM nor 32 bytes in base64url")
    return ec.derive_private_key(int.from_bytes(raw, "big"), ec.SECP256R1())


def _problem_of_key(value: str) -> str | None:
    try:
        _application_key(value)
    except ValueError as error:
        return f"{error}; give the private half of the VAPID keys that subscriptions are made with"
    return None


def _problem_of_subject(value: str) -> str | None:
    is_contact = value.startswith(("mailto:", "https://")) and len(value.partition(":")[2]) > 2
    return None if is_contact else "push services ask for somebody to write to: use mailto:you@example.com"


def _build(connection: ConnectionSettings) -> Provider:
    text = connection.text("privateKey")
    key = ApplicationKey(_application_key(text), connection.text("subject"))
    lines = [line for line in text.splitlines() if line and not line.startswith("-----")]
    vendor = WebPush(key, connection.number("ttlSeconds"), connection.text("urgency"))
    return RecipientHosts(connection, vendor, [text, *lines])


KIND = ProviderKind(
    name="web-push",
    title="Web Push",
    channels=(Channel.PUSH,),
    settings=(
        secret(
            "privateKey",
            "the private half of the VAPID keys: 32 bytes in base64url, or PEM",
            has_lines=True,
            check=_problem_of_key,
        ),
        Setting(
            name="subject",
            doc="whom push services can write to",
            is_required=True,
            example="mailto:push@example.com",
            check=_problem_of_subject,
        ),
        Setting(
            name="ttlSeconds",
            doc="for how long a push service keeps a message for a browser that is away",
            type=SettingType.NUMBER,
            default=86_400,
        ),
        Setting(
            name="urgency",
            doc="how much of a device's battery a message is worth",
            default="normal",
            choices=("very-low", "low", "normal", "high"),
        ),
    ),
    build=_build,
    follows=(
        FollowedDocument("RFC 8030, RFC 8188, RFC 8291 and RFC 8292", date(2026, 11, 18)),
        FollowedDocument("W3C Push API: PushSubscription.toJSON", date(2026, 11, 18)),
    ),
    accepts=lambda recipient: service_of(recipient) is PushService.WEB_PUSH,
)
