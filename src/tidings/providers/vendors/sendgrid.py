"""E-mail through SendGrid: resolvable, since its Email Logs show our key beside a message it took.

There is no idempotency key, so a lost answer, as which a 5xx counts, is in doubt until the logs show the message. They
follow "in near real time": a message that they do not show yet says nothing, and one that they show with our key was
taken.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings, FollowedDocument, ProviderKind, base_url, secret
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Found, Provider, Resolvable
from tidings.providers.email_fields import KEY_NAME, SENDER_SETTING, EmailFields, email_fields, sender_refused
from tidings.providers.email_files import EmailFile, email_files, written
from tidings.providers.http_request import HttpRequest
from tidings.providers.letter import Sender
from tidings.providers.vendor_api import VendorAnswer, VendorCalls, VendorProvider, json_request, judge_refusal

_LARGEST_FILES = 20_000_000
"""Bytes, which base64 makes 27 million of the 30 million that a whole message may have."""
_NO_ENDPOINT = frozenset({404, 405, 406, 451})
"""We ask for one path in one way, so it is the address that is wrong; 451: the account lives in another region."""
_MOST_LOGGED = 20
"""How many messages to one recipient a look-up compares."""
_CLOCKS_DIFFER = timedelta(minutes=10)


class SendGrid:
    """POST /v3/mail/send, what its errors mean, and what its logs know."""

    provider_class = Resolvable(authoritative=False, settle=timedelta(minutes=2))

    def __init__(self, url: str, key: str, sender: str) -> None:
        self._url, self._sender = url, sender
        self._authorization = ("Authorization", f"Bearer {key}")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        """Write the request; our key goes along as a custom argument."""
        fields = email_fields(item, self._sender)
        if not isinstance(fields, EmailFields):
            return fields
        files = await email_files(item, fields, calls, until, _LARGEST_FILES)
        if not isinstance(files, Sequence):
            return files
        body = _body(fields, item.key.hex(), files)
        return await written(files, lambda: json_request(f"{self._url}/v3/mail/send", body, self._authorization))

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means; only 202 says that the message is queued."""
        if answer.is_success:
            return Accepted(answer.headers.get("x-message-id")) if answer.status == 202 else Unknown(answer.reason())
        errors = _errors(answer)
        words = " ".join(str(one.get("message", "")) for one in errors) or None
        reason = answer.reason(words)
        if answer.status == 403 and any(one.get("field") == "from" for one in errors):
            return sender_refused(item, reason)
        if answer.status == 401 and "credits exceeded" in reason:
            return Unavailable(reason)  # the plan's messages are used up until its next period
        if answer.status in _NO_ENDPOINT:
            return Unavailable(reason, is_refused=True)
        if answer.status == 429:
            return RetryLater(reason, answer.delay or _until_reset(answer), uses_attempt=False)
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Search the logs of the recipient's messages for one with our key."""
        if set(item.recipient) & set("'\"\\"):
            return CannotTell("SendGrid documents no way to search its logs for an address with a quote in it")
        query = f"to_email = '{item.recipient}' AND sg_message_id_created_at >= TIMESTAMP \"{_since(item)}\""
        search = json_request(f"{self._url}/v3/logs", {"query": query, "limit": _MOST_LOGGED}, self._authorization)
        listed = await calls.ask(search, item.workspace, until)
        if isinstance(listed, CannotTell):
            return listed
        for id in _logged_ids(listed):
            one = await calls.ask(self._details(id), item.workspace, until)
            if isinstance(one, CannotTell):
                return one
            if _key_of(one) == item.key.hex():
                return Found(id)
        return CannotTell("SendGrid's logs do not show the message yet")

    def _details(self, id: str) -> HttpRequest:
        headers = [("Accept", "application/json"), self._authorization]
        return HttpRequest("GET", f"{self._url}/v3/logs/{quote(id, safe='')}", headers)


def _body(fields: EmailFields, key: str, files: Sequence[EmailFile]) -> Mapping[str, Any]:
    to: dict[str, Any] = {"to": [{"email": fields.recipient}], "custom_args": {KEY_NAME: key}}
    to |= {"cc": [_mailbox(one) for one in fields.cc]} if fields.cc else {}
    to |= {"bcc": [_mailbox(one) for one in fields.bcc]} if fields.bcc else {}
    body: dict[str, Any] = {
        "personalizations": [to],
        "from": _mailbox(fields.sender),
        "subject": fields.subject,
        "content": [  # SendGrid asks for text before HTML
            {"type": kind, "value": text}
            for kind, text in (("text/plain", fields.text), ("text/html", fields.html))
            if text is not None
        ],
        "headers": {**fields.headers, "Message-ID": fields.message_id},
    }
    body |= {"reply_to": _mailbox(fields.reply_to)} if fields.reply_to else {}
    return body | ({"attachments": [_attachment(one) for one in files]} if files else {})


def _mailbox(one: Sender) -> Mapping[str, str]:
    return {"email": one.address} | ({"name": one.name} if one.name else {})


def _attachment(one: EmailFile) -> Mapping[str, Any]:
    # Bytes become base64 in JSON.
    said = {"content": one.content, "type": one.content_type, "filename": one.filename}
    shown = {"disposition": "inline", "content_id": one.content_id} if one.content_id else {"disposition": "attachment"}
    return said | shown


def _errors(answer: VendorAnswer) -> list[Mapping[str, Any]]:
    errors = answer.fields.get("errors")
    return [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []


def _until_reset(answer: VendorAnswer) -> timedelta | None:
    """How long the current period of the rate lasts: its end is given in seconds since 1970."""
    reset = answer.headers.get("x-ratelimit-reset", "")
    if not (reset.isascii() and reset.isdigit() and len(reset) <= 11):
        return None
    return max(datetime.fromtimestamp(int(reset), UTC) - answer.now, timedelta(seconds=1))


def _since(item: Doubtful) -> str:
    return (item.first_marked_at - _CLOCKS_DIFFER).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _logged_ids(answer: VendorAnswer) -> Iterable[str]:
    messages = answer.fields.get("messages")
    listed = messages if isinstance(messages, list) else []
    ids = [one.get("sg_message_id") for one in listed if isinstance(one, dict)]
    return [id for id in ids[:_MOST_LOGGED] if isinstance(id, str) and id]


def _key_of(answer: VendorAnswer) -> object:
    carried = answer.fields.get("custom_args")
    return carried.get(KEY_NAME) if isinstance(carried, dict) else None


def _build(connection: ConnectionSettings) -> Provider:
    key = connection.text("apiKey")
    return VendorProvider(connection, SendGrid(connection.url(), key, connection.text("from")), [key])


KIND = ProviderKind(
    name="sendgrid",
    title="SendGrid",
    channels=(Channel.EMAIL,),
    settings=(
        secret("apiKey", "the API key, which begins with SG."),
        SENDER_SETTING,
        base_url("https://api.sendgrid.com"),
    ),
    build=_build,
    follows=(
        FollowedDocument("SendGrid v3 API: Mail Send, its errors and rate limits", date(2026, 11, 18)),
        FollowedDocument("SendGrid v3 API: Email Logs", date(2026, 11, 18)),
    ),
)
