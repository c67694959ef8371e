"""A signed webhook, against a server that answers as the standard describes."""

import base64
import hashlib
import hmac
from datetime import timedelta

import pytest

from tests.providers.items import marked, yes
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Blind, Keyed
from tidings.domain.workflows.signing import signing_secret
from tidings.providers.catalogue import CATALOGUE
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

SECRET, PREVIOUS = signing_secret(b"canary-of-the-current-one!"), signing_secret(b"canary-of-the-one-before!!")
OK = HttpReply(200, "thanks")
MAKE = maker("webhook", Channel.WEBHOOK, secret=SECRET, url="{url}/hook")
KEYED = maker("webhook", Channel.WEBHOOK, secret=SECRET, url="{url}/hook", receiverDedupesMinutes=60)
PAYLOAD: Payload = {"body": '{"order":  17}'}


def hook(recipient: str = "default", payload: Payload = PAYLOAD, key: bytes | None = None) -> Marked:
    return marked(recipient, payload, channel=Channel.WEBHOOK, key=key)


DOCUMENTED = [
    DocumentedAnswer("204", HttpReply(204), Accepted),
    DocumentedAnswer("301", HttpReply(301), Rejected("", is_gone=False)),
    DocumentedAnswer("404", HttpReply(404), RetryLater("")),
    DocumentedAnswer("410", HttpReply(410), Rejected("", is_gone=True)),
    DocumentedAnswer("429", HttpReply(429), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("500", HttpReply(500), RetryLater("")),
    DocumentedAnswer("503", HttpReply(503, headers={"Retry-After": "90"}), RetryLater("", timedelta(seconds=90))),
]
BEHIND_A_PROXY = [DocumentedAnswer(str(status), HttpReply(status), Unknown) for status in (502, 504)]


async def test_a_webhook_conforms() -> None:
    case = ConformanceCase(
        MAKE,
        hook(),
        OK,
        [*DOCUMENTED, *BEHIND_A_PROXY],
        secrets=[SECRET, SECRET.removeprefix("whsec_")],
        calls_many_hosts=True,
    )

    assert await nonconformities(case) == []


async def test_a_webhook_to_a_receiver_that_keeps_ids_conforms() -> None:
    answers = [*DOCUMENTED, *BEHIND_A_PROXY]
    case = ConformanceCase(KEYED, hook(), OK, answers, secrets=[SECRET], calls_many_hosts=True)

    assert await nonconformities(case) == []


def test_only_a_receiver_that_keeps_ids_may_get_the_same_webhook_again_after_silence() -> None:
    deadline = timedelta(seconds=1)

    assert MAKE("http://127.0.0.1:9", deadline).provider_class == Blind()
    assert KEYED("http://127.0.0.1:9", deadline).provider_class == Keyed(timedelta(hours=1))


async def test_the_request_is_what_the_standard_describes() -> None:
    make = maker("webhook", Channel.WEBHOOK, secret=SECRET, previousSecret=PREVIOUS, url="{url}/hook")
    item = hook()

    async with scripted_server(OK) as server:
        provider = make(server.url, timedelta(seconds=30))
        await provider.send(item, yes)
        await provider.send(item, yes)
        await provider.close()

    first, again = server.seen
    assert (first.method, first.path, first.body) == ("POST", "/hook", b'{"order":  17}')
    assert first.headers["content-type"] == "application/json"
    assert first.headers["webhook-id"] == again.headers["webhook-id"] == item.key.hex()
    expected = [signature(one, first.headers["webhook-timestamp"], item, first.body) for one in (SECRET, PREVIOUS)]
    assert first.headers["webhook-signature"] == " ".join(expected)


def signature(secret: str, timestamp: str, item: Marked, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = hmac.new(key, f"{item.key.hex()}.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(signed.digest()).decode()


async def test_an_event_is_told_in_the_form_of_the_standard_with_the_same_bytes_each_time() -> None:
    key = (1_700_000_000_123).to_bytes(6, "big") + b"\x70\x01" + b"h" * 24
    item = hook(payload={"body": '{"order":  17}', "event": "order.paid"}, key=key)

    async with scripted_server(OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        await provider.send(item, yes)
        await provider.close()

    [seen] = server.seen
    assert seen.body == b'{"type":"order.paid","timestamp":"2023-11-14T22:13:20.123Z","data":{"order":  17}}'


@pytest.mark.parametrize(
    ("recipient", "payload", "reason"),
    [
        ("http://example.com/hook", PAYLOAD, "no https:// address"),
        ("https://user:word@example.com/hook", PAYLOAD, "no https:// address"),
        ("https://[::1/hook", PAYLOAD, "no https:// address"),
        ("ann@example.com", PAYLOAD, "no https:// address"),
        ("default", {"body": "good morning"}, "no JSON"),
        ("default", {}, "no JSON"),
        ("default", {"body": "[" * 5_000}, "no JSON"),
    ],
)
async def test_what_cannot_be_sent_is_rejected_before_any_call(recipient: str, payload: Payload, reason: str) -> None:
    async with scripted_server(OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(hook(recipient, payload), yes)
        await provider.close()

    assert isinstance(outcome, Rejected)
    assert reason in outcome.reason
    assert server.seen == []


async def test_an_address_of_the_own_network_is_closed_to_recipients() -> None:
    kind = CATALOGUE["webhook"]
    provider = kind.build(ConnectionSettings("hooks", Channel.WEBHOOK, kind.filled({"secret": SECRET})))

    outcome = await provider.send(hook("https://127.0.0.1:9/hook"), yes)
    without_url = await provider.send(hook(), yes)
    await provider.close()

    assert isinstance(outcome, Rejected)
    assert "private address" in outcome.reason
    assert isinstance(without_url, Rejected)
    assert "set `url`" in without_url.reason


def test_a_secret_that_is_none_is_refused_and_not_repeated() -> None:
    problems = CATALOGUE["webhook"].problems_of({}, {"secret": "hunter2"})

    [problem] = problems
    assert "whsec_" in str(problem)
    assert "hunter2" not in str(problem)


def test_it_says_whom_it_can_reach() -> None:
    accepts = CATALOGUE["webhook"].accepts

    assert accepts is not None
    assert [accepts(one) for one in ("default", "https://example.com/x", "http://example.com", "https://")] == [
        *(True, True),
        *(False, False),
    ]
