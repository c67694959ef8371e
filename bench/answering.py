"""A server that answers every HTTP request at once with the least work there is, as a process of its own.

`python -m bench.answering` says its port and ends with its standard input.
"""

import asyncio
import sys
from typing import cast

import uvloop

from bench.function_server import ANSWER, HOST


class Answerer(asyncio.Protocol):
    """One connection; a request is a head and as much as its length says."""

    def __init__(self) -> None:
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop has its own, which are no children of it

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while (end := self._unread.find(b"\r\n\r\n")) >= 0:
            head = self._unread[:end].lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if len(self._unread) < end + 4 + length:
                return
            self._unread = self._unread[end + 4 + length :]
            self._transport.write(ANSWER)


async def serve() -> None:
    """Answer until standard input ends."""
    server = await asyncio.get_running_loop().create_server(Answerer, HOST, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    uvloop.run(serve())
