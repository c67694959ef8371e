"""APNs, against an HTTP/2 server that says what Apple's documents list."""

import asyncio
import json
from base64 import urlsafe_b64decode
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from tests.providers.items import marked, yes
from tests.providers.vendors.keys import p256_key, pem, rsa_key
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.providers.catalogue import CATALOGUE
from tidings.providers.vendors.apns import ProviderToken
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_h2 import H2Fault, H2Reply, scripted_h2_server
from tidings.testing.scripted_http import HttpReply

ID = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
OK = HttpReply(200, b"", {"apns-id": ID})
WHO = {"keyId": "ABC123DEFG", "teamId": "DEF123GHIJ", "topic": "com.example.app"}
MAKE = maker("apns", Channel.PUSH, key=pem(p256_key()), **WHO)
PLAIN: Payload = {"title": "Hello", "body": "Good morning."}


def push(recipient: str = "apns:00fc13adff78", payload: Payload = PLAIN) -> Marked:
    return marked(recipient, payload, channel=Channel.PUSH)


def error(status: int, reason: str) -> HttpReply:
    return HttpReply(status, {"reason": reason})


REFUSED = Unavailable("", is_refused=True)
DOCUMENTED = [
    *(
        DocumentedAnswer(reason, error(400, reason), Rejected(""))
        for reason in (
            *("BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority"),
            *("DeviceTokenNotForTopic", "DuplicateHeaders", "InvalidPushType", "MissingDeviceToken", "PayloadEmpty"),
        )
    ),
    *(
        DocumentedAnswer(reason, error(400, reason), REFUSED)
        for reason in ("BadTopic", "MissingTopic", "TopicDisallowed")
    ),
    DocumentedAnswer("IdleTimeout", error(400, "IdleTimeout"), RetryLater("")),
    *(
        DocumentedAnswer(reason, error(403, reason), REFUSED)
        for reason in (
            *("BadCertificate", "BadCertificateEnvironment", "Forbidden", "InvalidProviderToken"),
            *("MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken"),
        )
    ),
    DocumentedAnswer("ExpiredProviderToken", error(403, "ExpiredProviderToken"), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("BadPath", error(404, "BadPath"), Rejected("")),
    DocumentedAnswer("MethodNotAllowed", error(405, "MethodNotAllowed"), Rejected("")),
    DocumentedAnswer("ExpiredToken", error(410, "ExpiredToken"), Rejected("", is_gone=True)),
    DocumentedAnswer("Unregistered", error(410, "Unregistered"), Rejected("", is_gone=True)),
    DocumentedAnswer("PayloadTooLarge", error(413, "PayloadTooLarge"), Rejected("")),
    DocumentedAnswer("TooManyProviderTokenUpdates", error(429, "TooManyProviderTokenUpdates"), Unavailable("")),
    DocumentedAnswer("TooManyRequests", error(429, "TooManyRequests"), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("InternalServerError", error(500, "InternalServerError"), Unknown),
    DocumentedAnswer("ServiceUnavailable", error(503, "ServiceUnavailable"), RetryLater("")),
    DocumentedAnswer("Shutdown", error(503, "Shutdown"), RetryLater("")),
    DocumentedAnswer("a refused stream", H2Reply(fault=H2Fault.REFUSES), Unavailable("")),
    DocumentedAnswer("a cancelled stream", H2Reply(fault=H2Fault.CANCELS), Unknown),
    DocumentedAnswer("a farewell before it", H2Reply(fault=H2Fault.GOES_AWAY_BEFORE), Unavailable("")),
    DocumentedAnswer(
        "a farewell after it", H2Reply(200, headers={"apns-id": ID}, fault=H2Fault.GOES_AWAY_AFTER), Accepted(ID)
    ),
]


async def test_apns_conforms() -> None:
    lines = pem(p256_key()).splitlines()
    case = ConformanceCase(
        MAKE, push(), OK, DOCUMENTED, message_id=ID, secrets=[lines[1], pem(p256_key())], serve=scripted_h2_server
    )

    assert await nonconformities(case) == []


async def test_the_request_is_what_apple_documents() -> None:
    payload: Payload = {
        **PLAIN,
        "data": '{"order": "17", "aps": "no"}',
        "collapse": "orders",
        "url": "https://example.com/17",
        "image": "https://example.com/17.png",
    }
    item = push(payload=payload)

    async with scripted_h2_server(OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(item, yes)
        await provider.close()

    [seen] = server.seen
    assert outcome == Accepted(ID)
    assert (seen.method, seen.path) == ("POST", "/3/device/00fc13adff78")
    assert {name: value for name, value in seen.headers.items() if name.startswith("apns-")} == {
        "apns-id": str(UUID(bytes=item.key[-16:])),
        "apns-topic": "com.example.app",
        "apns-push-type": "alert",
        "apns-priority": "10",
        "apns-collapse-id": "orders",
    }
    assert seen.json == {
        "aps": {
            "alert": {"title": "Hello", "body": "Good morning."},
            "sound": "default",
            "mutable-content": 1,
        },
        "order": "17",
        "url": "https://example.com/17",
        "image": "https://example.com/17.png",
    }
    assert_signed(seen.headers["authorization"].removeprefix("bearer "))


def assert_signed(token: str) -> None:
    head, claims, signature = token.split(".")
    assert decoded(head) == {"alg": "ES256", "typ": "JWT", "kid": "ABC123DEFG"}
    assert decoded(claims)["iss"] == "DEF123GHIJ"
    raw = urlsafe_b64decode(signature + "==")
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    p256_key().public_key().verify(der, f"{head}.{claims}".encode(), ECDSA(SHA256()))


def decoded(part: str) -> dict[str, Any]:
    found = json.loads(urlsafe_b64decode(part + "=="))
    assert isinstance(found, dict)
    return found


async def test_what_is_sent_twice_shows_once() -> None:
    items = [push(), push(payload={**PLAIN, "collapse": "Grüße"})]

    async with scripted_h2_server(OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        for item in items:
            await provider.send(item, yes)
        await provider.close()

    assert [one.headers["apns-collapse-id"] for one in server.seen] == [item.key.hex() for item in items]


def test_the_token_is_kept_for_forty_minutes() -> None:
    now = [1_700_000_000.0]
    token = ProviderToken(p256_key(), "ABC123DEFG", "DEF123GHIJ", lambda: now[0])

    texts = []
    for minute in (0, 39, 41, 82):
        now[0] = 1_700_000_000.0 + minute * 60
        texts.append(token.text())

    assert [texts.index(text) for text in texts] == [0, 0, 2, 3]
    assert [decoded(text.split(".")[1])["iat"] - 1_700_000_000 for text in texts] == [0, 0, 41 * 60, 82 * 60]


async def test_a_token_that_apns_calls_old_is_signed_anew() -> None:
    async with scripted_h2_server(error(403, "ExpiredProviderToken"), OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        first = await provider.send(push(), yes)
        second = await provider.send(push(), yes)
        await provider.close()

    old, new = (one.headers["authorization"] for one in server.seen)
    assert isinstance(first, RetryLater)
    assert second == Accepted(ID)
    assert old != new


async def test_many_messages_share_one_connection() -> None:
    async with scripted_h2_server(OK, most_streams=7) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcomes = await asyncio.gather(*(provider.send(push(f"device{n}"), yes) for n in range(50)))
        await provider.close()

    assert outcomes == [Accepted(ID)] * 50
    assert server.connections == 1
    assert server.most_open <= 7


@pytest.mark.parametrize("recipient", ["fcm:abc", '{"endpoint": "https://push.example.com"}', "apns:"])
async def test_the_token_of_another_service_is_rejected_before_any_call(recipient: str) -> None:
    provider = MAKE("http://127.0.0.1:9", timedelta(seconds=1))

    outcome = await provider.send(push(recipient), yes)
    await provider.close()

    assert isinstance(outcome, Rejected)
    assert "no token of apns" in outcome.reason


@pytest.mark.parametrize("key", ["canary-which-is-no-key", pem(rsa_key())])
def test_a_key_that_is_none_is_refused_and_not_repeated(key: str) -> None:
    [problem] = CATALOGUE["apns"].problems_of(WHO, {"key": key})

    assert ".p8" in str(problem)
    assert "canary" not in str(problem)
