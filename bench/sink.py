"""A real SMTP server that takes every message with the least work there is, as a process of its own.

`python -m bench.sink` says its port, and then, for each line it reads, how many messages came since the last and to how
many different people; it ends with its standard input. It keeps no message.
"""

import asyncio
import json
import sys
from asyncio.subprocess import Process
from typing import cast

import uvloop

from bench.proc import cpu_seconds
from bench.workers import python

HOST = "127.0.0.1"
REPLIES = {
    b"EHLO": b"250-sink.example.com\r\n250-PIPELINING\r\n250-SIZE 10485760\r\n250 8BITMIME\r\n",
    b"MAIL": b"250 2.1.0 ok\r\n",
    b"RCPT": b"250 2.1.5 ok\r\n",
    b"DATA": b"354 go on\r\n",
    b"RSET": b"250 2.0.0 ok\r\n",
    b"NOOP": b"250 2.0.0 ok\r\n",
    b"QUIT": b"221 2.0.0 bye\r\n",
}
END = b"\r\n.\r\n"


class Tally:
    """What came since it was last asked for."""

    def __init__(self) -> None:
        self.messages = 0
        self.recipients: set[bytes] = set()

    def take(self) -> dict[str, int]:
        """The counts, which begin anew."""
        counts = {"messages": self.messages, "recipients": len(self.recipients)}
        self.messages = 0
        self.recipients.clear()
        return counts


class Taker(asyncio.Protocol):
    """One connection; commands may come in any pieces, several at once too."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._unread = bytearray()
        self._in_message = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop has its own, which are no children of it
        self._transport.write(b"220 sink.example.com ESMTP\r\n")

    def data_received(self, data: bytes) -> None:
        self._unread += data
        replies = bytearray()
        while reply := self._end_of_message() if self._in_message else self._command():
            replies += reply
        if replies:
            self._transport.write(bytes(replies))

    def _end_of_message(self) -> bytes | None:
        end = self._unread.find(END)
        if end < 0:
            return None
        del self._unread[: end + len(END)]
        self._in_message = False
        self._tally.messages += 1
        return b"250 2.0.0 taken\r\n"

    def _command(self) -> bytes | None:
        end = self._unread.find(b"\r\n")
        if end < 0:
            return None
        line = bytes(self._unread[:end])
        del self._unread[: end + 2]
        verb = line[:4].upper()
        if verb == b"RCPT":
            self._tally.recipients.add(line)
        self._in_message = verb == b"DATA"
        return REPLIES.get(verb, b"500 5.5.1 what\r\n")


class Sink:
    """The same, seen from the benchmark."""

    process: Process
    port: int

    @property
    def url(self) -> str:
        """Where mail for it goes."""
        return f"smtp://{HOST}:{self.port}?from=bench@example.com"

    async def __aenter__(self) -> "Sink":
        self.process = await python(["-m", "bench.sink"], {}, talks=True)
        self.port = int(await self._line())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        await self.process.wait()

    async def take(self) -> dict[str, int]:
        """What came since the last time."""
        if self.process.stdin:
            self.process.stdin.write(b"take\n")
        counts: dict[str, int] = json.loads(await self._line())
        return counts

    def cpu_seconds(self) -> float:
        """What it has used so far."""
        return cpu_seconds([self.process.pid])

    async def _line(self) -> str:
        if self.process.stdout is None:
            raise AssertionError("a process that talks has an output")
        line = await self.process.stdout.readline()
        if not line:
            raise RuntimeError("the sink has ended; see bench/results/workers.log")
        return line.decode()


async def serve() -> None:
    """Take mail until standard input ends."""
    tally = Tally()
    server = await asyncio.get_running_loop().create_server(lambda: Taker(tally), HOST, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(tally.take()), flush=True)
    server.close()


if __name__ == "__main__":
    uvloop.run(serve())
