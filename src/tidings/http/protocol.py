"""uvicorn's protocol, with a bound on what arrives before the first handler runs.

uvicorn itself holds a request head of any length, and waits for its end for ever.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tidings.http.errors import PROBLEM_JSON, TITLES

LARGEST_HEAD = 100_000
HEAD_SECONDS = 20.0
"""How long a connection may lack a complete request head, counted from its start or from the start of the next head."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose request head is too long or not complete in time."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head = 0
        self._in_body = False
        self._has_asked = False
        self._complaint: str | None = None
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._be_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what arrived, unless the head is too long."""
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
        super().on_headers_complete()
        self._head, self._in_body, self._has_asked = 0, True, True
        self._wait_no_more()

    def on_message_complete(self) -> None:
        """Expect another head."""
        super().on_message_complete()
        self._in_body = False

    def send_400_response(self, msg: str) -> None:
        """Answer in our own form that this is not HTTP."""
        self._refuse(400, "request_malformed", self._complaint or msg)

    def _be_patient(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

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
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
