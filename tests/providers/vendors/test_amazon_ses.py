"""Amazon SES, against a server that says what its documents list."""

import re
from datetime import timedelta
from email.header import decode_header, make_header

import msgspec
import pytest

from tests.providers.items import letter_with_files, marked, yes
from tests.providers.vendors.making import doubtful, maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Payload
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell
from tidings.providers.catalogue import CATALOGUE
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

KEY = "canary/4f1d9c27EXAMPLEKEY"
TOKEN = "canary8d2e51b0EXAMPLETOKEN=="
ID = "0102018b1f2c3d4e-5f6a7b8c-9d0e-1f2a-3b4c-5d6e7f8a9b0c-000000"
OK = HttpReply(200, {"MessageId": ID})
MAKE = maker(
    "amazon-ses",
    Channel.EMAIL,
    region="eu-west-1",
    accessKeyId="AKIAIOSFODNN7EXAMPLE",
    secretAccessKey=KEY,
    sessionToken=TOKEN,
    configurationSet="events",
    **{"from": "Tidings <news@example.com>"},
)
REFUSED = Unavailable("", is_refused=True)
WAIT = RetryLater("", uses_attempt=False)
UNVERIFIED = (
    "Email address is not verified. The following identities failed the check in region EU-WEST-1: ann@example.com"
)


def error(status: int, name: str, message: str = "said") -> HttpReply:
    kind = f"{name}:http://internal.amazon.com/coral/com.amazonaws.services.simpleemailv2/"
    return HttpReply(status, {"message": message}, {"x-amzn-ErrorType": kind})


DOCUMENTED = [
    DocumentedAnswer("AccountSuspendedException", error(400, "AccountSuspendedException"), REFUSED),
    DocumentedAnswer("BadRequestException", error(400, "BadRequestException"), Rejected),
    DocumentedAnswer("LimitExceededException", error(400, "LimitExceededException"), Unavailable("")),
    DocumentedAnswer("MailFromDomainNotVerified", error(400, "MailFromDomainNotVerifiedException"), REFUSED),
    DocumentedAnswer("MessageRejected", error(400, "MessageRejected", "Email contains a virus"), Rejected),
    DocumentedAnswer("MessageRejected, unverified", error(400, "MessageRejected", UNVERIFIED), REFUSED),
    DocumentedAnswer("NotFoundException", error(404, "NotFoundException"), REFUSED),
    DocumentedAnswer("SendingPausedException", error(400, "SendingPausedException"), REFUSED),
    DocumentedAnswer(
        "TooManyRequestsException", error(429, "TooManyRequestsException", "Maximum sending rate exceeded."), WAIT
    ),
    DocumentedAnswer(
        "the daily quota",
        error(429, "TooManyRequestsException", "Daily message quota exceeded."),
        Unavailable(""),
    ),
    # What every service of theirs may say.
    DocumentedAnswer("AccessDeniedException", error(403, "AccessDeniedException"), REFUSED),
    DocumentedAnswer("AccessDenied", error(400, "AccessDenied"), REFUSED),
    DocumentedAnswer("ExpiredTokenException", error(403, "ExpiredTokenException"), REFUSED),
    DocumentedAnswer("IncompleteSignature", error(400, "IncompleteSignature"), REFUSED),
    DocumentedAnswer("InvalidSignatureException", error(403, "InvalidSignatureException"), REFUSED),
    DocumentedAnswer("MalformedHttpRequestException", error(400, "MalformedHttpRequestException"), Rejected),
    DocumentedAnswer("NotAuthorized", error(401, "NotAuthorized"), REFUSED),
    DocumentedAnswer("OptInRequired", error(403, "OptInRequired"), REFUSED),
    DocumentedAnswer("RequestEntityTooLarge", error(413, "RequestEntityTooLargeException"), Rejected),
    DocumentedAnswer("RequestExpired", error(400, "RequestExpired"), REFUSED),
    DocumentedAnswer("RequestTimeoutException", error(408, "RequestTimeoutException"), RetryLater),
    DocumentedAnswer("ThrottlingException", error(400, "ThrottlingException", "Rate exceeded"), WAIT),
    DocumentedAnswer("UnknownOperationException", error(404, "UnknownOperationException"), REFUSED),
    DocumentedAnswer("UnrecognizedClientException", error(403, "UnrecognizedClientException"), REFUSED),
    DocumentedAnswer("ValidationError", error(400, "ValidationError"), Rejected),
    DocumentedAnswer("InternalFailure", error(500, "InternalFailure"), Unknown),
    DocumentedAnswer("ServiceUnavailable", error(503, "ServiceUnavailable"), Unknown),
    DocumentedAnswer("no id", HttpReply(200, {}), Unknown),
    DocumentedAnswer(
        "its name in the body",
        HttpReply(400, {"__type": "com.amazonaws.sesv2#SendingPausedException", "Message": "said"}),
        REFUSED,
    ),
]


async def test_amazon_ses_conforms() -> None:
    case = ConformanceCase(MAKE, marked(), OK, DOCUMENTED, message_id=ID, secrets=[KEY, TOKEN])

    assert await nonconformities(case) == []


async def test_the_request_is_what_the_model_of_ses_says() -> None:
    """The body is what botocore 1.44.3 (model sesv2 of 2019-09-27) takes as valid and writes for these fields."""
    async with scripted_server(HttpReply(200, b"\x89PNG", {"Content-Type": "image/png"})) as files:
        payload = letter_with_files(files.url) | {
            "subject": "Grüße",
            "from": "Zoë Ann <ann@example.com>",
            "replyTo": "Help, now <help@example.com>",
            "cc": '["Bob <bob@example.com>"]',
            "headers": '{"X-Campaign": "7", "X-Name": "Zoë"}',
        }
        item = marked(payload=payload)
        async with scripted_server(OK) as server:
            provider = MAKE(server.url, timedelta(seconds=30))
            outcome = await provider.send(item, yes)
            await provider.close()

    [seen] = server.seen
    assert outcome == Accepted(ID)
    assert (seen.method, seen.path) == ("POST", "/v2/email/outbound-emails")
    assert re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/\d{8}/eu-west-1/ses/aws4_request, "
        r"SignedHeaders=accept;content-type;host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}",
        seen.headers["authorization"],
    )
    assert seen.headers["x-amz-security-token"] == TOKEN
    assert seen.json == {
        "FromEmailAddress": "=?utf-8?q?Zo=C3=AB_Ann?= <ann@example.com>",
        "Destination": {
            "ToAddresses": ["ann@example.com"],
            "CcAddresses": ["Bob <bob@example.com>"],
            "BccAddresses": ["eve@example.com"],
        },
        "ReplyToAddresses": ['"Help, now" <help@example.com>'],
        "Content": {
            "Simple": {
                "Subject": {"Data": "Grüße", "Charset": "UTF-8"},
                "Body": {
                    "Text": {"Data": "Good morning.", "Charset": "UTF-8"},
                    "Html": {"Data": '<p>Good morning.<img src="cid:logo"></p>', "Charset": "UTF-8"},
                },
                "Headers": [{"Name": "X-Campaign", "Value": "7"}, {"Name": "X-Name", "Value": "=?utf-8?q?Zo=C3=AB?="}],
                "Attachments": [
                    {
                        "RawContent": "iVBORw==",
                        "FileName": "a.pdf",
                        "ContentType": "application/pdf",
                        "ContentTransferEncoding": "BASE64",
                        "ContentDisposition": "ATTACHMENT",
                    },
                    {
                        "RawContent": "iVBORw==",
                        "FileName": "b.png",
                        "ContentType": "image/png",
                        "ContentTransferEncoding": "BASE64",
                        "ContentDisposition": "INLINE",
                        "ContentId": "logo",
                    },
                ],
            }
        },
        "EmailTags": [{"Name": "tidings_key", "Value": item.key.hex()}],
        "ConfigurationSetName": "events",
    }


@pytest.mark.parametrize("name", ["MessageRejected", "MailFromDomainNotVerifiedException"])
async def test_a_sender_that_the_message_names_is_the_messages_fault(name: str) -> None:
    own_sender: Payload = {"subject": "Hello", "body": "Hi", "from": "eve@elsewhere.example"}

    outcome = await _outcome(error(400, name, UNVERIFIED), own_sender)

    assert isinstance(outcome, Rejected)


async def test_the_reason_for_operators_does_not_name_the_recipient() -> None:
    outcome = await _outcome(error(400, "MessageRejected", UNVERIFIED))

    assert isinstance(outcome, Unavailable)
    assert "ann@example.com" not in outcome.reason
    assert "EU-WEST-1: the recipient" in outcome.reason


async def test_a_long_header_beyond_ascii_stays_on_its_line() -> None:
    payload: Payload = {"subject": "Hello", "body": "Hi", "headers": f'{{"X-Name": "{"ü" * 100}"}}'}

    async with scripted_server(OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        await provider.send(marked(payload=payload), yes)
        await provider.close()

    [header] = msgspec.json.decode(server.seen[0].body)["Content"]["Simple"]["Headers"]
    assert re.fullmatch(r"[ -~]{1,995}", header["Value"])  # as the model says
    assert str(make_header(decode_header(header["Value"]))) == "ü" * 100


async def test_nothing_is_known_of_a_message_without_its_id() -> None:
    provider = MAKE("http://127.0.0.1:9", timedelta(seconds=30))

    assert isinstance(await provider.look_up(doubtful()), CannotTell)
    await provider.close()


@pytest.mark.parametrize(
    ("name", "value"), [("region", "eu-west-1.evil.example/"), ("region", "Ireland"), ("from", "nobody")]
)
def test_a_setting_that_cannot_work_is_refused_with_its_value(name: str, value: str) -> None:
    kind = CATALOGUE["amazon-ses"]

    every = {"region": "eu-west-1", "from": "news@example.com", "accessKeyId": "AKIAIOSFODNN7EXAMPLE", name: value}
    [problem] = kind.problems_of(every, {}, stored=kind.secrets)

    assert repr(value) in str(problem)
    assert "write it like" in str(problem)


def test_addresses_beyond_ascii_before_the_at_are_not_for_ses() -> None:
    accepts = CATALOGUE["amazon-ses"].accepts

    assert accepts is not None
    assert [accepts(one) for one in ("ann@example.com", "zoë@example.com")] == [True, False]


async def _outcome(reply: HttpReply, payload: Payload | None = None) -> Outcome:
    async with scripted_server(reply) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(marked(payload=payload) if payload else marked(), yes)
        await provider.close()
    return outcome
