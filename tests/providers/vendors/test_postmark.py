"""Postmark, against a server that says what its documents list.

The fields are those of postmarkapp.com/developer/api/email-api, the codes those of its API overview, both read on
2026-11-18.
"""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.providers.items import letter_with_files, marked, yes
from tests.providers.vendors.making import doubtful, maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Payload
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Found
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

TOKEN = "canary-4f1d9c27-token"
ID = "0a129aee-e1cd-480d-b08d-4f48548ff48d"
OK = HttpReply(200, {"To": "ann@example.com", "MessageID": ID, "ErrorCode": 0, "Message": "OK"})
MAKE = maker("postmark", Channel.EMAIL, serverToken=TOKEN, **{"from": "Tidings <news@example.com>"})
REFUSED = Unavailable("", is_refused=True)


def error(status: int, code: int) -> HttpReply:
    return HttpReply(status, {"ErrorCode": code, "Message": "said"})


DOCUMENTED = [
    DocumentedAnswer("10, a bad token", error(401, 10), REFUSED),
    DocumentedAnswer("100, maintenance", error(503, 100), Unavailable("")),
    DocumentedAnswer("300, an invalid request", error(422, 300), Rejected),
    DocumentedAnswer("400, no sender signature", error(422, 400), REFUSED),
    DocumentedAnswer("401, an unconfirmed one", error(422, 401), REFUSED),
    DocumentedAnswer("402, invalid JSON", error(422, 402), Rejected),
    DocumentedAnswer("403, incompatible JSON", error(422, 403), Rejected),
    DocumentedAnswer("405, out of credits", error(422, 405), REFUSED),
    DocumentedAnswer("406, an inactive recipient", error(422, 406), Rejected),
    DocumentedAnswer("409, JSON required", error(422, 409), Rejected),
    DocumentedAnswer("410, a large batch", error(422, 410), Rejected),
    DocumentedAnswer("411, a forbidden attachment", error(422, 411), Rejected),
    DocumentedAnswer("412, a pending account", error(422, 412), REFUSED),
    DocumentedAnswer("413, an account that may not send", error(422, 413), REFUSED),
    DocumentedAnswer("1235, no such stream", error(422, 1235), REFUSED),
    DocumentedAnswer("1236, a stream that cannot send", error(422, 1236), REFUSED),
    DocumentedAnswer("HTTP 404", error(404, 701), REFUSED),
    DocumentedAnswer("HTTP 413", HttpReply(413, b""), Rejected),
    DocumentedAnswer("HTTP 415", HttpReply(415, b""), Rejected),
    DocumentedAnswer("429", error(429, 429), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("HTTP 500", HttpReply(500, b""), Unknown),
    DocumentedAnswer("HTTP 503 without a code", HttpReply(503, b""), Unknown),
    DocumentedAnswer("200 with a code", error(200, 406), Unknown),
    DocumentedAnswer("200 without an id", HttpReply(200, {"ErrorCode": 0}), Unknown),
]


async def test_postmark_conforms() -> None:
    case = ConformanceCase(MAKE, marked(), OK, DOCUMENTED, message_id=ID, secrets=[TOKEN])

    assert await nonconformities(case) == []


async def test_the_request_is_what_postmark_documents() -> None:
    async with scripted_server(HttpReply(200, b"\x89PNG", {"Content-Type": "image/png"})) as files:
        payload = letter_with_files(files.url) | {"from": "Sender, jr. <ann@example.com>"}
        item = marked(payload=payload)
        async with scripted_server(OK) as server:
            provider = MAKE(server.url, timedelta(seconds=30))
            outcome = await provider.send(item, yes)
            await provider.close()

    [seen] = server.seen
    assert outcome == Accepted(ID)
    assert (seen.method, seen.path) == ("POST", "/email")
    assert seen.headers["x-postmark-server-token"] == TOKEN
    assert seen.headers["accept"] == "application/json"
    assert seen.json == {
        "From": '"Sender, jr." <ann@example.com>',  # a name with punctuation is quoted, or refused with code 300
        "To": "ann@example.com",
        "Cc": "Bob <bob@example.com>,carl@example.com",
        "Bcc": "eve@example.com",
        "Subject": "Hello",
        "HtmlBody": '<p>Good morning.<img src="cid:logo"></p>',
        "TextBody": "Good morning.",
        "ReplyTo": "help@example.com",
        "Metadata": {"tidings_key": item.key.hex()},
        "Headers": [{"Name": "X-Campaign", "Value": "7"}],
        "Attachments": [
            {"Name": "a.pdf", "Content": "iVBORw==", "ContentType": "application/pdf"},
            {"Name": "b.png", "Content": "iVBORw==", "ContentType": "image/png", "ContentID": "cid:logo"},
        ],
        "MessageStream": "outbound",
    }


async def test_a_sender_that_the_message_names_is_the_messages_fault() -> None:
    own_sender: Payload = {"subject": "Hello", "body": "Hi", "from": "eve@elsewhere.example"}

    async with scripted_server(error(422, 400)) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(marked(payload=own_sender), yes)
        await provider.close()

    assert isinstance(outcome, Rejected)


async def test_files_larger_than_a_message_may_be_are_refused_before_anything_is_sent() -> None:
    async with scripted_server(HttpReply(200, b"x" * 7_000_001)) as files, scripted_server(OK) as server:
        large: Payload = {
            "subject": "Hello",
            "body": "Hi",
            "attachments": f'[{{"url": "{files.url}/a", "filename": "a.pdf"}}]',
        }
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(marked(payload=large), yes)
        await provider.close()

    assert isinstance(outcome, Rejected)
    assert "larger than 7,000,000 bytes" in outcome.reason
    assert server.seen == []


async def test_the_search_ends_doubt_about_a_message_with_our_key() -> None:
    item = doubtful()
    found = {"MessageID": ID, "Metadata": {"tidings_key": item.key.hex()}}

    async with scripted_server(HttpReply(200, {"TotalCount": 1, "Messages": [found]})) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(item)
        await provider.close()

    [seen] = server.seen
    assert evidence == Found(ID)
    assert urlsplit(seen.path).path == "/messages/outbound"
    assert parse_qs(urlsplit(seen.path).query) == {
        "count": ["1"],
        "offset": ["0"],
        "messagestream": ["outbound"],
        "metadata_tidings_key": [item.key.hex()],
    }
    assert seen.headers["x-postmark-server-token"] == TOKEN


@pytest.mark.parametrize(
    "reply",
    [
        HttpReply(200, {"TotalCount": 0, "Messages": []}),
        HttpReply(200, {"TotalCount": 1, "Messages": [{"MessageID": ID, "Metadata": {"tidings_key": "00"}}]}),
        HttpReply(200, {"TotalCount": 1, "Messages": [{"MessageID": ID}]}),
        HttpReply(200, {"TotalCount": 1, "Messages": "none"}),
        HttpReply(401, {"ErrorCode": 10, "Message": "No Account or Server API tokens were supplied"}),
        HttpReply(500, b""),
    ],
)
async def test_a_search_that_does_not_find_our_key_says_nothing(reply: HttpReply) -> None:
    async with scripted_server(reply) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(doubtful())
        await provider.close()

    assert isinstance(evidence, CannotTell)
