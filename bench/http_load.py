"""Callers that ask over HTTP, each over a connection of its own and one request at a time.

Written out in bytes, so that the asking costs little beside the answering on the same machine.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

CALLERS = 10
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, and the status that its answer must have."""

    method: str
    path: str
    body: object = None
    status: int = 200


class _Caller(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = bytearray()
        self._waiting: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's is none by its class

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionError("the server ended the connection"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(_END_OF_HEAD)
        if head < 0 or self._waiting is None:
            return
        found = _LENGTH.search(self._buffer, 0, head)
        end = head + len(_END_OF_HEAD) + (int(found[1]) if found else 0)
        if len(self._buffer) >= end:
            answer, self._buffer = bytes(self._buffer[:end]), self._buffer[end:]
            self._waiting.set_result(answer)

    async def ask(self, request: bytes) -> bytes:
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting


class HttpLoad:
    """Asks one server, with one key."""

    def __init__(self, url: str, key: str) -> None:
        self._host, self._port = urlsplit(url).hostname or "", urlsplit(url).port or 80
        self._key = key

    async def ask(self, requests: Sequence[Asked], callers: int = CALLERS) -> list[bytes]:
        """Ask everything, each caller whatever is next; return the bodies in the order of their arrival."""
        coming, bodies = iter([(self._written(one), one) for one in requests]), list[bytes]()
        await asyncio.gather(*(self._call(coming, bodies) for _ in range(min(callers, len(requests)))))
        return bodies

    async def _call(self, coming: Iterator[tuple[bytes, Asked]], bodies: list[bytes]) -> None:
        loop = asyncio.get_running_loop()
        transport, caller = await loop.create_connection(_Caller, self._host, self._port)
        try:
            for request, asked in coming:
                answer = await caller.ask(request)
                if int(answer[9:12]) != asked.status:
                    raise AssertionError(f"{asked.method} {asked.path} was answered {answer.decode()!r}")
                bodies.append(answer.partition(_END_OF_HEAD)[2])
        finally:
            transport.close()

    def _written(self, asked: Asked) -> bytes:
        body = b"" if asked.body is None else json.dumps(asked.body).encode()
        head = (
            f"{asked.method} {asked.path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Authorization: Bearer {self._key}\r\nAccept: */*\r\n"
        )
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body


def ids_of(bodies: Iterable[bytes]) -> list[str]:
    """The ids of what was answered."""
    return [json.loads(body)["id"] for body in bodies]
