"""Functions to be called over HTTP, as a process of its own: some answer at once, some hang.

`python -m bench.function_server` says its port and ends with its standard input. `POST /quick` is answered at once,
`POST /hang` after HANG_SECONDS. Each call is noted in the file that BENCH_ARRIVALS names, under the `label` of its
payload, as bench/app.py notes messages.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import uvloop

from bench.app import ARRIVALS
from bench.port_server import PortServer

HOST = "127.0.0.1"
HANG_SECONDS = 50
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"success":true}'


class FunctionServer(PortServer):
    """The same, seen from the benchmark."""

    def __init__(self, arrivals: Path) -> None:
        super().__init__("bench.function_server", {ARRIVALS: str(arrivals)})

    def url(self, function: str) -> str:
        """Where a function is called."""
        return f"http://{HOST}:{self.port}/{function}"


async def answer(file: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the calls of one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            os.write(file, f"{body['payload']['label']} {time.monotonic()}\n".encode())
            if "/hang" in head.partition("\r\n")[0]:
                await asyncio.sleep(HANG_SECONDS)
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve() -> None:
    """Be called until standard input ends."""
    file = os.open(os.environ[ARRIVALS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    server = await asyncio.start_server(lambda reader, writer: answer(file, reader, writer), HOST, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    uvloop.run(serve())
