"""What connections may hold without any key: real sockets, small limits."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
import pytest
import structlog

from tests.http.conftest import Person, admin, app, config, http  # noqa: F401
from tidings.config import Config
from tidings.engine import Engine
from tidings.http import protocol
from tidings.http.bodies import LARGEST_BULK_BODY
from tidings.http.server import ApiServer, most_connections

HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: tidings\r\n\r\n"
LONG = b"GET /openapi.json HTTP/1.1\r\nHost: tidings\r\n\r\n"


@asynccontextmanager
async def serving(engine: Engine, **settings: object) -> AsyncIterator[tuple[ApiServer, tuple[str, int]]]:
    """The API on a real socket, with these settings."""
    server = ApiServer(engine, Config(host="127.0.0.1", port=0, rate_limit=0, **settings))  # type: ignore[arg-type]
    running = asyncio.create_task(server.run())
    place = urlsplit(server.url)
    try:
        await until(lambda: server.is_answering)
        yield server, (place.hostname or "", place.port or 0)
    finally:
        server.drain()
        await running


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.005)


def never_reads(address: tuple[str, int], requests: bytes) -> socket.socket:
    """A peer with the smallest buffer there is, which sends and never reads."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    made.connect(address)
    made.sendall(requests)
    return made


async def read_all(address: tuple[str, int], sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(sent)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_who_does_not_read_an_answer_is_cut_off(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "WRITE_SECONDS", 0.3)
    async with serving(engine) as (server, address):
        peers = [never_reads(address, LONG * 10) for _ in range(20)]
        await until(lambda: server.open_connections == 20)

        with structlog.testing.capture_logs() as logs:
            await until(lambda: server.open_connections == 0)

        for one in peers:
            one.close()
        assert logs == []


async def test_above_the_most_connections_others_are_told_and_those_there_go_on(engine: Engine) -> None:
    async with serving(engine, max_connections=3, max_connections_per_address=10) as (server, address):
        streams = [await asyncio.open_connection(*address) for _ in range(3)]
        await until(lambda: server.open_connections == 3)

        refused = await read_all(address, HEALTH)

        assert refused.startswith(b"HTTP/1.1 503 ")
        problem = json.loads(refused.partition(b"\r\n\r\n")[2])
        assert problem["code"] == "too_many_connections"
        assert problem["detail"] == "this server has 3 connections open; come again later"
        for reader, writer in streams:
            writer.write(HEALTH)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            writer.close()
        await until(lambda: server.open_connections == 0)
        assert (await read_all(address, HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))).startswith(
            b"HTTP/1.1 200 "
        )


async def test_one_address_cannot_take_every_connection(engine: Engine) -> None:
    async with serving(engine, max_connections=4) as (server, address):
        streams = [await asyncio.open_connection(*address) for _ in range(2)]
        await until(lambda: server.open_connections == 2)

        refused = await read_all(address, HEALTH)
        other = await asyncio.open_connection(*address, local_addr=("127.0.0.2", 0))
        other[1].write(HEALTH)

        assert b"from 127.0.0.1" in refused
        assert (await other[0].readline()).startswith(b"HTTP/1.1 200 ")
        for _, writer in [*streams, other]:
            writer.close()


async def test_a_proxy_s_address_has_no_limit_of_its_own(engine: Engine) -> None:
    settings = {"max_connections": 4, "max_connections_per_address": 1, "forwarded_allow_ips": ("127.0.0.1",)}
    async with serving(engine, **settings) as (server, address):
        streams = [await asyncio.open_connection(*address) for _ in range(3)]

        await until(lambda: server.open_connections == 3)
        for reader, writer in streams:
            writer.write(HEALTH)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            writer.close()


def test_the_most_connections_leave_files_for_everything_else() -> None:
    assert most_connections(Config(connections=10), file_limit=256) == 256 - 64 - 2 * 10
    assert most_connections(Config(connections=10), file_limit=50) == 10
    assert most_connections(Config(max_connections=7), file_limit=1_000_000) == 7
    assert most_connections(Config(), file_limit=1_000_000) == 10_000


async def test_requests_sent_ahead_are_answered_up_to_a_number(engine: Engine) -> None:
    async with serving(engine) as (_, address):
        answers = await read_all(address, HEALTH * (protocol.MOST_PIPELINED + 50))

    assert answers.count(b"HTTP/1.1 200 ") == protocol.MOST_PIPELINED + 1
    assert b"HTTP/1.1 4" not in answers


async def asked(http: httpx2.AsyncClient, path: str, headers: dict[str, str]) -> tuple[int, int]:  # noqa: F811
    """Send a body of several pieces; return the status and how many pieces were taken."""
    taken = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(15):
            taken += 1
            yield b" " * 60_000

    answer = await http.post(path, content=pieces(), headers=headers)
    return answer.status_code, taken


@pytest.mark.parametrize(
    "path",
    [
        "/functions/v1/workflow-enqueue",
        "/v1/triggers/bulk",
        "/v1/contacts/bulk",
        "/v1/contacts/import",
        "/v1/workflows",
    ],
)
async def test_the_key_is_looked_at_before_the_body(http: httpx2.AsyncClient, path: str) -> None:  # noqa: F811
    for headers in ({}, {"Authorization": "Bearer tid_wrong"}, {"apikey": "tid_wrong"}):
        status, taken = await asked(http, path, headers)

        assert status == 401
        assert taken <= 2  # the transport of the tests takes one piece ahead

    assert LARGEST_BULK_BODY > 15 * 60_000


async def test_the_health_of_the_endpoint_for_front_ends_needs_no_key(http: httpx2.AsyncClient) -> None:  # noqa: F811
    answer = await http.post("/functions/v1/workflow-enqueue", json={"action": "health"})

    assert answer.status_code == 200
