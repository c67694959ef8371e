"""Telegram's Bot API, against a server that says what its documents list."""

from datetime import timedelta

from tests.providers.items import marked
from tests.providers.vendors.asking import looked_up, sent
from tests.providers.vendors.making import maker
from tidings.domain.channels import Channel
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply

SECRET = "AAHcanary4f1d9c27dqTcvCH1vGWJxfSeofSAs0"
TOKEN = f"110201543:{SECRET}"
MAKE = maker("telegram", Channel.CHAT, token=TOKEN, chat="-1001234567890")
HELLO = {"body": "Good morning."}
ITEM = marked("987654321", HELLO, channel=Channel.CHAT)
OK = HttpReply(200, {"ok": True, "result": {"message_id": 17, "text": "Good morning."}})
REFUSED, GONE = Unavailable("", is_refused=True), Rejected("", is_gone=True)


def error(status: int, description: str, **parameters: object) -> HttpReply:
    said = {"ok": False, "error_code": status, "description": description}
    return HttpReply(status, {**said, **({"parameters": parameters} if parameters else {})})


# https://core.telegram.org/bots/api#making-requests; descriptions as https://github.com/TelegramBotAPI/errors has them.
DOCUMENTED = [
    DocumentedAnswer("token", error(401, "Unauthorized"), REFUSED),
    DocumentedAnswer("no token", error(404, "Not Found"), REFUSED),
    DocumentedAnswer("blocked", error(403, "Forbidden: bot was blocked by the user"), GONE),
    DocumentedAnswer("deactivated", error(403, "Forbidden: user is deactivated"), GONE),
    DocumentedAnswer("kicked", error(403, "Forbidden: bot was kicked from the supergroup chat"), Rejected("")),
    DocumentedAnswer("no member", error(403, "Forbidden: bot is not a member of the channel chat"), Rejected("")),
    DocumentedAnswer("stranger", error(403, "Forbidden: bot can't initiate conversation with a user"), Rejected("")),
    DocumentedAnswer("chat not found", error(400, "Bad Request: chat not found"), Rejected("")),
    DocumentedAnswer(
        "upgraded",
        error(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-1001),
        Rejected(""),
    ),
    DocumentedAnswer("too long", error(400, "Bad Request: message is too long"), Rejected("")),
    DocumentedAnswer("empty", error(400, "Bad Request: message text is empty"), Rejected("")),
    DocumentedAnswer("rights", error(400, "Bad Request: have no rights to send a message"), Rejected("")),
    DocumentedAnswer("too large", error(413, "Request Entity Too Large"), Rejected("")),
    DocumentedAnswer(
        "flood control",
        error(429, "Too Many Requests: retry after 34", retry_after=34),
        RetryLater("", timedelta(seconds=34), uses_attempt=False),
    ),
    DocumentedAnswer("server", error(500, "Internal Server Error"), Unknown),
    DocumentedAnswer("no id", HttpReply(200, {"ok": True, "result": {}}), Unknown),
    DocumentedAnswer("not ok", HttpReply(200, {"ok": False, "result": {"message_id": 17}}), Unknown),
]


async def test_telegram_conforms_and_never_shows_its_token() -> None:
    case = ConformanceCase(MAKE, ITEM, OK, DOCUMENTED, message_id="17", secrets=[TOKEN, SECRET])

    assert await nonconformities(case) == []


async def test_a_title_is_bold_by_an_entity_counted_in_utf_16() -> None:
    item = marked("987654321", {"body": "*no* <b>markup</b>", "title": "Hi 👋"}, channel=Channel.CHAT)

    outcome, [seen] = await sent(MAKE, item, OK)

    assert outcome == Accepted("17")
    assert (seen.method, seen.path) == ("POST", f"/bot{TOKEN}/sendMessage")
    assert seen.json == {
        "chat_id": "987654321",
        "text": "Hi 👋\n*no* <b>markup</b>",
        "entities": [{"type": "bold", "offset": 0, "length": 5}],
    }


async def test_default_is_the_connections_chat_and_its_trouble() -> None:
    for reply in (
        error(400, "Bad Request: chat not found"),
        error(403, "Forbidden: bot was kicked from the group chat"),
    ):
        outcome, [seen] = await sent(MAKE, marked("default", HELLO, channel=Channel.CHAT), reply)

        assert seen.json == {"chat_id": "-1001234567890", "text": "Good morning."}
        assert isinstance(outcome, Unavailable)
        assert outcome.is_refused


async def test_a_message_to_no_chat_is_refused_before_the_call() -> None:
    make = maker("telegram", Channel.CHAT, token=TOKEN)

    outcome, seen = await sent(make, marked("default", HELLO, channel=Channel.CHAT), OK)

    assert isinstance(outcome, Rejected)
    assert seen == []


async def test_telegram_cannot_be_asked() -> None:
    evidence, seen = await looked_up(MAKE, "987654321", HELLO)

    assert isinstance(evidence, CannotTell)
    assert seen == []
