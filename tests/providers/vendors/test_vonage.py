"""Vonage, against a server that says what its documents list."""

from base64 import b64encode

import pytest

from tests.providers.items import marked
from tests.providers.vendors.asking import KEY, form_of, looked_up, sent
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply

SECRET = "canary_4f1d9c27"
MAKE = maker("vonage", Channel.SMS, apiKey="abcd1234", apiSecret=SECRET, **{"from": "+447700900000"})
ITEM = marked("+4915112345678", {"body": "Your table is ready."}, channel=Channel.SMS, key=KEY)
REFUSED, TOO_FAST = Unavailable("", is_refused=True), RetryLater("", uses_attempt=False)


def parts(*statuses: object) -> HttpReply:
    listed = [{"to": "4915112345678", "message-id": f"0C00{n}", "status": one} for n, one in enumerate(statuses)]
    return HttpReply(200, {"message-count": str(len(listed)), "messages": listed})


def documented(outcome: Outcome | type[Outcome], *statuses: str) -> list[DocumentedAnswer]:
    return [DocumentedAnswer(f"status {one}", parts(one), outcome) for one in statuses]


# https://developer.vonage.com/messaging/sms/guides/troubleshooting-sms
DOCUMENTED = [
    *documented(TOO_FAST, "1", "10"),
    *documented(Rejected(""), "2", "3", "6", "7", "12", "15", "22", "23", "29", "33"),
    *documented(REFUSED, "4", "8", "11", "14", "32"),
    *documented(Unknown, "5", ""),
    *documented(Unavailable(""), "9"),
    DocumentedAnswer("some parts only", parts("0", "1"), Unknown),
    DocumentedAnswer("no messages", HttpReply(200, {"messages": []}), Unknown),
    DocumentedAnswer("odd messages", HttpReply(200, {"messages": [7]}), Unknown),
    DocumentedAnswer("odd status", parts(["0"]), Unknown),
    DocumentedAnswer("no id", HttpReply(200, {"messages": [{"status": "0"}]}), Unknown),
    DocumentedAnswer("401", HttpReply(401, {"title": "Unauthorized"}), REFUSED),
]


async def test_vonage_conforms() -> None:
    case = ConformanceCase(MAKE, ITEM, parts("0"), DOCUMENTED, message_id="0C000", secrets=[SECRET])

    assert await nonconformities(case) == []


async def test_the_request_is_what_vonage_documents() -> None:
    outcome, [seen] = await sent(MAKE, ITEM, parts("0", "0"))

    assert outcome == Accepted("0C000")
    assert (seen.method, seen.path) == ("POST", "/sms/json")
    assert seen.headers["authorization"] == f"Basic {b64encode(f'abcd1234:{SECRET}'.encode()).decode()}"
    assert form_of(seen) == {
        "from": "447700900000",
        "to": "4915112345678",
        "text": "Your table is ready.",
        "type": "text",
        "client-ref": KEY.hex(),
    }


@pytest.mark.parametrize(("text", "kind"), [("Grüße {€}", "text"), ("Привет", "unicode"), ("`", "unicode")])
async def test_a_letter_that_gsm_does_not_have_makes_it_unicode(text: str, kind: str) -> None:
    _, [seen] = await sent(MAKE, marked("+49151", {"body": text, "from": "Tidings"}, channel=Channel.SMS), parts("0"))

    form = form_of(seen)
    assert (form["text"], form["type"], form["from"]) == (text, kind, "Tidings")


async def test_vonage_cannot_be_asked() -> None:
    evidence, seen = await looked_up(MAKE, "+49151", {"body": "Hi"})

    assert isinstance(evidence, CannotTell)
    assert seen == []
