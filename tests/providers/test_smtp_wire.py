"""The bytes of an SMTP connection: what is a reply, what is none, and what may be written when."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.items import marked, yes
from tests.providers.scripted_smtp import Say, scripted
from tests.providers.test_smtp_faults import provider_for
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.providers.letter import Letter, Sender
from tidings.providers.smtp import _Call
from tidings.providers.smtp_connection import Connection
from tidings.providers.smtp_reply import SmtpReply
from tidings.providers.smtp_wire import SmtpBroken, SmtpWire

GRAMMAR = re.compile(rb"([2-5][0-9]{2})(?:-[^\n]*\n\1)*(?: [^\n]*)?\r?\n")
OFFER = Say(b"250-scripted\r\n250-PIPELINING\r\n250 SIZE 99999999\r\n")


class Pipe:
    """A transport that notes what is written, and answers from a list."""

    def __init__(self, wire: SmtpWire, answers: Sequence[bytes] = ()) -> None:
        self.written: list[bytes] = []
        self._wire, self._answers = wire, list(answers)
        self._is_closed = False
        wire.connection_made(cast("asyncio.Transport", self))

    def write(self, data: bytes) -> None:
        self.written.append(data)
        if self._answers:
            self._wire.data_received(self._answers.pop(0))

    def set_write_buffer_limits(self, **_: int) -> None: ...

    def is_closing(self) -> bool:
        return self._is_closed

    def abort(self) -> None:
        self._is_closed = True


async def read(*pieces: bytes) -> SmtpReply | str | None:
    """The first reply in what arrives; the failure's words when there can be none, None when it is not whole."""
    wire = SmtpWire()
    Pipe(wire)
    reading = asyncio.ensure_future(wire.next_reply())
    await asyncio.sleep(0)
    for piece in pieces:
        wire.data_received(piece)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if not reading.done():
        reading.cancel()
        return None
    failure = reading.exception()
    return str(failure) if failure else reading.result()


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (b"250 ok\r\n", SmtpReply(250, "ok")),
        (b"250\r\n", SmtpReply(250, "")),
        (b"250 \r\n", SmtpReply(250, "")),
        (b"250 ok\n", SmtpReply(250, "ok")),
        (b"250-one\r\n250-two\r\n250 three\r\n", SmtpReply(250, "one\ntwo\nthree")),
        (b"250-one\r\n250\r\n", SmtpReply(250, "one\n")),
        (b"550-5.1.1 \xff\r\n550 5.1.1 no\r\n", SmtpReply(550, "5.1.1 \udcff\n5.1.1 no")),
    ],
)
async def test_a_reply_is_read_in_whatever_pieces_it_comes(said: bytes, reply: SmtpReply) -> None:
    assert await read(said) == reply
    assert await read(*(said[at : at + 1] for at in range(len(said)))) == reply
    assert await read(said[:-1]) is None


LINES = st.lists(
    st.tuples(
        st.sampled_from([b"250", b"354", b"550", b"199", b"600", b"25", b"2500", b"", b"\xb2\xb3\xb2"]),
        st.sampled_from([b" ", b"-", b"", b"\r", b"\t", b"\0"]),
        st.sampled_from([b"", b"ok", b"x\ry", b"-", b"250 "]),
        st.sampled_from([b"\r\n", b"\n", b"\r", b""]),
    ).map(b"".join),
    max_size=5,
).map(b"".join)


@given(said=LINES, cut=st.integers(0, 40))
@settings(max_examples=400, deadline=None)
def test_exactly_what_the_grammar_calls_a_reply_is_one(said: bytes, cut: int) -> None:
    found = GRAMMAR.match(said)

    reply = asyncio.run(read(said[:cut], said[cut:]))

    assert isinstance(reply, SmtpReply) is (found is not None), reply
    if found is not None:
        assert isinstance(reply, SmtpReply)
        assert reply.code == int(found[1])


@pytest.mark.parametrize("said", [b"250-", b"250 ", b"2", b"250-x\r\n" * 12_000])
async def test_a_reply_without_an_end_is_given_up(said: bytes) -> None:
    reply = await read(said, *[b"x" * 10_000] * 7)

    assert isinstance(reply, str)
    assert "malformed reply" in reply
    assert len(reply) < 500


@pytest.mark.parametrize(
    "command", [b"RCPT TO:<a>\r\nDATA\r\n", b"RCPT TO:<a\0>\r\n", b"NOOP\n", b"NOOP\nQUIT\r\n", b"NOOP\rX\r\n", b"NOOP"]
)
async def test_a_command_that_would_be_two_or_none_is_not_written(command: bytes) -> None:
    wire = SmtpWire()
    pipe = Pipe(wire)

    with pytest.raises(ValueError, match="control character"):
        async with asyncio.timeout(5):
            await wire.exchange(command, ((250,),))

    assert pipe.written == []


async def test_nothing_is_written_after_the_server_spoke_out_of_turn() -> None:
    wire = SmtpWire()
    pipe = Pipe(wire)
    wire.data_received(b"250 ok, whatever you will ask\r\n")

    with pytest.raises(SmtpBroken, match="out of turn: 250 ok, whatever"):
        await wire.exchange(b"NOOP\r\n", ((250,),))

    assert pipe.written == []
    assert not wire.is_usable


async def test_what_comes_unasked_is_not_kept_without_end() -> None:
    wire = SmtpWire()
    Pipe(wire)
    for _ in range(100):
        wire.data_received(b"x" * 10_000)

    assert len(wire._unread) < 100_000
    wire._unread.clear()
    assert not wire.is_usable


async def call(*answers: bytes, is_used: bool = False) -> tuple[Outcome, Pipe, _Call]:
    """Send a letter over a connection with PIPELINING whose writes are answered in turn."""
    wire = SmtpWire()
    pipe, connection = Pipe(wire, answers), Connection(wire)
    connection.pipelines = True
    made = _Call(
        Letter("ann@example.com", "<id>", b"Subject: x\r\n\r\nHello\r\n", 20, False),
        Sender("me@example.com"),
        Workspace(),
    )
    deadline = asyncio.get_running_loop().time() + 60
    try:
        if is_used:
            assert await made.begin_if_alive(connection, deadline)
        else:
            await made.begin(connection, deadline)
        outcome = await made.finish(connection, yes)
    except OSError as failure:
        outcome = made.outcome_without_reply(failure)
    connection.abort()
    return outcome, pipe, made


async def test_a_letter_is_three_writes_and_its_dot_is_the_last_alone() -> None:
    outcome, pipe, made = await call(b"250 ok\r\n250 ok\r\n354 go\r\n", b"", b"250 taken\r\n")

    assert isinstance(outcome, Accepted)
    assert made.is_settled
    assert [len(written.split(b"\r\n")) - 1 for written in pipe.written] == [3, 3, 1]
    assert pipe.written[-1] == b".\r\n"
    assert b"\r\n.\r\n" not in b"".join(pipe.written[:-1])


GO_ON = b"250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"
AHEAD: list[tuple[bytes, type[Outcome], bool, int]] = [
    (b"250 ok\r\n250 ok\r\n550 no\r\n554 none\r\n", Rejected, True, 1),
    (b"250 ok\r\n250 ok\r\n550 no\r\n354 go\r\n", Rejected, False, 1),
    (b"250 ok\r\n250 ok\r\n421 good-bye\r\n", Unavailable, False, 1),
    (b"250 ok\r\n250 ok\r\n450 4.7.1 later\r\n503 none\r\n", RetryLater, True, 1),
    (b"250 ok\r\n552 big\r\n503 no mail\r\n503 no rcpt\r\n", Rejected, True, 1),
    (b"250 ok\r\n250 ok\r\n250 ok\r\n452 full\r\n", RetryLater, True, 1),
    (b"250 ok\r\n250 ok\r\n251 forwarded\r\n354 go\r\n", Unknown, False, 3),
    (b"250 ok\r\n250 ok\r\n252 perhaps\r\n354 go\r\n", RetryLater, False, 1),
    (GO_ON + b"250 and taken already\r\n", RetryLater, False, 1),
    (GO_ON + b"2", RetryLater, False, 1),
]


@pytest.mark.parametrize(("said", "expected", "is_settled", "writes"), AHEAD)
async def test_what_was_asked_ahead_is_judged_by_the_first_reply_that_is_not_hoped_for(
    said: bytes, expected: type[Outcome], is_settled: bool, writes: int
) -> None:
    outcome, pipe, made = await call(said, b"", b"garbage\r\n", is_used=True)

    assert isinstance(outcome, expected), outcome
    assert made.is_settled is is_settled
    assert len(pipe.written) == writes
    assert all(b".\r\n" not in written for written in pipe.written[:2])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"250-taken\r\n250 indeed\r\n", Accepted),
        (b"250-taken\r\n550 or not\r\n", Unknown),
        (b"450 4.3.1 full\r\n", RetryLater),
        (b"554-5.7.1 spam\r\n554 5.7.1 really\r\n", Rejected),
        (b"421 4.3.2 closing\r\n", Unavailable),
        (b"354 more\r\n", Unknown),
        (b"x" * 70_000, Unknown),
    ],
)
async def test_only_a_whole_reply_says_what_became_of_a_message_that_was_ended(
    said: bytes, expected: type[Outcome]
) -> None:
    outcome, _, _ = await call(b"250 ok\r\n250 ok\r\n354 go\r\n", b"", said)

    assert isinstance(outcome, expected), outcome


async def test_a_refusal_counts_although_the_replies_to_what_followed_never_come() -> None:
    script = {"EHLO": OFFER, "RCPT": Say(b"550 5.1.1 nobody\r\n", "close")}
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Rejected)


async def test_the_deadline_of_a_call_is_its_own_on_a_connection_that_served_before() -> None:
    """The first call's timer is set for its own end, long after the second's."""
    answers = iter([Say(), Say(b"", "hang")])
    script: Any = lambda _number, stage: next(answers, None) if stage == "dot" else None  # noqa: E731
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        first = await provider.send(marked(), yes)
        provider.call_deadline = provider.call_deadline / 20
        async with asyncio.timeout(10):
            second = await provider.send(marked(), yes)

    assert isinstance(first, Accepted)
    assert second == Unknown("the deadline of the call passed (after the end of the message)")
    assert smtp.connections == 1


async def test_a_connection_that_waited_is_not_ended_by_the_timer_of_its_last_call() -> None:
    async with scripted() as smtp, provider_for(smtp) as provider:
        provider.call_deadline = provider.call_deadline / 100
        await provider.send(marked(), yes)
        await asyncio.sleep(0.4)  # twice the deadline of the call that is over
        provider.call_deadline = provider.call_deadline * 100
        again = await provider.send(marked(), yes)

    assert isinstance(again, Accepted)
    assert smtp.connections == 1
