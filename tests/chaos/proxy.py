"""A TCP proxy on which things go wrong as a test asks for: cuts, half-open connections, stalls, delay, slowness.

It runs in the loop of whoever opened it. What is set applies to all its links, those that are open included.
"""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.chaos.dialogue import READY_OUTSIDE_A_TRANSACTION, Frontend

MOST_BYTES = 65_536
SLOW_STEPS_PER_SECOND = 10


class Toward(StrEnum):
    """Which way bytes go."""

    SERVER = "server"
    CLIENT = "client"


class Moment(StrEnum):
    """Where a commit is cut off."""

    BEFORE = "before"  # it never reaches the server
    AFTER = "after"  # the server has committed, and nobody hears of it


FAREWELL = b"X"
"""How PostgreSQL's protocol says that a connection ends."""


@dataclass(slots=True)
class CommitCut:
    """Cut the next commit of one of these statements."""

    texts: frozenset[str]
    moment: Moment


@dataclass(slots=True)
class ByteCut:
    """Cut whoever carries the last of so many bytes, usually in the middle of a message."""

    toward: Toward
    left: int


@dataclass(slots=True)
class PatternCut:
    """Cut whoever carries these bytes, right before them."""

    toward: Toward
    pattern: bytes


Cut = CommitCut | ByteCut | PatternCut


@dataclass(slots=True)
class Weather:
    """How bytes travel."""

    delay_seconds: float = 0.0
    bytes_per_second: int | None = None  # of each link and direction

    @property
    def bite(self) -> int:
        """How much is carried at once."""
        return max(1, self.bytes_per_second // SLOW_STEPS_PER_SECOND) if self.bytes_per_second else MOST_BYTES


class CutOff(Exception):
    """This link is over."""


@dataclass(eq=False, slots=True)
class Link:
    """One client's connection and the one behind it."""

    proxy: "Proxy"
    client: tuple[StreamReader, StreamWriter]
    server: tuple[StreamReader, StreamWriter]
    is_deaf: bool = False
    was_asked_in_vain: bool = False  # since it is deaf
    _frontend: Frontend = field(default_factory=Frontend)
    _unheard: bytes | None = None  # the end of an answer that the client shall not get

    async def carry(self) -> None:
        """Carry both ways until one ends; a deaf link stays for the side that has not noticed."""
        ways = [
            asyncio.create_task(self._listen(self.client[0], self._upward)),
            asyncio.create_task(self._listen(self.server[0], self._downward)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if self.is_deaf:
                await asyncio.wait(ways)
        finally:
            self.client[1].transport.abort()  # before anything is awaited: a link that is ending may be cancelled too
            self.server[1].transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _listen(self, reader: StreamReader, carry: Callable[[bytes], Awaitable[None]]) -> None:
        with suppress(CutOff, OSError):
            while data := await reader.read(self.proxy.weather.bite):
                await self.proxy.endure(len(data))
                if not self.is_deaf:
                    await carry(data)
                elif reader is self.client[0] and data[:1] != FAREWELL:
                    self.was_asked_in_vain = True

    async def _upward(self, data: bytes) -> None:
        for message in self._frontend.feed(data) if self.proxy.speaks_postgres else ():
            moment = self.proxy.take_commit_cut(message.commits)
            if moment is Moment.BEFORE:
                raise CutOff
            if moment is Moment.AFTER:
                self._unheard = b""
            await self._write(Toward.SERVER, message.raw)
        if not self.proxy.speaks_postgres:
            await self._write(Toward.SERVER, data)

    async def _downward(self, data: bytes) -> None:
        if self._unheard is None:
            return await self._write(Toward.CLIENT, data)
        self._unheard = (self._unheard + data)[-len(READY_OUTSIDE_A_TRANSACTION) :]
        if self._unheard == READY_OUTSIDE_A_TRANSACTION:
            raise CutOff
        return None

    async def _write(self, toward: Toward, data: bytes) -> None:
        writer = self.server[1] if toward is Toward.SERVER else self.client[1]
        end = self.proxy.take_byte_cut(toward, data)
        writer.write(data[:end])
        await writer.drain()
        if end is not None:
            raise CutOff


class Proxy:
    """Listens on loopback for as long as its `async with` block; `speaks_postgres` is needed to cut commits."""

    def __init__(self, host: str, port: int, *, speaks_postgres: bool = False) -> None:
        self._upstream = host, port
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._armed: list[Cut] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.links: set[Link] = set()
        self.port = 0
        self.speaks_postgres = speaks_postgres
        self.weather = Weather()
        self.cuts = 0

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.refuse()

    async def accept(self) -> None:
        """Let clients in (again), at the same port as ever."""
        if self._server is None:
            self._server = await asyncio.start_server(self._meet, "127.0.0.1", self.port, backlog=1000)
            self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Cut every link and refuse new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # an aborted transport closes its socket in the next turn of the loop

    def arm(self, cut: Cut) -> None:
        """Have one link cut: the first that the cut fits."""
        self._armed.append(cut)

    def deafen(self) -> int:
        """Make the open links half-open: nothing passes any more, neither side is told. New links are sound."""
        hearing = [link for link in self.links if not link.is_deaf]
        for link in hearing:
            link.is_deaf = True
        return len(hearing)

    def stall(self) -> None:
        """Hold every byte back until `flow`."""
        self._flowing.clear()

    def flow(self) -> None:
        """Deliver what was held back, late."""
        self._flowing.set()

    async def endure(self, count: int) -> None:
        """What so many bytes have to wait for."""
        weather = self.weather
        await asyncio.sleep(weather.delay_seconds + count / (weather.bytes_per_second or float("inf")))
        await self._flowing.wait()

    def take_commit_cut(self, commits: frozenset[str]) -> Moment | None:
        """Whether this commit is one to be cut; each armed cut is used once."""
        for cut in self._armed:
            if isinstance(cut, CommitCut) and cut.texts & commits:
                self._use(cut)
                return cut.moment
        return None

    def take_byte_cut(self, toward: Toward, data: bytes) -> int | None:
        """How much of this may still pass before its link is cut; None for all of it, uncut."""
        for cut in self._armed:
            if isinstance(cut, CommitCut) or cut.toward is not toward:
                continue
            end = _end(cut, data)
            if end is not None:
                self._use(cut)
                return end
        return None

    def _use(self, cut: Cut) -> None:
        self._armed.remove(cut)
        self.cuts += 1

    def _meet(self, reader: StreamReader, writer: StreamWriter) -> None:
        if self._server is None:  # let in by a door that closed meanwhile
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.transport.abort())  # also of one that was cancelled before it began

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            server = await asyncio.open_connection(*self._upstream)
        except OSError:
            return
        link = Link(self, (reader, writer), server)
        self.links.add(link)
        try:
            await link.carry()
        finally:
            self.links.discard(link)


@asynccontextmanager
async def postgres_proxy(dsn: str) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy to a PostgreSQL, and the address to use instead of the server's own."""
    parts = urlsplit(dsn)
    async with Proxy(str(parts.hostname), int(parts.port or 0), speaks_postgres=True) as proxy:
        netloc = f"{parts.username}:{parts.password}@127.0.0.1:{proxy.port}"
        yield proxy, parts._replace(netloc=netloc).geturl()


def _end(cut: ByteCut | PatternCut, data: bytes) -> int | None:
    if isinstance(cut, PatternCut):
        found = data.find(cut.pattern)
        return None if found < 0 else found
    cut.left -= len(data)
    return None if cut.left > 0 else cut.left + len(data)
