"""A small HTTP server that says exactly what it is told, byte for byte, or nothing at all."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Silence:
    """Read the request and never answer."""


@dataclass(frozen=True)
class HangUp:
    """Say this much, and close the connection."""

    first: bytes = b""


@dataclass(frozen=True)
class Stall:
    """Say this much, and nothing more."""

    first: bytes


Say = bytes | Silence | HangUp | Stall


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FunctionServer:
    """What was asked, and what will be answered; the last answer is for all that follow."""

    answers: list[Say]
    port: int = 0
    connections: int = 0
    requests: list[Received] = field(default_factory=list)
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _talks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def url(self, path: str = "/send", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if task := asyncio.current_task():
            self._talks.add(task)
        self._writers.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(Received(head[0], headers, body))
        say = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(say, bytes):
            writer.write(say)
            await writer.drain()
            return True
        if not isinstance(say, Silence):
            writer.write(say.first)
            await writer.drain()
        if not isinstance(say, HangUp):
            await self._over.wait()
        return False

    async def hang_up(self) -> None:
        """Close every connection, as a server does that has had enough of idle ones."""
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def end(self) -> None:
        """Wait until every connection is gone: nothing of one test may be left in the next."""
        self._over.set()
        await asyncio.wait_for(asyncio.gather(*self._talks, return_exceptions=True), 5)


def answer(body: object = None, status: int = 200, *, headers: Sequence[str] = (), raw: bytes | None = None) -> bytes:
    """A whole answer with a length."""
    content = json.dumps(body).encode() if raw is None else raw
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(content)}", *headers]
    if raw is None:
        lines.append("Content-Type: application/json")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content


@asynccontextmanager
async def function_server(*answers: Say, tls: ssl.SSLContext | None = None) -> AsyncIterator[FunctionServer]:
    scene = FunctionServer(list(answers) or [answer({"success": True, "data": {"ok": True}})])
    server = await asyncio.start_server(scene.serve, "127.0.0.1", 0, ssl=tls)
    scene.port = server.sockets[0].getsockname()[1]
    try:
        yield scene
    finally:
        server.close()
        await scene.end()
        await server.wait_closed()


@asynccontextmanager
async def silent_port() -> AsyncIterator[tuple[int, asyncio.Event]]:
    """A port that takes a connection and never says a word; gives the port, and when the other side has hung up."""
    left = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        left.set()
        writer.transport.abort()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], left
    finally:
        server.close()
        await server.wait_closed()
