"""One HTTP/1.1 connection: a request goes out in one write, its answer is read by httptools (llhttp, strict).

The server may say anything: what is read is bounded in size and in time, and a connection on which it said more than it
was asked is not used again.
"""

import asyncio
import select
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tidings.providers.deadline_timer import DeadlineTimer
from tidings.providers.http_request import LATE, HttpAnswer, HttpRequest, NoAnswer

LARGEST_HEAD = 65_536
_OVERHEAD_OF_BODY = 8
"""Bytes of framing for a byte of the body: chunks of one byte take five."""
_SWITCHING = 101
_poll = getattr(select, "poll", None)  # which Windows does not have


class HttpConnection(asyncio.Protocol):
    """A connection that carries one request at a time; the methods named on_… are called by the parser."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = HttpResponseParser(self)
        self._timer = DeadlineTimer(self._expire)
        self._waiter: asyncio.Future[None] | None = None
        self._end: HttpAnswer | NoAnswer | None = None
        self._is_reusable = True
        self._is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; not checked by isinstance, since uvloop's is no child of asyncio's."""
        self.transport = cast("asyncio.Transport", transport)
        self._socket = transport.get_extra_info("socket")

    @property
    def is_reusable(self) -> bool:
        """True while the last answer came whole, and the server keeps the connection."""
        return self._is_reusable and not self._is_lost and not self.transport.is_closing()

    @property
    def is_silent(self) -> bool:
        """False when the end of the connection, or a word that nobody asked for, has arrived and was not read yet."""
        if _poll is None:
            return True
        ready = _poll()
        ready.register(self._socket.fileno(), select.POLLIN)
        return not ready.poll(0)

    async def exchange(self, request: HttpRequest, written: bytes, until: float) -> HttpAnswer | NoAnswer:
        """Write the request, and wait for its answer until that moment on the loop's clock."""
        self._begin(request)
        self._timer.start(until)
        try:
            self.transport.write(written)
            if self._end is None:
                self._waiter = self._loop.create_future()
                await self._waiter
        except RuntimeError as error:  # uvloop's word for a transport that is gone
            self._finish(NoAnswer(str(error)))
        except BaseException:
            self.abort()
            raise
        self._timer.stop()
        return self._end or NoAnswer("the connection ended")

    def abort(self) -> None:
        """Drop the connection."""
        self._is_reusable = False
        self._timer.close()
        self.transport.abort()

    # From the transport

    def data_received(self, data: bytes) -> None:
        """Read a piece of the answer."""
        if self._end is not None or self._waiter is None:
            self._is_reusable = False  # nobody asked
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._is_reusable = False
            self._break_off(f"the answer is no HTTP: {error}")
        if self._received - self._size > LARGEST_HEAD + _OVERHEAD_OF_BODY * self._size:
            self._is_reusable = False
            self._break_off("the head of the answer is too large")

    def eof_received(self) -> None:
        """The server has said its last."""
        self._lose("the server closed the connection before its answer")

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._lose(str(exc or "") or "the connection was lost before the answer")

    def _lose(self, reason: str) -> None:
        self._is_lost = True
        self._timer.close()
        if self._waiter is None or self._end is not None:
            return
        if self._has_head and not self._is_framed:
            self._finish(self._answer(bytes(self._body)))  # its end is the end of the connection
        else:
            self._break_off(reason)

    def _expire(self) -> None:
        self._finish(NoAnswer(LATE))
        self.abort()

    # From the parser

    def on_message_begin(self) -> None:
        """An answer begins; one more than was asked for spoils the connection."""
        if self._end is not None:
            self._is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the head; trailers are not read."""
        if not self._has_head and self._end is None:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        """The head is whole; that of an interim answer (1xx) says nothing."""
        if self._end is not None:
            return
        self._status = self._parser.get_status_code()
        self._is_interim = self._status < 200 and self._status != _SWITCHING
        if self._is_interim:
            self._headers.clear()
            return
        self._has_head = True
        self._is_framed = "content-length" in self._headers or "transfer-encoding" in self._headers
        if self._into is not None and not 200 <= self._status < 300:
            self._is_reusable = False
            self._finish(self._answer(b""))

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body, or hand it on, up to the limit."""
        if self._end is not None:
            return
        self._size += len(body)
        if self._into is None:
            self._body += body
        elif self._size <= self._largest:
            self._into.write(body)
        if self._size > self._largest:
            self._is_reusable = False
            self._finish(self._answer(bytes(self._body)))

    def on_message_complete(self) -> None:
        """The answer is whole, unless it was an interim one."""
        if self._end is not None or self._is_interim:
            return
        keeps = self._parser.should_keep_alive() and self._status != _SWITCHING
        # A server that answers before it has read the whole request may take the rest for the next one.
        if not keeps or self.transport.get_write_buffer_size():
            self._is_reusable = False
        self._finish(self._answer(bytes(self._body)))

    # The state of one exchange

    def _begin(self, request: HttpRequest) -> None:
        self._end, self._waiter = None, None
        self._largest, self._into = request.largest_answer, request.into
        self._status = self._received = self._size = 0
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._has_head = self._is_interim = self._is_framed = False

    def _answer(self, body: bytes | None) -> HttpAnswer:
        return HttpAnswer(self._status, self._headers, body, self._size)

    def _break_off(self, reason: str) -> None:
        """End the exchange: with what is known of the answer, if its head has come."""
        self._is_reusable = False
        self._finish(self._answer(None) if self._has_head else NoAnswer(reason))

    def _finish(self, end: HttpAnswer | NoAnswer) -> None:
        if self._end is None:
            self._end = end
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(None)
