"""Chat through a Telegram bot: blind, since the Bot API has no key and no way to read what a bot has sent.

Texts go without markup; a title is bold by an entity, so nothing that is filled in can break it. The bot's token is
part of the address of every request.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import quote

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
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import is_default, text_of
from tidings.providers.retry_after import seconds_later
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
)

_GONE = ("bot was blocked by the user", "user is deactivated")
_ABOUT_THE_PLACE = ("chat not found", "group chat was upgraded", "have no rights", "CHAT_WRITE_FORBIDDEN")


class Telegram:
    """sendMessage, and what its errors mean."""

    provider_class = Blind()

    def __init__(self, url: str, token: str, chat: str) -> None:
        self._url, self._chat = f"{url}/bot{quote(token, safe=':')}/sendMessage", chat

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request."""
        text = text_of(item)
        if isinstance(text, Rejected):
            return text
        chat = self._chat if is_default(item.recipient) else item.recipient
        if not chat:
            return Rejected("the message names no chat: give it a recipient, or give its connection a chat")
        return json_request(self._url, {"chat_id": chat, **_written(text, item.payload.get("title"))})

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means."""
        said = answer.fields
        if not answer.is_success:
            return self._judge_error(str(said.get("description", "")), item, answer)
        result = said.get("result")
        id = result.get("message_id") if said.get("ok") is True and isinstance(result, dict) else None
        return Accepted(str(id)) if isinstance(id, int) else Unknown(answer.reason("the answer has no message_id"))

    def _judge_error(self, description: str, item: Marked, answer: VendorAnswer) -> Outcome:
        reason, parameters = answer.reason(description or None), answer.fields.get("parameters")
        if answer.status == 429:
            asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
            return RetryLater(reason, seconds_later(asked) or answer.delay, uses_attempt=False)
        is_place = answer.status == 403 or any(words in description for words in _ABOUT_THE_PLACE)
        # An address without a valid token is not found.
        if answer.status in (401, 404) or (is_place and is_default(item.recipient)):
            return Unavailable(reason, is_refused=True)
        if answer.status == 403:
            return Rejected(reason, is_gone=any(words in description for words in _GONE))
        return judge_refusal(answer, description or None)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence."""
        return await nothing_to_ask("Telegram's Bot API")


def _written(text: str, title: str | None) -> Mapping[str, Any]:
    """Entities are counted in units of UTF-16."""
    if not title:
        return {"text": text}
    length = len(title.encode("utf-16-le", "surrogatepass")) // 2
    return {"text": f"{title}\n{text}", "entities": [{"type": "bold", "offset": 0, "length": length}]}


def _build(connection: ConnectionSettings) -> Provider:
    token = connection.text("token")
    vendor = Telegram(connection.url(), token, connection.text("chat"))
    return VendorProvider(connection, vendor, [token, token.partition(":")[2]])


KIND = ProviderKind(
    name="telegram",
    title="Telegram (bot)",
    channels=(Channel.CHAT,),
    settings=(
        secret("token", "the token of the bot, as BotFather gave it"),
        Setting(name="chat", doc="the id of the chat for messages to `default`", example="-1001234567890"),
        base_url("https://api.telegram.org"),
    ),
    build=_build,
    follows=(FollowedDocument("Telegram Bot API: making requests, sendMessage", date(2026, 11, 18)),),
)
