"""WhatsApp's Cloud API, against a server that says what its documents list."""

import pytest

from tests.providers.items import marked
from tests.providers.vendors.asking import KEY, looked_up, sent
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Payload
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply

TOKEN = "EAAcanary4f1d9c27"
NUMBER = "106540352242922"
PHONE = "+4915112345678"
WAMID = "wamid.HBgLMTY0NjcwNDM1OTUVAgARGBI1RjQyNUE3NEYxMzAzMzQ5MkEA"
OK = HttpReply(
    200,
    {
        "messaging_product": "whatsapp",
        "contacts": [{"input": PHONE, "wa_id": PHONE[1:]}],
        "messages": [{"id": WAMID, "message_status": "accepted"}],
    },
)
MAKE = maker("whatsapp-cloud", Channel.WHATSAPP, token=TOKEN, phoneNumberId=NUMBER)
ITEM = marked(PHONE, {"body": "Your table is ready."}, channel=Channel.WHATSAPP, key=KEY)
REFUSED, TOO_FAST = Unavailable("", is_refused=True), RetryLater("", uses_attempt=False)


def error(status: int, code: object) -> HttpReply:
    said = {"messaging_product": "whatsapp", "details": "said"}
    return HttpReply(
        status, {"error": {"message": f"(#{code}) Title", "type": "OAuthException", "code": code, "error_data": said}}
    )


def documented(outcome: Outcome | type[Outcome], status: int, *codes: int) -> list[DocumentedAnswer]:
    return [DocumentedAnswer(f"{status} {code}", error(status, code), outcome) for code in codes]


# https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
DOCUMENTED = [
    *documented(REFUSED, 401, 0, 190),
    *documented(REFUSED, 403, 10, 200, 299, 368, 131005, 131031),
    *documented(REFUSED, 500, 3, 131045),
    *documented(REFUSED, 400, 33, 131042, 133010),
    *documented(TOO_FAST, 400, 4, 80007, 130429, 131048, 131056),
    *documented(TOO_FAST, 429, 4, 80007, 130429, 131048, 131056),
    *documented(Rejected(""), 400, 100, 130472, 130497, 131008, 131009, 131021, 131026, 131030, 131047, 131049, 131050),
    *documented(
        Rejected(""), 400, 131051, 131052, 131053, 132000, 132005, 132007, 132012, 132015, 132016, 132068, 135000
    ),
    *documented(Rejected(""), 404, 132001),
    *documented(Unknown, 500, 1, 131000, 131016),
    *documented(Unknown, 400, 1, 131000),
    *documented(Unknown, 503, 2, 133004),
    *documented(Unavailable(""), 500, 131057),
    DocumentedAnswer("500 without a code", HttpReply(500, b"<html>"), Unknown),
    DocumentedAnswer("503 without a code", HttpReply(503, b"<html>"), Unknown),
    DocumentedAnswer("odd code", error(400, ["x"]), Rejected("")),
    DocumentedAnswer("no id", HttpReply(200, {"messages": [{}]}), Unknown),
    DocumentedAnswer("no messages", HttpReply(200, {}), Unknown),
    DocumentedAnswer("an error with 200", error(200, 131026), Unknown),
]


async def test_whatsapp_cloud_conforms() -> None:
    case = ConformanceCase(MAKE, ITEM, OK, DOCUMENTED, message_id=WAMID, secrets=[TOKEN])

    assert await nonconformities(case) == []


async def test_a_text_carries_our_key_for_callbacks() -> None:
    outcome, [seen] = await sent(MAKE, ITEM, OK)

    assert outcome == Accepted(WAMID)
    assert (seen.method, seen.path) == ("POST", f"/{NUMBER}/messages")
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"
    assert seen.json == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": PHONE,
        "type": "text",
        "text": {"body": "Your table is ready."},
        "biz_opaque_callback_data": KEY.hex(),
    }


async def test_a_template_is_filled_in_order() -> None:
    template = '{"name": "table_ready", "language": "en_US", "parameters": ["Ann", "12:30"]}'
    item = marked(PHONE, {"template": template, "from": "777"}, channel=Channel.WHATSAPP, key=KEY)

    _, [seen] = await sent(MAKE, item, OK)

    assert seen.path == "/777/messages"
    assert isinstance(seen.json, dict)
    assert seen.json["type"] == "template"
    assert seen.json["template"] == {
        "name": "table_ready",
        "language": {"code": "en_US"},
        "components": [
            {"type": "body", "parameters": [{"type": "text", "text": "Ann"}, {"type": "text", "text": "12:30"}]}
        ],
    }


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({}, "no body"),
        ({"template": '{"name": "table_ready"}'}, "no language"),
        ({"template": "[]"}, "cannot be read"),
        ({"body": "Hi", "from": "+15005550006"}, "phone number id"),
        ({"body": "Hi", "from": "../1"}, "phone number id"),
    ],
)
async def test_what_cannot_be_sent_is_refused_before_the_call(payload: Payload, words: str) -> None:
    outcome, seen = await sent(MAKE, marked(PHONE, payload, channel=Channel.WHATSAPP), OK)

    assert isinstance(outcome, Rejected)
    assert words in outcome.reason
    assert seen == []


async def test_whatsapp_cloud_cannot_be_asked() -> None:
    evidence, seen = await looked_up(MAKE, PHONE, {"body": "Hi"})

    assert isinstance(evidence, CannotTell)
    assert seen == []
