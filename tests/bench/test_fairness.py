"""The fairness measurement counts what has come and what has not, and its functions hang only where they should."""

import asyncio
import json
from pathlib import Path

from bench.fairness import Arrivals, Waits
from bench.function_server import FunctionServer


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "arrivals")
    arrivals.path.write_bytes(b"flood-1@example.com 1.5\nsmall-1 2.5\nflood-2@exam")
    assert arrivals.times_of("flood") == [1.5]

    with arrivals.path.open("ab") as file:
        file.write(b"ple.com 3.5\n")

    assert arrivals.times_of("flood") == [1.5, 3.5]
    assert arrivals.at == {"flood-1": 1.5, "small-1": 2.5, "flood-2": 3.5}


def test_what_has_not_come_counts_with_what_it_has_waited() -> None:
    waits = Waits([0.01, 0.02, 15.0], late=1)

    assert [waits.share(part) for part in (0, 0.5, 0.99, 1)] == [0.01, 0.02, 15.0, 15.0]
    assert waits.note() == "p50 20 ms, p99 15.0 s, max 15.0 s of 3, 1 of them had not come by then"


async def test_a_function_that_hangs_keeps_no_other_waiting(tmp_path: Path) -> None:
    async with FunctionServer(tmp_path / "arrivals") as server:
        hanging, quick = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        await _call(*hanging, "hang")
        await _call(*quick, "quick")
        async with asyncio.timeout(20):
            answer = await quick[0].readuntil(b"}")
            while len((tmp_path / "arrivals").read_text().splitlines()) < 2:
                await asyncio.sleep(0.01)

        assert answer.startswith(b"HTTP/1.1 200")
        labels = [line.split()[0] for line in (tmp_path / "arrivals").read_text().splitlines()]
        assert sorted(labels) == ["hang", "quick"]
        assert not hanging[0].at_eof()
        for _, writer in (hanging, quick):
            writer.close()


async def _call(_: asyncio.StreamReader, writer: asyncio.StreamWriter, function: str) -> None:
    body = json.dumps({"action": "run", "payload": {"label": function}}).encode()
    writer.write(f"POST /{function} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
