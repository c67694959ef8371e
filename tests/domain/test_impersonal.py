"""What operators are told of a provider's words names nobody."""

from datetime import UTC, datetime

import pytest

from tidings.domain.flow.item import Delivered
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.testing.marked import marked_item


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (Unavailable("421 too many for Ada@Example.com here"), "421 too many for … here"),
        (RetryLater("429 slow down, <bob@example.org>"), "429 slow down, <…>"),
        (Rejected("no route to +44 20 7183 8750, code 421"), "no route to …, code 421"),
        (Unknown("no answer to 'Dear Ada Lovelace' in 30 s"), "no answer to '…' in 30 s"),
        (Unknown("KeyError: 'Ada Lovelace'", "KeyError"), "KeyError"),
        (Unavailable("connect to 127.0.0.1:2525 failed"), "connect to 127.0.0.1:2525 failed"),
        (Accepted("id-1"), ""),
    ],
)
def test_a_reason_is_told_without_recipient_content_and_addresses(said: Outcome, told: str) -> None:
    item = marked_item("ada@example.com", {"subject": "Hi", "body": "Dear Ada Lovelace"})
    now = datetime(2026, 3, 2, tzinfo=UTC)

    assert Delivered(item, said, now, now).told == told
