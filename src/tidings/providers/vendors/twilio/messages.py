"""SMS and WhatsApp through Twilio: POST Messages."""

import re
from collections.abc import Mapping

import msgspec

from tidings.domain.channels import Channel
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Outcome, Rejected
from tidings.domain.flow.provider import Doubtful, Evidence
from tidings.domain.messages import quoted
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import ApprovedTemplate, sender_of, template_of, text_of
from tidings.providers.vendor_api import VendorAnswer, VendorCalls
from tidings.providers.vendors.twilio.account import TwilioAccount, judge
from tidings.providers.vendors.twilio.records import RESOLVED_BY_MATCH, Record, Records

_WHATSAPP = "whatsapp:"
_SERVICE_SID = re.compile(r"MG[0-9a-fA-F]{32}")
_CONTENT_SID = re.compile(r"HX[0-9a-fA-F]{32}")


class TwilioMessages:
    """Messages to phone numbers, or to the same numbers in WhatsApp."""

    provider_class = RESOLVED_BY_MATCH

    def __init__(self, account: TwilioAccount, channel: Channel) -> None:
        self._account = account
        self._prefix = _WHATSAPP if channel is Channel.WHATSAPP else ""
        self._records = Records(account, "Messages")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request."""
        sender, content = sender_of(item.payload, self._account.sender), _content(item)
        if isinstance(sender, Rejected):
            return sender
        if isinstance(content, Rejected):
            return content
        to = {"To": self._address(item.recipient)}
        return self._account.create("Messages", {**to, **self._sender_field(sender), **content})

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means."""
        return judge(answer, has_own_sender=bool(item.payload.get("from")))

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Look for a message with the same text from the same sender."""
        sender = self._sender_field(item.payload.get("from") or self._account.sender)
        text = item.payload.get("body")

        def is_ours(record: Record) -> bool:
            return bool(text) and record.get("body") == text and _is_from(sender, record)

        return await self._records.find(self._address(item.recipient), is_ours, item, calls, until)

    def _sender_field(self, sender: str) -> Mapping[str, str]:
        """A messaging service chooses among its own senders."""
        if _SERVICE_SID.fullmatch(sender):
            return {"MessagingServiceSid": sender}
        return {"From": self._address(sender)}

    def _address(self, number: str) -> str:
        return number if number.startswith(_WHATSAPP) else f"{self._prefix}{number}"


def _is_from(sender: Mapping[str, str], record: Record) -> bool:
    """A service's message is from the number that was chosen, and from nobody until then."""
    service = sender.get("MessagingServiceSid")
    return record.get("messaging_service_sid") == service if service else record.get("from") == sender["From"]


def _content(item: Marked) -> Mapping[str, str] | Rejected:
    template = template_of(item.payload) if item.channel is Channel.WHATSAPP else None
    if template is None:
        text = text_of(item)
        return text if isinstance(text, Rejected) else {"Body": text}
    return template if isinstance(template, Rejected) else _template_fields(template)


def _template_fields(template: ApprovedTemplate) -> Mapping[str, str] | Rejected:
    if not _CONTENT_SID.fullmatch(template.name):
        return Rejected(
            f"Twilio knows no template {quoted(template.name)}: name it by its ContentSid, HX and 32 digits"
        )
    variables = {str(place): value for place, value in enumerate(template.parameters, start=1)}
    filled = {"ContentVariables": msgspec.json.encode(variables).decode()} if variables else {}
    return {"ContentSid": template.name, **filled}
