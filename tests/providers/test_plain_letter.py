"""The quick way to write an e-mail writes what the email package writes, to the byte."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.providers.items import marked
from tidings.domain.item import Payload
from tidings.providers import letter
from tidings.providers.letter import Letter, Sender, compose

SENDERS = [
    Sender("news@example.com", "The News"),
    Sender("bench@example.com"),
    Sender("a@b.example", 'Élan "& more"'),
    Sender("longest@" + "d" * 60 + ".example.com", "N" * 70),
]
NOW = datetime(2026, 3, 1, 9, 30, 15, 250_000, tzinfo=UTC)
ASCII = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
SUBJECTS = st.text(ASCII | st.sampled_from("  é=?"), min_size=1, max_size=90)
BODIES = st.lists(st.text(ASCII | st.sampled_from("\t.é"), max_size=90), max_size=4).map("\n".join)
ADDRESSES = st.from_regex(r"[A-Za-z0-9._+'=-]{1,70}@[A-Za-z0-9.-]{1,40}", fullmatch=True)


def slowly(recipient: str, payload: Payload, sender: Sender, at: datetime) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letter, "write_plain", lambda *_: None)
        return compose(marked(recipient, payload), sender, at)


@given(subject=SUBJECTS, body=BODIES, recipient=ADDRESSES, sender=st.sampled_from(SENDERS))
@example("Hello", "", "ann@example.com", SENDERS[0])
@example("Hello", "\n", "ann@example.com", SENDERS[0])
@example("Hello", "a\n\n.b\n", "ann@example.com", SENDERS[0])
@example("x" * 69, "y" * 78, "a" * 64 + "@x.org", SENDERS[1])
@example("x" * 70, "y" * 79, "a" * 65 + "@x.org", SENDERS[1])
@example("a =?utf-8?q?b?= c", "From here\nto there", "ann@example.com", SENDERS[2])
@settings(max_examples=150, deadline=None)
def test_both_ways_write_the_same(subject: str, body: str, recipient: str, sender: Sender) -> None:
    payload = {"subject": subject, "body": body}

    assert compose(marked(recipient, payload), sender, NOW) == slowly(recipient, payload, sender, NOW)


@pytest.mark.parametrize("payload", [{"subject": "s", "html": "<b>b</b>"}, {"subject": "s", "body": "b", "html": "h"}])
def test_a_message_with_html_is_written_by_the_package(payload: Payload) -> None:
    assert compose(marked(payload=payload), SENDERS[0], NOW) == slowly("ann@example.com", payload, SENDERS[0], NOW)


def test_a_plain_message_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter, "_compose_any", lambda *_: pytest.fail("the package was asked"))
    at = NOW.astimezone(timezone(timedelta(hours=2)))

    assert isinstance(compose(marked(payload={"subject": "Hello Ann", "body": "Hi.\nBye."}), SENDERS[0], at), Letter)
