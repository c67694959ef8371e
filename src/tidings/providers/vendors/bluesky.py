"""Posts to a Bluesky account (AT Protocol): resolvable, since a post has a name that is made of our key.

The account's server is asked for the record of that name, and it alone keeps it: what it does not have was not posted.
A record of a name that is taken is refused (createRecord: a 500 of Bluesky's servers, a 409 of others), so that even a
first request which arrives late makes no second post; such a refusal is doubt, which a look-up ends. createdAt is the
moment of the call: that of the item's owner may lie days before, and feeds are in order.
"""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    base_url,
    secret,
)
from tidings.domain.content.post_length import problem_of_post
from tidings.domain.flow.dialogue import hidden
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import (
    Absent,
    CannotTell,
    Doubtful,
    Evidence,
    Found,
    Provider,
    Resolvable,
)
from tidings.providers.access_token import AccessToken, TokenCache
from tidings.providers.bluesky_text import MOST_BYTES, facets, record_key
from tidings.providers.http_request import HttpRequest
from tidings.providers.post_fields import PostFields, post_fields, post_text
from tidings.providers.retry_after import LONGEST_DELAY
from tidings.providers.vendor_api import VendorAnswer, VendorCalls, VendorProvider, json_request, judge_refusal

_COLLECTION = "app.bsky.feed.post"
_SHORTEST_SESSION = timedelta(minutes=5)
_ENDED = frozenset({"ExpiredToken", "InvalidToken", "AuthMissing"})
_NO_RECORD = frozenset({"RecordNotFound"})


class _Session(msgspec.Struct, frozen=True):
    accessJwt: str  # noqa: N815 – the names of the protocol
    did: str


class Bluesky:
    """createRecord, the session it needs, and what its errors mean."""

    provider_class = Resolvable(authoritative=True, settle=timedelta(minutes=1))

    def __init__(self, url: str, identifier: str, password: str, account: str) -> None:
        self._xrpc = f"{url}/xrpc"
        self._identifier, self._password, self._account = identifier, password, account
        self._sessions = TokenCache()
        self._did = ""

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        """Write the request, in a session that is begun where there is none."""
        fields = post_fields(item, self._account)
        if not isinstance(fields, PostFields):
            return fields
        if refused := _refusal_of(fields.text):
            return refused
        token = await self._session(item.workspace, calls, until)
        if not isinstance(token, AccessToken):
            return token
        body = {"repo": self._did, "collection": _COLLECTION, "rkey": record_key(item.key), "record": _record(fields)}
        bearer = ("Authorization", f"Bearer {token.text}")
        return json_request(f"{self._xrpc}/com.atproto.repo.createRecord", body, bearer)

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means."""
        said = answer.fields
        if answer.is_success:
            uri = said.get("uri")
            return Accepted(uri) if isinstance(uri, str) and uri else Unknown(answer.reason("the answer has no uri"))
        name = str(said.get("error", ""))
        words = f"{name} {said.get('message', '')}"
        if name in _ENDED:
            self._sessions.forget()
        if name == "ExpiredToken":
            return RetryLater(answer.reason(words), uses_attempt=False)
        if name in _ENDED:
            return Unavailable(answer.reason(words), is_refused=True)
        if answer.status == 429:
            return RetryLater(answer.reason(words), answer.delay or _until_reset(answer), uses_attempt=False)
        if answer.status == 409 or "already" in words.lower():
            return Unknown(answer.reason(words))  # the name is taken: by an earlier request of ours, as a look-up shows
        return judge_refusal(answer, words if name else None)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Ask the account's server for the post of our name."""
        token = await self._session(item.workspace, calls, until)
        if not isinstance(token, AccessToken):
            return CannotTell(_words_of(token))
        asked = {"repo": self._did, "collection": _COLLECTION, "rkey": record_key(item.key)}
        url = f"{self._xrpc}/com.atproto.repo.getRecord?{urlencode(asked)}"
        request = HttpRequest("GET", url, [("Authorization", f"Bearer {token.text}")])
        answer = await calls.call(request, item.workspace, until, _always)
        if not isinstance(answer, VendorAnswer):
            return CannotTell(_words_of(answer))
        if answer.fields.get("error") in _ENDED:
            self._sessions.forget()  # the next look-up begins another
        return _evidence(answer, item)

    async def _session(self, workspace: Workspace, calls: VendorCalls, until: float) -> AccessToken | Outcome:
        return await self._sessions.get(lambda: self._begin_session(workspace, calls, until))

    async def _begin_session(self, workspace: Workspace, calls: VendorCalls, until: float) -> AccessToken | Outcome:
        url = f"{self._xrpc}/com.atproto.server.createSession"
        request = json_request(url, {"identifier": self._identifier, "password": self._password})
        with hidden():  # the answer has tokens that nobody could know before
            answer = await calls.call(request, workspace, until, _always)
        if not isinstance(answer, VendorAnswer):
            return answer if isinstance(answer, Unavailable) else Unavailable(f"no session: {_words_of(answer)}")
        try:
            session = msgspec.json.decode(answer.body, type=_Session)
        except (msgspec.DecodeError, RecursionError):
            return _refused_session(answer)
        calls.hide(session.accessJwt)
        self._did = session.did
        return AccessToken(session.accessJwt, _holds(session.accessJwt, answer.now))


def _refusal_of(text: str) -> Rejected | None:
    if problem := problem_of_post("bluesky", text):
        return Rejected(problem)
    size = len(text.encode("utf-8", "surrogatepass"))
    return Rejected(f"the post has {size:,} bytes; Bluesky takes {MOST_BYTES:,}") if size > MOST_BYTES else None


def _record(fields: PostFields) -> Mapping[str, Any]:
    links = facets(fields.text)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"$type": _COLLECTION, "text": fields.text, "createdAt": now, **({"facets": links} if links else {})}


def _evidence(answer: VendorAnswer, item: Doubtful) -> Evidence:
    said = answer.fields
    uri, value = said.get("uri"), said.get("value")
    if answer.is_success and isinstance(uri, str) and isinstance(value, dict):
        # The names of two posts could be the same by chance: what is found must say what was sent.
        is_ours = value.get("text") == post_text(item.payload)
        return Found(uri) if is_ours else CannotTell(f"the post at {uri} says something else")
    if answer.status in (400, 404) and said.get("error") in _NO_RECORD:
        return Absent()
    return CannotTell(answer.reason())


def _refused_session(answer: VendorAnswer) -> Outcome:
    said = answer.fields
    reason = answer.reason(f"{said.get('error', '')} {said.get('message', '')}")
    return Unavailable(f"no session: {reason}", is_refused=400 <= answer.status < 500 and answer.status != 429)


def _holds(token: str, now: datetime) -> timedelta:
    """How long a session's token holds, as it says itself; not long when it does not say."""
    try:
        claims = msgspec.json.decode(urlsafe_b64decode(token.split(".")[1] + "=="))
        return max(datetime.fromtimestamp(claims["exp"], UTC) - now, timedelta())
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError):
        return _SHORTEST_SESSION


def _until_reset(answer: VendorAnswer) -> timedelta | None:
    """How long until RateLimit-Reset, in seconds since 1970."""
    given = answer.headers.get("ratelimit-reset", "")
    if not given.isascii() or not given.isdigit() or len(given) > 12:
        return None
    seconds = int(given) - int(answer.now.timestamp())
    return min(max(timedelta(seconds=seconds), timedelta()), LONGEST_DELAY)


def _words_of(outcome: Outcome) -> str:
    return "" if isinstance(outcome, Accepted) else outcome.reason


def _always() -> bool:
    return True


def _build(connection: ConnectionSettings) -> Provider:
    password = connection.text("appPassword")
    vendor = Bluesky(connection.url(), connection.text("identifier"), password, connection.text("account"))
    return VendorProvider(connection, vendor, [password])


KIND = ProviderKind(
    name="bluesky",
    title="Bluesky",
    channels=(Channel.SOCIAL,),
    settings=(
        secret("appPassword", "an app password of the account"),
        Setting(
            name="identifier",
            doc="the account's handle, or the e-mail address it signs in with",
            is_required=True,
            example="news.example.com",
        ),
        Setting(
            name="account", doc="the account, where posts for others are to be refused", example="news.example.com"
        ),
        base_url("https://bsky.social"),
    ),
    build=_build,
    follows=(
        FollowedDocument("AT Protocol lexicons: com.atproto.repo and server, app.bsky.feed.post", date(2026, 11, 18)),
        FollowedDocument("Bluesky documentation: rate limits, posts and rich text", date(2026, 11, 18)),
        FollowedDocument("bluesky-social/atproto #3718 and #4728: a name that is taken", date(2026, 11, 18)),
    ),
)
