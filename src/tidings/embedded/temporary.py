"""A server for one test: its own, killable, gone at the end."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tidings.embedded.lifeline import Lifeline
from tidings.embedded.placement import find_site
from tidings.embedded.processes import children_of
from tidings.embedded.server import ensure_running, read_postmaster, signal_and_wait, status, stop


class TemporaryServer:
    """A server in a directory of its own (below `parent`), stopped and removed at the end of its `async with` block.

    Whoever dies within the block, even by SIGKILL, takes it along.
    """

    def __init__(
        self, *, bin_dir: Path | None = None, settings: Mapping[str, str] | None = None, parent: Path | None = None
    ) -> None:
        self._bin_dir = bin_dir
        self._parent = parent
        self._settings = settings
        self._dsn = ""
        self._lifeline: Lifeline | None = None
        self.data_dir = Path()

    @property
    def dsn(self) -> str:
        """The address, with its password; the same after a restart."""
        return self._dsn

    async def __aenter__(self) -> Self:
        """Make and start the server."""
        self.data_dir = Path(tempfile.mkdtemp(prefix="tidings-", dir=self._parent))
        if os.geteuid() == 0:
            self.data_dir.chmod(0o711)  # the server's own account must be able to pass through
        try:
            await self.start()
            self._lifeline = Lifeline(find_site(self.data_dir), self.data_dir)
        except BaseException:
            await self._remove()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server and remove its files."""
        await self._remove()

    async def start(self) -> None:
        """Start the server again after `kill`; does nothing if it runs."""
        self._dsn = await ensure_running(self.data_dir, bin_dir=self._bin_dir, settings=self._settings)

    async def is_running(self) -> bool:
        """Tell whether it still runs: it may have been killed, or its files removed."""
        return self.data_dir.exists() and (await status(self.data_dir)).running

    async def kill(self) -> None:
        """Kill the postmaster and its children with SIGKILL, and wait until they are gone."""
        site = find_site(self.data_dir)
        server = read_postmaster(site)
        if server is None:
            return
        children = children_of(server.pid)
        os.kill(server.pid, signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        await signal_and_wait(site, server.pid, signal.SIGKILL)

    async def restart_immediate(self) -> None:
        """Stop the server without a checkpoint, so that it recovers from its log, and start it again."""
        site = find_site(self.data_dir)
        server = read_postmaster(site)
        if server is not None:
            await signal_and_wait(site, server.pid, signal.SIGQUIT)
        await self.start()

    async def _remove(self) -> None:
        await stop(self.data_dir)
        shutil.rmtree(find_site(self.data_dir).home, ignore_errors=True)
        shutil.rmtree(self.data_dir, ignore_errors=True)
        if self._lifeline:
            await asyncio.to_thread(self._lifeline.let_go)
