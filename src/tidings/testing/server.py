"""A PostgreSQL for a while: the one that comes with the package, in a directory of its own, gone at the end."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tidings.domain.errors import EmbeddedServerFailed

SETTINGS = {
    # Nothing here has to outlive the process, let alone the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
}


@asynccontextmanager
async def temporary_server(pg_bin: Path | None = None) -> AsyncIterator[str]:
    """A server for as long as the block; gives its address."""
    try:
        # Imported here: the embedded server needs a POSIX system, a server elsewhere does not.
        from tidings.embedded import TemporaryServer  # noqa: PLC0415
    except ImportError as error:
        raise EmbeddedServerFailed(
            f"the PostgreSQL that comes with the package cannot run on this system ({error}): "
            "give the address of another server"
        ) from error
    async with TemporaryServer(bin_dir=pg_bin, settings=SETTINGS) as server:
        yield server.dsn


@contextmanager
def scratch_server(pg_bin: Path | None = None) -> Iterator[str]:
    """A server for a whole test run, to be given to every `scratch_engine(server=…)`; gives its address.

    Not async, so that a fixture of any scope can hold it whatever loops its tests run on.
    """
    with asyncio.Runner() as runner:
        server = temporary_server(pg_bin)
        address = runner.run(server.__aenter__())
        try:
            yield address
        finally:
            runner.run(server.__aexit__(None, None, None))
