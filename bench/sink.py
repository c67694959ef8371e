"""A real SMTP server that takes every message with the least work there is, as a process of its own.

With BENCH_SINK_REFUSES it refuses one in ten as mailbox providers do: for good and for now, at the recipient and at the
end of the message.

`python -m bench.sink` says its port, and then, for each line it reads, how many messages came since the last and to how
many different people; it ends with its standard input. It keeps no message.
"""

import asyncio
import json
import os
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
REFUSES = "BENCH_SINK_REFUSES"
"""Set: the recipients whose number ends as these do are refused, 10 % of them."""
REFUSED_AT_RCPT = {
    b"03": b"550 5.1.1 no such user here\r\n",
    b"17": b"550 5.1.1 no such user here\r\n",
    b"31": b"550-5.7.1 our system has detected that this message is likely unsolicited\r\n550 5.7.1 mail\r\n",
    b"44": b"450 4.7.1 greylisted, try again later\r\n",
    b"58": b"450 4.2.1 receiving mail too quickly\r\n",
    b"62": b"452 4.2.2 the mailbox is full\r\n",
}
REFUSED_AT_END = {
    b"75": b"554 5.7.1 the message looks like spam\r\n",
    b"79": b"552 5.2.3 too large for this mailbox\r\n",
    b"86": b"451 4.3.0 try again later\r\n",
    b"90": b"421 4.7.0 too many messages from here\r\n",
}
NOBODY = b"554 5.5.1 no valid recipients\r\n"


class Tally:
    """What came since it was last asked for."""

    def __init__(self) -> None:
        self.messages = 0
        self.recipients: set[bytes] = set()
        self.refuses = bool(os.environ.get(REFUSES))

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
        self._searched = 0  # of a long message, so that its beginning is not searched again
        self._recipient: bytes | None = None

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
        end = self._unread.find(END, max(self._searched - len(END), 0))
        if end < 0:
            self._searched = len(self._unread)
            return None
        del self._unread[: end + len(END)]
        self._in_message, self._searched = False, 0
        refusal = REFUSED_AT_END.get(self._number) if self._tally.refuses else None
        self._tally.messages += refusal is None
        return refusal or b"250 2.0.0 taken\r\n"

    @property
    def _number(self) -> bytes:
        """The last two digits of the recipient."""
        return (self._recipient or b"").partition(b"@")[0][-2:]

    def _command(self) -> bytes | None:
        end = self._unread.find(b"\r\n")
        if end < 0:
            return None
        line = bytes(self._unread[:end])
        del self._unread[: end + 2]
        verb = line[:4].upper()
        if verb == b"RCPT":
            return self._rcpt(line)
        if verb == b"DATA" and self._recipient is None:
            return NOBODY
        self._in_message = verb == b"DATA"
        if verb == b"MAIL":
            self._recipient = None
        return REPLIES.get(verb, b"500 5.5.1 what\r\n")

    def _rcpt(self, line: bytes) -> bytes:
        self._recipient = line
        refusal = REFUSED_AT_RCPT.get(self._number) if self._tally.refuses else None
        if refusal is not None:
            self._recipient = None
            return refusal
        self._tally.recipients.add(line)
        return REPLIES[b"RCPT"]


class Sink:
    """The same, seen from the benchmark."""

    process: Process
    port: int

    def __init__(self, *, refuses: bool = False) -> None:
        self._environ = {REFUSES: "1"} if refuses else {}

    @property
    def url(self) -> str:
        """Where mail for it goes."""
        return f"smtp://{HOST}:{self.port}?from=bench@example.com"

    async def __aenter__(self) -> "Sink":
        self.process = await python(["-m", "bench.sink"], self._environ, talks=True)
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
