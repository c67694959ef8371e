"""E-mail through Postmark: resolvable, since its message search finds a message by our key in the metadata.

There is no idempotency key. A message that the search finds with our key was taken; how soon one can be found is not
documented, so one that it does not find says nothing. A 500 counts as a lost answer: "in most cases the message is
lost" is no promise. Postmark writes the Message-ID itself.
"""

from collections.abc import Mapping, Sequence
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
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Found, Provider, Resolvable
from tidings.providers.email_fields import (
    KEY_NAME,
    SENDER_SETTING,
    EmailFields,
    email_fields,
    sender_refused,
    shown_address,
)
from tidings.providers.email_files import EmailFile, email_files, written
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import VendorAnswer, VendorCalls, VendorProvider, json_request, judge_refusal

_LARGEST_FILES = 7_000_000
"""Bytes, which base64 makes 9.4 million of the 10 million that a whole message may have."""
_MAINTENANCE = 100
_SENDER = frozenset({400, 401})  # the sender's signature is not found, or not confirmed
_OUR_TROUBLE = frozenset(
    {
        10,  # a bad or missing token
        405,  # out of credits
        412,  # the account is pending
        413,  # the account may not send
        1235,  # no such message stream
        1236,  # a stream that cannot send
    }
)


class Postmark:
    """POST /email, what its error codes mean, and what its search knows."""

    provider_class = Resolvable(authoritative=False, settle=timedelta(minutes=2))

    def __init__(self, url: str, token: str, sender: str, stream: str) -> None:
        self._url, self._sender, self._stream = url, sender, stream
        self._token = ("X-Postmark-Server-Token", token)

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        """Write the request; our key goes along as metadata."""
        fields = email_fields(item, self._sender)
        if not isinstance(fields, EmailFields):
            return fields
        files = await email_files(item, fields, calls, until, _LARGEST_FILES)
        if not isinstance(files, Sequence):
            return files
        body = _body(fields, item.key.hex(), files) | {"MessageStream": self._stream}
        return await written(files, lambda: json_request(f"{self._url}/email", body, self._token))

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means; the code in its body says more than the status."""
        code, id = answer.fields.get("ErrorCode"), answer.fields.get("MessageID")
        if answer.is_success:
            is_taken = code == 0 and isinstance(id, str) and id
            return Accepted(id) if is_taken else Unknown(answer.reason())
        words = f"{code} {answer.fields.get('Message') or ''}" if code is not None else None
        reason = answer.reason(words)
        if code in _SENDER:
            return sender_refused(item, reason)
        if code in _OUR_TROUBLE or answer.status == 404:  # one path is asked for, so baseUrl is wrong
            return Unavailable(reason, is_refused=True)
        if code == _MAINTENANCE:
            return Unavailable(reason)
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Search the stream's messages for our key."""
        key = item.key.hex()
        asked = {"count": 1, "offset": 0, "messagestream": self._stream, f"metadata_{KEY_NAME}": key}
        url = f"{self._url}/messages/outbound?{urlencode(asked)}"
        search = HttpRequest("GET", url, [("Accept", "application/json"), self._token])
        answer = await calls.ask(search, item.workspace, until)
        if isinstance(answer, CannotTell):
            return answer
        id = _found(answer, key)
        return Found(id) if id else CannotTell("Postmark's search does not find the message yet")


def _found(answer: VendorAnswer, key: str) -> str | None:
    messages = answer.fields.get("Messages")
    for one in messages if isinstance(messages, list) else []:
        metadata = one.get("Metadata") if isinstance(one, dict) else None
        # A server that does not know the filter would answer with any message.
        if isinstance(metadata, dict) and metadata.get(KEY_NAME) == key and isinstance(one.get("MessageID"), str):
            return str(one["MessageID"])
    return None


def _body(fields: EmailFields, key: str, files: Sequence[EmailFile]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "From": shown_address(fields.sender),
        "To": fields.recipient,
        "Subject": fields.subject,
        "Metadata": {KEY_NAME: key},
    }
    body |= {"TextBody": fields.text} if fields.text is not None else {}
    body |= {"HtmlBody": fields.html} if fields.html is not None else {}
    body |= {"ReplyTo": shown_address(fields.reply_to)} if fields.reply_to else {}
    body |= {"Cc": ",".join(shown_address(one) for one in fields.cc)} if fields.cc else {}
    body |= {"Bcc": ",".join(shown_address(one) for one in fields.bcc)} if fields.bcc else {}
    headers = [{"Name": name, "Value": value} for name, value in fields.headers.items()]
    body |= {"Headers": headers} if headers else {}
    return body | ({"Attachments": [_attachment(one) for one in files]} if files else {})


def _attachment(one: EmailFile) -> Mapping[str, Any]:
    # Bytes become base64 in JSON.
    said = {"Name": one.filename, "Content": one.content, "ContentType": one.content_type}
    return said | ({"ContentID": f"cid:{one.content_id}"} if one.content_id else {})


def _build(connection: ConnectionSettings) -> Provider:
    token = connection.text("serverToken")
    vendor = Postmark(connection.url(), token, connection.text("from"), connection.text("messageStream"))
    return VendorProvider(connection, vendor, [token])


def _is_reachable(recipient: str) -> bool:
    """Postmark takes nothing beyond ASCII before the @; the domain's ASCII form is what is stored."""
    return recipient.isascii()


KIND = ProviderKind(
    name="postmark",
    title="Postmark",
    channels=(Channel.EMAIL,),
    settings=(
        secret("serverToken", "the API token of the Postmark server"),
        Setting(
            name="messageStream",
            doc="the message stream that sends",
            example="broadcast",
            default="outbound",
            matches="[A-Za-z0-9_-]{1,100}",
        ),
        SENDER_SETTING,
        base_url("https://api.postmarkapp.com"),
    ),
    build=_build,
    accepts=_is_reachable,
    follows=(
        FollowedDocument("Postmark developer documentation: API overview, Email API", date(2026, 11, 18)),
        FollowedDocument("Postmark developer documentation: Messages API", date(2026, 11, 18)),
    ),
)
