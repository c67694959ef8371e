"""Slack by a bot token and by an incoming webhook, against a server that says what its documents list."""

import asyncio

import pytest
from slack_sdk import WebClient

from tests.providers.items import marked
from tests.providers.vendors.asking import KEY, MARKED_AT, form_of, looked_up, query_of, sent
from tests.providers.vendors.making import maker, webhook_maker
from tidings.domain.channels import Channel
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Found
from tidings.providers.catalogue import CATALOGUE
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

TOKEN = "xoxb-canary-4f1d9c27"
PLACE = "C0123456789"
HELLO = {"body": "Good morning."}
ITEM = marked(PLACE, HELLO, channel=Channel.CHAT, key=KEY)
OK = HttpReply(200, {"ok": True, "channel": PLACE, "ts": "1503435956.000247", "message": {"text": "Good morning."}})
BOT = maker("slack", Channel.CHAT, token=TOKEN, channel="C0000000001")
REFUSED, TOO_FAST = Unavailable("", is_refused=True), RetryLater("", uses_attempt=False)


def error(name: str, status: int = 200, **headers: str) -> HttpReply:
    return HttpReply(status, {"ok": False, "error": name}, headers)


def documented(outcome: Outcome | type[Outcome], *names: str) -> list[DocumentedAnswer]:
    return [DocumentedAnswer(name, error(name), outcome) for name in names]


# The errors of chat.postMessage and those common to all methods: https://docs.slack.dev/reference/methods/chat.postMessage
DOCUMENTED = [
    *documented(REFUSED, "access_denied", "accesslimited", "account_inactive", "app_access_restricted"),
    *documented(REFUSED, "as_user_not_supported", "deprecated_endpoint", "enterprise_is_restricted", "invalid_auth"),
    *documented(REFUSED, "is_bot", "metadata_must_be_sent_from_app", "method_deprecated", "missing_scope"),
    *documented(REFUSED, "team_access_not_granted"),
    *documented(REFUSED, "not_allowed_token_type", "not_authed", "token_expired", "token_revoked"),
    *documented(REFUSED, "two_factor_setup_required", "unknown_method"),
    *documented(Rejected(""), "attachment_payload_limit_exceeded", "cannot_reply_to_message", "channel_not_found"),
    *documented(Rejected(""), "duplicate_channel_not_found", "duplicate_message_not_found", "ekm_access_denied"),
    *documented(Rejected(""), "invalid_arg_name", "invalid_arguments", "invalid_array_arg", "invalid_blocks"),
    *documented(Rejected(""), "invalid_blocks_format", "invalid_charset", "invalid_form_data", "invalid_post_type"),
    *documented(
        Rejected(""), "invalid_metadata_format", "invalid_metadata_schema", "is_archived", "metadata_too_large"
    ),
    *documented(Rejected(""), "markdown_text_conflict", "messages_tab_disabled", "missing_file_data"),
    *documented(Rejected(""), "missing_post_type", "msg_blocks_too_long", "msg_too_long", "no_permission", "no_text"),
    *documented(Rejected(""), "not_in_channel", "restricted_action", "restricted_action_non_threadable_channel"),
    *documented(Rejected(""), "restricted_action_read_only_channel", "restricted_action_thread_locked"),
    *documented(Rejected(""), "restricted_action_thread_only_channel", "send_on_behalf_not_allowed"),
    *documented(Rejected(""), "slack_connect_file_link_sharing_blocked", "team_not_found", "too_many_attachments"),
    *documented(TOO_FAST, "rate_limited", "ratelimited", "message_limit_exceeded"),
    *documented(Unavailable(""), "org_login_required", "team_added_to_org"),
    *documented(RetryLater(""), "request_timeout"),
    *documented(Unknown, "internal_error", "fatal_error", "service_unavailable", ""),
    DocumentedAnswer("no ts", HttpReply(200, {"ok": True}), Unknown),
    DocumentedAnswer("no JSON", HttpReply(200, b"<html>"), Unknown),
]


async def test_the_bot_conforms() -> None:
    case = ConformanceCase(BOT, ITEM, OK, DOCUMENTED, message_id="1503435956.000247", secrets=[TOKEN])

    assert await nonconformities(case) == []


async def test_the_request_carries_our_key_in_its_metadata() -> None:
    item = marked(PLACE, {"body": "1 < 2 & <!channel>", "title": "Sums", "from": "Ann"}, channel=Channel.CHAT, key=KEY)

    outcome, [seen] = await sent(BOT, item, OK)

    assert outcome == Accepted("1503435956.000247")
    assert (seen.method, seen.path) == ("POST", "/chat.postMessage")
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"
    assert seen.headers["content-type"] == "application/json"
    assert seen.json == {
        "channel": PLACE,
        "text": "*Sums*\n1 &lt; 2 &amp; &lt;!channel&gt;",
        "username": "Ann",
        "metadata": {"event_type": "tidings_item", "event_payload": {"key": KEY.hex()}},
    }


async def test_the_requests_are_what_slacks_own_library_writes() -> None:
    item = marked(PLACE, {**HELLO, "from": "Ann"}, channel=Channel.CHAT, key=KEY)
    metadata = {"event_type": "tidings_item", "event_payload": {"key": KEY.hex()}}
    oldest = f"{MARKED_AT.timestamp() - 60:.6f}"

    _, [posted] = await sent(BOT, item, OK)
    _, [asked] = await looked_up(BOT, PLACE, HELLO, history())
    async with scripted_server(HttpReply(200, {"ok": True})) as server:
        theirs = WebClient(token=TOKEN, base_url=f"{server.url}/")
        await asyncio.to_thread(
            lambda: theirs.chat_postMessage(channel=PLACE, text="Good morning.", username="Ann", metadata=metadata)
        )
        await asyncio.to_thread(
            lambda: theirs.conversations_history(
                channel=PLACE, oldest=oldest, inclusive=True, include_all_metadata=True, limit=200
            )
        )

    post_by_them, ask_by_them = server.seen
    assert (posted.method, posted.path, posted.json) == (post_by_them.method, post_by_them.path, post_by_them.json)
    assert asked.path.partition("?")[0] == ask_by_them.path.partition("?")[0]
    assert query_of(asked) == form_of(ask_by_them)  # which Slack takes in either place
    assert posted.headers["authorization"] == post_by_them.headers["authorization"]


@pytest.mark.parametrize("recipient", ["default", ""])
async def test_default_is_the_connections_channel_and_its_trouble(recipient: str) -> None:
    item = marked(recipient, HELLO, channel=Channel.CHAT)

    outcome, [seen] = await sent(BOT, item, error("channel_not_found"))

    assert isinstance(seen.json, dict)
    assert seen.json["channel"] == "C0000000001"
    assert outcome == Unavailable("200 channel_not_found", is_refused=True)


async def test_a_message_to_no_channel_is_refused_before_the_call() -> None:
    outcome, seen = await sent(
        maker("slack", Channel.CHAT, token=TOKEN), marked("default", HELLO, channel=Channel.CHAT)
    )

    assert isinstance(outcome, Rejected)
    assert seen == []


async def test_a_name_that_the_app_may_not_use_is_the_messages_trouble() -> None:
    item = marked(PLACE, {**HELLO, "from": "Ann"}, channel=Channel.CHAT)

    outcome, _ = await sent(BOT, item, error("missing_scope"))

    assert isinstance(outcome, Rejected)


def history(*messages: object, cursor: str = "", has_more: bool | None = None) -> HttpReply:
    more = bool(cursor) if has_more is None else has_more
    return HttpReply(
        200,
        {"ok": True, "messages": messages, "has_more": more, "response_metadata": {"next_cursor": cursor}},
    )


def message(ts: str, key: bytes | None = None, event: str = "tidings_item") -> dict[str, object]:
    metadata = {"metadata": {"event_type": event, "event_payload": {"key": key.hex()}}} if key else {}
    return {"type": "message", "text": "Good morning.", "ts": ts, **metadata}


async def test_our_key_is_found_in_the_history_of_the_channel() -> None:
    others = [message("3.0"), message("2.0", b"x" * 32), message("1.5", KEY, "another"), "odd", {"metadata": 1}]

    evidence, seen = await looked_up(
        BOT, PLACE, HELLO, history(*others, cursor="bmV4dA=="), history(message("1.0", KEY))
    )

    first, second = (query_of(one) for one in seen)
    assert evidence == Found("1.0")
    assert (seen[0].method, seen[0].path.partition("?")[0]) == ("GET", "/conversations.history")
    assert seen[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert first == {
        "channel": PLACE,
        "oldest": f"{MARKED_AT.timestamp() - 60:.6f}",
        "inclusive": "1",
        "include_all_metadata": "1",
        "limit": "200",
    }
    assert second == {**first, "cursor": "bmV4dA=="}


async def test_what_the_whole_history_does_not_have_may_still_have_been_posted() -> None:
    evidence, seen = await looked_up(BOT, "default", HELLO, history(message("1.0")))

    assert isinstance(evidence, CannotTell)
    assert query_of(seen[0])["channel"] == "C0000000001"


@pytest.mark.parametrize(
    "reply",
    [
        history(message("1.0"), cursor="always"),  # too long a history
        history(message("1.0"), has_more=True),  # cut off without a way onward
        error("missing_scope"),
        error("not_in_channel"),
        error("channel_not_found"),
        error("ratelimited", 429),
        HttpReply(200, {"ok": True, "messages": None}),
        HttpReply(200, b"<html>"),
        HttpReply(500, TOKEN),
    ],
)
async def test_without_a_whole_history_nothing_can_be_told(reply: HttpReply) -> None:
    evidence, seen = await looked_up(BOT, PLACE, HELLO, reply)

    assert isinstance(evidence, CannotTell)
    assert TOKEN not in evidence.reason
    assert len(seen) <= 10


PATH = "/services/T00000000/B00000000/canaryXXXXXXXXXXXX4f1d9c27"
WEBHOOK = webhook_maker("slack-webhook", PATH)
DEFAULT = marked("default", HELLO, channel=Channel.CHAT)
FINE = HttpReply(200, "ok")

# Slack's changelog of 2016-05-17, "Improving error conditions for Incoming Webhooks", and its guide to them.
WEBHOOK_ERRORS = [
    *(DocumentedAnswer(word, HttpReply(400, word), Rejected("")) for word in ("invalid_payload", "no_text")),
    DocumentedAnswer("too_many_attachments", HttpReply(400, "too_many_attachments"), Rejected("")),
    DocumentedAnswer("user_not_found", HttpReply(400, "user_not_found"), REFUSED),
    *(DocumentedAnswer(word, HttpReply(403, word), REFUSED) for word in ("action_prohibited", "invalid_token")),
    DocumentedAnswer("general", HttpReply(403, "posting_to_general_channel_denied"), REFUSED),
    *(DocumentedAnswer(word, HttpReply(404, word), REFUSED) for word in ("channel_not_found", "no_service", "no_team")),
    DocumentedAnswer("no_active_hooks", HttpReply(404, "no_active_hooks"), REFUSED),
    DocumentedAnswer("channel_is_archived", HttpReply(410, "channel_is_archived"), REFUSED),
    DocumentedAnswer("rate_limited", HttpReply(429, "rate_limited"), TOO_FAST),
    DocumentedAnswer("rollup_error", HttpReply(500, "rollup_error"), Unknown),
    DocumentedAnswer("no ok", HttpReply(200, "<html>"), Unknown),
]


async def test_the_webhook_conforms_and_never_shows_its_address() -> None:
    secrets = [PATH, "canaryXXXXXXXXXXXX4f1d9c27"]

    assert await nonconformities(ConformanceCase(WEBHOOK, DEFAULT, FINE, WEBHOOK_ERRORS, secrets=secrets)) == []


async def test_a_webhook_gets_a_text_as_json() -> None:
    outcome, [seen] = await sent(WEBHOOK, marked("", {"body": "<b>", "title": "&"}, channel=Channel.CHAT), FINE)

    assert outcome == Accepted()
    assert (seen.method, seen.path) == ("POST", PATH)
    assert seen.headers["content-type"] == "application/json"
    assert seen.json == {"text": "*&amp;*\n&lt;b&gt;"}


async def test_a_webhook_posts_nowhere_else() -> None:
    outcome, seen = await sent(WEBHOOK, ITEM, FINE)
    accepts = CATALOGUE["slack-webhook"].accepts

    assert isinstance(outcome, Rejected)
    assert seen == []
    assert accepts
    assert accepts("default")
    assert not accepts(PLACE)


async def test_a_webhook_cannot_be_asked() -> None:
    evidence, seen = await looked_up(WEBHOOK, "default", HELLO)

    assert isinstance(evidence, CannotTell)
    assert seen == []
