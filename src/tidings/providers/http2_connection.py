"""One HTTP/2 connection (h2 speaks the protocol): many requests at once, each with its own end.

A request that the server says it has not processed (REFUSED_STREAM, or above the last one that GOAWAY names) was not
sent, for all that matters; any other that ends without a whole head of an answer got none. What is read is bounded in
size and in time.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import H2Error, NoSuchStreamError, ProtocolError
from h2.settings import SettingCodes, Settings

from tidings.providers.http2_frames import FrameSplitter, Goaway
from tidings.providers.http_request import LATE, HttpAnswer, HttpRequest, NoAnswer, NotSent

LARGEST_HEAD = 65_536
_LARGEST_TABLE = 4_096
"""Bytes of headers that are remembered, whatever a server would allow: each that is written is compared with all."""
_MOST_UNASKED = 10_000
"""Frames without a part of an answer (PING, SETTINGS, unknown ones): many are replied to, and all take our time."""
_MOST_STREAMS = 2**30
"""A connection that has carried so many requests is replaced: their numbers end at 2³¹."""
StreamEnd = HttpAnswer | NoAnswer | NotSent


class _Stream:
    """One request that is under way."""

    def __init__(self, request: HttpRequest, loop: asyncio.AbstractEventLoop) -> None:
        self.end: asyncio.Future[StreamEnd] = loop.create_future()
        self.may_write = asyncio.Event()
        self.is_over = False
        self._largest, self._into = request.largest_answer, request.into
        self._status, self._size = 0, 0
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    def begin_answer(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """The head has come."""
        named = {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in headers}
        self._status = int(named.pop(":status", "0"))
        self._headers = named

    def take(self, data: bytes) -> None:
        """Keep a piece of the body, or hand it on, up to the limit."""
        self._size += len(data)
        if self._into is None:
            self._body += data
        elif self._size <= self._largest and 200 <= self._status < 300:
            self._into.write(data)
        if self._size > self._largest:
            self.finish(self.answer(bytes(self._body)))

    def answer(self, body: bytes | None) -> HttpAnswer:
        """The answer as far as it has come."""
        return HttpAnswer(self._status, self._headers, body, self._size)

    def complete(self) -> None:
        """The server has said its last."""
        self.is_over = True
        self.finish(self.answer(bytes(self._body)))

    def break_off(self, reason: str, *, is_unprocessed: bool = False) -> None:
        """End it without a whole answer."""
        self.is_over = True
        if self._status:
            self.finish(self.answer(None))
        else:
            self.finish(NotSent(reason) if is_unprocessed else NoAnswer(reason))

    def finish(self, end: StreamEnd) -> None:
        """Say how it ended; only the first end counts."""
        self.may_write.set()
        if not self.end.done():
            self.end.set_result(end)


class Http2Connection(asyncio.Protocol):
    """A connection that carries as many requests at once as its server allows."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._h2.local_settings = Settings(
            client=True,
            initial_values={SettingCodes.ENABLE_PUSH: 0, SettingCodes.MAX_HEADER_LIST_SIZE: LARGEST_HEAD},
        )
        self._frames = FrameSplitter()
        self._streams: dict[int, _Stream] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ping: asyncio.Future[None] | None = None
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._is_closing = False
        self._unasked = 0
        self.heard_at = self._loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak; not checked by isinstance, since uvloop's transport is no child of asyncio's."""
        self.transport = cast("asyncio.Transport", transport)
        self._h2.initiate_connection()
        self._flush()

    @property
    def is_usable(self) -> bool:
        """Whether another request may go over it."""
        return not self._is_closing and not self.transport.is_closing()

    @property
    def header_table_size(self) -> int:
        """The most bytes of headers that are remembered."""
        return self._h2.encoder.header_table_size

    async def until_ready(self) -> None:
        """Wait for the server's settings: before them nobody knows how many requests it takes at once."""
        await self._ready

    async def ping(self) -> None:
        """Wait for a sign of life, one for all who ask; raise ConnectionError when the connection has ended."""
        if not self.is_usable:
            raise ConnectionError("the connection has ended")
        if self._ping is None:
            self._ping = self._loop.create_future()
            self._h2.ping(b"tidings.")
            self._flush()
        await asyncio.shield(self._ping)

    def retire(self) -> None:
        """Take no more requests; end when those under way have ended."""
        self._is_closing = True
        self._end_if_idle()
        self._wake()

    async def until_free(self) -> None:
        """Wait until the server would take one more request, or the connection takes none."""
        while self.is_usable and len(self._streams) >= self._h2.remote_settings.max_concurrent_streams:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(waiter)
            await waiter

    async def exchange(self, request: HttpRequest, headers: Sequence[tuple[str, str]], until: float) -> StreamEnd:
        """Write the request, and wait for its answer until that moment on the loop's clock."""
        stream = _Stream(request, self._loop)
        try:
            number = self._h2.get_next_available_stream_id()
            self._h2.send_headers(number, headers, end_stream=not request.body)
        except H2Error as error:
            self._is_closing = True
            return NotSent(f"the connection takes no request: {error}")
        self._is_closing = self._is_closing or number > _MOST_STREAMS
        self._streams[number] = stream
        try:
            async with asyncio.timeout_at(until):
                await self._write(number, stream, request.body)
                return await stream.end
        except TimeoutError:
            return NoAnswer(LATE)
        finally:
            self._leave(number, stream)

    async def _write(self, number: int, stream: _Stream, body: bytes) -> None:
        """Write the body as far and as fast as the server's windows allow; the first part without a break."""
        rest = memoryview(body)
        while rest and not stream.end.done():
            allowed = min(self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size, len(rest))
            if allowed > 0:
                self._h2.send_data(number, bytes(rest[:allowed]), end_stream=allowed == len(rest))
                rest = rest[allowed:]
            else:
                stream.may_write.clear()
                self._flush()
                await stream.may_write.wait()
        self._flush()

    def _leave(self, number: int, stream: _Stream) -> None:
        """Let the next request in; tell the server when nobody waits for its answer any more."""
        self._streams.pop(number, None)
        if not stream.is_over:
            with suppress(ProtocolError):  # the connection has ended
                self._h2.reset_stream(number, ErrorCodes.CANCEL)
            self._flush()
        self._end_if_idle()
        self._wake()

    def _end_if_idle(self) -> None:
        if self._is_closing and not self._streams:
            self.close()

    def close(self) -> None:
        """Say good-bye, and end the connection."""
        self._is_closing = True
        with suppress(ProtocolError):  # it has broken off already
            self._h2.close_connection()
        self._flush()
        self.transport.close()

    # From the transport

    def data_received(self, data: bytes) -> None:
        """Read what the server says."""
        self.heard_at = self._loop.time()
        try:
            for frame in self._frames.feed(data):
                if isinstance(frame, Goaway):
                    self._hear_goaway(frame)
                else:
                    self._count_unasked()
                    for event in self._h2.receive_data(frame):
                        self._hear(event)
        except ProtocolError as error:
            self._flush()
            self._lose(f"the answer is no HTTP/2: {error}")
            self.transport.abort()
            return
        self._flush()

    def _count_unasked(self) -> None:
        self._unasked += 1
        if self._unasked > _MOST_UNASKED:
            raise ProtocolError(f"{_MOST_UNASKED:,} frames without answering anything")

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._lose(str(exc or "") or "the connection was lost before the answer")

    def _lose(self, reason: str) -> None:
        self._is_closing = True
        if not self._ready.done():
            self._ready.set_exception(ConnectionError(reason))
            self._ready.exception()  # which nobody may be waiting for
        for stream in self._streams.values():
            stream.break_off(reason)
        if self._ping is not None:
            self._ping.set_exception(ConnectionError(reason))
            self._ping.exception()
            self._ping = None
        self._wake()

    # From h2

    def _hear(self, event: events.Event) -> None:
        match event:
            case events.RemoteSettingsChanged():
                self._h2.encoder.header_table_size = min(self.header_table_size, _LARGEST_TABLE)
                if not self._ready.done():
                    self._ready.set_result(None)
                self._wake()
                self._let_write()
            case events.WindowUpdated():
                self._let_write()
            case events.PingAckReceived():
                if self._ping is not None:
                    self._ping.set_result(None)
                    self._ping = None
            case events.ResponseReceived() | events.DataReceived() | events.StreamEnded() | events.StreamReset():
                self._hear_of_stream(event)
            case _:
                pass  # interim answers, trailers, acknowledgements

    def _hear_of_stream(
        self, event: events.ResponseReceived | events.DataReceived | events.StreamEnded | events.StreamReset
    ) -> None:
        number = event.stream_id or 0
        stream = self._streams.get(number)
        if isinstance(event, events.DataReceived):
            self._acknowledge(event.flow_controlled_length or 0, number)
        if stream is None:
            return
        match event:
            case events.ResponseReceived():
                self._unasked = 0
                stream.begin_answer(cast("list[tuple[bytes, bytes]]", event.headers or []))
            case events.DataReceived():
                self._unasked = 0 if event.data else self._unasked
                stream.take(bytes(event.data or b""))
            case events.StreamEnded():
                stream.complete()
            case events.StreamReset():
                is_unprocessed = event.error_code == ErrorCodes.REFUSED_STREAM
                stream.break_off(
                    f"the server ended the request: {_name(event.error_code)}", is_unprocessed=is_unprocessed
                )

    def _hear_goaway(self, goaway: Goaway) -> None:
        """Take no more requests over it; those under way that the server names are still answered."""
        self._is_closing = True
        reason = f"the server ended the connection: {_name(goaway.error)} {goaway.words}".strip()
        for number, stream in self._streams.items():
            if number > goaway.last_stream:
                stream.break_off(reason, is_unprocessed=True)
        self._end_if_idle()
        self._wake()

    def _acknowledge(self, length: int, number: int) -> None:
        with suppress(NoSuchStreamError):  # it was left before
            self._h2.acknowledge_received_data(length, number)

    def _let_write(self) -> None:
        for stream in self._streams.values():
            stream.may_write.set()

    def _wake(self) -> None:
        """Let those look again who wait to send."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _flush(self) -> None:
        written = self._h2.data_to_send()
        if written and not self.transport.is_closing():
            self.transport.write(written)


def _name(code: ErrorCodes | int | None) -> str:
    try:
        return ErrorCodes(code or 0).name
    except ValueError:
        return f"error {code}"
