"""The callers of the HTTP benchmark read answers whole, in pieces too, and insist on the status they asked for."""

import asyncio
from collections.abc import Sequence

import pytest

from bench.http_load import Asked, HttpLoad


async def test_answers_that_come_in_pieces_are_read_whole() -> None:
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"id": "a"}'

    bodies = await _ask([answer[:20], answer[20:45], answer[45:]], [Asked("GET", "/x"), Asked("GET", "/y")])

    assert bodies == [b'{"id": "a"}', b'{"id": "a"}']


async def test_another_status_than_the_one_asked_for_ends_the_measurement() -> None:
    with pytest.raises(AssertionError, match="POST /x was answered"):
        await _ask([b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"], [Asked("POST", "/x", {}, 201)])


async def _ask(pieces: Sequence[bytes], requests: Sequence[Asked]) -> list[bytes]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await _whole_request(reader):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        return await HttpLoad(f"http://127.0.0.1:{port}", "key").ask(requests)


async def _whole_request(reader: asyncio.StreamReader) -> bool:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return False
    if b"Content-Length: 2" in head:
        await reader.readexactly(2)
    return True
