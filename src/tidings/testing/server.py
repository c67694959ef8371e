"""A PostgreSQL for a while: the one that comes with the package, in a directory of its own, gone at the end."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidings.domain.errors import EmbeddedServerFailed

if TYPE_CHECKING:
    from tidings.embedded import TemporaryServer

SETTINGS = {
    # Nothing here has to outlive the process, let alone the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
}
KEPT_SETTINGS = SETTINGS | {
    # It stays beside an engine that has better uses for memory and disk, and serves one simulation at a time.
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "max_connections": "30",
}


@asynccontextmanager
async def temporary_server(pg_bin: Path | None = None) -> AsyncIterator[str]:
    """Run a server for as long as the block; yield its address."""
    async with _new_server(pg_bin, SETTINGS) as server:
        yield server.dsn


@contextmanager
def scratch_server(pg_bin: Path | None = None) -> Iterator[str]:
    """Run a server for a whole test run, for every `scratch_engine(server=…)`; yield its address.

    Not async, so that a fixture of any scope can hold it whatever loops its tests run on.
    """
    with asyncio.Runner() as runner:
        server = temporary_server(pg_bin)
        address = runner.run(server.__aenter__())
        try:
            yield address
        finally:
            runner.run(server.__aexit__(None, None, None))


class KeptServer:
    """One server that is started when it is first asked for, and kept until it has not been asked for in a while."""

    def __init__(self, pg_bin: Path | None = None, *, idle_seconds: float = 600.0) -> None:
        self._pg_bin, self._idle_seconds = pg_bin, idle_seconds
        self._server: TemporaryServer | None = None
        self._users = 0
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[str]:
        """Keep the server for as long as the block; yield its address. One that is gone is started again."""
        self._users += 1
        self._keep()
        try:
            yield await self._address()
        finally:
            self._users -= 1
            if not self._users:
                self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._end)

    async def close(self) -> None:
        """Stop it, if it runs."""
        self._keep()
        async with self._turn:
            await self._stop()

    async def _address(self) -> str:
        async with self._turn:
            if self._server and not await self._server.is_running():
                await self._stop()  # without fsync, what a crash left is not worth recovering
            if self._server is None:
                self._server = await _new_server(self._pg_bin, KEPT_SETTINGS).__aenter__()
            return self._server.dsn

    def _keep(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _end(self) -> None:
        self._ending = asyncio.create_task(self._end_if_idle())

    async def _end_if_idle(self) -> None:
        async with self._turn:
            if not self._users:
                await self._stop()

    async def _stop(self) -> None:
        server, self._server = self._server, None
        if server:
            await server.__aexit__(None, None, None)


def _new_server(pg_bin: Path | None, settings: Mapping[str, str]) -> "TemporaryServer":
    try:
        # Imported here: the embedded server needs a POSIX system, a server elsewhere does not.
        from tidings.embedded import TemporaryServer  # noqa: PLC0415
    except ImportError as error:
        raise EmbeddedServerFailed(
            f"the PostgreSQL that comes with the package cannot run on this system ({error}): "
            "give the address of another server"
        ) from error
    return TemporaryServer(bin_dir=pg_bin, settings=settings)
