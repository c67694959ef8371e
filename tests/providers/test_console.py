"""The console provider writes one harmless line for each message."""

from datetime import UTC, datetime

from structlog.testing import capture_logs

from tests.providers.items import marked, no, yes
from tidings.domain.item import Channel
from tidings.domain.outcome import Accepted, RetryLater
from tidings.domain.provider import CannotTell, Doubtful, Keyed, Provider
from tidings.providers.console import ConsoleProvider


async def test_a_message_is_one_line_with_recipient_and_payload() -> None:
    item = marked("+4917012345", {"body": "Hello", "event": "not the line's"}, channel=Channel.SMS)
    provider: Provider = ConsoleProvider(Channel.SMS)

    with capture_logs() as lines:
        outcome = await provider.send(item, yes)

    assert isinstance(outcome, Accepted)
    assert lines == [
        {
            "event": "sms message",
            "log_level": "info",
            "message_id": outcome.message_id,
            "recipient": "+4917012345",
            "payload": {"body": "Hello", "event": "not the line's"},
        }
    ]


async def test_control_characters_are_escaped_and_long_text_is_cut() -> None:
    item = marked("a\x1b[2J@x.org", {"body": "x" * 5000, "subject": "a\r\nb\x00\ud800"})

    with capture_logs() as lines:
        await ConsoleProvider(Channel.PUSH).send(item, yes)

    assert lines[0]["recipient"] == "a\\x1b[2J@x.org"
    assert lines[0]["payload"] == {"body": "x" * 200 + "…", "subject": "a\\r\\nb\\x00\\ud800"}


async def test_the_message_id_follows_from_the_key() -> None:
    provider = ConsoleProvider(Channel.PUSH)

    with capture_logs():
        outcomes = [await provider.send(marked(key=key), yes) for key in (b"a" * 32, b"a" * 32, b"b" * 32)]

    assert outcomes[0] == outcomes[1] != outcomes[2]


async def test_nothing_is_logged_once_the_lease_is_spent() -> None:
    with capture_logs() as lines:
        outcome = await ConsoleProvider(Channel.EMAIL).send(marked(), no)

    assert isinstance(outcome, RetryLater)
    assert not outcome.uses_attempt
    assert lines == []


async def test_a_repeat_does_no_harm_so_nothing_stays_in_doubt() -> None:
    provider = ConsoleProvider(Channel.EMAIL, name="mine")

    assert provider.name == "mine"
    assert isinstance(provider.provider_class, Keyed)
    assert isinstance(await provider.look_up(Doubtful("a", b"k", datetime.now(UTC))), CannotTell)
