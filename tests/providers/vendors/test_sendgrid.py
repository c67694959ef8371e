"""SendGrid, against a server that says what its documents list."""

from base64 import b64encode
from datetime import timedelta

import pytest
from sendgrid.helpers.mail import (
    Attachment,
    Bcc,
    Cc,
    Content,
    ContentId,
    CustomArg,
    Disposition,
    Email,
    FileContent,
    FileName,
    FileType,
    Header,
    Mail,
    Personalization,
    ReplyTo,
    Subject,
    To,
)

from tests.providers.items import letter_with_files, marked, yes
from tests.providers.vendors.making import doubtful, maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Payload
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Found
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

KEY = "SG.canary_4f1d9c27"
ID = "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0"
OK = HttpReply(202, b"", {"X-Message-Id": ID})
MAKE = maker("sendgrid", Channel.EMAIL, apiKey=KEY, **{"from": "Tidings <news@example.com>"})
REFUSED = Unavailable("", is_refused=True)
UNVERIFIED = "The from address does not match a verified Sender Identity."


def error(status: int, message: str = "said", field: str | None = None) -> HttpReply:
    return HttpReply(status, {"errors": [{"message": message, "field": field, "help": None}]})


DOCUMENTED = [
    DocumentedAnswer("400", error(400, "The subject is required.", "subject"), Rejected),
    DocumentedAnswer("401", error(401, "The provided authorization grant is invalid"), REFUSED),
    DocumentedAnswer("401, credits", error(401, "Maximum credits exceeded"), Unavailable("")),
    DocumentedAnswer("403", error(403, "access forbidden"), REFUSED),
    DocumentedAnswer("403, the connection's sender", error(403, UNVERIFIED, "from"), REFUSED),
    DocumentedAnswer("404", error(404), REFUSED),
    DocumentedAnswer("405", error(405), REFUSED),
    DocumentedAnswer("406", error(406), REFUSED),
    DocumentedAnswer("413", error(413), Rejected),
    DocumentedAnswer("415", error(415), Rejected),
    DocumentedAnswer("429", error(429, "too many requests"), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("451", error(451), REFUSED),
    DocumentedAnswer("500", error(500), Unknown),
    DocumentedAnswer("503", error(503), Unknown),
    DocumentedAnswer("200, as in sandbox mode", HttpReply(200, b""), Unknown),
]


async def test_sendgrid_conforms() -> None:
    case = ConformanceCase(MAKE, marked(), OK, DOCUMENTED, message_id=ID, secrets=[KEY])

    assert await nonconformities(case) == []


async def test_the_request_is_what_sendgrids_own_library_writes() -> None:
    async with scripted_server(HttpReply(200, b"\x89PNG", {"Content-Type": "image/png"})) as files:
        payload = letter_with_files(files.url) | {
            "replyTo": "Help <help@example.com>",
            "cc": '["Bob <bob@example.com>", "ann@example.com", "BOB@example.com"]',
        }
        item = marked(payload=payload)
        async with scripted_server(OK) as server:
            provider = MAKE(server.url, timedelta(seconds=30))
            outcome = await provider.send(item, yes)
            await provider.close()

    [seen] = server.seen
    assert outcome == Accepted(ID)
    assert (seen.method, seen.path) == ("POST", "/v3/mail/send")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.json == _as_their_library(item.key.hex())


def _as_their_library(key: str) -> object:
    mail = Mail()
    to = Personalization()
    to.add_to(To("ann@example.com"))
    to.add_cc(Cc("bob@example.com", "Bob"))  # once, and the recipient gets no copy
    to.add_bcc(Bcc("eve@example.com"))
    to.add_custom_arg(CustomArg("tidings_key", key))
    mail.add_personalization(to)
    mail.from_email = Email("ann@example.com", "Ann")
    mail.reply_to = ReplyTo("help@example.com", "Help")
    mail.subject = Subject("Hello")
    mail.content = [
        Content("text/plain", "Good morning."),
        Content("text/html", '<p>Good morning.<img src="cid:logo"></p>'),
    ]
    mail.header = Header("X-Campaign", "7")
    mail.header = Header("Message-ID", f"<{key}@example.com>")
    content = FileContent(b64encode(b"\x89PNG").decode())
    # Their library puts the newest attachment first.
    mail.add_attachment(
        Attachment(content, FileName("b.png"), FileType("image/png"), Disposition("inline"), ContentId("logo"))
    )
    mail.add_attachment(Attachment(content, FileName("a.pdf"), FileType("application/pdf"), Disposition("attachment")))
    written: object = mail.get()
    return written


async def test_a_sender_that_the_message_names_is_the_messages_fault() -> None:
    own_sender: Payload = {"subject": "Hello", "body": "Hi", "from": "eve@elsewhere.example"}

    async with scripted_server(error(403, UNVERIFIED, "from")) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(marked(payload=own_sender), yes)
        await provider.close()

    assert isinstance(outcome, Rejected)


async def test_the_end_of_the_period_says_when_to_come_back() -> None:
    async with scripted_server(HttpReply(429, b"{}", {"X-RateLimit-Reset": "1392815263"})) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(marked(), yes)
        await provider.close()

    # In 2014, as their document has it: the period is over.
    assert isinstance(outcome, RetryLater)
    assert outcome.delay == timedelta(seconds=1)


async def test_the_logs_end_doubt_about_a_message_with_our_key() -> None:
    item = doubtful()
    listed = HttpReply(200, {"messages": [{"sg_message_id": "other"}, {"sg_message_id": ID}]})
    other = HttpReply(200, {"sg_message_id": "other", "custom_args": {"tidings_key": "00"}})
    ours = HttpReply(200, {"sg_message_id": ID, "custom_args": {"tidings_key": item.key.hex()}})

    async with scripted_server(listed, other, ours) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(item)
        await provider.close()

    assert evidence == Found(ID)
    assert [one.path for one in server.seen] == ["/v3/logs", "/v3/logs/other", f"/v3/logs/{ID}"]
    assert server.seen[0].json == {
        "query": "to_email = 'ann@example.com' AND sg_message_id_created_at >= TIMESTAMP \"2026-11-18T11:50:00Z\"",
        "limit": 20,
    }


@pytest.mark.parametrize(
    "replies",
    [
        [HttpReply(200, {"messages": []})],
        [HttpReply(200, {"messages": [{"sg_message_id": "a"}]}), HttpReply(200, {"custom_args": {}})],
        [HttpReply(403, {"errors": [{"message": "Forbidden"}]})],
        [HttpReply(200, b"no json")],
    ],
)
async def test_logs_that_do_not_show_our_key_say_nothing(replies: list[HttpReply]) -> None:
    async with scripted_server(*replies) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(doubtful())
        await provider.close()

    assert isinstance(evidence, CannotTell)


async def test_an_address_cannot_change_the_question_that_the_logs_are_asked() -> None:
    async with scripted_server(HttpReply(200, {"messages": []})) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(doubtful("o'brien@example.com"))
        await provider.close()

    assert isinstance(evidence, CannotTell)
    assert server.seen == []
