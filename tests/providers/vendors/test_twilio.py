"""Twilio, against a server that says what its documents list.

Paths, fields and their names are those that Twilio's own library, version 9.13.0, wrote for the same messages, calls
and look-ups on 2026-11-18, which are those of its OpenAPI document (twilio-oai, d50069b).
"""

from base64 import b64encode
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.providers.items import marked
from tests.providers.vendors.asking import MARKED_AT, form_of, looked_up, query_of, sent
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Payload
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Found
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply

ACCOUNT = "AC5ef8732a3c49700934481addd5ce1659"
SERVICE = "MG9752274e9e519418a7406176694466fa"
TEMPLATE = "HXb5b62575e6e4ff6129ad7c8efe1f983e"
TOKEN = "canary_6d3f1b9c27"
SID = "SM2f1d9c27aa0b4c5d8e6f7a8b9c0d1e2f"
PHONE, OURS = "+4915112345678", "+15005550006"
PATH = f"/2010-04-01/Accounts/{ACCOUNT}"
OK = HttpReply(201, {"sid": SID, "status": "queued", "error_code": None, "error_message": None})
SMS = maker("twilio", Channel.SMS, accountSid=ACCOUNT, authToken=TOKEN, **{"from": OURS})
WHATSAPP = maker("twilio", Channel.WHATSAPP, accountSid=ACCOUNT, authToken=TOKEN, **{"from": OURS})
VOICE = maker("twilio", Channel.VOICE, accountSid=ACCOUNT, authToken=TOKEN, **{"from": OURS})
SMS_ITEM = marked(PHONE, {"body": "Your table is ready."}, channel=Channel.SMS)
WHATSAPP_ITEM = marked(PHONE, {"body": "Your table is ready."}, channel=Channel.WHATSAPP)
VOICE_ITEM = marked(PHONE, {"script": "Your table is ready."}, channel=Channel.VOICE)
REFUSED, TOO_FAST = Unavailable("", is_refused=True), RetryLater("", uses_attempt=False)


def error(status: int, code: int) -> HttpReply:
    more_info = f"https://www.twilio.com/docs/errors/{code}"
    return HttpReply(status, {"code": code, "message": "said", "more_info": more_info, "status": status})


def documented(*answers: tuple[int, int, Any]) -> list[DocumentedAnswer]:
    return [DocumentedAnswer(f"{status} {code}", error(status, code), outcome) for status, code, outcome in answers]


# https://www.twilio.com/docs/api/errors, a page for each.
COMMON = [
    *documented(
        (401, 20003, REFUSED),  # authenticate
        (403, 20005, REFUSED),  # the account is not active
        (403, 20008, REFUSED),  # test credentials
        (404, 20404, REFUSED),  # no such account
        (429, 20429, TOO_FAST),
        (400, 21211, Rejected("")),  # no valid recipient
        (400, 21212, REFUSED),  # no valid sender
        (500, 20500, Unknown),
        (503, 20503, Unknown),
    ),
    DocumentedAnswer("no sid", HttpReply(201, {}), Unknown),
]
MESSAGES = documented(
    (400, 21408, Rejected("")),  # no permission to send to the region
    (403, 21408, Rejected("")),
    (400, 21602, Rejected("")),  # no body
    (400, 21603, REFUSED),  # no sender
    (400, 21604, Rejected("")),  # no recipient
    (400, 21606, Rejected("")),  # the sender cannot reach this destination
    (400, 21608, Rejected("")),  # trial accounts and numbers that are not verified
    (400, 21610, Rejected("")),  # the recipient wants nothing
    (400, 21611, TOO_FAST),  # the sender's queue is full
    (429, 21611, TOO_FAST),
    (400, 21612, Rejected("")),  # not from this sender to that recipient
    (400, 21614, Rejected("")),  # no mobile number
    (400, 21617, Rejected("")),  # longer than 1,600 characters
    (400, 21655, Rejected("")),  # no such template
    (400, 21656, Rejected("")),  # the variables of a template
    (400, 21659, Rejected("")),  # the sender's country
    (400, 21660, REFUSED),  # the sender is another account's
    (400, 21661, REFUSED),  # the sender cannot send messages
    (400, 21703, REFUSED),  # the messaging service has no numbers
    (400, 63007, REFUSED),  # no such sender of the channel
    (400, 63016, Rejected("")),  # no template outside of the window
    (429, 63017, TOO_FAST),
    (429, 63018, TOO_FAST),
    (429, 63038, Unavailable("")),  # messages in a day
)
CALLS = documented(
    (429, 10004, TOO_FAST),  # calls at once
    (400, 21210, REFUSED),  # the caller is not verified
    (400, 21213, REFUSED),  # no caller
    (400, 21214, Rejected("")),  # cannot be called
    (401, 21215, Rejected("")),  # no permission to call there
    (403, 21215, Rejected("")),
    (400, 21216, Rejected("")),  # a number that may not be called
    (400, 21217, Rejected("")),  # no valid number
    (400, 21219, Rejected("")),  # not verified
)
FAILED = DocumentedAnswer(
    "failed at once", HttpReply(201, {"sid": SID, "status": "failed", "error_code": 30005}), Rejected("")
)


@pytest.mark.parametrize(
    "case",
    [
        ConformanceCase(SMS, SMS_ITEM, OK, [*COMMON, *MESSAGES, FAILED], message_id=SID, secrets=[TOKEN]),
        ConformanceCase(WHATSAPP, WHATSAPP_ITEM, OK, [*COMMON, *MESSAGES, FAILED], message_id=SID, secrets=[TOKEN]),
        ConformanceCase(VOICE, VOICE_ITEM, OK, [*COMMON, *CALLS, FAILED], message_id=SID, secrets=[TOKEN]),
    ],
    ids=["sms", "whatsapp", "voice"],
)
async def test_twilio_conforms(case: ConformanceCase) -> None:
    assert await nonconformities(case) == []


async def test_a_sender_that_the_message_names_is_not_the_connections_trouble() -> None:
    item = marked(PHONE, {"body": "Hi", "from": "+15005550001"}, channel=Channel.SMS)

    outcome, _ = await sent(SMS, item, error(400, 21212))

    assert isinstance(outcome, Rejected)


async def test_an_sms_is_a_form_with_the_accounts_token() -> None:
    outcome, [seen] = await sent(SMS, SMS_ITEM, OK)

    assert outcome == Accepted(SID)
    assert (seen.method, seen.path) == ("POST", f"{PATH}/Messages.json")
    assert seen.headers["authorization"] == f"Basic {b64encode(f'{ACCOUNT}:{TOKEN}'.encode()).decode()}"
    assert seen.headers["content-type"] == "application/x-www-form-urlencoded"
    assert form_of(seen) == {"To": PHONE, "From": OURS, "Body": "Your table is ready."}


async def test_an_api_key_signs_in_instead_of_the_account() -> None:
    make = maker("twilio", Channel.SMS, accountSid=ACCOUNT, apiKeySid="SK1", authToken=TOKEN, **{"from": SERVICE})

    _, [seen] = await sent(make, SMS_ITEM, OK)

    assert seen.path == f"{PATH}/Messages.json"
    assert seen.headers["authorization"] == f"Basic {b64encode(f'SK1:{TOKEN}'.encode()).decode()}"
    assert form_of(seen) == {"To": PHONE, "MessagingServiceSid": SERVICE, "Body": "Your table is ready."}


async def test_whatsapp_has_its_own_addresses() -> None:
    _, [seen] = await sent(WHATSAPP, WHATSAPP_ITEM, OK)

    assert form_of(seen) == {"To": f"whatsapp:{PHONE}", "From": f"whatsapp:{OURS}", "Body": "Your table is ready."}


async def test_a_template_goes_by_its_content_sid_and_numbered_variables() -> None:
    template = f'{{"name": "{TEMPLATE}", "language": "de", "parameters": ["Ann", "12:30"]}}'
    item = marked(PHONE, {"template": template}, channel=Channel.WHATSAPP)

    _, [seen] = await sent(WHATSAPP, item, OK)

    assert form_of(seen) == {
        "To": f"whatsapp:{PHONE}",
        "From": f"whatsapp:{OURS}",
        "ContentSid": TEMPLATE,
        "ContentVariables": '{"1":"Ann","2":"12:30"}',
    }


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"template": '{"name": "hello_world"}'}, "ContentSid"),
        ({"template": "{"}, "cannot be read"),
        ({"template": '{"name": ""}'}, "no name"),
        ({}, "no body"),
    ],
)
async def test_what_cannot_be_sent_over_whatsapp_is_refused_before_the_call(payload: Payload, words: str) -> None:
    outcome, seen = await sent(WHATSAPP, marked(PHONE, payload, channel=Channel.WHATSAPP), OK)

    assert isinstance(outcome, Rejected)
    assert words in outcome.reason
    assert seen == []


async def test_a_message_without_any_sender_is_refused_before_the_call() -> None:
    make = maker("twilio", Channel.SMS, accountSid=ACCOUNT, authToken=TOKEN)

    outcome, seen = await sent(make, SMS_ITEM, OK)

    assert outcome == Rejected("the message has no sender: give it a `from`, or give its connection one")
    assert seen == []


async def test_a_call_reads_its_script_out_whatever_is_in_it() -> None:
    script = 'Tom & "Ann" <at> 5 > 3\x07 ]]> </Say>'
    payload: Payload = {"script": script, "voice": 'Polly.Amy" x="', "language": "en-GB"}

    _, [seen] = await sent(VOICE, marked(PHONE, payload, channel=Channel.VOICE), OK)

    form = form_of(seen)
    say = ElementTree.fromstring(form.pop("Twiml")).find("Say")
    assert seen.path == f"{PATH}/Calls.json"
    assert form == {"To": PHONE, "From": OURS}
    assert say is not None
    assert say.text == script.replace("\x07", " ")
    assert say.attrib == {"voice": 'Polly.Amy" x="', "language": "en-GB"}


async def test_a_script_longer_than_twilio_takes_is_refused_before_the_call() -> None:
    fitting = "x" * (4_000 - len("<Response><Say></Say></Response>"))

    fits, [_] = await sent(VOICE, marked(PHONE, {"script": fitting}, channel=Channel.VOICE), OK)
    long, seen = await sent(VOICE, marked(PHONE, {"script": fitting + "x"}, channel=Channel.VOICE), OK)

    assert isinstance(fits, Accepted)
    assert isinstance(long, Rejected)
    assert seen == []


BODY: Payload = {"body": "Your table is ready."}


def record(at: datetime = MARKED_AT, /, **fields: object) -> dict[str, object]:
    made = {"sid": SID, "direction": "outbound-api", "from": OURS, "to": PHONE, "date_sent": None}
    return {**made, **BODY, "date_created": format_datetime(at), **fields}


def page(*records: dict[str, object], after: str | None = None, of: str = "messages") -> HttpReply:
    return HttpReply(200, {of: list(records), "next_page_uri": after})


async def test_a_message_with_the_same_text_from_the_same_sender_is_found() -> None:
    others = [
        record(sid="SM1", body="Another text"),
        record(sid="SM2", direction="inbound"),
        record(sid="SM3", **{"from": "+15005550009"}),
        record(MARKED_AT - timedelta(minutes=2), sid="SM4"),
    ]

    evidence, [seen] = await looked_up(SMS, PHONE, BODY, page(*others, record()))

    assert evidence == Found(SID)
    assert (seen.method, seen.path.partition("?")[0]) == ("GET", f"{PATH}/Messages.json")
    assert query_of(seen) == {"To": PHONE, "PageSize": "200"}
    assert seen.headers["authorization"].startswith("Basic ")


async def test_a_date_in_a_zone_that_is_not_told_is_one_in_utc() -> None:
    old = record(sid="SM1", date_created=format_datetime((MARKED_AT - timedelta(minutes=2)).replace(tzinfo=None)))
    new = record(date_created=format_datetime(MARKED_AT.replace(tzinfo=None)))

    evidence, _ = await looked_up(SMS, PHONE, BODY, page(new, old))

    assert str(old["date_created"]).endswith("-0000")
    assert evidence == Found(SID)


async def test_a_messaging_services_message_is_found_whoever_sends_it() -> None:
    make = maker("twilio", Channel.SMS, accountSid=ACCOUNT, authToken=TOKEN, **{"from": SERVICE})
    queued = record(messaging_service_sid=SERVICE, **{"from": None})

    evidence, _ = await looked_up(make, PHONE, BODY, page(record(sid="SM1", messaging_service_sid="MG1"), queued))

    assert evidence == Found(SID)


async def test_whatsapp_is_looked_up_under_its_own_addresses() -> None:
    evidence, [seen] = await looked_up(WHATSAPP, PHONE, BODY, page(record(**{"from": f"whatsapp:{OURS}"})))

    assert evidence == Found(SID)
    assert query_of(seen)["To"] == f"whatsapp:{PHONE}"


async def test_pages_are_read_until_they_are_older_than_the_mark() -> None:
    old = record(MARKED_AT - timedelta(days=1), sid="SM4")
    onward = f"{PATH}/Messages.json?PageToken=x"

    evidence, seen = await looked_up(
        SMS,
        PHONE,
        BODY,
        page(record(sid="SM1", body="Another"), old, after=onward),
        page(record(), old, after=onward),
        page(old, after=onward),
        page(record(sid="SM9"), after=onward),
    )

    assert evidence == Found(SID)
    assert [one.path for one in seen[1:]] == [onward, onward]


async def test_more_records_than_are_read_tell_nothing() -> None:
    evidence, seen = await looked_up(SMS, PHONE, BODY, page(record(), after=f"{PATH}/Messages.json?PageToken=x"))

    assert isinstance(evidence, CannotTell)
    assert len(seen) == 5


@pytest.mark.parametrize(
    "reply",
    [
        page(),  # the list may lag behind
        page(record(body="Your table is ready")),  # smart encoding, or another message
        page(record(), record(sid="SM1")),  # which of them?
        page(record(MARKED_AT - timedelta(minutes=2))),
        HttpReply(200, {"messages": [{}]}),
        HttpReply(200, b"<html>"),
        HttpReply(401, {"code": 20003, "message": TOKEN}),
        HttpReply(429, {"code": 20429}),
        HttpReply(500, b""),
    ],
)
async def test_nothing_but_one_match_is_evidence(reply: HttpReply) -> None:
    evidence, _ = await looked_up(SMS, PHONE, BODY, reply)

    assert isinstance(evidence, CannotTell)
    assert TOKEN not in evidence.reason


async def test_a_template_is_never_taken_for_a_message_without_text() -> None:
    payload: Payload = {"template": f'{{"name": "{TEMPLATE}"}}'}

    evidence, _ = await looked_up(WHATSAPP, PHONE, payload, page(record(body=None, **{"from": f"whatsapp:{OURS}"})))

    assert isinstance(evidence, CannotTell)


async def test_a_call_of_that_time_from_the_same_number_is_found() -> None:
    script: Payload = {"script": "Your table is ready."}
    late = record(MARKED_AT + timedelta(minutes=4), sid="CA2")
    other = record(sid="CA3", **{"from": "+15005550009"})

    evidence, [seen] = await looked_up(VOICE, PHONE, script, page(late, other, record(sid="CA1"), of="calls"))

    assert evidence == Found("CA1")
    assert seen.path.partition("?")[0] == f"{PATH}/Calls.json"


async def test_a_later_call_may_be_another_messages() -> None:
    late = record(MARKED_AT + timedelta(minutes=4), sid="CA2")

    evidence, _ = await looked_up(VOICE, PHONE, {"script": "Hi"}, page(late, of="calls"))

    assert isinstance(evidence, CannotTell)
