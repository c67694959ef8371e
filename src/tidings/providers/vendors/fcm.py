"""Push through Firebase Cloud Messaging (HTTP v1): blind, since FCM takes no key and cannot be asked about a message.

Every message has a tag, so that one which a workspace has sent again replaces the first on the screen. FCM's own
errors stand in `error.details` under `errorCode`; an error without one is Google's about the call itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    SettingType,
    base_url,
    secret,
)
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.access_token import AccessToken, TokenCache
from tidings.providers.http_request import HttpRequest
from tidings.providers.jwt import rs256, rsa_key
from tidings.providers.push_fields import PushFields, PushService, push_fields, reaches
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
    wall_seconds,
)

_SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_LIFETIME = timedelta(hours=1)
"""The longest that Google takes for a signed request for a token."""
_WAIT_OF_QUOTA = timedelta(seconds=60)
"""What FCM asks for after a 429 without Retry-After."""


class _AccountFile(msgspec.Struct, frozen=True):
    project_id: str
    client_email: str
    private_key: str
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 – where tokens are, not one

    def __repr__(self) -> str:
        return f"_AccountFile({self.client_email!r})"


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A service account of Google's, which signs its own requests for tokens."""

    project: str
    email: str
    key: RSAPrivateKey = field(repr=False)
    key_id: str
    token_url: str

    def token_request(self, now: int) -> HttpRequest:
        """Write the request for a token."""
        claims = {"iss": self.email, "scope": _SCOPE, "aud": self.token_url, "iat": now}
        until = now + int(_LIFETIME.total_seconds())
        signed = rs256(self.key, {**claims, "exp": until}, **({"kid": self.key_id} if self.key_id else {}))
        form = urlencode({"grant_type": _GRANT, "assertion": signed}).encode()
        return HttpRequest("POST", self.token_url, [("Content-Type", "application/x-www-form-urlencoded")], form)


class Fcm:
    """POST …/messages:send, the token that it needs, and what its errors mean."""

    provider_class = Blind()

    def __init__(self, url: str, account: ServiceAccount) -> None:
        self._url = f"{url}/v1/projects/{quote(account.project, safe='')}/messages:send"
        self._account = account
        self._tokens = TokenCache()

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        """Write the request, with a token that is fetched where there is none."""
        fields = push_fields(item, PushService.FCM)
        if not isinstance(fields, PushFields):
            return fields
        token = await self._tokens.get(lambda: self._fetch(item, calls, until))
        if not isinstance(token, AccessToken):
            return token
        return json_request(self._url, {"message": _message(fields)}, ("Authorization", f"Bearer {token.text}"))

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        if answer.is_success:
            name = answer.fields.get("name")
            return (
                Accepted(name) if isinstance(name, str) and name else Unknown(answer.reason("the answer has no name"))
            )
        error = answer.fields.get("error")
        if not isinstance(error, dict):
            return self._judge_call(answer, None)
        code = _code_in(error)
        words = f"{code or error.get('status', '')} {error.get('message', '')}"
        if code is None:
            return self._judge_call(answer, words)
        return _judge_message(code, answer, answer.reason(words))

    def _judge_call(self, answer: VendorAnswer, words: str | None) -> Outcome:
        """Judge an error that is not FCM's own: it is about the token, the project or Google."""
        if answer.status == 401:
            self._tokens.forget()
        if answer.status == 404:
            reason = answer.reason(words)
            return Unavailable(f"{reason}: correct the project of the service account", is_refused=True)
        return judge_refusal(answer, words)

    async def _fetch(self, item: Marked, calls: VendorCalls, until: float) -> AccessToken | Outcome:
        request = self._account.token_request(wall_seconds())
        answer = await calls.call(request, item.workspace, until, lambda: True)
        if not isinstance(answer, VendorAnswer):
            return answer if isinstance(answer, Unavailable) else Unavailable(f"no token: {_words_of(answer)}")
        return _token_in(answer, calls)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence: FCM keeps none."""
        return await nothing_to_ask("FCM")


def _message(fields: PushFields) -> Mapping[str, Any]:
    parts = {"title": fields.title, "body": fields.body, "image": fields.image}
    data = {**({"url": fields.url} if fields.url else {}), **fields.data}
    collapse = {"collapse_key": fields.tag} if fields.collapse else {}
    web: dict[str, Any] = {"notification": {"tag": fields.tag}}
    if fields.url and fields.url.startswith("https://"):
        web["fcm_options"] = {"link": fields.url}
    return {
        "token": fields.token,
        "notification": {name: part for name, part in parts.items() if part is not None},
        **({"data": data} if data else {}),
        "android": {**collapse, "notification": {"tag": fields.tag}},
        "apns": {"headers": {"apns-collapse-id": fields.tag}},
        "webpush": web,
    }


def _code_in(error: Mapping[str, Any]) -> str | None:
    """FCM's own code; None where the error is not FCM's."""
    details = error.get("details")
    for one in details if isinstance(details, list) else ():
        if isinstance(one, dict) and str(one.get("@type", "")).endswith("google.firebase.fcm.v1.FcmError"):
            return str(one.get("errorCode", ""))
    return None


def _judge_message(code: str, answer: VendorAnswer, reason: str) -> Outcome:
    match code:
        case "UNREGISTERED":
            return Rejected(reason, is_gone=True)
        case "QUOTA_EXCEEDED":
            return RetryLater(reason, answer.delay or _WAIT_OF_QUOTA, uses_attempt=False)
        case "UNAVAILABLE":  # overloaded, says FCM: the message was not taken
            return RetryLater(reason, answer.delay)
        case "THIRD_PARTY_AUTH_ERROR":  # what the project holds of APNs or Web Push; its other devices are well
            return RetryLater(reason)
        case "INTERNAL" | "UNSPECIFIED_ERROR":
            return Unknown(reason)
        case _:  # INVALID_ARGUMENT, SENDER_ID_MISMATCH
            return Rejected(reason)


def _token_in(answer: VendorAnswer, calls: VendorCalls) -> AccessToken | Outcome:
    said = answer.fields
    token, seconds = said.get("access_token"), said.get("expires_in")
    if answer.is_success and isinstance(token, str) and token and isinstance(seconds, int):
        calls.hide(token)
        return AccessToken(token, timedelta(seconds=seconds))
    reason = answer.reason(f"{said.get('error', '')} {said.get('error_description', '')}")
    # 4xx: the account is gone, its key was taken back, or the clock of this machine is wrong.
    return Unavailable(f"no token: {reason}", is_refused=400 <= answer.status < 500 and answer.status != 429)


def _words_of(outcome: Outcome) -> str:
    return "" if isinstance(outcome, Accepted) else outcome.reason


def _account(text: str, token_url: str = "") -> ServiceAccount:
    """Read the JSON of a service account; raise ValueError for what is none, without repeating it."""
    try:
        read = msgspec.json.decode(text, type=_AccountFile)
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("it is not the JSON of a service account") from None
    key = rsa_key(read.private_key)
    return ServiceAccount(read.project_id, read.client_email, key, read.private_key_id, token_url or read.token_uri)


def _problem_of_account(text: str) -> str | None:
    try:
        _account(text)
    except ValueError as error:
        return f"{error}; give the file that Firebase makes under Project settings, Service accounts"
    return None


def _build(connection: ConnectionSettings) -> Provider:
    text = connection.text("serviceAccount")
    account = _account(text, connection.url("tokenUrl"))
    pem = msgspec.json.decode(text, type=_AccountFile).private_key
    lines = [line for line in pem.splitlines() if line and not line.startswith("-----")]
    return VendorProvider(connection, Fcm(connection.url(), account), [text, pem, *lines])


KIND = ProviderKind(
    name="fcm",
    title="Firebase Cloud Messaging",
    channels=(Channel.PUSH,),
    settings=(
        secret(
            "serviceAccount",
            "the JSON of a service account that may send messages",
            has_lines=True,
            check=_problem_of_account,
        ),
        Setting(
            name="tokenUrl",
            doc="where tokens are had, if not where the service account says",
            type=SettingType.URL,
            example="https://oauth2.googleapis.com/token",
        ),
        base_url("https://fcm.googleapis.com"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Firebase: REST v1 projects.messages, ErrorCode, FCM error codes", date(2026, 11, 18)),
        FollowedDocument("Google: OAuth 2.0 for server to server applications", date(2026, 11, 18)),
    ),
    accepts=lambda recipient: reaches(PushService.FCM, recipient),
)
