"""A server that means harm: an answer costs what it may cost, and an error is an ApiError."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.client.conftest import EXECUTION, Reply, Script
from tidings.client import ApiError, Client, NotFound, Retrying, transport

OK = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"


@asynccontextmanager
async def serving(head: bytes, piece: bytes, times: int = 10_000) -> AsyncIterator[Client]:
    """A client of a server that says the head, and then the same again and again."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"\r\n")
        try:
            for _ in range(times):
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, Client(url, "key", retrying=Retrying(attempts=1)) as client:
        yield client


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LARGEST_ANSWER", 1_000_000)
    monkeypatch.setattr(transport, "LARGEST_EVENT", 1_000_000)


@pytest.mark.parametrize("status", [b"200 OK", b"500 No"])
async def test_an_answer_without_end_is_left(status: bytes) -> None:
    async with serving(OK.replace(b"200 OK", status), b"x" * 100_000) as client:
        with pytest.raises(ApiError, match="answer_too_large"):
            await client.status(EXECUTION)


async def test_an_answer_is_not_unpacked() -> None:
    async with serving(OK + b"content-encoding: gzip\r\n", gzip.compress(b" " * 10_000_000), times=1) as client:
        with pytest.raises(ApiError, match="packed"):
            await client.status(EXECUTION)


@pytest.mark.parametrize("piece", [b"x" * 100_000, b"data: " + b"x" * 100_000 + b"\n", b": still here\n" * 10_000])
async def test_an_event_without_end_is_left(piece: bytes) -> None:
    async with serving(OK + b"content-type: text/event-stream\r\n", piece) as client:
        with pytest.raises(ApiError, match="answer_too_large"):
            [execution async for execution in client.executions.follow(EXECUTION)]


@pytest.mark.parametrize("body", [b'{"id": "\xff"}', b"[" * 100_000, b'{"id": 5}', b""])
async def test_an_answer_that_is_none_is_an_api_error(body: bytes) -> None:
    async with serving(OK, body, times=1) as client:
        with pytest.raises(ApiError, match="answer_unreadable"):
            await client.status(EXECUTION)


@pytest.mark.parametrize("page", [{"data": [{"id": 5}]}, {"data": [], "nextCursor": "again"}])
async def test_a_list_of_something_else_or_without_end_is_an_api_error(
    page: object, client: Client, script: Script
) -> None:
    script.answers(Reply(200, page))

    with pytest.raises(ApiError, match="answer_unreadable"):
        [one async for one in client.executions.list()]


CALLS: list[Callable[[Client, str], object]] = [
    lambda client, id: client.status(id),
    lambda client, id: client.executions.cancel(id),
    lambda client, id: client.workflows.delete(id),
    lambda client, id: client.keys.revoke(id),
]


@pytest.mark.parametrize("call", CALLS)
async def test_an_id_leads_to_nothing_else(
    call: Callable[[Client, str], "asyncio.Future[object]"], client: Client, script: Script
) -> None:
    script.answers(Reply(404, {"code": "not_found", "detail": "no"}))

    with pytest.raises(NotFound):
        await call(client, "x/../../api-keys?a=b#c")

    [asked] = script.asked
    assert "x%2F..%2F..%2Fapi-keys%3Fa%3Db%23c" in asked.path
