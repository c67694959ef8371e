"""An SMTP server that does what a test tells it to, at any stage: answer anything, hang, or cut the connection.

Stages are the commands as they arrive, and "connect", "body" (the first line was read) and "dot".
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Say:
    """Write these bytes (None: what a healthy server writes), then go on, cut the connection or fall silent."""

    data: bytes | None = None
    then: Literal["go on", "close", "hang"] = "go on"


HEALTHY: dict[str, bytes] = {
    "connect": b"220 ready\r\n",
    "EHLO": b"250-scripted\r\n250 SIZE 99999999\r\n",
    "AUTH": b"235 welcome\r\n",
    "DATA": b"354 go on\r\n",
    "body": b"",
    "QUIT": b"221 bye\r\n",
}
CLOSE = Say(b"", "close")
HANG = Say(b"", "hang")

Script = Callable[[int, str], Say | None]


class _Cut(Exception):
    """This connection is over."""


@dataclass
class ScriptedSmtp:
    """What a running server saw; `script` gets the connection's number (from 1) and the stage."""

    script: Script
    port: int = 0
    connections: int = 0
    commands: list[str] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    seen: dict[str, asyncio.Event] = field(default_factory=dict)
    _released: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def url(self, settings: str = "starttls=false", user: str = "") -> str:
        return f"smtp://{user}127.0.0.1:{self.port}?from=news@example.com&{settings}"

    def reached(self, stage: str) -> asyncio.Event:
        return self.seen.setdefault(stage, asyncio.Event())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._talk(self.connections, reader, writer)
        except (_Cut, OSError, EOFError):
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)
            self._writers.discard(writer)

    async def stop(self) -> None:
        self._released.set()
        for writer in self._writers:
            writer.transport.abort()
        async with asyncio.timeout(10):
            await asyncio.gather(*self._tasks)

    async def _talk(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._act(number, "connect", writer)
        while line := await reader.readline():
            verb = line.split()[0].decode().upper()
            self.commands.append(line.decode().strip())
            said = await self._act(number, verb, writer)
            if b"354 " in said:
                await self._read_message(number, reader, writer)

    async def _read_message(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = [await reader.readline()]
        await self._act(number, "body", writer)
        while (line := await reader.readline()) not in (b".\r\n", b""):
            lines.append(line)
        if line:
            self.messages.append(b"".join(lines))
            await self._act(number, "dot", writer)

    async def _act(self, number: int, stage: str, writer: asyncio.StreamWriter) -> bytes:
        say = self.script(number, stage) or Say()
        said = HEALTHY.get(stage, b"250 ok\r\n") if say.data is None else say.data
        writer.write(said)
        await writer.drain()
        self.reached(stage).set()
        if say.then == "close":
            raise _Cut
        if say.then == "hang":
            await self._released.wait()
        return said


@asynccontextmanager
async def scripted(script: Script | Mapping[str, Say] | None = None) -> AsyncIterator[ScriptedSmtp]:
    """Run a server on a free port; a mapping means the same on every connection."""
    chosen = script if callable(script) else lambda _number, stage: (script or {}).get(stage)
    smtp = ScriptedSmtp(chosen)
    listener = socket.create_server(("127.0.0.1", 0))
    # A small window: a message of some megabytes can then never hide in the kernel's buffers.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    server = await asyncio.start_server(smtp.serve, sock=listener, limit=1024)
    smtp.port = listener.getsockname()[1]
    try:
        yield smtp
    finally:
        server.close()
        await smtp.stop()
        await server.wait_closed()
