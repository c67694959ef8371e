"""A Redis for one measurement, with the persistence that BullMQ's guide to production asks for."""

import asyncio
import shutil
import socket
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from bench.peers.installing import CannotInstall

START_SECONDS = 10.0

# Written to the file at once and to the disk once a second: a power failure loses up to a second of jobs and
# completions, where PostgreSQL with fsync on loses none.
SETTINGS = (
    *("--bind", "127.0.0.1"),
    *("--appendonly", "yes"),
    *("--appendfsync", "everysec"),
    *("--save", ""),
    *("--maxmemory-policy", "noeviction"),
)


class TemporaryRedis:
    """A server on a free port with files of its own, both gone at the end of its `async with` block."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self.port = 0

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    async def __aenter__(self) -> Self:
        self._directory = tempfile.mkdtemp(prefix="tidings-redis-")
        self.port = _free_port()
        place = ("--port", str(self.port), "--dir", self._directory)
        self._process: Process = await asyncio.create_subprocess_exec(
            *self._command, *place, *SETTINGS, stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            await self._until_it_answers()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    async def _until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.returncode is None:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            if answer == b"+PONG\r\n":
                return
        raise CannotInstall(f"redis-server did not answer on port {self.port} within {START_SECONDS:.0f} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
