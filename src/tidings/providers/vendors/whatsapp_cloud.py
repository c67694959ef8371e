"""WhatsApp through Meta's Cloud API: blind, until callbacks come: they repeat our key (`biz_opaque_callback_data`).

Meta asks to go by the code of an error alone; the same code may come with different statuses. 131000 and 131016 say
that something went wrong on their side, and not whether before or after the message was taken.
"""

from collections.abc import Mapping
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
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.domain.messages import quoted
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import ApprovedTemplate, sender_of, template_of, text_of
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    code_in,
    json_request,
    judge_refusal,
    nothing_to_ask,
)

_OUR_TROUBLE = frozenset({
    0,  # the token is no more
    3,  # no capability
    10,  # no permission
    33,  # the number was deleted
    190,  # the token has expired
    368,  # the account is restricted
    131005,  # access denied
    131031,  # the account is locked
    131042,  # payment
    131045,  # the number is not registered
    133010,  # the number is not registered
})  # fmt: skip
_PERMISSIONS = range(200, 300)
_TOO_FAST = frozenset({
    4,  # calls of the app
    80007,  # calls of the account
    130429,  # messages of the number
    131048,  # messages of a number that people report
    131056,  # messages to the same person
})  # fmt: skip
_MAINTENANCE = frozenset({131057})
_UNCERTAIN = frozenset({1, 2, 131000, 131016})


class WhatsappCloud:
    """POST messages of a phone number, and what its errors mean."""

    provider_class = Blind()

    def __init__(self, url: str, token: str, phone_number_id: str) -> None:
        self._url, self._phone_number_id = url, phone_number_id
        self._signed_in = ("Authorization", f"Bearer {token}")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request; our key comes back in callbacks."""
        sender, content = sender_of(item.payload, self._phone_number_id), _content(item)
        if isinstance(sender, Rejected):
            return sender
        if isinstance(content, Rejected):
            return content
        if not (sender.isascii() and sender.isdigit()):
            return Rejected(f"{quoted(sender)} is no sender: name it by its phone number id, which has digits alone")
        body = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": item.recipient,
            "biz_opaque_callback_data": item.key.hex(),
            **content,
        }
        return json_request(f"{self._url}/{sender}/messages", body, self._signed_in)

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        error = answer.fields.get("error")
        if isinstance(error, dict):
            return self._judge_error(error, answer)
        if not answer.is_success:
            return judge_refusal(answer)
        messages = answer.fields.get("messages")
        first = messages[0] if isinstance(messages, list) and messages else None
        id = first.get("id") if isinstance(first, dict) else None
        return Accepted(id) if isinstance(id, str) and id else Unknown(answer.reason("the answer has no id"))

    def _judge_error(self, error: Mapping[str, Any], answer: VendorAnswer) -> Outcome:
        code, data = code_in(error), error.get("error_data")
        details = data.get("details") if isinstance(data, dict) else None
        words = f"{code} {details or error.get('message') or ''}"
        reason = answer.reason(words)
        if code in _UNCERTAIN or answer.is_success:
            return Unknown(reason)
        if code in _TOO_FAST:
            return RetryLater(reason, answer.delay, uses_attempt=False)
        if code in _MAINTENANCE:
            return Unavailable(reason)
        if code in _OUR_TROUBLE or code in _PERMISSIONS:
            return Unavailable(reason, is_refused=True)
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence."""
        return await nothing_to_ask("WhatsApp's Cloud API")


def _content(item: Marked) -> Mapping[str, Any] | Rejected:
    template = template_of(item.payload)
    if isinstance(template, Rejected):
        return template
    if template is not None:
        return _template(template)
    text = text_of(item)
    return text if isinstance(text, Rejected) else {"type": "text", "text": {"body": text}}


def _template(template: ApprovedTemplate) -> Mapping[str, Any] | Rejected:
    if not template.language:
        return Rejected(f"the template {quoted(template.name)} has no language: give it one, such as en_US")
    filled = [{"type": "text", "text": value} for value in template.parameters]
    body = {"components": [{"type": "body", "parameters": filled}]} if filled else {}
    return {"type": "template", "template": {"name": template.name, "language": {"code": template.language}, **body}}


def _build(connection: ConnectionSettings) -> Provider:
    token = connection.text("token")
    vendor = WhatsappCloud(connection.url(), token, connection.text("phoneNumberId"))
    return VendorProvider(connection, vendor, [token])


KIND = ProviderKind(
    name="whatsapp-cloud",
    title="WhatsApp Cloud API",
    channels=(Channel.WHATSAPP,),
    settings=(
        secret("token", "the access token of a system user, with whatsapp_business_messaging"),
        Setting(
            name="phoneNumberId",
            doc="the id of the number that sends where a message names none",
            is_required=True,
            example="106540352242922",
        ),
        base_url("https://graph.facebook.com/v24.0"),
    ),
    build=_build,
    follows=(
        FollowedDocument("WhatsApp Cloud API: messages", date(2026, 11, 18)),
        FollowedDocument("WhatsApp Business Platform: error codes, of 2026-05-15", date(2026, 11, 18)),
    ),
)
