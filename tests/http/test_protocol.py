"""What a connection may do before anybody knows whose it is."""

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from tests.http.conftest import listening
from tidings.config import Config
from tidings.engine import Engine
from tidings.http import protocol

GET = b"GET /v1/health HTTP/1.1\r\nHost: tidings\r\n"
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def stream(engine: Engine, config: Config) -> AsyncIterator[Stream]:
    async with listening(engine, config) as url:
        reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
        yield reader, writer
        writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, object]]:
    async with asyncio.timeout(20):
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l"))
        return int(head.split()[1]), json.loads(await reader.readexactly(length))


@pytest.mark.parametrize("filling", [b"x" * 10_000, b"x\r\nX-A: b\r\nX-B: " * 500], ids=["one", "many"])
async def test_a_head_without_end_is_cut_off(filling: bytes, stream: Stream) -> None:
    _, writer = stream

    async def send() -> None:
        writer.write(GET + b"X-Long: ")
        for _ in range(10_000):
            writer.write(filling)
            await writer.drain()

    with pytest.raises(ConnectionError):
        await send()


async def test_a_head_that_is_too_large_is_told_so(stream: Stream) -> None:
    reader, writer = stream

    writer.write(GET + b"X-Long: " + b"x" * (protocol.LARGEST_HEAD + 1))
    status, body = await answer(reader)

    assert (status, body["status"], body["code"]) == (431, 431, "head_too_large")


async def test_many_requests_on_one_connection_are_not_counted_together(stream: Stream) -> None:
    reader, writer = stream

    for _ in range(5):
        writer.write(GET + b"X-Long: " + b"x" * 40_000 + b"\r\n\r\n")
        assert (await answer(reader))[0] == 200


async def test_what_is_not_http_is_told_so_in_our_form(stream: Stream) -> None:
    reader, writer = stream

    writer.write(b"\x16\x03\x01\r\n\r\n")
    status, body = await answer(reader)

    assert (status, body["code"]) == (400, "request_malformed")


@pytest.mark.parametrize("said", [[b""], [GET], [GET + b"\r\n", GET[:5]]], ids=["nothing", "half", "one and a half"])
async def test_who_says_nothing_whole_is_not_waited_for(
    said: list[bytes], engine: Engine, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    async with listening(engine, config) as url:
        reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
        for whole in said[:-1]:
            writer.write(whole)
            await answer(reader)
        writer.write(said[-1])
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()
