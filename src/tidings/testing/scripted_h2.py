"""An HTTP/2 server that says what it is told to, and breaks off where it is told to: for tests of providers.

Without TLS it speaks to whoever knows that it does (h2c); the faults of scripted_http.py mean the same here.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from tidings.testing.scripted_http import Break, HttpReply, HttpSeen, ScriptedReplies

_PIECE = 16_384


class H2Fault(StrEnum):
    """What only an HTTP/2 server can do instead of answering."""

    REFUSES = "refuses the stream"
    CANCELS = "cancels the stream"
    GOES_AWAY_BEFORE = "goes away before the request"
    GOES_AWAY_AFTER = "goes away after the request, and answers it"


@dataclass(frozen=True, slots=True)
class H2Reply(HttpReply):
    """An answer over HTTP/2, or what happens instead of one."""

    fault: H2Fault | None = None


@dataclass(slots=True)
class _Arriving:
    headers: dict[str, str]
    body: bytes = b""

    def seen(self) -> HttpSeen:
        plain = {name: value for name, value in self.headers.items() if not name.startswith(":")}
        return HttpSeen(self.headers[":method"], self.headers[":path"], plain, self.body)


class ScriptedH2Server(ScriptedReplies):
    """Answers over HTTP/2; `connections` counts those that were opened."""

    def __init__(self, *replies: HttpReply, most_streams: int = 100) -> None:
        super().__init__(*replies)
        self.most_streams = most_streams
        self.connections = 0
        self.most_open = 0
        self.held = asyncio.Event()
        """Answers wait for it; set from the beginning."""
        self.held.set()
        self._serving: set[asyncio.Task[None]] = set()

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to answer on one connection."""
        self.connections += 1
        self._serving.add(asyncio.create_task(_H2Peer(self, reader, writer).serve()))

    async def end(self) -> None:
        """Let go of every connection, whatever hangs."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)


class _H2Peer:
    """One connection of a server."""

    def __init__(self, server: ScriptedH2Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self._h2.local_settings = Settings(
            client=False, initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: server.most_streams}
        )
        self._requests: dict[int, _Arriving] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._window = asyncio.Event()

    async def serve(self) -> None:
        """Read until the other side ends it, or a fault does."""
        try:
            if self._server.replies[0].leaves_off is Break.BEFORE_READING:
                await asyncio.Event().wait()
            self._h2.initiate_connection()
            self._flush()
            while data := await self._reader.read(65_536):
                for event in self._h2.receive_data(data):
                    self._hear(event)
                self._flush()
        except (ConnectionError, ProtocolError):
            pass  # the other side has ended it
        finally:
            for task in self._answering:
                task.cancel()
            self._writer.transport.abort()

    def _hear(self, event: events.Event) -> None:
        match event:
            case events.RequestReceived():
                head = {_text(name): _text(value) for name, value in event.headers}
                self._requests[event.stream_id or 0] = _Arriving(head)
                self._server.most_open = max(self._server.most_open, len(self._requests))
            case events.DataReceived():
                self._requests[event.stream_id or 0].body += bytes(event.data or b"")
                self._h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id or 0)
            case events.StreamEnded():
                self._begin_answer(event.stream_id or 0)
            case events.StreamReset():
                self._requests.pop(event.stream_id or 0, None)
            case events.WindowUpdated() | events.RemoteSettingsChanged():
                self._window.set()
            case _:
                pass

    def _begin_answer(self, number: int) -> None:
        self._server.seen.append(self._requests[number].seen())
        self._answering.add(asyncio.create_task(self._answer(number, self._server.reply())))

    async def _answer(self, number: int, reply: HttpReply) -> None:
        await self._server.held.wait()
        with suppress(ProtocolError, ConnectionError):
            if isinstance(reply, H2Reply) and reply.fault is not None:
                self._break(number, reply.fault)
            if reply.leaves_off is None:
                await self._write(number, reply, reply.content)
            else:
                await self._leave_off(number, reply)
        self._requests.pop(number, None)

    def _break(self, number: int, fault: H2Fault) -> None:
        match fault:
            case H2Fault.REFUSES | H2Fault.CANCELS:
                code = ErrorCodes.REFUSED_STREAM if fault is H2Fault.REFUSES else ErrorCodes.CANCEL
                self._h2.reset_stream(number, code)
            case H2Fault.GOES_AWAY_BEFORE | H2Fault.GOES_AWAY_AFTER:
                last = number - 2 if fault is H2Fault.GOES_AWAY_BEFORE else number
                self._writer.write(_goaway(max(last, 0)))
        self._flush()

    async def _leave_off(self, number: int, reply: HttpReply) -> None:
        match reply.leaves_off:
            case Break.CLOSES:
                self._writer.transport.close()
            case Break.HALF_A_HEAD:
                self._h2.send_headers(number, _head(reply))
                self._writer.write(self._h2.data_to_send()[:-1])
                self._writer.transport.close()
            case Break.HALF_A_BODY:
                self._h2.send_headers(number, _head(reply))
                self._h2.send_data(number, reply.content[: -max(1, len(reply.content) // 2)])
                self._flush()
                self._writer.transport.close()
            case Break.ENDLESS:
                await self._write(number, reply, b"x" * 10_000_000)
            case _:
                await asyncio.Event().wait()

    async def _write(self, number: int, reply: HttpReply, body: bytes) -> None:
        self._h2.send_headers(number, _head(reply), end_stream=not body)
        while body:
            size = min(self._h2.local_flow_control_window(number), _PIECE, len(body))
            if size:
                self._h2.send_data(number, body[:size], end_stream=size == len(body))
                body = body[size:]
                self._flush()
            else:
                self._window.clear()
                await self._window.wait()
        self._flush()

    def _flush(self) -> None:
        if written := self._h2.data_to_send():
            self._writer.write(written)


def _text(part: str | bytes) -> str:
    return part.decode("latin-1") if isinstance(part, bytes) else part


def _head(reply: HttpReply) -> list[tuple[str, str]]:
    return [(":status", str(reply.status)), *((name.lower(), value) for name, value in reply.headers.items())]


def _goaway(last: int) -> bytes:
    """A GOAWAY as bytes: h2 would take it for the end of the connection, and answer nothing more."""
    words = b'{"reason":"Shutdown"}'
    return (len(words) + 8).to_bytes(3, "big") + b"\x07" + bytes(5) + last.to_bytes(4, "big") + bytes(4) + words


@asynccontextmanager
async def scripted_h2_server(
    *replies: HttpReply, most_streams: int = 100, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedH2Server]:
    """Run a server on a free port of this machine for as long as the block."""
    scripted = ScriptedH2Server(*replies, most_streams=most_streams)
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    scripted.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        await scripted.end()
        server.close()
