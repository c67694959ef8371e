"""uvicorn's protocol, with bounds on what a connection may hold, whoever it is.

uvicorn itself holds a request head of any length and any number of requests that are sent ahead, waits for the end of
a head for ever, and for ever for a peer that does not read: closing a connection waits until everything is sent.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tidings.http.connections import OpenConnections
from tidings.http.errors import PROBLEM_JSON, TITLES

LARGEST_HEAD = 100_000
HEAD_SECONDS = 20.0
"""How long a connection may lack a complete request head, counted from its start or from the start of the next head."""


WRITE_SECONDS = 20.0
"""How long a peer may leave unread what is sent to it, before the connection is cut off."""
MOST_PIPELINED = 20
"""How many requests may wait for the answer to the one before; the connection ends after the last of them."""


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections that are too many, say too much, or neither say nor read in time."""

    open_connections: OpenConnections

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head = 0
        self._in_body = False
        self._has_asked = False
        self._complaint: str | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._takes_no_more = False
        self._answering: RequestResponseCycle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, but not for ever; refuse the connection if there are too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=1)  # whatever is left unread is noticed; 0 stalls TLS
        if refusal := self.open_connections.add(self._address):
            self._takes_no_more = True
            self._refuse(503, "too_many_connections", refusal)
        else:
            self._be_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self.open_connections.remove(self._address)
        self._wait_no_more()
        if self._unread is not None:
            self._unread.cancel()
        self.pipeline.clear()
        if self._answering is not None and not self._answering.response_complete:
            # uvicorn tells only the newest request, and the one that is being answered would go on writing.
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """Wait until the peer reads, but not for ever."""
        super().pause_writing()
        self._watch_the_reader()

    def data_received(self, data: bytes) -> None:
        """Take what arrived, unless the head is too long."""
        if self._takes_no_more or self.transport.is_closing():
            return
        if not self._has_asked or self.cycle.response_complete:
            self._be_patient()
        self._head += 0 if self._in_body else len(data)
        super().data_received(data)
        if self._head > LARGEST_HEAD and not self.transport.is_closing():
            self._refuse(431, "head_too_large", f"the address and the headers have more than {LARGEST_HEAD:,} bytes")

    def on_headers_complete(self) -> None:
        """Stop the clock: from here on the edge's deadline holds."""
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            self._complaint = f"the request has {hosts} Host headers; send one, such as Host: example.com"
            raise ValueError(self._complaint)  # ends the parser, which ends in send_400_response
        if len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("too many requests are sent ahead")
        super().on_headers_complete()
        self._head, self._in_body, self._has_asked = 0, True, True
        self._wait_no_more()

    def on_message_complete(self) -> None:
        """Expect another head."""
        super().on_message_complete()
        self._in_body = False

    def send_400_response(self, msg: str) -> None:
        """Answer in our own form that this is not HTTP; after the answers to what came before, only end."""
        if self._has_asked and not self.cycle.response_complete:
            self._takes_no_more = True
            last = self.pipeline[0][0] if self.pipeline else self.cycle
            last.keep_alive = False
            return
        self._refuse(400, "request_malformed", self._complaint or msg)

    def _be_patient(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _watch_the_reader(self) -> None:
        if self._unread is None:
            left = self.transport.get_write_buffer_size()
            self._unread = self.loop.call_later(WRITE_SECONDS, self._cut_off_if_unread, left)

    def _cut_off_if_unread(self, before: int) -> None:
        self._unread = None
        left = self.transport.get_write_buffer_size()
        if left and left >= before:
            self.transport.abort()
        elif left:
            self._watch_the_reader()

    def _wait_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _refuse(self, status: int, code: str, detail: str) -> None:
        body = msgspec.json.encode(
            {
                "type": f"urn:tidings:problem:{code}",
                "title": TITLES[status],
                "status": status,
                "code": code,
                "detail": detail,
                "errors": [],
                "requestId": None,
            }
        )
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {PROBLEM_JSON}\r\n"
            f"content-length: {len(body)}\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def protocol_of(open_connections: OpenConnections) -> type[BoundedProtocol]:
    """Return the protocol of one server, whose connections are counted together."""
    return type("CountedProtocol", (BoundedProtocol,), {"open_connections": open_connections})
