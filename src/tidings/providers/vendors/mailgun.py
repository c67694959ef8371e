"""E-mail through Mailgun: resolvable, since the event that it accepted a message shows our key.

There is no idempotency key. Events reach their store by several ways, and Mailgun trusts a page of them only after half
an hour without promising it: one that is not there says nothing, and one with our key in its variables says that the
message was taken. A 5xx counts as a lost answer. The Events API is the one whose filters are documented; Mailgun
prefers its newer Logs API.
"""

from base64 import b64encode
from collections.abc import Sequence
from datetime import date, timedelta
from urllib.parse import quote, urlencode

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
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Found, Provider, Resolvable
from tidings.providers.email_fields import KEY_NAME, SENDER_SETTING, EmailFields, email_fields, shown_address
from tidings.providers.email_files import EmailFile, email_files, written
from tidings.providers.form_data import FormFile, form_data
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import VendorAnswer, VendorCalls, VendorProvider, judge_refusal

_LARGEST_FILES = 18_000_000
"""Bytes, which base64 makes 24.3 million of the 25 million that a whole message may have."""
_CLOCKS_DIFFER = timedelta(minutes=10)
_MOST_EVENTS = 300


class Mailgun:
    """POST /v3/{domain}/messages, what its errors mean, and what its events know."""

    provider_class = Resolvable(authoritative=False, settle=timedelta(minutes=5))

    def __init__(self, url: str, domain: str, key: str, sender: str) -> None:
        self._url, self._sender = f"{url}/v3/{quote(domain, safe='')}", sender
        self._authorization = ("Authorization", f"Basic {b64encode(f'api:{key}'.encode()).decode()}")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        """Write the request; our key goes along as a variable and in the Message-ID."""
        fields = email_fields(item, self._sender)
        if not isinstance(fields, EmailFields):
            return fields
        files = await email_files(item, fields, calls, until, _LARGEST_FILES)
        if not isinstance(files, Sequence):
            return files
        return await written(files, lambda: self._written(item.key, fields, files))

    def _written(self, key: bytes, fields: EmailFields, files: Sequence[EmailFile]) -> HttpRequest:
        kind, body = form_data(key, _parts(fields, key.hex()), [_part(one) for one in files])
        headers = [("Content-Type", kind), ("Accept", "application/json"), self._authorization]
        return HttpRequest("POST", f"{self._url}/messages", headers, body)

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        id, words = answer.fields.get("id"), answer.fields.get("message")
        if answer.is_success:
            return Accepted(id) if isinstance(id, str) and id else Unknown(answer.reason("the answer has no id"))
        reason = answer.reason(words)
        if answer.status in (401, 403, 420) and "limit exceeded" in reason:
            return Unavailable(reason)  # the domain may send so many in an hour or a month
        if answer.status in (404, 420):  # no such domain, or one that may not send
            return Unavailable(reason, is_refused=True)
        if answer.status == 402:  # "parameters were valid but the request failed"
            return RetryLater(reason, answer.delay)
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Look for our key among the recipient's messages that Mailgun accepted since the call."""
        begin = int((item.first_marked_at - _CLOCKS_DIFFER).timestamp())
        asked = {"event": "accepted", "recipient": item.recipient, "begin": begin, "ascending": "yes"}
        url = f"{self._url}/events?{urlencode(asked | {'limit': _MOST_EVENTS})}"
        search = HttpRequest("GET", url, [("Accept", "application/json"), self._authorization])
        answer = await calls.ask(search, item.workspace, until)
        if isinstance(answer, CannotTell):
            return answer
        return _evidence(answer, item.key.hex())


def _evidence(answer: VendorAnswer, key: str) -> Evidence:
    events = answer.fields.get("items")
    for one in events if isinstance(events, list) else []:
        carried = one.get("user-variables") if isinstance(one, dict) else None
        if isinstance(carried, dict) and carried.get(KEY_NAME) == key:
            return Found(_id_in(one))
    return CannotTell("Mailgun's events do not show the message yet")


def _id_in(event: object) -> str | None:
    found = event
    for name in ("message", "headers", "message-id"):
        found = found.get(name) if isinstance(found, dict) else None
    return f"<{found}>" if isinstance(found, str) and found else None


def _parts(fields: EmailFields, key: str) -> list[tuple[str, str]]:
    parts = [("from", shown_address(fields.sender)), ("to", fields.recipient), ("subject", fields.subject)]
    parts += [("text", fields.text)] if fields.text is not None else []
    parts += [("html", fields.html)] if fields.html is not None else []
    parts += [("cc", shown_address(one)) for one in fields.cc]
    parts += [("bcc", shown_address(one)) for one in fields.bcc]
    parts += [("h:Reply-To", shown_address(fields.reply_to))] if fields.reply_to else []
    parts += [(f"h:{name}", value) for name, value in fields.headers.items()]
    return [*parts, ("h:Message-Id", fields.message_id), (f"v:{KEY_NAME}", key)]


def _part(one: EmailFile) -> FormFile:
    # Mailgun makes the name of an inline file its content id.
    field, name = ("inline", one.content_id) if one.content_id else ("attachment", one.filename)
    return FormFile(field, name, one.content_type, one.content)


def _build(connection: ConnectionSettings) -> Provider:
    key = connection.text("apiKey")
    vendor = Mailgun(connection.url(), connection.text("domain"), key, connection.text("from"))
    return VendorProvider(connection, vendor, [key, b64encode(f"api:{key}".encode()).decode()])


KIND = ProviderKind(
    name="mailgun",
    title="Mailgun",
    channels=(Channel.EMAIL,),
    settings=(
        secret("apiKey", "the API key; a domain's sending key sends, but cannot look up what was sent"),
        Setting(
            name="domain",
            doc="the domain that sends",
            example="mg.example.com",
            is_required=True,
            matches=r"[A-Za-z0-9.\-]{1,253}",
        ),
        SENDER_SETTING,
        base_url("https://api.mailgun.net"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Mailgun API reference: Messages, Events; API response codes", date(2026, 11, 18)),
        FollowedDocument("Mailgun user manual: event polling, attachments", date(2026, 11, 18)),
    ),
)
