"""The sink's mail server: takes what is handed over, says what it was told to say, and relays nothing."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from email import message_from_bytes
from email.header import decode_header, make_header

from tidings.sink.arrivals import Answer, Arrival, Arrivals
from tidings.sink.chance import Chance
from tidings.sink.mailbox_providers import SmtpRefusal, refusals_for

LARGEST_MESSAGE = 40_000_000
LONGEST_LINE = 65_536
IDLE_SECONDS = 300.0
_OFFERS = ("sink.example.com", "PIPELINING", f"SIZE {LARGEST_MESSAGE}", "8BITMIME", "SMTPUTF8", "AUTH PLAIN LOGIN")
_GREETING = "220 sink.example.com ESMTP: takes everything, sends nothing on"
_OK = "250 2.0.0 ok"
_PATH = re.compile(rb"<([^<>]*)>")
_CLOSING = "421"


class MailServer:
    """Serves one connection after the other, each in a task of its own."""

    def __init__(self, arrivals: Arrivals, chance: Chance, latency: float) -> None:
        self.arrivals, self.chance, self.latency = arrivals, chance, latency

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk with one client until it leaves."""
        try:
            await _Conversation(self, reader, writer).go_on()
        except (OSError, EOFError, TimeoutError, ValueError):
            pass  # the other side is gone, silent, or speaks no SMTP
        finally:
            writer.transport.abort()


class _Conversation:
    def __init__(self, server: MailServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self._sender = ""
        self._recipients: list[str] = []
        self._at_end: tuple[Answer, str] | None = None
        self._is_over = False
        self._commands: dict[bytes, Callable[[bytes], Awaitable[str]]] = {
            b"AUTH": self._auth,
            b"MAIL": self._mail,
            b"RCPT": self._rcpt,
            b"DATA": self._data,
            b"QUIT": self._quit,
            b"RSET": self._rset,
        }

    async def go_on(self) -> None:
        await self._say(_GREETING)
        while not self._is_over and (line := await self._line()):
            await self._say(await self._answer(line))

    async def _answer(self, line: bytes) -> str:
        verb = line[:4].upper()
        if verb in (b"EHLO", b"HELO"):
            lines = _OFFERS if verb == b"EHLO" else _OFFERS[:1]
            return "\r\n".join([*(f"250-{one}" for one in lines[:-1]), f"250 {lines[-1]}"])
        if verb == b"NOOP":
            return _OK
        command = self._commands.get(verb)
        return await command(line) if command else "502 5.5.1 unknown command"

    async def _auth(self, line: bytes) -> str:
        """Believe any name and password."""
        words = line.split()
        if words[1:2] == [b"LOGIN"]:
            for question in ("VXNlcm5hbWU6", "UGFzc3dvcmQ6")[len(words) - 2 :]:
                await self._say(f"334 {question}")
                await self._line()
        elif len(words) == 2:
            await self._say("334 ")
            await self._line()
        return "235 2.7.0 welcome"

    async def _mail(self, line: bytes) -> str:
        self._forget()
        self._sender = _path(line)
        return "250 2.1.0 ok"

    async def _rcpt(self, line: bytes) -> str:
        recipient = _path(line)
        if not recipient:
            return "501 5.1.3 write it as RCPT TO:<ada@example.com>"
        answer, said = self._drawn(recipient)
        if said is None:
            self._recipients.append(recipient)
            return "250 2.1.5 ok"
        if said.at_end:
            self._recipients.append(recipient)
            self._at_end = (answer, said.to(recipient))
            return "250 2.1.5 ok"
        self._record([recipient], answer, said.to(recipient))
        return said.to(recipient)

    def _drawn(self, recipient: str) -> tuple[Answer, SmtpRefusal | None]:
        chance, attempt = self._server.chance, self._server.arrivals.attempt(recipient)
        answer = chance.answer(recipient, attempt)
        if answer is Answer.TAKEN:
            return answer, None
        return answer, chance.pick(refusals_for(recipient, answer), recipient, attempt)

    async def _data(self, _: bytes) -> str:
        if not self._recipients:
            return "554 5.5.1 no valid recipients"
        await self._say("354 go on")
        raw = await self._message()
        if len(raw) > LARGEST_MESSAGE:
            return f"552 5.3.4 larger than {LARGEST_MESSAGE:,} bytes"
        answer, said = self._at_end or (Answer.TAKEN, "250 2.0.0 taken, and sent nowhere")
        self._record(self._recipients, answer, said, raw)
        self._forget()
        return said

    async def _message(self) -> bytes:
        lines, size = [], 0
        while (line := await self._line()) not in (b".\r\n", b".\n"):
            if not line:
                raise EOFError
            size += len(line)
            if size <= LARGEST_MESSAGE:
                lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines) if size <= LARGEST_MESSAGE else b"x" * (LARGEST_MESSAGE + 1)

    async def _quit(self, _: bytes) -> str:
        self._is_over = True
        return "221 2.0.0 bye"

    async def _rset(self, _: bytes) -> str:
        self._forget()
        return _OK

    def _forget(self) -> None:
        self._sender, self._recipients, self._at_end = "", [], None

    def _record(self, recipients: list[str], answer: Answer, said: str, raw: bytes = b"") -> None:
        arrivals = self._server.arrivals
        arrivals.add(
            Arrival(
                id=arrivals.next_id(),
                via="smtp",
                recipients=list(recipients),
                sender=self._sender,
                subject=_subject(raw),
                answer=answer,
                said=said,
                raw=raw,
            )
        )

    async def _line(self) -> bytes:
        async with asyncio.timeout(IDLE_SECONDS):
            return await self._reader.readline()

    async def _say(self, reply: str) -> None:
        if self._server.latency:
            await asyncio.sleep(self._server.latency)
        self._is_over = self._is_over or reply.startswith(_CLOSING)
        self._writer.write(f"{reply}\r\n".encode())
        await self._writer.drain()


def _path(line: bytes) -> str:
    found = _PATH.search(line)
    return found[1].decode("utf-8", "replace") if found else ""


def _subject(raw: bytes) -> str:
    head = raw.partition(b"\r\n\r\n")[0][:LONGEST_LINE]
    said = message_from_bytes(head).get("Subject", "")
    try:
        return str(make_header(decode_header(str(said)))).replace("\r\n", "").replace("\n", "")
    except (LookupError, ValueError):
        return str(said)
