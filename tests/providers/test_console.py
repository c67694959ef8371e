"""The console provider prints for a person at a terminal, and tells a log nothing that is not its business."""

from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from tests.providers.items import marked, no, yes
from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Accepted, RetryLater
from tidings.domain.flow.provider import CannotTell, Doubtful, Keyed, Provider
from tidings.domain.flow.readiness import is_printing
from tidings.providers.console import MOST_LINES, ConsoleProvider


async def test_on_a_terminal_a_message_is_shown_as_a_person_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    item = marked("ada@example.com", {"subject": "Hi", "body": "Hello,\nAda"})
    provider: Provider = ConsoleProvider(Channel.EMAIL, on_terminal=True)

    outcome = await provider.send(item, yes)

    assert isinstance(outcome, Accepted)
    assert capsys.readouterr().out == (
        "email to ada@example.com (printed, not sent)\n  subject: Hi\n  body: Hello,\n    Ada\n"
    )


async def test_a_log_hears_of_a_message_and_not_what_it_says_or_to_whom(capsys: pytest.CaptureFixture[str]) -> None:
    item = marked("+4917012345", {"body": "The code is 1815"}, channel=Channel.SMS)

    with capture_logs() as lines:
        outcome = await ConsoleProvider(Channel.SMS).send(item, yes)  # the tests' output is no terminal

    assert isinstance(outcome, Accepted)
    assert lines == [
        {
            "event": "message_printed",
            "log_level": "info",
            "channel": "sms",
            "item": str(item.id),
            "message_id": outcome.message_id,
        }
    ]
    assert capsys.readouterr().out == ""


async def test_control_characters_are_escaped_and_what_is_long_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    item = marked("a\x1b[2J@x.org", {"body": "x" * 5000 + "\n" * 100, "subject": "a\x07b\x00\ud800"})

    await ConsoleProvider(Channel.PUSH, on_terminal=True).send(item, yes)
    shown = capsys.readouterr().out

    assert "a\\x1b[2J@x.org" in shown
    assert "subject: a\\x07b\\x00\\ud800" in shown
    assert f"body: {'x' * 500}…\n" in shown
    assert len(shown.splitlines()) < MOST_LINES + 5


async def test_the_message_id_follows_from_the_key() -> None:
    provider = ConsoleProvider(Channel.PUSH)

    with capture_logs():
        outcomes = [await provider.send(marked(key=key), yes) for key in (b"a" * 32, b"a" * 32, b"b" * 32)]

    assert outcomes[0] == outcomes[1] != outcomes[2]


async def test_nothing_is_printed_once_the_lease_is_spent(capsys: pytest.CaptureFixture[str]) -> None:
    with capture_logs() as lines:
        outcome = await ConsoleProvider(Channel.EMAIL, on_terminal=True).send(marked(), no)

    assert isinstance(outcome, RetryLater)
    assert not outcome.uses_attempt
    assert (lines, capsys.readouterr().out) == ([], "")


async def test_its_name_says_that_it_prints_and_a_repeat_does_no_harm() -> None:
    provider = ConsoleProvider(Channel.EMAIL)

    assert is_printing(provider.name)
    assert isinstance(provider.provider_class, Keyed)
    assert isinstance(await provider.look_up(Doubtful("a", b"k", datetime.now(UTC))), CannotTell)
