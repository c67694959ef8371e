"""Writing an e-mail: no text from outside ever becomes a header, an envelope or a second message."""

from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.items import marked
from tidings.domain.flow.outcome import Rejected
from tidings.providers.letter import Letter, Sender, compose, sender_of

NEWS = Sender("news@example.com", "The News")
NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"]
CONTROLS = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", "\r\n", "\ud800"]


def parsed(letter: Letter | Rejected) -> EmailMessage:
    assert isinstance(letter, Letter)
    message = message_from_bytes(letter.content.replace(b"\r\n..", b"\r\n."), policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_character_in_the_subject_is_rejected(control: str) -> None:
    letter = compose(marked(payload={"subject": f"Hi{control}Bcc: eve@x.org", "body": "b"}), NEWS, NOW)

    assert letter == Rejected("subject has a control character")


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_character_in_the_recipient_is_rejected(control: str) -> None:
    letter = compose(marked(f"ann@example.org{control}Bcc:eve@x.org"), NEWS, NOW)

    assert letter == Rejected("recipient has a control character")


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_character_in_the_sender_is_no_sender(control: str) -> None:
    assert sender_of(f"News{control}Bcc: eve@x.org <news@example.com>") is None
    assert sender_of(f"news{control}@example.com") is None


UNFIT = ["", "ann", "@", "ann@", "@example.org", "ann@example.org, eve@x.org", "Ann <ann@example.org>", "a b@x.org"]
UNFIT += [
    "ann@example.org> SIZE=1",
    "ann@ex.org\u200b",
    '"a b"@x.org',
    "a@b@c",
    "=?utf-8?q?ann?=@x.org",
    "a" * 300 + "@x",
]


@pytest.mark.parametrize("recipient", UNFIT)
def test_what_is_not_one_bare_address_is_rejected(recipient: str) -> None:
    assert compose(marked(recipient), NEWS, NOW) == Rejected("recipient is not an e-mail address")


ENCODED = st.builds(
    lambda charset, text: f"=?{charset}?q?{''.join(f'={ord(c):02X}' for c in text)}?=",
    st.sampled_from(["utf-8", "latin-1", "us-ascii", "nonsense"]),
    st.text(st.sampled_from("a \r\n\x00:<>,\x1c"), max_size=20),
)
HOSTILE = st.lists(
    st.one_of(
        ENCODED, st.sampled_from(["\r\nBcc: eve@x.org", "\n\n", " ", ".", "\u2028", "é" * 50, "x" * 120]), st.text()
    ),
    max_size=6,
).map("".join)


@settings(deadline=None)
@given(subject=HOSTILE, body=HOSTILE, html=st.none() | HOSTILE, recipient=st.just("ann@example.org") | HOSTILE)
def test_whatever_the_text_the_headers_are_the_intended_ones(
    subject: str, body: str, html: str | None, recipient: str
) -> None:
    payload = {"subject": subject, "body": body} | ({} if html is None else {"html": html})
    letter = compose(marked(recipient, payload), NEWS, NOW)
    if isinstance(letter, Rejected):
        return

    message = parsed(letter)
    assert sorted(message.keys()) == sorted(HEADERS if html is None else set(HEADERS) - {"Content-Transfer-Encoding"})
    assert message["To"] == recipient
    assert letter.content.endswith(b"\r\n")
    assert b"\r\n.\r\n" not in letter.content
    assert letter.content.replace(b"\r\n", b"").find(b"\n") == letter.content.replace(b"\r\n", b"").find(b"\r") == -1


@settings(deadline=None)
@given(
    subject=st.text(
        st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"], exclude_characters="=?"),
        min_size=1,
        max_size=150,
    )
)
def test_an_honest_subject_arrives_unchanged(subject: str) -> None:
    letter = compose(marked(payload={"subject": subject, "body": "b"}), NEWS, NOW)

    assert parsed(letter)["Subject"] == subject


@settings(deadline=None)
@given(body=st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_a_body_arrives_unchanged_but_for_its_line_ends(body: str) -> None:
    letter = compose(marked(payload={"subject": "s", "body": body}), NEWS, NOW)

    arrived = parsed(letter).get_content().replace("\r\n", "\n")
    assert arrived.rstrip("\n") == body.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def test_a_repeat_is_byte_for_byte_the_same() -> None:
    item = marked(payload={"subject": "Both", "body": "plain", "html": "<p>rich</p>"})

    assert compose(item, NEWS, NOW) == compose(item, NEWS, NOW)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"body": "b"}, "payload has no subject"),
        ({"subject": "s"}, "payload has neither body nor html"),
        ({"subject": "s", "body": "\ud800"}, "body is not valid Unicode"),
        ({"subject": "s", "html": "\udfff"}, "html is not valid Unicode"),
    ],
)
def test_a_payload_that_is_no_letter_is_rejected(payload: dict[str, str], reason: str) -> None:
    assert compose(marked(payload=payload), NEWS, NOW) == Rejected(reason)


def test_a_sender_is_an_address_or_a_name_with_one() -> None:
    assert sender_of(" news@example.com ") == Sender("news@example.com")
    assert sender_of('"The News" <news@example.com>') == NEWS
    assert sender_of("Nëws, daily <news@example.com>") == Sender("news@example.com", "Nëws, daily")
    assert sender_of("nëws@example.com") is None
    assert sender_of("a <b> <c@d>") is None


def test_a_name_with_special_characters_is_quoted() -> None:
    letter = compose(marked(), Sender("news@example.com", 'Nëws, "daily" (x)'), NOW)

    assert [address.addr_spec for address in parsed(letter)["From"].addresses] == ["news@example.com"]
