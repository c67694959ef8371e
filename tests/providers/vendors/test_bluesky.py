"""Bluesky, against a server that says what its lexicons list."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.providers.items import marked, yes
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.dialogue import recorded
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Absent, CannotTell, Doubtful, Evidence, Found, Resolvable
from tidings.providers.bluesky_text import facets, record_key
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, HttpSeen, scripted_server

PASSWORD = "canary-app-password"
DID = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
URI = f"at://{DID}/app.bsky.feed.post/3k4duaz5vfs2b"
OK = HttpReply(200, {"uri": URI, "cid": "bafyreib"})
MAKE = maker("bluesky", Channel.SOCIAL, identifier="news.example.com", appPassword=PASSWORD)
PLAIN: Payload = {"body": "Good morning."}
KEY = (1_700_000_000_123).to_bytes(6, "big") + b"\x70\x01" + b"h" * 24


def jwt(**claims: object) -> str:
    return ".".join(base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in ({}, claims, {}))


TOKEN = jwt(exp=int(datetime.now(UTC).timestamp()) + 7_200, sub="canary-of-a-session")
LOGIN = HttpReply(200, {"accessJwt": TOKEN, "refreshJwt": jwt(), "did": DID, "handle": "news.example.com"})


def post(payload: Payload = PLAIN, key: bytes | None = None) -> Marked:
    return marked("default", payload, channel=Channel.SOCIAL, key=key)


def error(status: int, name: str, words: str = "said") -> HttpReply:
    return HttpReply(status, {"error": name, "message": words})


REFUSED = Unavailable("", is_refused=True)
DOCUMENTED = [
    DocumentedAnswer("InvalidRequest", error(400, "InvalidRequest"), Rejected("")),
    DocumentedAnswer("InvalidSwap", error(400, "InvalidSwap"), Rejected("")),
    DocumentedAnswer("ExpiredToken", error(400, "ExpiredToken"), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("InvalidToken", error(400, "InvalidToken"), REFUSED),
    DocumentedAnswer("AuthMissing", error(401, "AuthMissing"), REFUSED),
    DocumentedAnswer("Forbidden", error(403, "Forbidden"), REFUSED),
    DocumentedAnswer("PayloadTooLarge", error(413, "PayloadTooLarge"), Rejected("")),
    DocumentedAnswer("RateLimitExceeded", error(429, "RateLimitExceeded"), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("a name that is taken", error(500, "InternalServerError"), Unknown),
    DocumentedAnswer("a name that is taken, elsewhere", error(409, "RecordAlreadyExists"), Unknown),
    DocumentedAnswer("any conflict", error(409, "Conflict"), Unknown),
    DocumentedAnswer("a name that is taken, in words", error(400, "InvalidRequest", "Record already exists"), Unknown),
    DocumentedAnswer("UpstreamFailure", error(502, "UpstreamFailure"), Unknown),
    DocumentedAnswer("no uri", HttpReply(200, {}), Unknown),
]


async def test_bluesky_conforms() -> None:
    case = ConformanceCase(MAKE, post(), OK, DOCUMENTED, before=[LOGIN], message_id=URI, secrets=[PASSWORD, TOKEN])

    assert await nonconformities(case) == []


async def sent(item: Marked, *replies: HttpReply) -> tuple[list[Outcome], list[HttpSeen]]:
    """What became of an item that is sent for each reply to a post."""
    async with scripted_server(LOGIN, *replies) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcomes = [await provider.send(item, yes) for _ in replies]
        await provider.close()
    return outcomes, server.seen


async def test_the_request_is_what_the_lexicons_describe() -> None:
    item = post({"body": "Grüße!", "url": "https://example.com/ä"})

    outcomes, [login, seen] = await sent(item, OK)

    assert outcomes == [Accepted(URI)]
    assert (login.method, login.path) == ("POST", "/xrpc/com.atproto.server.createSession")
    assert login.json == {"identifier": "news.example.com", "password": PASSWORD}
    assert (seen.method, seen.path) == ("POST", "/xrpc/com.atproto.repo.createRecord")
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"
    said = json.loads(seen.body)
    created = datetime.fromisoformat(said["record"].pop("createdAt"))
    assert abs(datetime.now(UTC) - created) < timedelta(minutes=1)
    assert said == {
        "repo": DID,
        "collection": "app.bsky.feed.post",
        "rkey": record_key(item.key),
        "record": {
            "$type": "app.bsky.feed.post",
            "text": "Grüße!\n\nhttps://example.com/ä",
            "facets": [
                {
                    "index": {"byteStart": 10, "byteEnd": 32},
                    "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com/ä"}],
                }
            ],
        },
    }


async def test_a_session_serves_many_posts_and_one_that_has_ended_is_begun_anew() -> None:
    async with scripted_server(LOGIN, OK, OK, error(400, "ExpiredToken"), LOGIN, OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcomes = [await provider.send(post(), yes) for _ in range(4)]
        await provider.close()

    assert [type(one) for one in outcomes] == [Accepted, Accepted, RetryLater, Accepted]
    assert [one.path.rpartition(".")[2] for one in server.seen].count("createSession") == 2


@pytest.mark.parametrize(
    ("reply", "is_refused"),
    [
        (error(401, "AuthenticationRequired"), True),
        (error(401, "AuthFactorTokenRequired"), True),
        (error(401, "AccountTakedown"), True),
        (error(429, "RateLimitExceeded"), False),
        (HttpReply(502, "<html>"), False),
        (HttpReply(200, {"did": DID}), False),
    ],
)
async def test_without_a_session_nothing_is_posted_and_no_attempt_is_used(reply: HttpReply, is_refused: bool) -> None:
    async with scripted_server(reply) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(post(), yes)
        await provider.close()

    assert isinstance(outcome, Unavailable)
    assert outcome.is_refused == is_refused
    assert len(server.seen) == 1


async def looked_up(payload: Payload, *replies: HttpReply) -> tuple[Evidence, list[HttpSeen]]:
    async with scripted_server(*replies) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(Doubtful("default", KEY, datetime.now(UTC), payload))
        await provider.close()
    return evidence, server.seen


def record(text: str) -> HttpReply:
    return HttpReply(200, {"uri": URI, "cid": "bafyreib", "value": {"$type": "app.bsky.feed.post", "text": text}})


async def test_the_account_itself_tells_whether_it_was_posted() -> None:
    found, seen = await looked_up(
        {**PLAIN, "url": "https://a.example"}, LOGIN, record("Good morning.\n\nhttps://a.example")
    )
    absent, _ = await looked_up(PLAIN, LOGIN, error(400, "RecordNotFound"))
    other, _ = await looked_up(PLAIN, LOGIN, record("Something else"))
    failing, _ = await looked_up(PLAIN, LOGIN, error(500, "InternalServerError"))
    without, _ = await looked_up(PLAIN, error(401, "AuthenticationRequired"))

    assert found == Found(URI)
    assert urlsplit(seen[1].path).path == "/xrpc/com.atproto.repo.getRecord"
    assert parse_qs(urlsplit(seen[1].path).query) == {
        "repo": [DID],
        "collection": ["app.bsky.feed.post"],
        "rkey": [record_key(KEY)],
    }
    assert absent == Absent()
    assert isinstance(other, CannotTell)
    assert isinstance(failing, CannotTell)
    assert isinstance(without, CannotTell)
    assert MAKE("http://127.0.0.1:9", timedelta(seconds=1)).provider_class == Resolvable(
        authoritative=True, settle=timedelta(minutes=1)
    )


async def test_a_look_up_whose_session_was_ended_begins_another_the_next_time() -> None:
    async with scripted_server(LOGIN, error(400, "InvalidToken"), LOGIN, record("Good morning.")) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        asked = Doubtful("default", KEY, datetime.now(UTC), PLAIN)
        evidence = [await provider.look_up(asked), await provider.look_up(asked)]
        await provider.close()

    assert isinstance(evidence[0], CannotTell)
    assert evidence[1] == Found(URI)


def test_the_name_of_a_post_is_a_time_and_the_key() -> None:
    alphabet = "234567abcdefghijklmnopqrstuvwxyz"
    names = [record_key(KEY), record_key(KEY[:-1] + b"i"), record_key(bytes(32)), record_key(b"\xff" * 32)]

    number = 0
    for letter in names[0]:
        number = number * 32 + alphabet.index(letter)
    moment = datetime.fromtimestamp((number >> 10) / 1_000_000, UTC)

    assert record_key(KEY) == names[0]
    assert len(set(names)) == 4
    assert all(len(name) == 13 and name[0] in alphabet[:16] and set(name) <= set(alphabet) for name in names)
    assert abs(moment - datetime.fromtimestamp(1_700_000_000, UTC)) < timedelta(minutes=18)
    assert number & 0xFF_FFFF_FFFF == int.from_bytes(b"hhhhh", "big")


def test_links_are_named_without_what_stands_after_them() -> None:
    found: list[Any] = list(facets("Read (https://example.com/a), ü http://b.example."))

    assert [one["features"][0]["uri"] for one in found] == ["https://example.com/a", "http://b.example"]
    assert [(one["index"]["byteStart"], one["index"]["byteEnd"]) for one in found] == [(6, 27), (33, 49)]


@pytest.mark.parametrize(("body", "reason"), [("x" * 301, "300"), ("👨‍👩‍👧‍👦" * 150, "3,000"), ("", "empty")])
async def test_a_post_that_bluesky_would_not_take_is_rejected_before_any_call(body: str, reason: str) -> None:
    provider = MAKE("http://127.0.0.1:9", timedelta(seconds=1))

    outcome = await provider.send(post({"body": body}), yes)
    await provider.close()

    assert isinstance(outcome, Rejected)
    assert reason in outcome.reason


async def test_it_waits_until_the_limit_is_reset() -> None:
    reset = str(int(datetime.now(UTC).timestamp()) + 240)

    [outcome], _ = await sent(post(), HttpReply(429, {}, {"RateLimit-Reset": reset}))

    assert isinstance(outcome, RetryLater)
    assert outcome.delay is not None
    assert timedelta(minutes=3) < outcome.delay <= timedelta(minutes=4)


async def test_who_watches_a_call_sees_no_token_of_its_session() -> None:
    with recorded() as said:
        await sent(post(), OK)

    shown = "\n".join(said.lines)
    assert URI in shown
    assert TOKEN not in shown
    assert jwt() not in shown
