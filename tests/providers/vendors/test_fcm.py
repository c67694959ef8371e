"""FCM, against a server that says what its documents list."""

import asyncio
import json
from base64 import urlsafe_b64decode
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from tests.providers.items import marked, yes
from tests.providers.vendors.keys import p256_key, pem, rsa_key, service_account
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.dialogue import recorded
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.providers.catalogue import CATALOGUE
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

NAME = "projects/tidings-test/messages/0:1500415314455276%31bd1c9631bd1c96"
TOKEN = "ya29.canary-token-of-an-hour"
OK = HttpReply(200, {"name": NAME})
LOGIN = HttpReply(200, {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"})
MAKE = maker("fcm", Channel.PUSH, serviceAccount=service_account(), tokenUrl="{url}/token")
PLAIN: Payload = {"title": "Hello", "body": "Good morning."}


def push(recipient: str = "fcm:device-1", payload: Payload = PLAIN) -> Marked:
    return marked(recipient, payload, channel=Channel.PUSH)


def error(status: int, code: str) -> HttpReply:
    detail = {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}
    return HttpReply(status, {"error": {"code": status, "message": "said", "status": "S", "details": [detail]}})


def google(status: int, name: str) -> HttpReply:
    return HttpReply(status, {"error": {"code": status, "message": "said", "status": name}})


DOCUMENTED = [
    DocumentedAnswer("UNSPECIFIED_ERROR", error(500, "UNSPECIFIED_ERROR"), Unknown),
    DocumentedAnswer("INVALID_ARGUMENT", error(400, "INVALID_ARGUMENT"), Rejected("")),
    DocumentedAnswer("a wrong field", google(400, "INVALID_ARGUMENT"), Rejected("")),
    DocumentedAnswer("UNREGISTERED", error(404, "UNREGISTERED"), Rejected("", is_gone=True)),
    DocumentedAnswer("no such project", google(404, "NOT_FOUND"), Unavailable("", is_refused=True)),
    DocumentedAnswer("SENDER_ID_MISMATCH", error(403, "SENDER_ID_MISMATCH"), Rejected("")),
    DocumentedAnswer("not allowed", google(403, "PERMISSION_DENIED"), Unavailable("", is_refused=True)),
    DocumentedAnswer(
        "QUOTA_EXCEEDED", error(429, "QUOTA_EXCEEDED"), RetryLater("", timedelta(seconds=60), uses_attempt=False)
    ),
    DocumentedAnswer("UNAVAILABLE", error(503, "UNAVAILABLE"), RetryLater("")),
    DocumentedAnswer("INTERNAL", error(500, "INTERNAL"), Unknown),
    DocumentedAnswer("THIRD_PARTY_AUTH_ERROR", error(401, "THIRD_PARTY_AUTH_ERROR"), RetryLater("")),
    DocumentedAnswer("a token that has ended", google(401, "UNAUTHENTICATED"), Unavailable("", is_refused=True)),
    DocumentedAnswer("no name", HttpReply(200, {}), Unknown),
]


async def test_fcm_conforms() -> None:
    lines = pem(rsa_key()).splitlines()
    case = ConformanceCase(
        MAKE,
        push(),
        OK,
        DOCUMENTED,
        before=[LOGIN],
        message_id=NAME,
        secrets=[TOKEN, lines[3], pem(rsa_key())],
    )

    assert await nonconformities(case) == []


async def sent(*replies: HttpReply, item: Marked | None = None) -> tuple[Outcome, list[object], list[str]]:
    async with scripted_server(*replies) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(item or push(), yes)
        await provider.close()
    return outcome, [one.json for one in server.seen[1:]], [one.path for one in server.seen]


async def test_the_request_is_what_fcm_documents() -> None:
    payload: Payload = {
        **PLAIN,
        "data": '{"order": "17"}',
        "collapse": "orders",
        "url": "https://example.com/17",
        "image": "https://example.com/17.png",
    }

    outcome, bodies, paths = await sent(LOGIN, OK, item=push(payload=payload))

    assert outcome == Accepted(NAME)
    assert paths == ["/token", "/v1/projects/tidings-test/messages:send"]
    assert bodies == [
        {
            "message": {
                "token": "device-1",
                "notification": {"title": "Hello", "body": "Good morning.", "image": "https://example.com/17.png"},
                "data": {"url": "https://example.com/17", "order": "17"},
                "android": {"collapse_key": "orders", "notification": {"tag": "orders"}},
                "apns": {"headers": {"apns-collapse-id": "orders"}},
                "webpush": {
                    "notification": {"tag": "orders"},
                    "fcm_options": {"link": "https://example.com/17"},
                },
            }
        }
    ]


async def test_what_is_sent_twice_replaces_itself_on_the_screen() -> None:
    item = push()

    _, [body], _ = await sent(LOGIN, OK, item=item)

    assert isinstance(body, dict)
    message = body["message"]
    assert message["android"] == {"notification": {"tag": item.key.hex()}}
    assert message["apns"]["headers"]["apns-collapse-id"] == item.key.hex()
    assert len(item.key.hex()) == 64


async def test_the_token_is_asked_for_with_a_signed_request() -> None:
    async with scripted_server(LOGIN, OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        await provider.send(push(), yes)
        await provider.close()

    login, call = server.seen
    form = parse_qs(login.body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    head, claims, signature = form["assertion"][0].split(".")
    assert decoded(head) == {"alg": "RS256", "typ": "JWT", "kid": "f00d"}
    said = decoded(claims)
    assert said["iss"] == "sender@tidings-test.iam.gserviceaccount.com"
    assert said["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
    assert said["aud"] == f"{server.url}/token"
    assert said["exp"] - said["iat"] == 3600
    raw = urlsafe_b64decode(signature + "==")
    rsa_key().public_key().verify(raw, f"{head}.{claims}".encode(), PKCS1v15(), SHA256())
    assert call.headers["authorization"] == f"Bearer {TOKEN}"


def decoded(part: str) -> dict[str, Any]:
    found = json.loads(urlsafe_b64decode(part + "=="))
    assert isinstance(found, dict)
    return found


async def test_many_calls_at_once_ask_for_one_token() -> None:
    async with scripted_server(LOGIN, OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcomes = await asyncio.gather(*(provider.send(push(f"device-{n}"), yes) for n in range(20)))
        await provider.close()

    assert outcomes == [Accepted(NAME)] * 20
    assert [one.path for one in server.seen].count("/token") == 1


async def test_a_token_that_is_no_longer_taken_is_fetched_anew() -> None:
    async with scripted_server(LOGIN, google(401, "UNAUTHENTICATED"), LOGIN, OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        first = await provider.send(push(), yes)
        second = await provider.send(push(), yes)
        await provider.close()

    assert isinstance(first, Unavailable)
    assert second == Accepted(NAME)


@pytest.mark.parametrize(
    ("reply", "is_refused"),
    [
        (HttpReply(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}), True),
        (HttpReply(401, {"error": "invalid_client"}), True),
        (HttpReply(429, {}), False),
        (HttpReply(503, "busy"), False),
        (HttpReply(200, {"access_token": ""}), False),
    ],
)
async def test_without_a_token_nothing_is_sent_and_no_attempt_is_used(reply: HttpReply, is_refused: bool) -> None:
    outcome, _, paths = await sent(reply)

    assert isinstance(outcome, Unavailable)
    assert outcome.is_refused == is_refused
    assert paths == ["/token"]


@pytest.mark.parametrize(
    ("recipient", "payload", "reason"),
    [
        ("apns:abc", PLAIN, "no token of fcm"),
        ('{"endpoint": "https://push.example.com"}', PLAIN, "no token of fcm"),
        ("fcm:", PLAIN, "no token of fcm"),
        ("device", {**PLAIN, "data": '{"n": 1}'}, "no object of strings"),
    ],
)
async def test_what_fcm_cannot_take_is_rejected_before_any_call(recipient: str, payload: Payload, reason: str) -> None:
    outcome, _, paths = await sent(OK, item=push(recipient, payload))

    assert isinstance(outcome, Rejected)
    assert reason in outcome.reason
    assert paths == []


@pytest.mark.parametrize(
    "account",
    [
        "canary-which-is-no-json",
        "{}",
        json.dumps({**json.loads(service_account()), "private_key": "canary-which-is-no-key"}),
        json.dumps({**json.loads(service_account()), "private_key": pem(p256_key())}),
    ],
)
def test_an_account_that_is_none_is_refused_and_not_repeated(account: str) -> None:
    [problem] = CATALOGUE["fcm"].problems_of({}, {"serviceAccount": account})

    assert "Service accounts" in str(problem)
    assert "canary" not in str(problem)


def test_it_says_whom_it_can_reach() -> None:
    accepts = CATALOGUE["fcm"].accepts

    assert accepts is not None
    assert [one for one in ("fcm:a", "a:b", "apns:a", "webpush:{}", '{"endpoint": ""}', "") if accepts(one)] == [
        "fcm:a",
        "a:b",
    ]


def test_nothing_secret_is_shown_of_a_provider() -> None:
    provider = MAKE("http://127.0.0.1:9", timedelta(seconds=1))

    shown = repr(provider) + repr(vars(provider)) + repr(vars(provider)["_vendor"])

    assert pem(rsa_key()).splitlines()[3] not in shown


async def test_who_watches_a_call_sees_neither_the_token_nor_what_is_traded_for_it() -> None:
    with recorded() as said:
        await sent(LOGIN, OK)

    shown = "\n".join(said.lines)
    assert NAME in shown
    assert TOKEN not in shown
    assert "assertion" not in shown
