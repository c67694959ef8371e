"""Calls of functions over plain HTTP, by the provider that workers have, beside the bare client below it.

Ten at a time to a server of its own (bench/answering.py) that answers at once. `python -m bench.calling KIND 0` is the
process that is measured.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import uvloop

from bench.bench import Bench
from bench.function_server import HOST
from bench.port_server import PortServer
from bench.proc import cpu_seconds
from bench.programs import Programs, told_to_begin, told_to_end
from bench.report import Result
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Accepted
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS
from tidings.domain.workflows.function import Endpoint
from tidings.providers.functions import FunctionProvider
from tidings.providers.http_client import HttpClient
from tidings.providers.http_request import HttpAnswer, HttpRequest
from tidings.testing import marked_item

PORT, CALLS = "BENCH_HTTP_PORT", "BENCH_CALLS"
AT_ONCE = 10
SECONDS = 30.0
KINDS = {"client": "the HTTP client alone", "provider": "a call of a function over HTTP"}
Once = Callable[[], Awaitable[None]]


async def measure_calling(bench: Bench) -> AsyncIterator[Result]:
    """The client, then the provider with it."""
    count = bench.settings.items
    async with PortServer("bench.answering", {}) as server:
        for kind, what in KINDS.items():
            bench.step(what, None)
            environ = {PORT: str(server.port), CALLS: str(count)}
            async with Programs(["bench.calling", kind], environ, 1) as programs:
                used, began = cpu_seconds(programs.pids), time.monotonic()
                await programs.work()
                seconds, used = time.monotonic() - began, cpu_seconds(programs.pids) - used
            yield Result("calling", what, 1, count, seconds, python_us=used / count * 1e6, note=f"{AT_ONCE} at a time")


def _client(url: str) -> Once:
    client, loop = HttpClient(connections=AT_ONCE, keeps_connections=True), asyncio.get_running_loop()
    headers = [("Content-Type", "application/json"), ("Idempotency-Key", "0" * 64)]
    request = HttpRequest("POST", url, headers, b'{"action":"go","payload":{}}', EVERY_PRIVATE_ADDRESS)

    async def once() -> None:
        end = await client.send(request, loop.time() + SECONDS, lambda: True)
        if not isinstance(end, HttpAnswer) or end.status != 200:
            raise AssertionError(end)

    return once


def _provider(url: str) -> Once:
    endpoint = Endpoint(url, "a-token-of-the-workspace", EVERY_PRIVATE_ADDRESS)

    async def directory(_: Workspace, __: str) -> Endpoint:
        return endpoint

    provider = FunctionProvider(directory=directory)
    payload = {"action": "go", "payload": '{"to":"ada@example.com"}', "timeout": "30"}
    item = marked_item("function", payload, channel=Channel.FUNCTION, provider="functions", key=bytes(32))

    async def once() -> None:
        outcome = await provider.send(item, lambda: True)
        if not isinstance(outcome, Accepted):
            raise TypeError(outcome)

    return once


async def _main(kind: str) -> None:
    url = f"http://{HOST}:{os.environ[PORT]}/function"
    once = _client(url) if kind == "client" else _provider(url)
    numbers = iter(range(int(os.environ[CALLS])))

    async def some() -> None:
        for _ in numbers:
            await once()

    await asyncio.gather(*(once() for _ in range(AT_ONCE)))  # the connections stand, and everything is imported
    await told_to_begin()
    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    await told_to_end()


if __name__ == "__main__" and sys.argv[1:]:
    uvloop.run(_main(sys.argv[1]))
