"""Web Push: encryption and signatures by the vectors of the RFCs, and calls against a server that answers."""

import json
import os
from base64 import urlsafe_b64decode
from datetime import timedelta
from typing import Any

import http_ece
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from tests.providers.items import marked, yes
from tests.providers.vendors.keys import pem, rsa_key
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unknown
from tidings.providers.catalogue import CATALOGUE
from tidings.providers.jwt import base64url, from_base64url
from tidings.providers.vendors.web_push import ApplicationKey
from tidings.providers.web_push_crypto import LARGEST_MESSAGE, BrowserKeys, encrypt, point_of
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, HttpSeen, scripted_server

BROWSER = ec.generate_private_key(ec.SECP256R1())
AUTH = os.urandom(16)
APPLICATION = ec.generate_private_key(ec.SECP256R1())
KEY = base64url(APPLICATION.private_numbers().private_value.to_bytes(32, "big"))
OK = HttpReply(201, b"", {"Location": "https://push.example.com/m/1"})
MAKE = maker("web-push", Channel.PUSH, privateKey=KEY, subject="mailto:push@example.com")
PLAIN: Payload = {"title": "Hello", "body": "Good morning."}


def subscription(url: str, **changed: object) -> str:
    keys = {"p256dh": base64url(point_of(BROWSER)), "auth": base64url(AUTH)}
    return json.dumps({"endpoint": f"{url}/p/1", "expirationTime": None, "keys": keys, **changed})


def push(recipient: str, payload: Payload = PLAIN) -> Marked:
    return marked(recipient, payload, channel=Channel.PUSH)


def rfc(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_message_is_encrypted_as_in_the_example_of_rfc_8291() -> None:
    keys = BrowserKeys(
        rfc("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
        rfc("BTBZMqHH6r4Tts7J_aSIgg"),
    )
    number = int.from_bytes(rfc("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), "big")
    own = ec.derive_private_key(number, ec.SECP256R1())

    body = encrypt(b"When I grow up, I want to be a watermelon", keys, salt=rfc("DGv6ra1nlYgDCS1FRnbzlw"), own_key=own)

    assert base64url(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
        "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
        "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@pytest.mark.parametrize("size", [0, 1, 100, LARGEST_MESSAGE])
def test_another_implementation_reads_what_is_encrypted(size: int) -> None:
    message = os.urandom(size)

    body = encrypt(message, BrowserKeys(point_of(BROWSER), AUTH))

    assert http_ece.decrypt(body, private_key=BROWSER, auth_secret=AUTH, version="aes128gcm") == message
    assert len(body) == size + 103 <= 4096


def test_the_application_signs_as_rfc_8292_asks() -> None:
    now = [1_453_341_205.0]
    key = ApplicationKey(APPLICATION, "mailto:push@example.com", lambda: now[0])

    header = key.authorization("https://push.example.net")

    token, public = (part.partition("=")[2] for part in header.removeprefix("vapid ").split(", "))
    head, claims, signature = token.split(".")
    assert decoded(head) == {"typ": "JWT", "alg": "ES256"}
    assert decoded(claims) == {
        "aud": "https://push.example.net",
        "exp": 1_453_341_205 + 12 * 3600,
        "sub": "mailto:push@example.com",
    }
    assert_verifies(rfc(public), f"{head}.{claims}", signature)


def test_the_example_of_rfc_8292_verifies_here_too() -> None:
    public = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
    signed = (
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1"
        "MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
    )
    signature = "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"

    assert_verifies(rfc(public), signed, signature)
    assert decoded(signed.split(".")[1])["aud"] == "https://push.example.net"


def assert_verifies(point: bytes, signed: str, signature: str) -> None:
    raw = rfc(signature)
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    public.verify(der, signed.encode(), ec.ECDSA(SHA256()))


def decoded(part: str) -> dict[str, Any]:
    found = json.loads(rfc(part))
    assert isinstance(found, dict)
    return found


def test_a_signature_is_kept_for_hours_and_for_one_push_service() -> None:
    now = [0.0]
    key = ApplicationKey(APPLICATION, "mailto:push@example.com", lambda: now[0])

    seen = [key.authorization("https://a.example.com"), key.authorization("https://b.example.com")]
    for hour in (5, 7):
        now[0] = hour * 3600.0
        seen.append(key.authorization("https://a.example.com"))

    assert [seen.index(one) for one in seen] == [0, 1, 0, 3]


def test_signatures_for_ever_new_push_services_take_no_more_room() -> None:
    key = ApplicationKey(APPLICATION, "mailto:push@example.com")

    for number in range(300):
        key.authorization(f"https://{number}.example.com")

    assert len(key._signed) == 100


DOCUMENTED = [
    DocumentedAnswer("200", HttpReply(200), Accepted),
    DocumentedAnswer("202", HttpReply(202), Accepted),
    DocumentedAnswer("400", HttpReply(400), Rejected("")),
    DocumentedAnswer("401", HttpReply(401), RetryLater("")),
    DocumentedAnswer("403", HttpReply(403), Rejected("")),
    DocumentedAnswer("404", HttpReply(404), Rejected("", is_gone=True)),
    DocumentedAnswer("410", HttpReply(410), Rejected("", is_gone=True)),
    DocumentedAnswer("413", HttpReply(413), Rejected("")),
    DocumentedAnswer("429", HttpReply(429), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("500", HttpReply(500), Unknown),
]


async def test_web_push_conforms() -> None:
    case = ConformanceCase(
        MAKE,
        lambda url: push(subscription(url)),
        OK,
        DOCUMENTED,
        message_id="https://push.example.com/m/1",
        secrets=[KEY],
        calls_many_hosts=True,
    )

    assert await nonconformities(case) == []


async def sent(payload: Payload, prefix: str = "") -> tuple[HttpSeen, Marked, dict[str, Any]]:
    async with scripted_server(OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        item = push(prefix + subscription(server.url), payload)
        assert isinstance(await provider.send(item, yes), Accepted)
        await provider.close()
    [seen] = server.seen
    read = http_ece.decrypt(seen.body, private_key=BROWSER, auth_secret=AUTH, version="aes128gcm")
    return seen, item, json.loads(read)


async def test_the_request_is_what_the_rfcs_describe() -> None:
    payload: Payload = {
        **PLAIN,
        "data": '{"order": "17"}',
        "collapse": "orders",
        "url": "https://example.com/17",
        "image": "https://example.com/17.png",
    }

    seen, _, message = await sent(payload)

    assert (seen.method, seen.path) == ("POST", "/p/1")
    assert seen.headers["content-encoding"] == "aes128gcm"
    assert (seen.headers["ttl"], seen.headers["urgency"]) == ("86400", "normal")
    assert len(seen.headers["topic"]) == 32
    assert seen.headers["authorization"].startswith("vapid t=")
    assert message == {
        "title": "Hello",
        "body": "Good morning.",
        "url": "https://example.com/17",
        "image": "https://example.com/17.png",
        "tag": "orders",
        "data": {"order": "17"},
    }


async def test_a_prefix_may_stand_before_a_subscription_and_a_repeat_has_the_same_topic() -> None:
    first, item, message = await sent(PLAIN, "webpush:")
    other, _, _ = await sent({**PLAIN, "collapse": "orders"})

    assert message["tag"] == item.key.hex()
    assert first.headers["topic"] != other.headers["topic"]


@pytest.mark.parametrize(
    ("recipient", "reason"),
    [
        ("device-1", "no subscription"),
        ("fcm:abc", "no token of webpush"),
        ("{}", "no subscription"),
        ("webpush:[" * 3, "no subscription"),
        (subscription("http://push.example.com"), "no https:// address"),
        (subscription("https://user:word@push.example.com"), "no https:// address"),
        (subscription("https://push.example.com", keys={"p256dh": "AAAA", "auth": base64url(AUTH)}), "65 bytes"),
        (
            subscription("https://push.example.com", keys={"p256dh": base64url(b"\x04" * 65), "auth": "AAAA"}),
            "16 bytes",
        ),
        (
            subscription("https://push.example.com", keys={"p256dh": base64url(b"\x04" * 65), "auth": base64url(AUTH)}),
            "no subscription",
        ),
        (subscription("https://push.example.com", keys={"p256dh": "ü!", "auth": base64url(AUTH)}), "no subscription"),
    ],
)
async def test_what_is_no_subscription_is_rejected_before_any_call(recipient: str, reason: str) -> None:
    provider = MAKE("http://127.0.0.1:9", timedelta(seconds=1))

    outcome = await provider.send(push(recipient), yes)
    await provider.close()

    assert isinstance(outcome, Rejected)
    assert reason in outcome.reason


async def test_a_message_that_no_push_service_takes_is_rejected_before_any_call() -> None:
    provider = MAKE("http://127.0.0.1:9", timedelta(seconds=1))

    outcome = await provider.send(push(subscription("https://push.example.com"), {"body": "x" * 4_000}), yes)
    await provider.close()

    assert isinstance(outcome, Rejected)
    assert "3,993" in outcome.reason


async def test_an_endpoint_in_the_own_network_is_closed() -> None:
    kind = CATALOGUE["web-push"]
    values = kind.filled({"privateKey": KEY, "subject": "mailto:push@example.com"})
    provider = kind.build(ConnectionSettings("push", Channel.PUSH, values))

    async with scripted_server(OK) as server:
        outcome = await provider.send(push(subscription(server.url)), yes)
    await provider.close()

    assert isinstance(outcome, Rejected)
    assert "private address" in outcome.reason
    assert server.seen == []


@pytest.mark.parametrize("key", ["canary-which-is-no-key", "AAAA", pem(rsa_key()), base64url(b"\0" * 32)])
def test_a_key_that_is_none_is_refused_and_not_repeated(key: str) -> None:
    [problem] = CATALOGUE["web-push"].problems_of({"subject": "mailto:push@example.com"}, {"privateKey": key})

    assert "VAPID" in str(problem)
    assert key not in str(problem)


def test_a_key_may_be_given_as_pem() -> None:
    assert CATALOGUE["web-push"].problems_of({"subject": "https://example.com"}, {"privateKey": pem(APPLICATION)}) == []


def test_a_subject_that_nobody_can_write_to_is_refused() -> None:
    [problem] = CATALOGUE["web-push"].problems_of({"subject": "me"}, {"privateKey": KEY})

    assert "mailto:" in str(problem)


def test_it_says_whom_it_can_reach() -> None:
    accepts = CATALOGUE["web-push"].accepts

    assert accepts is not None
    assert [accepts(one) for one in ("{}", "webpush:{}", "fcm:a", "device")] == [True, True, False, False]


def test_base64_is_read_in_either_alphabet() -> None:
    assert from_base64url("-_8=") == from_base64url("+/8") == b"\xfb\xff"
    with pytest.raises(ValueError, match="base64"):
        from_base64url("a b!")
