"""Whoever only prints, records or simulates refuses what the real channel refuses, with the same words."""

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.providers.items import marked, yes
from tidings.domain.flow.item import Channel, Payload
from tidings.domain.flow.outcome import Accepted, Rejected
from tidings.providers.acceptance import refusal_of
from tidings.providers.console import ConsoleProvider
from tidings.providers.smtp import SmtpProvider
from tidings.testing.recorder import Recorder

NOWHERE = "smtp://127.0.0.1:1?from=us@example.com"
BAD: list[tuple[str, Payload, str]] = [
    ("ann@example.com", {"body": "Hi"}, "payload has no subject"),
    ("ann@example.com", {"subject": "a\nb", "body": "Hi"}, "subject has a control character"),
    ("ann@example.com", {"subject": "Hi"}, "payload has neither body nor html"),
    ("no address", {"subject": "Hi", "body": "Hi"}, "recipient is not an e-mail address"),
    ("ann@example.com", {"subject": "Hi", "body": "Hi", "attachments": "["}, "the attachments cannot be read"),
    (
        "ann@example.com",
        {"subject": "Hi", "body": "Hi", "attachments": '[{"url": "file:///etc/passwd", "filename": "a"}]'},
        "must begin with http:// or https://",
    ),
]


@pytest.mark.parametrize(("recipient", "payload", "reason"), BAD)
async def test_an_e_mail_that_cannot_be_written_fails_everywhere_alike(
    recipient: str, payload: Payload, reason: str, clock: ManualClock
) -> None:
    item = marked(recipient, payload)

    with capture_logs() as lines:
        console = await ConsoleProvider(Channel.EMAIL).send(item, yes)
    recorder = Recorder(Channel.EMAIL, clock)
    recorded = await recorder.send(item, yes)
    real = await SmtpProvider.from_url(NOWHERE).send(item, yes)

    assert isinstance(real, Rejected)
    assert reason in real.reason
    assert console == recorded == real
    assert lines == []
    assert [one.was_accepted for one in recorder.messages] == [False]


async def test_what_can_be_sent_is_accepted(clock: ManualClock) -> None:
    item = marked("ann@example.com", {"subject": "Hi", "html": "<p>é</p>", "body": "Hi"})

    assert refusal_of(Channel.EMAIL, item) is None
    assert isinstance(await Recorder(Channel.EMAIL, clock).send(item, yes), Accepted)


@pytest.mark.parametrize("channel", [one for one in Channel if one is not Channel.EMAIL])
def test_the_other_channels_have_no_check_of_their_own(channel: Channel) -> None:
    assert refusal_of(channel, marked("x", {"body": "Hi"}, channel=channel)) is None
