"""What else a letter has: its own sender, copies, headers and pictures; one item stays one message."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from tempfile import SpooledTemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from tests.providers.items import PLAIN, marked, yes
from tests.providers.scripted_smtp import Say, Script, scripted
from tests.providers.test_letter import CONTROLS, HOSTILE
from tests.providers.test_plain_letter import slowly
from tests.providers.test_smtp_faults import provider_for
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater
from tidings.providers import letter as letters
from tidings.providers.enclosed import Fetched
from tidings.providers.letter import Letter, Sender, compose, sender_of

NEWS = Sender("news@example.com", "The News")
NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
COPIES = {"cc": json.dumps(["c1@example.com", "c2@example.com"]), "bcc": json.dumps(["b@example.com"])}
PIPELINING = Say(b"250-scripted\r\n250-PIPELINING\r\n250 SIZE 99999999\r\n")


def parsed(letter: Letter | Rejected) -> EmailMessage:
    assert isinstance(letter, Letter), letter
    wire = b"".join(letter.chunks()).replace(b"\r\n..", b"\r\n.")
    assert letter.size == len(wire)
    message = message_from_bytes(wire, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def fetched(stack: ExitStack, name: str, content: bytes, id: str | None = None, kind: str = "image/png") -> Fetched:
    file = stack.enter_context(SpooledTemporaryFile(max_size=100_000))  # noqa: SIM115 – the stack closes it
    file.write(content)
    return Fetched(file, name, kind, len(content), id)


def test_a_letter_says_who_it_is_from_and_where_answers_go() -> None:
    more = {"from": "Ada <ada@example.org>", "replyTo": "help@example.org"}
    letter = compose(marked(payload={**PLAIN, **more}), NEWS, NOW)

    message = parsed(letter)
    assert message["From"] == "Ada <ada@example.org>"
    assert message["Reply-To"] == "help@example.org"
    assert message["Message-ID"].endswith("@example.com>")


def test_an_own_sender_and_a_reply_address_are_still_written_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"from": "Ada <ada@example.org>", "replyTo": "help@example.org"}
    payload = {**PLAIN, **more}
    quick = compose(marked(payload=payload), NEWS, NOW)

    assert quick == slowly("ann@example.com", payload, NEWS, NOW)
    monkeypatch.setattr(letters, "_compose_any", lambda *_: pytest.fail("the package was asked"))
    assert compose(marked(payload=payload), NEWS, NOW) == quick


@settings(deadline=None)
@given(sender=st.sampled_from(["Ada <ada@example.org>", "é <a@b.example>", "x@y.example"]) | HOSTILE, reply=HOSTILE)
def test_both_ways_write_the_same_of_senders(sender: str, reply: str) -> None:
    for payload in ({**PLAIN, "from": sender}, {**PLAIN, "replyTo": reply}):
        assert compose(marked(payload=payload), NEWS, NOW) == slowly("ann@example.com", payload, NEWS, NOW)


def test_cc_is_seen_and_bcc_is_not() -> None:
    letter = compose(marked(payload={**PLAIN, **COPIES}), NEWS, NOW)

    message = parsed(letter)
    assert message["Cc"] == "c1@example.com, c2@example.com"
    assert message["Bcc"] is None
    assert isinstance(letter, Letter)
    assert b"b@example.com" not in letter.content
    assert letter.copies == ("c1@example.com", "c2@example.com", "b@example.com")


def test_nobody_is_in_an_envelope_twice() -> None:
    again = {"cc": json.dumps(["ANN@example.com", "c@example.com"]), "bcc": json.dumps(["C@example.com"])}

    letter = compose(marked(payload={**PLAIN, **again}), NEWS, NOW)

    assert isinstance(letter, Letter)
    assert letter.copies == ("C@example.com",)


def test_headers_are_written_as_they_are_and_the_dangerous_ones_never() -> None:
    headers = {"X-Campaign": "Frühling", "List-Id": "<news.example.com>", "In-Reply-To": "<1@example.com>"}
    message = parsed(compose(marked(payload={**PLAIN, "headers": json.dumps(headers)}), NEWS, NOW))

    assert {name: message[name] for name in headers} == headers
    for name in ("Bcc", "From", "Received", "X-A: b\r\nBcc", "DKIM-Signature", "Content-Type"):
        refused = compose(marked(payload={**PLAIN, "headers": json.dumps({name: "x"})}), NEWS, NOW)
        assert isinstance(refused, Rejected), name


@pytest.mark.parametrize("control", CONTROLS)
def test_no_control_character_becomes_a_header(control: str) -> None:
    evil = f"x{control}Bcc: eve@x.org"
    address = f"a@example.com{control}Bcc: eve@x.org"
    for more in (
        {"from": f"{evil} <a@example.com>"},
        {"replyTo": address},
        {"cc": json.dumps([address])},
        {"bcc": json.dumps([address])},
        {"headers": json.dumps({"X-A": evil})},
        {"headers": json.dumps({evil: "x"})},
    ):
        assert isinstance(compose(marked(payload={**PLAIN, **more}), NEWS, NOW), Rejected), more


@settings(deadline=None)
@given(value=HOSTILE, name=HOSTILE, copy=HOSTILE)
def test_whatever_is_given_the_headers_are_the_intended_ones(value: str, name: str, copy: str) -> None:
    for headers, cc in ({"X-A": value}, []), ({name: "x"}, []), ({}, [copy]):
        payload = {**PLAIN, "headers": json.dumps(headers), "cc": json.dumps(cc)}
        letter = compose(marked(payload=payload), NEWS, NOW)
        if isinstance(letter, Letter):
            known = {"From", "To", "Cc", "Subject", "Date", "Message-ID", "MIME-Version", *headers}
            assert {one for one in parsed(letter) if not one.startswith("Content-")} <= known


@pytest.mark.parametrize("broken", ["no", "{", '{"a": 1}', "[1]"])
def test_what_cannot_be_read_is_rejected(broken: str) -> None:
    for name in ("cc", "bcc", "headers"):
        assert isinstance(compose(marked(payload={**PLAIN, name: broken}), NEWS, NOW), Rejected)


def test_a_picture_is_shown_inside_and_a_file_stands_beside(stack: ExitStack) -> None:
    payload = {**PLAIN, "html": '<img src="cid:logo">'}
    files = [
        fetched(stack, "offer.pdf", b"pdf" * 999, kind="application/pdf"),
        fetched(stack, "logo.png", b"png" * 9, "logo"),
    ]

    message = parsed(compose(marked(payload=payload), NEWS, NOW, files))

    kinds = [part.get_content_type() for part in message.walk()]
    assert kinds == [
        *("multipart/mixed", "multipart/alternative", "text/plain", "multipart/related"),
        *("text/html", "image/png", "application/pdf"),
    ]
    [picture] = [part for part in message.walk() if part.get_content_type() == "image/png"]
    assert picture["Content-ID"] == "<logo>"
    assert picture.get_content_disposition() == "inline"
    assert picture.get_payload(decode=True) == b"png" * 9
    [file] = [part for part in message.walk() if part.get_filename() == "offer.pdf"]
    assert file.get_payload(decode=True) == b"pdf" * 999
    same = compose(marked(payload=payload, key=b"k" * 32), NEWS, NOW, files)
    assert same == compose(marked(payload=payload, key=b"k" * 32), NEWS, NOW, files)


def test_a_picture_without_html_is_a_file_like_any_other(stack: ExitStack) -> None:
    message = parsed(compose(marked(), NEWS, NOW, [fetched(stack, "logo.png", b"png", "logo")]))

    assert [part.get_filename() for part in message.iter_attachments()] == ["logo.png"]


def refusing(refused: dict[str, bytes], *, pipelining: bool) -> tuple[Script, list[str]]:
    """A server that refuses some recipients, and the recipients that it was asked for, in order."""
    asked: list[str] = []

    def script(_number: int, stage: str) -> Say | None:
        if stage == "EHLO":
            return PIPELINING if pipelining else None
        if stage == "RCPT":
            order = ["ann@example.com", "c1@example.com", "c2@example.com", "b@example.com"]
            asked.append(order[len(asked) % len(order)])
            return Say(refused[asked[-1]]) if asked[-1] in refused else None
        return None

    return script, asked


@pytest.mark.parametrize("pipelining", [False, True])
async def test_everybody_of_the_envelope_gets_one_message(pipelining: bool) -> None:
    script, _ = refusing({}, pipelining=pipelining)
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        outcomes = [await provider.send(marked(payload={**PLAIN, **COPIES}), yes) for _ in range(2)]

        assert all(isinstance(one, Accepted) for one in outcomes)
        assert len(smtp.messages) == 2
        assert smtp.connections == 1
        recipients = [one.partition("<")[2].rstrip(">") for one in smtp.commands if one.startswith("RCPT")]
        assert recipients == ["ann@example.com", "c1@example.com", "c2@example.com", "b@example.com"] * 2


@pytest.mark.parametrize("pipelining", [False, True])
@pytest.mark.parametrize("reply", [b"550 5.1.1 nobody\r\n", b"450 4.2.0 later\r\n", b"452 4.5.3 too many\r\n"])
async def test_a_refused_copy_is_left_out_and_nobody_is_written_to_twice(pipelining: bool, reply: bytes) -> None:
    script, _ = refusing({"c1@example.com": reply, "b@example.com": reply}, pipelining=pipelining)
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        with capture_logs() as logs:
            outcome = await provider.send(marked(payload={**PLAIN, **COPIES}), yes)

        assert isinstance(outcome, Accepted)
        assert len(smtp.messages) == 1
        [line] = [one for one in logs if one["event"] == "copies_refused"]
        assert line["codes"] == [int(reply[:3])] * 2
        assert "example.com" not in str(line)


@pytest.mark.parametrize("pipelining", [False, True])
async def test_a_refused_recipient_refuses_the_message_whatever_the_copies_say(pipelining: bool) -> None:
    for reply, expected in ((b"550 5.1.1 nobody\r\n", Rejected), (b"450 4.2.0 later\r\n", RetryLater)):
        script, _ = refusing({"ann@example.com": reply}, pipelining=pipelining)
        async with scripted(script) as smtp, provider_for(smtp) as provider:
            outcome = await provider.send(marked(payload={**PLAIN, **COPIES}), yes)

            assert isinstance(outcome, expected)
            assert smtp.messages == []


@pytest.mark.parametrize("pipelining", [False, True])
async def test_a_server_that_leaves_at_a_copy_has_sent_nothing(pipelining: bool) -> None:
    script, _ = refusing({"c2@example.com": b"421 4.3.2 closing\r\n"}, pipelining=pipelining)
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        outcome = await provider.send(marked(payload={**PLAIN, **COPIES}), yes)

        assert not isinstance(outcome, Accepted)
        assert smtp.messages == []


@pytest.mark.parametrize(
    "text", ["=?utf-8?q?a=0d=0aBcc:_v@example.com?= <x@example.com>", '"=?utf-8?b?DQouDQo=?=" <x@example.com>']
)
def test_a_sender_s_name_that_would_be_decoded_is_none(text: str) -> None:
    assert sender_of(text) is None
    assert isinstance(compose(marked("p@example.com", {**PLAIN, "from": text}), NEWS, NOW), Rejected)
