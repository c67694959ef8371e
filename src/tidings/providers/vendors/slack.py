"""Chat through a Slack app's bot token: resolvable, since each message carries our key in its metadata.

What is in the history of its channel was posted; what is not may have been deleted, or be listed later, and stays in
doubt. That needs the scope channels:history (groups:history, im:history), the app in the
channel, and the channel's id; without them nothing can be told. Slack says of internal_error and fatal_error that some
part of the operation may have succeeded.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    base_url,
    secret,
)
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Found, Provider, Resolvable
from tidings.providers.http_request import HttpRequest
from tidings.providers.message_fields import is_default
from tidings.providers.slack_text import slack_text
from tidings.providers.vendor_api import VendorAnswer, VendorCalls, VendorProvider, json_request, judge_refusal

_EVENT = "tidings_item"
_CLOCKS_DIFFER = timedelta(minutes=1)
_PAGE_SIZE = 200
_MOST_PAGES = 10

_OUR_TROUBLE = frozenset(
    {
        "access_denied",
        "accesslimited",
        "account_inactive",
        "app_access_restricted",
        "as_user_not_supported",
        "deprecated_endpoint",
        "enterprise_is_restricted",
        "invalid_auth",
        "is_bot",
        "metadata_must_be_sent_from_app",
        "method_deprecated",
        "not_allowed_token_type",
        "not_authed",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
        "two_factor_setup_required",
        "unknown_method",
    }
)
_MOVING = frozenset({"org_login_required", "team_added_to_org"})
"""The workspace is out of reach while it is moved."""
_TOO_FAST = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_UNCERTAIN = frozenset({"internal_error", "fatal_error", "service_unavailable"})
_ABOUT_THE_PLACE = frozenset(
    {
        "channel_not_found",
        "ekm_access_denied",
        "is_archived",
        "messages_tab_disabled",
        "no_permission",
        "not_in_channel",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "team_not_found",
    }
)
"""About our settings where the message goes to the channel that the connection names."""


class Slack:
    """chat.postMessage, and conversations.history after doubt."""

    provider_class = Resolvable(authoritative=False, settle=timedelta(minutes=1))

    def __init__(self, url: str, token: str, channel: str, sender: str) -> None:
        self._url, self._channel, self._sender = url, channel, sender
        self._signed_in = ("Authorization", f"Bearer {token}")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request; our key is in the message's metadata."""
        text, channel = slack_text(item), self._channel_of(item.recipient)
        if isinstance(text, Rejected):
            return text
        if not channel:
            return Rejected("the message names no channel: give it a recipient, or give its connection a channel")
        sender = self._sender_of(item.payload)
        body = {
            "channel": channel,
            "text": text,
            "metadata": {"event_type": _EVENT, "event_payload": {"key": item.key.hex()}},
            **({"username": sender} if sender else {}),
        }
        return json_request(f"{self._url}/chat.postMessage", body, self._signed_in)

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means; errors come with status 200."""
        said = answer.fields
        if not answer.is_success or not said:
            return judge_refusal(answer) if not answer.is_success else Unknown(answer.reason())
        if said.get("ok") is not True:
            return self._judge_error(str(said.get("error", "")), item, answer)
        ts = said.get("ts")
        return Accepted(ts) if isinstance(ts, str) and ts else Unknown(answer.reason("the answer has no ts"))

    def _judge_error(self, name: str, item: Marked, answer: VendorAnswer) -> Outcome:
        reason = answer.reason(name)
        if name in _UNCERTAIN or not name:
            return Unknown(reason)
        if name in _TOO_FAST:
            return RetryLater(reason, answer.delay, uses_attempt=False)
        if name == "request_timeout":  # the request came cut off
            return RetryLater(reason)
        if name in _MOVING:
            return Unavailable(reason)
        is_settings = name in _OUR_TROUBLE or (name in _ABOUT_THE_PLACE and is_default(item.recipient))
        if is_settings or (name == "missing_scope" and not item.payload.get("from")):  # a name needs a scope of its own
            return Unavailable(reason, is_refused=True)
        return Rejected(reason)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Look for our key in the history of the channel since the first mark."""
        oldest = (item.first_marked_at - _CLOCKS_DIFFER).timestamp()
        query = {"channel": self._channel_of(item.recipient), "oldest": f"{oldest:.6f}", "inclusive": "1"}
        query |= {"include_all_metadata": "1", "limit": str(_PAGE_SIZE)}
        for _ in range(_MOST_PAGES):
            answer = await calls.ask(self._history(query), item.workspace, until)
            if not isinstance(answer, VendorAnswer):
                return answer
            said = answer.fields
            if said.get("ok") is not True or not isinstance(messages := said.get("messages"), list):
                return CannotTell(answer.reason(said.get("error", "the answer is no history")))
            if found := _found(messages, item.key.hex()):
                return found
            cursor = _cursor(said)
            if not cursor:
                # Somebody may have deleted it, and Slack promises no moment at which it would be there.
                return CannotTell("the history of the channel does not have it")
            query |= {"cursor": cursor}
        return CannotTell("the channel has more messages since then than are read")

    def _history(self, query: Mapping[str, str]) -> HttpRequest:
        return HttpRequest("GET", f"{self._url}/conversations.history?{urlencode(query)}", [self._signed_in])

    def _channel_of(self, recipient: str) -> str:
        return self._channel if is_default(recipient) else recipient

    def _sender_of(self, payload: Payload) -> str:
        return payload.get("from") or self._sender


def _found(messages: list[Any], key: str) -> Found | None:
    for message in messages:
        metadata = message.get("metadata") if isinstance(message, dict) else None
        if isinstance(metadata, dict) and metadata.get("event_type") == _EVENT:
            payload = metadata.get("event_payload")
            if isinstance(payload, dict) and payload.get("key") == key:
                return Found(str(message.get("ts")))
    return None


def _cursor(said: Mapping[str, Any]) -> str:
    metadata = said.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, dict) else None
    return cursor if isinstance(cursor, str) else ""


def _build(connection: ConnectionSettings) -> Provider:
    token = connection.text("token")
    vendor = Slack(connection.url(), token, connection.text("channel"), connection.text("from"))
    return VendorProvider(connection, vendor, [token])


KIND = ProviderKind(
    name="slack",
    title="Slack (bot token)",
    channels=(Channel.CHAT,),
    settings=(
        secret("token", "the bot token of the app, which begins with xoxb-"),
        Setting(name="channel", doc="the id of the channel for messages to `default`", example="C0123456789"),
        Setting(name="from", doc="the name shown where a message names none; needs the scope chat:write.customize"),
        base_url("https://slack.com/api"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Slack API: chat.postMessage, conversations.history, of 2026-08-20", date(2026, 11, 18)),
        FollowedDocument("Slack API: rate limits, message metadata", date(2026, 11, 18)),
    ),
)
