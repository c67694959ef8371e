"""Push through Apple's service (APNs) over HTTP/2: blind, since APNs promises nothing about a repeated apns-id.

The connection proves who it is with a token that it signs itself: a new one every 40 minutes, since APNs takes none
older than an hour and refuses those who change theirs within 20 minutes. `apns-id` is made of our key, and
`apns-collapse-id` too where a message has no `collapse`, so that one which a workspace has sent again shows once.
A device token that is bad (`BadDeviceToken`) may as well be one of the other environment: it is refused, and stays.
"""

import time
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from urllib.parse import quote
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    base_url,
    secret,
)
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.http2_client import Http2Client
from tidings.providers.http_request import HttpRequest
from tidings.providers.jwt import es256, p256_key
from tidings.providers.push_fields import PushFields, PushService, push_fields, reaches
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
)

PRODUCTION = "https://api.push.apple.com"
_TOKEN_SECONDS = 40 * 60
_GONE = frozenset({"Unregistered", "ExpiredToken"})
_OUR_TROUBLE = frozenset(
    {
        *("BadCertificate", "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "Forbidden"),
        *("InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken"),
        *("BadTopic", "MissingTopic", "TopicDisallowed"),
    }
)
_NOT_TAKEN = frozenset({"IdleTimeout", "ServiceUnavailable", "Shutdown"})


class ProviderToken:
    """The token that says who sends; signed anew when it grows old, or when APNs says that it is."""

    def __init__(
        self, key: EllipticCurvePrivateKey, key_id: str, team: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._key, self._key_id, self._team, self._clock = key, key_id, team, clock
        self._text, self._signed_at = "", 0.0

    def text(self) -> str:
        """Return the token."""
        now = self._clock()
        if not self._text or not 0 <= now - self._signed_at < _TOKEN_SECONDS:
            self._text = es256(self._key, {"iss": self._team, "iat": int(now)}, kid=self._key_id)
            self._signed_at = now
        return self._text

    def forget(self) -> None:
        """Sign a new one next time."""
        self._text = ""


class Apns:
    """POST /3/device/…, and what its reasons mean."""

    provider_class = Blind()

    def __init__(self, url: str, token: ProviderToken, topic: str) -> None:
        self._url, self._token, self._topic = url, token, topic

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request; our key is in its id."""
        fields = push_fields(item, PushService.APNS)
        if not isinstance(fields, PushFields):
            return fields
        token = self._token.text()
        calls.hide(token)
        return json_request(
            f"{self._url}/3/device/{quote(fields.token, safe='')}",
            _body(fields),
            ("Authorization", f"bearer {token}"),
            ("apns-id", str(UUID(bytes=item.key[-16:]))),
            ("apns-topic", self._topic),
            ("apns-push-type", "alert"),
            ("apns-priority", "10"),
            ("apns-collapse-id", fields.tag if fields.tag.isascii() else item.key.hex()),
        )

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        if answer.is_success:
            return Accepted(answer.headers.get("apns-id"))
        said = answer.fields.get("reason")
        return self._judge_reason(said if isinstance(said, str) else "", answer)

    def _judge_reason(self, name: str, answer: VendorAnswer) -> Outcome:
        reason = answer.reason(name or None)
        if name in _GONE:
            return Rejected(reason, is_gone=True)
        if name == "ExpiredProviderToken":
            self._token.forget()
            return RetryLater(reason, uses_attempt=False)
        if name == "TooManyProviderTokenUpdates":
            return Unavailable(reason)
        if name in _OUR_TROUBLE:
            return Unavailable(reason, is_refused=True)
        if name in _NOT_TAKEN:
            return RetryLater(reason, answer.delay)
        return judge_refusal(answer, name or None)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence: APNs tells what became of a message in its development environment only."""
        return await nothing_to_ask("APNs")


def _body(fields: PushFields) -> Mapping[str, Any]:
    alert = {name: part for name, part in (("title", fields.title), ("body", fields.body)) if part is not None}
    own = {"url": fields.url, "image": fields.image}
    aps: dict[str, Any] = {"alert": alert, "sound": "default"}
    aps |= {"mutable-content": 1} if fields.image else {}  # an extension of the app fetches the picture
    return {**{name: part for name, part in own.items() if part}, **fields.data, "aps": aps}


def _problem_of_key(value: str) -> str | None:
    try:
        p256_key(value)
    except ValueError as error:
        return f"{error}; give the .p8 file that Apple made for the key"
    return None


def _build(connection: ConnectionSettings) -> Provider:
    pem = connection.text("key")
    token = ProviderToken(p256_key(pem), connection.text("keyId"), connection.text("teamId"))
    lines = [line for line in pem.splitlines() if line and not line.startswith("-----")]
    vendor = Apns(connection.url(), token, connection.text("topic"))
    return VendorProvider(connection, vendor, [pem, *lines], Http2Client())


KIND = ProviderKind(
    name="apns",
    title="Apple Push Notification service",
    channels=(Channel.PUSH,),
    settings=(
        secret("key", "the .p8 file of a key for APNs", has_lines=True, check=_problem_of_key),
        Setting(name="keyId", doc="the key's ID, ten characters", is_required=True, example="ABC123DEFG"),
        Setting(name="teamId", doc="the team's ID, ten characters", is_required=True, example="DEF123GHIJ"),
        Setting(name="topic", doc="the app's bundle ID", is_required=True, example="com.example.app"),
        base_url(PRODUCTION),
    ),
    build=_build,
    follows=(
        FollowedDocument("Apple: Sending notification requests to APNs", date(2026, 11, 18)),
        FollowedDocument("Apple: Handling notification responses from APNs", date(2026, 11, 18)),
        FollowedDocument("Apple: Establishing a token-based connection to APNs", date(2026, 11, 18)),
    ),
    accepts=lambda recipient: reaches(PushService.APNS, recipient),
)
