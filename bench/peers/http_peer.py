"""fastify with BullMQ, answering triggers over HTTP: the peer of our own way in."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.peers.installing import PEERS, CannotInstall, find_program, install_node, install_redis
from bench.peers.redis_server import TemporaryRedis

START_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class HttpPeer:
    """Where it answers, and the processes that its answers cost."""

    url: str
    node_pid: int
    redis_pid: int
    fastify: str
    bullmq: str


@asynccontextmanager
async def http_peer(key: str) -> AsyncIterator[HttpPeer]:
    """Start Redis and the server; both end with the block. Raise CannotInstall where they cannot run."""
    home, command = await install_node(), await install_redis()
    versions = json.loads((PEERS / "bullmq" / "package.json").read_text())["dependencies"]
    async with TemporaryRedis(command) as redis:
        environ = os.environ | {"REDIS_PORT": str(redis.port), "BENCH_KEY": key, "NODE_ENV": "production"}
        process = await asyncio.create_subprocess_exec(
            find_program("node"), str(home / "http.mjs"), env=environ, stdout=PIPE
        )
        try:
            url = await _first_line(process.stdout)
            yield HttpPeer(url, process.pid, redis.pid, versions["fastify"], versions["bullmq"])
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _first_line(output: asyncio.StreamReader | None) -> str:
    if output is None:
        raise AssertionError("a process with a pipe has an output")
    try:
        line = await asyncio.wait_for(output.readline(), START_SECONDS)
    except TimeoutError:
        line = b""
    if not line.startswith(b"http"):
        raise CannotInstall(f"fastify said {line.decode()!r} instead of where it answers")
    return line.decode().strip()
