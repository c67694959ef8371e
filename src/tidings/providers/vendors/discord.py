"""Chat through a Discord webhook: blind, since only bots can have a nonce checked.

With `wait` Discord answers once the message is saved, with its id; without, it says nothing of messages that are not
saved. A recipient other than `default` is a thread of the webhook's channel. What a message says mentions nobody.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings, FollowedDocument, ProviderKind, Setting, webhook_url
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import is_default, text_of
from tidings.providers.retry_after import seconds_later
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    code_in,
    json_request,
    judge_refusal,
    nothing_to_ask,
)
from tidings.providers.webhook_address import secrets_in

_OUR_TROUBLE = frozenset({
    10015,  # no such webhook
    50027,  # no valid token of a webhook
})  # fmt: skip
_ABOUT_THE_PLACE = frozenset({
    10003,  # no such channel
    160005,  # the thread is locked
    220001,  # a forum needs a thread
    220004,  # no webhooks in forums
})  # fmt: skip
"""About our settings where the message goes to the channel of the webhook."""
_TOO_FAST = frozenset({20016, 20028, 20029, 40062})
_LATER = frozenset({110001, 130000})  # "try again later"
_BLOCKED = 40333  # by what stands before Discord


class Discord:
    """Execute Webhook, and what its errors mean."""

    provider_class = Blind()

    def __init__(self, url: str, sender: str) -> None:
        self._url, self._sender = url, sender

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request."""
        text, title = text_of(item), item.payload.get("title")
        if isinstance(text, Rejected):
            return text
        if not is_reachable(item.recipient):
            return Rejected("a webhook of Discord posts to its channel, `default`, or to a thread by its id")
        sender = item.payload.get("from") or self._sender
        body: dict[str, Any] = {
            "content": f"**{title}**\n{text}" if title else text,
            "allowed_mentions": {"parse": []},
            **({"username": sender} if sender else {}),
        }
        return json_request(self._address(item.recipient), body)

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means."""
        said = answer.fields
        if answer.is_success:
            id = said.get("id")
            return Accepted(id) if isinstance(id, str) and id else Unknown(answer.reason("the answer has no id"))
        words = f"{said.get('code')} {said.get('message') or ''}" if said else None
        return self._judge_error(said, words, item, answer)

    def _judge_error(self, said: Mapping[str, Any], words: str | None, item: Marked, answer: VendorAnswer) -> Outcome:
        code, reason, delay = code_in(said), answer.reason(words), _delay(answer)
        if code in _TOO_FAST or answer.status == 429:
            return RetryLater(reason, delay, uses_attempt=False)
        if code in _LATER:
            return RetryLater(reason, delay)
        if code == _BLOCKED:
            return Unavailable(reason)
        is_place = code in _ABOUT_THE_PLACE or answer.status == 404
        if code in _OUR_TROUBLE or (is_place and is_default(item.recipient)):
            return Unavailable(reason, is_refused=True)
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence."""
        return await nothing_to_ask("A Discord webhook")

    def _address(self, recipient: str) -> str:
        query = {"wait": "true", **({} if is_default(recipient) else {"thread_id": recipient})}
        return f"{self._url}{'&' if '?' in self._url else '?'}{urlencode(query)}"


def is_reachable(recipient: str) -> bool:
    """Whether a recipient is the webhook's channel or the id of a thread."""
    return is_default(recipient) or (recipient.isascii() and recipient.isdigit())


def _delay(answer: VendorAnswer) -> timedelta | None:
    """Discord says in the body, in parts of a second, how long to wait."""
    return seconds_later(answer.fields.get("retry_after")) or answer.delay


def _build(connection: ConnectionSettings) -> Provider:
    url = connection.text("webhookUrl")
    return VendorProvider(connection, Discord(url, connection.text("from")), secrets_in(url))


KIND = ProviderKind(
    name="discord",
    title="Discord (webhook)",
    channels=(Channel.CHAT,),
    settings=(
        webhook_url("the address of the webhook, which begins with https://discord.com/api/webhooks/"),
        Setting(name="from", doc="the name shown where a message names none; else that of the webhook"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Discord documentation: Execute Webhook, of 2026-08-06", date(2026, 11, 18)),
        FollowedDocument("Discord documentation: rate limits, status codes, of 2026-08-06", date(2026, 11, 18)),
    ),
    accepts=is_reachable,
)
