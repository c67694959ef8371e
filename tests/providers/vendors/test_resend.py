"""Resend, against a server that says what its documents list."""

from datetime import timedelta

import pytest

from tests.providers.items import marked, yes
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.item import Payload
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

KEY = "re_canary_4f1d9c27"
OK = HttpReply(200, {"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"})
MAKE = maker("resend", Channel.EMAIL, apiKey=KEY, **{"from": "Tidings <news@example.com>"})


def error(status: int, name: str) -> HttpReply:
    return HttpReply(status, {"statusCode": status, "name": name, "message": "said"})


DOCUMENTED = [
    DocumentedAnswer("invalid_idempotency_key", error(400, "invalid_idempotency_key"), Rejected),
    DocumentedAnswer("validation_error", error(400, "validation_error"), Rejected),
    DocumentedAnswer("missing_api_key", error(401, "missing_api_key"), Unavailable("", is_refused=True)),
    DocumentedAnswer("restricted_api_key", error(401, "restricted_api_key"), Unavailable("", is_refused=True)),
    DocumentedAnswer("invalid_api_key", error(403, "invalid_api_key"), Unavailable("", is_refused=True)),
    DocumentedAnswer("testing only", error(403, "validation_error"), Unavailable("", is_refused=True)),
    DocumentedAnswer("invalid_from_address", error(422, "invalid_from_address"), Unavailable("", is_refused=True)),
    DocumentedAnswer("not_found", error(404, "not_found"), Unavailable("", is_refused=True)),
    DocumentedAnswer("method_not_allowed", error(405, "method_not_allowed"), Unavailable("", is_refused=True)),
    DocumentedAnswer("invalid_idempotent_request", error(409, "invalid_idempotent_request"), Unknown),
    DocumentedAnswer(
        "concurrent_idempotent_requests",
        error(409, "concurrent_idempotent_requests"),
        Unknown,
    ),
    DocumentedAnswer("invalid_attachment", error(422, "invalid_attachment"), Rejected),
    DocumentedAnswer("missing_required_field", error(422, "missing_required_field"), Rejected),
    DocumentedAnswer("daily_quota_exceeded", error(429, "daily_quota_exceeded"), Unavailable("")),
    DocumentedAnswer("monthly_quota_exceeded", error(429, "monthly_quota_exceeded"), Unavailable("")),
    DocumentedAnswer("rate_limit_exceeded", error(429, "rate_limit_exceeded"), RetryLater("", uses_attempt=False)),
    DocumentedAnswer("application_error", error(500, "application_error"), Unknown),
    DocumentedAnswer("no id", HttpReply(200, {}), Unknown),
]


async def test_resend_conforms() -> None:
    case = ConformanceCase(
        MAKE, marked(), OK, DOCUMENTED, message_id="49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", secrets=[KEY]
    )

    assert await nonconformities(case) == []


async def test_the_request_is_what_resend_documents() -> None:
    payload: Payload = {
        "subject": "Hello",
        "body": "Good morning.",
        "html": "<p>Good morning.</p>",
        "from": "Ann <ann@example.com>",
        "replyTo": "help@example.com",
        "cc": '["Bob <bob@example.com>"]',
        "bcc": '["eve@example.com"]',
        "headers": '{"X-Campaign": "7"}',
        "attachments": '[{"url": "https://example.com/a.pdf", "filename": "a.pdf"},'
        ' {"url": "https://example.com/b.png", "filename": "b.png", "contentId": "logo"}]',
    }
    item = marked(payload=payload)

    async with scripted_server(OK) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(item, yes)
        await provider.close()

    [seen] = server.seen
    assert isinstance(outcome, Accepted)
    assert (seen.method, seen.path) == ("POST", "/emails")
    assert seen.headers["idempotency-key"] == item.key.hex()
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.json == {
        "from": "Ann <ann@example.com>",
        "to": ["ann@example.com"],
        "subject": "Hello",
        "text": "Good morning.",
        "html": "<p>Good morning.</p>",
        "reply_to": "help@example.com",
        "cc": ["Bob <bob@example.com>"],
        "bcc": ["eve@example.com"],
        "headers": {"X-Campaign": "7"},
        "attachments": [
            {"path": "https://example.com/a.pdf", "filename": "a.pdf"},
            {"path": "https://example.com/b.png", "filename": "b.png", "content_id": "logo"},
        ],
    }


@pytest.mark.parametrize(
    "reply",
    [
        error(422, "invalid_from_address"),
        HttpReply(403, {"name": "validation_error", "message": "The elsewhere.example domain is not verified."}),
    ],
)
async def test_a_sender_that_the_message_names_is_the_messages_fault(reply: HttpReply) -> None:
    own_sender: Payload = {"subject": "Hello", "body": "Hi", "from": "eve@elsewhere.example"}

    async with scripted_server(reply) as server:
        provider = MAKE(server.url, timedelta(seconds=30))
        outcome = await provider.send(marked(payload=own_sender), yes)
        await provider.close()

    assert isinstance(outcome, Rejected)
