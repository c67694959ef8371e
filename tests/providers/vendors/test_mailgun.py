"""Mailgun, against a server that says what its documents list (documentation.mailgun.com, read on 2026-11-18)."""

from base64 import b64encode
from datetime import timedelta
from email import message_from_bytes
from email.policy import HTTP
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.providers.items import letter_with_files, marked, yes
from tests.providers.vendors.making import doubtful, maker
from tidings.domain.channels import Channel
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Found
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, HttpSeen, scripted_server

KEY = "key-canary4f1d9c27"
BASIC = b64encode(f"api:{KEY}".encode()).decode()
ID = "<20261118123456.1.ABCDEF@mg.example.com>"
OK = HttpReply(200, {"id": ID, "message": "Queued. Thank you."})
MAKE = maker("mailgun", Channel.EMAIL, apiKey=KEY, domain="mg.example.com", **{"from": "Tidings <news@example.com>"})
REFUSED = Unavailable("", is_refused=True)


def error(status: int, message: str = "said") -> HttpReply:
    return HttpReply(status, {"message": message})


DOCUMENTED = [
    DocumentedAnswer("400", error(400, "to parameter is not a valid address. please check documentation"), Rejected),
    DocumentedAnswer("401", HttpReply(401, b"Forbidden"), REFUSED),
    DocumentedAnswer("402", error(402), RetryLater),
    DocumentedAnswer("403", error(403, "Domain mg.example.com is not allowed to send"), REFUSED),
    DocumentedAnswer(
        "403, a limit", error(403, "Domain mg.example.com is not allowed to send: limit exceeded"), Unavailable("")
    ),
    DocumentedAnswer("404", error(404, "Domain not found: mg.example.com"), REFUSED),
    DocumentedAnswer("413", error(413), Rejected),
    DocumentedAnswer("420", error(420, "recipient limit exceeded. Try again after 09:00"), Unavailable("")),
    DocumentedAnswer("420, disabled", error(420, "Domain mg.example.com is not allowed to send"), REFUSED),
    DocumentedAnswer("429", error(429), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("500", error(500), Unknown),
    DocumentedAnswer("502", HttpReply(502, b""), Unknown),
    DocumentedAnswer("200 without an id", HttpReply(200, {}), Unknown),
]


async def test_mailgun_conforms() -> None:
    case = ConformanceCase(MAKE, marked(), OK, DOCUMENTED, message_id=ID, secrets=[KEY, BASIC])

    assert await nonconformities(case) == []


async def test_the_request_is_what_mailgun_documents() -> None:
    async with scripted_server(HttpReply(200, b"\x89PNG\r\n--", {"Content-Type": "image/png"})) as files:
        payload = letter_with_files(files.url) | {"subject": "Grüße", "body": "Good morning.\r\n--\r\n"}
        payload["attachments"] = payload["attachments"].replace('a.pdf"}', 'ä.pdf"}')
        item = marked(payload=payload)
        async with scripted_server(OK) as server:
            provider = MAKE(server.url, timedelta(seconds=30))
            outcome = await provider.send(item, yes)
            await provider.close()

    [seen] = server.seen
    assert outcome == Accepted(ID)
    assert (seen.method, seen.path) == ("POST", "/v3/mg.example.com/messages")
    assert seen.headers["authorization"] == f"Basic {BASIC}"
    assert _parts(seen) == [
        ("from", None, b"Ann <ann@example.com>"),
        ("to", None, b"ann@example.com"),
        ("subject", None, "Grüße".encode()),
        ("text", None, b"Good morning.\r\n--\r\n"),
        ("html", None, b'<p>Good morning.<img src="cid:logo"></p>'),
        ("cc", None, b"Bob <bob@example.com>"),
        ("cc", None, b"carl@example.com"),
        ("bcc", None, b"eve@example.com"),
        ("h:Reply-To", None, b"help@example.com"),
        ("h:X-Campaign", None, b"7"),
        ("h:Message-Id", None, f"<{item.key.hex()}@example.com>".encode()),
        ("v:tidings_key", None, item.key.hex().encode()),
        ("attachment", "ä.pdf", b"\x89PNG\r\n--"),
        ("inline", "logo", b"\x89PNG\r\n--"),  # its name becomes its content id
    ]


def _parts(seen: HttpSeen) -> list[tuple[object, object, object]]:
    """The parts as the standard library reads them."""
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    message = message_from_bytes(head + seen.body, policy=HTTP)
    return [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_payload(decode=True),
        )
        for part in message.iter_parts()
    ]


async def test_the_events_end_doubt_about_a_message_with_our_key() -> None:
    item = doubtful()
    other = {"event": "accepted", "user-variables": {"tidings_key": "00"}}
    ours = {
        "event": "accepted",
        "user-variables": {"tidings_key": item.key.hex()},
        "message": {"headers": {"message-id": "20261118123456.1.ABCDEF@mg.example.com"}},
    }

    async with scripted_server(HttpReply(200, {"items": [other, ours]})) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(item)
        await provider.close()

    [seen] = server.seen
    assert evidence == Found(ID)
    assert urlsplit(seen.path).path == "/v3/mg.example.com/events"
    assert parse_qs(urlsplit(seen.path).query) == {
        "event": ["accepted"],
        "recipient": ["ann@example.com"],
        "begin": ["1795002600"],  # ten minutes before
        "ascending": ["yes"],
        "limit": ["300"],
    }


@pytest.mark.parametrize(
    "reply",
    [
        HttpReply(200, {"items": []}),
        HttpReply(200, {"items": [{"event": "accepted", "user-variables": {"tidings_key": "00"}}]}),
        HttpReply(200, {"items": [{"event": "accepted", "user-variables": []}, 7]}),
        HttpReply(200, {"items": {}}),
        HttpReply(403, b"Forbidden"),
        HttpReply(503, b""),
    ],
)
async def test_events_that_do_not_show_our_key_say_nothing(reply: HttpReply) -> None:
    async with scripted_server(reply) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(doubtful())
        await provider.close()

    assert isinstance(evidence, CannotTell)
