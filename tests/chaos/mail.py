"""The ledger's second door: SMTP. What arrives becomes a line of the same file before the end of data is answered.

Each mode has its place in the dialogue: a server that will not take a message says so to RCPT, leaves or falls silent
at DATA, or refuses at the end of the data; one that takes it may answer, leave, fall silent or babble there.
"""

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass
from hashlib import sha256

from tests.chaos.ledger import Call, Ledger, Line, Mode

PROVIDER = "blind"
"""SMTP has neither keys nor a look-up, so its lines are those of a blind provider."""

_MESSAGE_ID = re.compile(rb"^Message-ID:\s*<([0-9a-f]+)@", re.IGNORECASE | re.MULTILINE)
_DATE = re.compile(rb"^Date:[^\r\n]*\r\n", re.IGNORECASE | re.MULTILINE)
AT_RCPT = {Mode.REFUSE: b"550 5.1.1 no such person\r\n", Mode.THROTTLE: b"450 4.7.1 not so fast\r\n"}
AT_DATA = {Mode.CUT, Mode.STUCK}
AT_END: dict[Mode, bytes | None] = {
    Mode.ACK: b"250 2.0.0 taken\r\n",
    Mode.BROKEN: b"451 4.3.0 try again\r\n",
    Mode.ERROR: b"what?\r\n",  # a 5xx after taking it would be a lie that no sender can see through
    Mode.HALF: b"25",
    Mode.DROP: None,
    Mode.HANG: None,
}


class Gone(Exception):
    """This connection is over."""


@dataclass(slots=True)
class MailDoor:
    """Serves SMTP connections of one ledger."""

    ledger: Ledger
    connections: int = 0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one connection until it ends."""
        self.connections += 1
        try:
            await Conversation(self.ledger, reader, writer, -self.connections).hold()
        except (Gone, OSError, EOFError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@dataclass(slots=True)
class Conversation:
    """One connection."""

    ledger: Ledger
    reader: StreamReader
    writer: StreamWriter
    number: int
    recipient: str = ""

    async def hold(self) -> None:
        """Greet, then answer command by command."""
        await self._say(b"220 ledger\r\n")
        while line := await self.reader.readline():
            await self._answer(line.rstrip())

    async def _answer(self, line: bytes) -> None:
        match line[:4].upper():
            case b"EHLO":
                await self._say(b"250-ledger\r\n250 SIZE 10000000\r\n")
            case b"RCPT":
                self.recipient = line.partition(b"<")[2].partition(b">")[0].decode()
                await self._say(await self._at_rcpt())
            case b"DATA":
                await self._take()
            case b"QUIT":
                await self._say(b"221 bye\r\n")
                raise Gone
            case _:
                await self._say(b"250 ok\r\n")

    async def _at_rcpt(self) -> bytes:
        mode = self.ledger.next_mode(self.recipient)
        if mode not in AT_RCPT:
            return b"250 ok\r\n"
        return AT_RCPT[(await self._note()).mode]

    async def _take(self) -> None:
        mode = self.ledger.next_mode(self.recipient)
        if mode in AT_DATA:
            await self._note()
            await self._leave(mode)
        await self._say(b"354 go on\r\n")
        line = await self._note(await self.reader.readuntil(b"\r\n.\r\n"))
        await asyncio.sleep(self.ledger.orders.delay_seconds)
        reply = AT_END[line.mode]
        await self._say(reply or b"")
        if reply is None or not reply.endswith(b"\n"):
            await self._leave(line.mode)

    async def _note(self, content: bytes = b"") -> Line:
        """Write the call down; before its content came, only the recipient says whose it is."""
        found = _MESSAGE_ID.search(content)
        key = found[1].decode() if found else await self.ledger.key_of(self.recipient)
        body = sha256(_DATE.sub(b"", content)).hexdigest() if content else ""
        written = asyncio.get_running_loop().create_future()
        return await self.ledger.add(Call(key, self.recipient, PROVIDER, body, 0, self.number, written))

    async def _leave(self, mode: Mode) -> None:
        if mode in {Mode.HANG, Mode.STUCK}:
            await self.reader.read()  # until the caller gives up
        raise Gone

    async def _say(self, reply: bytes) -> None:
        self.writer.write(reply)
        await self.writer.drain()
