"""Discord's webhooks, against a server that says what its documents list."""

from datetime import timedelta

import pytest

from tests.providers.items import marked
from tests.providers.vendors.asking import looked_up, query_of, sent
from tests.providers.vendors.making import webhook_maker
from tidings.domain.channels import Channel
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell
from tidings.providers.catalogue import CATALOGUE
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply

TOKEN = "3d89bb7572e0fb30d8128canary4f1d9c27"
PATH = f"/api/webhooks/223704706495545344/{TOKEN}"
MAKE = webhook_maker("discord", PATH, **{"from": "Tidings"})
HELLO = {"body": "Good morning."}
ITEM = marked("default", HELLO, channel=Channel.CHAT)
OK = HttpReply(200, {"id": "1234567890", "content": "Good morning."})
REFUSED, TOO_FAST = Unavailable("", is_refused=True), RetryLater("", uses_attempt=False)


def error(status: int, code: object) -> HttpReply:
    return HttpReply(status, {"code": code, "message": "said"})


def documented(outcome: Outcome | type[Outcome], status: int, *codes: int) -> list[DocumentedAnswer]:
    return [DocumentedAnswer(f"{status} {code}", error(status, code), outcome) for code in codes]


SLOW_DOWN = {"message": "You are being rate limited.", "retry_after": 64.57, "global": False}
# https://docs.discord.com/developers/topics/opcodes-and-status-codes
DOCUMENTED = [
    *documented(REFUSED, 404, 10003, 10015),
    *documented(REFUSED, 401, 50027),
    *documented(REFUSED, 403, 50013),
    *documented(REFUSED, 400, 160005, 220001, 220004),
    *documented(Unavailable(""), 403, 40333),
    *documented(Rejected(""), 400, 0, 50006, 50035, 50109, 200000, 220003, 240000),
    *documented(Rejected(""), 413, 40005),
    *documented(TOO_FAST, 429, 0, 20016, 20028, 20029, 40062),
    *documented(TOO_FAST, 400, 20016, 20028, 20029, 40062),
    *documented(RetryLater(""), 503, 110001, 130000),
    DocumentedAnswer(
        "429 in the body", HttpReply(429, SLOW_DOWN), RetryLater("", timedelta(seconds=64.57), uses_attempt=False)
    ),
    DocumentedAnswer("odd code", error(400, [1]), Rejected("")),
    DocumentedAnswer("503 without a code", HttpReply(503, b"<html>"), Unknown),
    DocumentedAnswer("not waited for", HttpReply(204), Unknown),
    DocumentedAnswer("no id", HttpReply(200, {}), Unknown),
]


async def test_discord_conforms_and_never_shows_its_address() -> None:
    case = ConformanceCase(MAKE, ITEM, OK, DOCUMENTED, message_id="1234567890", secrets=[TOKEN, PATH])

    assert await nonconformities(case) == []


async def test_the_request_waits_and_mentions_nobody() -> None:
    item = marked("", {"body": "Hello @everyone", "title": "News"}, channel=Channel.CHAT)

    outcome, [seen] = await sent(MAKE, item, OK)

    assert outcome == Accepted("1234567890")
    assert (seen.method, seen.path) == ("POST", f"{PATH}?wait=true")
    assert seen.json == {
        "content": "**News**\nHello @everyone",
        "username": "Tidings",
        "allowed_mentions": {"parse": []},
    }


async def test_a_recipient_is_a_thread_and_its_trouble_is_the_messages() -> None:
    make = webhook_maker("discord", f"{PATH}?with_components=true")

    outcome, [seen] = await sent(make, marked("42", HELLO, channel=Channel.CHAT), error(404, 10003))

    assert isinstance(outcome, Rejected)
    assert query_of(seen) == {"with_components": "true", "wait": "true", "thread_id": "42"}


@pytest.mark.parametrize("recipient", ["#general", "12&wait=false", "٣"])
async def test_what_is_no_thread_is_refused_before_the_call(recipient: str) -> None:
    outcome, seen = await sent(MAKE, marked(recipient, HELLO, channel=Channel.CHAT), OK)
    accepts = CATALOGUE["discord"].accepts

    assert isinstance(outcome, Rejected)
    assert seen == []
    assert accepts
    assert not accepts(recipient)


async def test_a_webhook_cannot_be_asked() -> None:
    evidence, seen = await looked_up(MAKE, "default", HELLO)

    assert isinstance(evidence, CannotTell)
    assert seen == []
