"""E-mail through Resend: keyed, since a request that repeats an Idempotency-Key within 24 hours sends nothing again.

Two answers about the key need care. `concurrent_idempotent_requests` (409) means that the first request is still under
way and may succeed: the same request later gets its answer, and no other connection may have the message meanwhile.
`invalid_idempotent_request` (409) means that the key was used for another message, which our frozen payloads cannot do
by themselves: what became of the first is unknown.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    base_url,
    secret,
)
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Unavailable, Unknown
from tidings.domain.flow.provider import Doubtful, Evidence, Keyed, Provider
from tidings.providers.email_fields import (
    SENDER_SETTING,
    EmailFields,
    email_fields,
    sender_refused,
    shown_address,
)
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
)

_ANOTHER_CALL = frozenset({"concurrent_idempotent_requests", "invalid_idempotent_request"})
_OUR_TROUBLE = frozenset({"missing_api_key", "restricted_api_key", "invalid_api_key"})
_NO_ENDPOINT = frozenset({"not_found", "method_not_allowed"})  # we ask for one path, so baseUrl is wrong
_QUOTAS = frozenset({"daily_quota_exceeded", "monthly_quota_exceeded"})


class Resend:
    """POST /emails, and what its errors mean."""

    provider_class = Keyed(retention=timedelta(hours=24))

    def __init__(self, url: str, key: str, sender: str) -> None:
        self._url, self._key, self._sender = url, key, sender

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request; our key is theirs."""
        fields = email_fields(item, self._sender)
        if not isinstance(fields, EmailFields):
            return fields
        return json_request(
            f"{self._url}/emails",
            _body(fields),
            ("Authorization", f"Bearer {self._key}"),
            ("Idempotency-Key", item.key.hex()),
        )

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means."""
        said = answer.fields
        if answer.is_success:
            id = said.get("id")
            return Accepted(id) if isinstance(id, str) and id else Unknown(answer.reason("the answer has no id"))
        return self._judge_error(item, str(said.get("name", "")), answer, said.get("message"))

    def _judge_error(self, item: Marked, name: str, answer: VendorAnswer, message: object) -> Outcome:
        reason = answer.reason(f"{name} {message or ''}")
        if name in _ANOTHER_CALL:
            return Unknown(reason)
        if name == "invalid_from_address" or (answer.status == 403 and "is not verified" in reason):
            return sender_refused(item, reason)
        if name in _OUR_TROUBLE | _NO_ENDPOINT:
            return Unavailable(reason, is_refused=True)
        if name in _QUOTAS:
            return Unavailable(reason)
        return judge_refusal(answer, f"{name} {message or ''}")

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence: the same request is simply made again."""
        return await nothing_to_ask("Resend")


def _body(fields: EmailFields) -> Mapping[str, Any]:
    body: dict[str, Any] = {
        "from": shown_address(fields.sender),
        "to": [fields.recipient],
        "subject": fields.subject,
    }
    body |= {"text": fields.text} if fields.text is not None else {}
    body |= {"html": fields.html} if fields.html is not None else {}
    body |= {"reply_to": shown_address(fields.reply_to)} if fields.reply_to else {}
    body |= {"cc": [shown_address(one) for one in fields.cc]} if fields.cc else {}
    body |= {"bcc": [shown_address(one) for one in fields.bcc]} if fields.bcc else {}
    body |= {"headers": dict(fields.headers)} if fields.headers else {}
    files = [
        {"path": file.url, "filename": file.filename, **({"content_id": file.content_id} if file.content_id else {})}
        for file in fields.attachments
    ]
    return body | ({"attachments": files} if files else {})


def _build(connection: ConnectionSettings) -> Provider:
    key = connection.text("apiKey")
    return VendorProvider(connection, Resend(connection.url(), key, connection.text("from")), [key])


KIND = ProviderKind(
    name="resend",
    title="Resend",
    channels=(Channel.EMAIL,),
    settings=(
        secret("apiKey", "the API key, which begins with re_"),
        SENDER_SETTING,
        base_url("https://api.resend.com"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Resend API reference: send email", date(2026, 11, 18)),
        FollowedDocument("Resend documentation: idempotency keys, errors", date(2026, 11, 18)),
    ),
)
