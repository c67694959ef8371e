"""The bytes of one SMTP connection: commands go out, replies come in and are checked against RFC 5321 §4.2.

Several commands may be written at once; their replies are taken in order, and only the last of them wakes the caller,
or the first that is not the one hoped for. What the server says unasked is never paired with a command: nothing may be
written after it any more.
"""

import asyncio
import ssl
from collections.abc import Collection, Sequence
from typing import cast

from tidings.domain.flow.dialogue import dialogue
from tidings.providers.printable import printable
from tidings.providers.smtp_reply import SmtpReply

Hoped = Sequence[Collection[int]]
"""For each reply to come, the codes that let the conversation go on."""

_ANYTHING: Hoped = ((),)
_LONGEST_REPLY = 65_536
_SPACE, _HYPHEN, _CR, _LF = b" -\r\n"
# With no more room than this in the buffer, "flushed" means that the operating system has it all. Zero would do for
# plain connections, but makes asyncio's TLS transport pause for ever.
_BUFFER_BYTES = 1


class SmtpBroken(ConnectionError):
    """The connection is lost, or the server does not speak SMTP."""


class SmtpWire(asyncio.Protocol):
    """One connection; one caller at a time."""

    def __init__(self) -> None:
        self.came = 0
        """How many replies of the last exchange were the ones hoped for."""
        self.declined: list[int] = []
        """The codes of those among them that say no, which the caller can do without."""
        self._loop = asyncio.get_running_loop()
        self._unread = bytearray()
        self._line_at = 0  # where the line begins that has not come whole
        self._hoped: Hoped = ()
        self._other: SmtpReply | None = None  # the reply that was not the one hoped for
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; not checked by isinstance, since uvloop's is no child of asyncio's."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=_BUFFER_BYTES)

    def data_received(self, data: bytes) -> None:
        """Keep what came, and wake the caller when it is what the caller waits for."""
        if len(self._unread) >= _LONGEST_REPLY:
            self.fail(SmtpBroken("the server says more than anybody asked for"))  # and what follows a gap means nothing
            return
        self._unread += data
        if self._hoped:
            self._take_replies()

    def eof_received(self) -> None:
        """The server has said its last."""
        self.fail(SmtpBroken("connection lost"))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Nothing will come any more."""
        self.fail(SmtpBroken("connection lost"))

    def pause_writing(self) -> None:
        """The operating system takes no more for now."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """It has taken every byte."""
        self._is_paused = False
        self._wake()

    def fail(self, failure: Exception) -> None:
        """Let whatever waits end with this; the first failure counts."""
        self._failure = self._failure or failure
        self._wake()

    @property
    def is_usable(self) -> bool:
        """True while the connection is open and nothing has come that no command asked for."""
        return not self._unread and self._failure is None and not self.transport.is_closing()

    def write(self, data: bytes) -> None:
        """Write, unless the connection is lost or the server spoke out of turn: then raise and write nothing."""
        self.check_ready()
        self.transport.write(data)

    def check_ready(self) -> None:
        """Raise when nothing may be written any more."""
        if self.is_usable:
            return
        if isinstance(self._failure, TimeoutError):
            raise self._failure
        if self._unread:
            raise SmtpBroken(f"the server spoke out of turn: {self._said()}")
        raise SmtpBroken("connection lost")

    async def exchange(self, commands: bytes, hoped: Hoped) -> SmtpReply | None:
        """Write commands and read their replies: None if all are hoped for, else the first that is not."""
        if commands.count(b"\n") != len(hoped) or commands.count(b"\r") != len(hoped) or b"\0" in commands:
            raise ValueError("a command holds a control character")
        self.came = 0
        self.write(commands)
        if noted := dialogue():
            for command in commands.decode("utf-8", "replace").splitlines():
                noted.note(f"> {printable(command)}")
        return await self.expect(hoped)

    async def expect(self, hoped: Hoped) -> SmtpReply | None:
        """Read replies to what was written before."""
        self._hoped, self.came, self._other, self.declined = hoped, 0, None, []
        try:
            self._take_replies()
            while not self._is_answered:
                await self._wait()
            if noted := dialogue():
                noted.note(f"< {self._answers()}")
            return self._other
        finally:
            self._hoped = ()

    def _answers(self) -> str:
        """What was answered, for people."""
        well = [f"{min(codes)}" for codes in self._hoped[: self.came] if codes]
        other = f"{self._other.code} {printable(self._other.message)}" if self._other else ""
        return " ".join([*well, other]).strip()

    async def ask(self, command: bytes) -> SmtpReply:
        """Write one command and read its reply, whatever that is."""
        return _some(await self.exchange(b"%s\r\n" % command, _ANYTHING))

    async def next_reply(self) -> SmtpReply:
        """Read the next reply, whatever that is."""
        return _some(await self.expect(_ANYTHING))

    async def wait_flushed(self) -> None:
        """Wait until the operating system has taken every byte."""
        while self._is_paused:
            await self._wait()

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Go on encrypted. Nothing may have come after the reply that agreed to it: it could be anybody's."""
        self.check_ready()
        transport = await self._loop.start_tls(self.transport, self, context, server_hostname=host)
        if transport is None:
            raise SmtpBroken("connection lost")
        self.connection_made(transport)

    @property
    def _is_answered(self) -> bool:
        return self._other is not None or self.came == len(self._hoped)

    async def _wait(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take_replies(self) -> None:
        """Take replies as long as they are hoped for; what follows one that is not stays unread."""
        while not self._is_answered:
            end = self._end_of_reply()
            if end == 0:
                return
            code = int(self._unread[:3])
            if code in self._hoped[self.came]:
                self.came += 1
                self.declined += [code] if code >= 400 else []
            else:
                self._other = _reply(code, self._unread[:end])
            del self._unread[:end]
        self._wake()

    def _end_of_reply(self) -> int:
        """Where the first reply ends; 0 when it has not come whole, or can become none."""
        unread = self._unread
        while (end := unread.find(_LF, self._line_at)) >= 0:
            at = self._line_at  # stays at a line that is none, whatever comes after it
            if not _is_line(unread, at, end) or unread[at : at + 3] != unread[:3]:
                break
            if unread[at + 3] != _HYPHEN:
                self._line_at = 0
                return end + 1
            self._line_at = end + 1
        if end >= 0 or len(unread) >= _LONGEST_REPLY:
            self.fail(SmtpBroken(f"malformed reply {self._said()!r}"))
        return 0

    def _said(self) -> str:
        return printable(self._unread[:200].decode("utf-8", "replace"))


def _is_line(unread: bytearray, at: int, end: int) -> bool:
    """Whether a line begins with a code from 200 to 599 and a separator, or is a code alone."""
    if end - at < 3 or not b"2" <= unread[at : at + 1] <= b"5" or not unread[at : at + 3].isdigit():
        return False
    after = unread[at + 3]
    return after in (_SPACE, _HYPHEN, _LF) or (after == _CR and at + 4 == end)


def _reply(code: int, raw: bytearray) -> SmtpReply:
    text = b"\n".join(line[4:].strip() for line in raw.split(b"\n")[:-1])
    return SmtpReply(code, text.decode("utf-8", "surrogateescape"))


def _some(reply: SmtpReply | None) -> SmtpReply:
    if reply is None:
        raise AssertionError("no reply is hoped for here, so every reply is another")
    return reply
