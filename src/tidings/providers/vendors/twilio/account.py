"""A Twilio account: where its resources are, how requests to them are signed in, and what its errors mean.

Most codes say what is wrong with one message. Some are about our settings, and some about our rate: a 429 "is never
processed and always safe to retry". Whether a 5xx came before or after a message was taken, Twilio does not say.
"""

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import VendorAnswer, code_in, form_request, judge_refusal

_OUR_TROUBLE = frozenset({
    10001,  # the account is not active
    20003,  # authenticate
    20005,  # the account is not active
    20006,  # access denied
    20008,  # test credentials
    20404,  # no such account
})  # fmt: skip
_OUR_SENDER = frozenset({
    21210,  # the caller's number is not verified
    21212,  # no valid sender
    21213,  # no caller
    21601,  # the sender is no number of the account
    21603,  # no sender
    21607,  # the sender is disabled
    21660,  # the sender is another account's
    21661,  # the sender cannot send messages
    21701,  # no such messaging service
    21703,  # the messaging service has no numbers
    21705,  # no valid messaging service
    63007,  # no such sender of the channel
})  # fmt: skip
"""About the connection, unless the message names its own sender."""
_TOO_FAST = frozenset({
    10004,  # calls at once
    20429,  # requests at once
    21611,  # the sender's queue is full
    63017,  # messages in a second
    63018,  # messages of the channel
    86008,  # calls at once
})  # fmt: skip
_QUOTAS = frozenset({63038})  # messages in a day
_FAILED = frozenset({"failed", "undelivered", "canceled"})


class TwilioAccount:
    """The account that a connection names, by its auth token or by an API key."""

    def __init__(self, connection: ConnectionSettings) -> None:
        self.sender = connection.text("from")
        self.secret = connection.text("authToken")
        self._origin = connection.url()
        self._path = f"/2010-04-01/Accounts/{quote(connection.text('accountSid'), safe='')}"
        user = connection.text("apiKeySid") or connection.text("accountSid")
        self._signed_in = ("Authorization", f"Basic {b64encode(f'{user}:{self.secret}'.encode()).decode()}")

    def create(self, resource: str, fields: Mapping[str, str]) -> HttpRequest:
        """Return the request that makes a message or a call."""
        return form_request(f"{self._origin}{self._path}/{resource}.json", fields, self._signed_in)

    def read(self, resource: str, query: Mapping[str, str]) -> HttpRequest:
        """Return the request for the first page of messages or calls."""
        return self.read_on(f"{self._path}/{resource}.json?{urlencode(query)}")

    def read_on(self, path: str) -> HttpRequest:
        """Return the request for a further page, whose path Twilio names."""
        return HttpRequest("GET", self._origin + path, [("Accept", "application/json"), self._signed_in])


def judge(answer: VendorAnswer, *, has_own_sender: bool) -> Outcome:
    """Say what an answer to the making of a message or a call means."""
    said = answer.fields
    if not answer.is_success:
        return _judge_error(answer, has_own_sender=has_own_sender)
    sid = said.get("sid")
    if not isinstance(sid, str) or not sid:
        return Unknown(answer.reason("the answer has no sid"))
    if str(said.get("status")) in _FAILED:
        return Rejected(answer.reason(f"{said.get('error_code') or ''} {said.get('error_message') or said['status']}"))
    return Accepted(sid)


def _judge_error(answer: VendorAnswer, *, has_own_sender: bool) -> Outcome:
    said, code = answer.fields, code_in(answer.fields)
    words = f"{code or ''} {said.get('message') or ''}" if said else None
    reason = answer.reason(words)
    if answer.status >= 500:
        return judge_refusal(answer, words)
    if code in _OUR_TROUBLE or (code in _OUR_SENDER and not has_own_sender) or answer.status == 404:
        return Unavailable(reason, is_refused=True)
    if code in _TOO_FAST:
        return RetryLater(reason, answer.delay, uses_attempt=False)
    if code in _QUOTAS:
        return Unavailable(reason)
    # Codes of messages and of calls; some of them come with 401 or 403, which are about our settings elsewhere.
    if answer.status in (400, 401, 403) and code and code >= 21_000:
        return Rejected(reason)
    return judge_refusal(answer, words)
