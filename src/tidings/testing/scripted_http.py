"""An HTTP server that says what it is told to, and breaks off where it is told to: for tests of providers."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec


class Break(StrEnum):
    """Where a server leaves off instead of answering."""

    BEFORE_READING = "hangs before it reads the request"
    AFTER_READING = "hangs after it has read the request"
    CLOSES = "closes the connection after it has read the request"
    HALF_A_HEAD = "sends half the head of an answer"
    HALF_A_BODY = "sends half the body of an answer"
    ENDLESS = "sends a body without an end"


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a server answers; a body that is no string and no bytes is sent as JSON."""

    status: int = 200
    body: object = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    leaves_off: Break | None = None

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else msgspec.json.encode(self.body)


@dataclass(frozen=True, slots=True)
class HttpSeen:
    """A request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> object:
        """The body as JSON."""
        return msgspec.json.decode(self.body)


class ScriptedReplies:
    """What a server says, and what it has seen: the next of `replies` to each request, the last from then on."""

    def __init__(self, *replies: HttpReply) -> None:
        self.replies = list(replies) or [HttpReply()]
        self.seen: list[HttpSeen] = []
        self.url = ""

    def reply(self) -> HttpReply:
        """Take the next reply."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class ScriptedServer(ScriptedReplies):
    """Answers over HTTP/1.1."""

    def __init__(self, *replies: HttpReply) -> None:
        super().__init__(*replies)
        self._held = asyncio.Event()  # what hangs, hangs until the server ends
        self._serving: set[asyncio.Task[None]] = set()

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to answer on one connection."""
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def end(self) -> None:
        """Let go of every connection, whatever hangs."""
        self._held.set()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has ended it
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is not used again."""
        reply = self.replies[0]
        if reply.leaves_off is Break.BEFORE_READING:
            await self._held.wait()
            return False
        self.seen.append(await _read(reader))
        reply = self.reply()
        if reply.leaves_off is Break.AFTER_READING:
            await self._held.wait()
        if reply.leaves_off in (Break.AFTER_READING, Break.CLOSES):
            return False
        written = _written(reply)
        if reply.leaves_off is Break.HALF_A_HEAD:
            written = written[:20]
        elif reply.leaves_off is Break.HALF_A_BODY:
            written = written[: -max(1, len(reply.content) // 2)]
        writer.write(written)
        await writer.drain()
        if reply.leaves_off is Break.ENDLESS:
            await self._talk_on(writer)
        return reply.leaves_off is None

    async def _talk_on(self, writer: asyncio.StreamWriter) -> None:
        while not self._held.is_set():
            writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            await writer.drain()


@asynccontextmanager
async def scripted_server(*replies: HttpReply) -> AsyncIterator[ScriptedServer]:
    """Run a server on a free port of this machine for as long as the block."""
    scripted = ScriptedServer(*replies)
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        await scripted.end()
        server.close()


async def _read(reader: asyncio.StreamReader) -> HttpSeen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    lines = [line.partition(":") for line in head[1:] if line]
    headers = {name.lower(): value.strip() for name, _, value in lines}
    return HttpSeen(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


def _written(reply: HttpReply) -> bytes:
    framing = {"Transfer-Encoding": "chunked"}
    if reply.leaves_off is not Break.ENDLESS:
        framing = {"Content-Length": str(len(reply.content))}
    lines = [f"{name}: {value}\r\n" for name, value in {**framing, **reply.headers}.items()]
    head = f"HTTP/1.1 {reply.status} Said\r\n{''.join(lines)}\r\n".encode("latin-1")
    return head if reply.leaves_off is Break.ENDLESS else head + reply.content
