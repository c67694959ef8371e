"""Calls through Twilio: POST Calls, with a script that is read out."""

import re
from datetime import timedelta
from xml.sax.saxutils import escape, quoteattr

from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Outcome, Rejected
from tidings.domain.flow.provider import Doubtful, Evidence
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import sender_of, text_of
from tidings.providers.vendor_api import VendorAnswer, VendorCalls
from tidings.providers.vendors.twilio.account import TwilioAccount, judge
from tidings.providers.vendors.twilio.records import CLOCKS_DIFFER, RESOLVED_BY_MATCH, Record, Records, made_at

LONGEST_TWIML = 4_000
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SOON = timedelta(minutes=2)
"""A record does not show what was read out: a call that is made later may be another message's."""


class TwilioCalls:
    """Calls that read a script out."""

    provider_class = RESOLVED_BY_MATCH

    def __init__(self, account: TwilioAccount) -> None:
        self._account = account
        self._records = Records(account, "Calls")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request."""
        sender, twiml = sender_of(item.payload, self._account.sender), _twiml(item)
        if isinstance(sender, Rejected):
            return sender
        if isinstance(twiml, Rejected):
            return twiml
        return self._account.create("Calls", {"To": item.recipient, "From": sender, "Twiml": twiml})

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means."""
        return judge(answer, has_own_sender=bool(item.payload.get("from")))

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Look for a call from the same number at that time."""
        sender = item.payload.get("from") or self._account.sender

        def is_ours(record: Record) -> bool:
            at = made_at(record)
            is_in_time = at is not None and abs(at - item.first_marked_at) <= _SOON + CLOCKS_DIFFER
            return is_in_time and record.get("from") == sender

        return await self._records.find(item.recipient, is_ours, item, calls, until)


def _twiml(item: Marked) -> str | Rejected:
    script = text_of(item)
    if isinstance(script, Rejected):
        return script
    spoken = escape(_NO_XML.sub(" ", script))
    twiml = f"<Response><Say{_attributes(item.payload)}>{spoken}</Say></Response>"
    if len(twiml) > LONGEST_TWIML:
        return Rejected(f"the script has {len(twiml):,} characters as TwiML, and Twilio takes {LONGEST_TWIML:,}")
    return twiml


def _attributes(payload: Payload) -> str:
    given = [(name, payload[name]) for name in ("voice", "language") if payload.get(name)]
    return "".join(f" {name}={quoteattr(_NO_XML.sub(' ', value))}" for name, value in given)
