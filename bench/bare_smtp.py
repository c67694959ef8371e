"""The ceiling of mail: the same letter over as many connections by plain sockets, with nothing stored or rendered.

One command after the other, as the provider speaks; every letter is the same bytes, written by the provider's own code
before the clock starts. A process of its own (see programs.py).
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

import uvloop

from bench.programs import told_to_begin, told_to_end
from bench.sink import HOST
from tidings.providers.letter import Letter, Sender, compose
from tidings.testing import marked_item

PORT, CONNECTIONS, MESSAGES = "BENCH_SMTP_PORT", "BENCH_CONNECTIONS", "BENCH_MESSAGES"
"""The variables that say where, over how many connections, and how many messages this process sends."""
SENDER = Sender("bench@example.com")


def letter() -> Letter:
    """What somebody of the campaign gets."""
    item = marked_item(
        "p12345@example.com",
        {"subject": "Hello Person 12345", "body": "Good to see you, Person 12345."},
        provider="smtp",
        key=b"k" * 32,
    )
    made = compose(item, SENDER, datetime.now(UTC))
    if not isinstance(made, Letter):
        raise TypeError(f"the benchmark's letter was refused: {made}")
    return made


class Caller(asyncio.Protocol):
    """One connection that sends as long as there are numbers left, from when it is told to."""

    def __init__(self, numbers: Iterator[int], content: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[None] = loop.create_future()
        self.done: asyncio.Future[None] = loop.create_future()
        self._numbers, self._content = numbers, content
        self._unread = b""
        self._steps = self._conversation()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop has its own, which are no children of it
        next(self._steps)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if not self._unread.endswith(b"\r\n") or self._unread[self._unread[:-2].rfind(b"\n") + 4] != ord(" "):
            return  # the reply goes on
        reply, self._unread = self._unread, b""
        if reply[:1] in (b"2", b"3"):
            next(self._steps, None)
        else:
            self._fail(f"the sink said {reply!r}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the sink hung up: {exc}")

    def begin(self) -> None:
        """Send the first message."""
        next(self._steps, None)

    def _fail(self, reason: str) -> None:
        for future in (self.greeted, self.done):
            if not future.done():
                future.set_exception(RuntimeError(reason))

    def _conversation(self) -> Iterator[None]:
        """Each step ends with the wait for a reply, or for the word to begin."""
        yield
        self._transport.write(b"EHLO bench.example.com\r\n")
        yield
        self.greeted.set_result(None)
        yield
        for number in self._numbers:
            self._transport.write(b"MAIL FROM:<bench@example.com>\r\n")
            yield
            self._transport.write(b"RCPT TO:<p%d@example.com>\r\n" % number)
            yield
            self._transport.write(b"DATA\r\n")
            yield
            self._transport.write(self._content + b".\r\n")
            yield
        self.done.set_result(None)
        self._transport.close()


async def _main(process: int) -> None:
    count = int(os.environ[MESSAGES])
    numbers, content = iter(range(process * count, (process + 1) * count)), letter().content
    loop, port = asyncio.get_running_loop(), int(os.environ[PORT])
    made = [
        await loop.create_connection(lambda: Caller(numbers, content), HOST, port)
        for _ in range(int(os.environ[CONNECTIONS]))
    ]
    callers = [caller for _, caller in made]
    await asyncio.gather(*(caller.greeted for caller in callers))
    await told_to_begin()
    for caller in callers:
        caller.begin()
    await asyncio.gather(*(caller.done for caller in callers))
    await told_to_end()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_main(int(sys.argv[1])))
