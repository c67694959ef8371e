"""The quick way to write an e-mail writes what the email package writes, to the byte."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.providers.items import marked
from tidings.domain.flow.item import Payload
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
SUBJECTS = st.text(ASCII | st.sampled_from("  é=?\u3042\x00\n"), max_size=90)
TEXTS = st.lists(st.text(ASCII | st.sampled_from("\t.é\u3042\x00\r"), max_size=90), max_size=4).map("\n".join)
PAYLOADS = st.fixed_dictionaries({}, optional={"subject": SUBJECTS, "body": TEXTS, "html": TEXTS})
ADDRESSES = st.from_regex(r"[A-Za-z0-9._+'=-]{1,70}@[A-Za-z0-9.-]{1,40}", fullmatch=True)


def slowly(recipient: str, payload: Payload, sender: Sender, at: datetime) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letter, "write_plain", lambda *_: None)
        return compose(marked(recipient, payload), sender, at)


def both(body: str, subject: str = "Hello", **more: str) -> Payload:
    return {"subject": subject, "body": body, **more}


@given(payload=PAYLOADS, recipient=ADDRESSES | st.just("ann@example.com"), sender=st.sampled_from(SENDERS))
@example(both(""), "ann@example.com", SENDERS[0])
@example(both("\n"), "ann@example.com", SENDERS[0])
@example(both("a\n\n.b\n"), "ann@example.com", SENDERS[0])
@example(both("y" * 78, "x" * 69), "a" * 64 + "@x.org", SENDERS[1])
@example(both("y" * 79, "x" * 70), "a" * 65 + "@x.org", SENDERS[1])
@example(both("From here\nto there", "a =?utf-8?q?b?= c"), "ann@example.com", SENDERS[2])
@example(both("Hi \ud800"), "ann@example.com", SENDERS[0])
@example(both("plain", html="<p>" + "rich é " * 400), "ann@example.com", SENDERS[0])
@example({"subject": "Grüße, " + "ever so long " * 9, "html": "<b>\u3042</b>\r\n" * 30}, "ann@example.com", SENDERS[0])
@settings(max_examples=200, deadline=None)
def test_both_ways_write_the_same(payload: Payload, recipient: str, sender: Sender) -> None:
    assert compose(marked(recipient, payload), sender, NOW) == slowly(recipient, payload, sender, NOW)


LONG_LINES = st.lists(
    st.text(st.sampled_from("aaaaaaaaaa b<>/=.\t é\u3042ß\x85\x0b\xa0"), max_size=260) | st.just("x=" * 60),
    min_size=1,
    max_size=14,
)


@given(lines=LONG_LINES, ends=st.sampled_from(["\n", "\r\n", "\r", " \n", "\t\n"]), times=st.sampled_from([1, 8]))
@example(["é" * 40 + "a" * 300], "\n", 8)
@example([f"{'a' * before}= {'b' * 90} " for before in range(70, 84)], "\n", 1)
@example(["".join(map(chr, range(0xA0, 0xE0))) + "plain and simple " * 30], "\n", 8)
@settings(max_examples=300, deadline=None)
def test_both_ways_write_the_same_of_long_texts(lines: list[str], ends: str, times: int) -> None:
    payload = both("short", html=ends.join(lines * times) + "-" * 1_000)

    assert compose(marked(payload=payload), SENDERS[0], NOW) == slowly("ann@example.com", payload, SENDERS[0], NOW)


def test_an_ordinary_message_is_not_left_to_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter, "_compose_any", lambda *_: pytest.fail("the package was asked"))
    at = NOW.astimezone(timezone(timedelta(hours=2)))

    for payload in (both("Hi.\nBye."), both("Grüße", "Grüße, Ann", html="<b>é</b>")):
        assert isinstance(compose(marked(payload=payload), SENDERS[0], at), Letter)
