"""Mastodon, against a server that says what its documents list."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.providers.items import marked, yes
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Keyed
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, HttpSeen, scripted_server

TOKEN = "canary-token-of-an-account"
OK = HttpReply(200, {"id": "103254962155278888", "url": "https://mastodon.social/@news/103254962155278888"})
MAKE = maker("mastodon", Channel.SOCIAL, accessToken=TOKEN, account="@News", visibility="unlisted")
PLAIN: Payload = {"body": "Good morning."}


def post(recipient: str = "default", payload: Payload = PLAIN) -> Marked:
    return marked(recipient, payload, channel=Channel.SOCIAL)


def error(status: int, words: str) -> HttpReply:
    return HttpReply(status, {"error": words})


DOCUMENTED = [
    DocumentedAnswer("invalid token", error(401, "The access token is invalid"), Unavailable("", is_refused=True)),
    DocumentedAnswer("scope", error(403, "outside the authorized scopes"), Unavailable("", is_refused=True)),
    DocumentedAnswer("not found", error(404, "Record not found"), Rejected("")),
    DocumentedAnswer("validation", error(422, "Validation failed: Text can't be blank"), Rejected("")),
    DocumentedAnswer("too many", error(429, "Too many requests"), RetryLater("", uses_attempt=False)),
    # To a repeat that it recognises, too.
    DocumentedAnswer("server error", error(500, "There was a problem"), Unknown),
    DocumentedAnswer("a slow database behind a proxy", HttpReply(504, "<html>"), Unknown),
    DocumentedAnswer("unavailable", error(503, "Remote SSL certificate could not be verified"), Unknown),
    DocumentedAnswer("no id", HttpReply(200, {}), Unknown),
]


async def test_mastodon_conforms() -> None:
    case = ConformanceCase(MAKE, post(), OK, DOCUMENTED, message_id="103254962155278888", secrets=[TOKEN])

    assert await nonconformities(case) == []


async def sent(item: Marked, reply: HttpReply = OK) -> tuple[Outcome, list[HttpSeen]]:
    async with scripted_server(reply) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(item, yes)
        await provider.close()
    return outcome, server.seen


async def test_the_request_is_what_mastodon_documents() -> None:
    item = post("@news", {"body": "Good morning.", "url": "https://example.com/1"})

    outcome, [seen] = await sent(item)

    assert outcome == Accepted("103254962155278888")
    assert (seen.method, seen.path) == ("POST", "/api/v1/statuses")
    assert seen.headers["idempotency-key"] == item.key.hex()
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"
    assert seen.json == {"status": "Good morning.\n\nhttps://example.com/1", "visibility": "unlisted"}


def test_a_repeat_waits_until_the_server_knows_the_key() -> None:
    provider_class = MAKE("http://127.0.0.1:9", timedelta(seconds=1)).provider_class

    assert provider_class == Keyed(timedelta(hours=1), settle=timedelta(minutes=1))


@pytest.mark.parametrize(("recipient", "payload"), [("@other", PLAIN), ("default", {}), ("default", {"body": ""})])
async def test_what_cannot_be_posted_is_rejected_before_any_call(recipient: str, payload: Payload) -> None:
    outcome, seen = await sent(post(recipient, payload))

    assert isinstance(outcome, Rejected)
    assert seen == []


async def test_it_waits_until_the_limit_is_reset() -> None:
    reset = (datetime.now(UTC) + timedelta(minutes=4)).isoformat().replace("+00:00", "Z")

    outcome, _ = await sent(post(), HttpReply(429, {}, {"X-RateLimit-Reset": reset}))

    assert isinstance(outcome, RetryLater)
    assert outcome.delay is not None
    assert timedelta(minutes=3) < outcome.delay <= timedelta(minutes=4)


async def test_a_link_that_stands_in_the_body_is_not_added_again() -> None:
    _, [seen] = await sent(post("default", {"body": "See https://example.com/1!", "url": "https://example.com/1"}))

    assert seen.json == {"status": "See https://example.com/1!", "visibility": "unlisted"}
