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
from tidings.embedded.placement import Site, find_site, make_site, moved_sites
from tidings.embedded.processes import children_of, is_held
from tidings.embedded.server import ensure_running, failures_naming, read_postmaster, remove, signal_and_wait, status

TEMPORARY = "temporary"
"""The file in a place of root's that says: these files are worth nothing without their data directory."""


class TemporaryServer:
    """A server in a directory of its own (below `parent`), stopped and removed at the end of its `async with` block.

    A process that dies within the block, even by SIGKILL, takes the server along.
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
            self._lifeline = Lifeline(self._prepare_site(), self.data_dir)
            await self.start()
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

    def _prepare_site(self) -> Site:
        with failures_naming(self.data_dir):
            site, _ = make_site(self.data_dir)
            if site.home != self.data_dir.resolve():
                (site.home / TEMPORARY).touch()
            if os.geteuid() == 0:
                _remove_orphans()
        return site

    async def _remove(self) -> None:
        await remove(self.data_dir)
        if self._lifeline:
            await asyncio.to_thread(self._lifeline.let_go)


def _remove_orphans() -> None:
    """Remove what temporary servers have left in root's place: their data directory is gone, and their processes are.

    A lifeline removes both, unless it died too, with the machine or its container. What is not temporary is a user's
    data, and its directory may be on a disk that is only absent.
    """
    for site, data_dir in moved_sites():
        with suppress(OSError):  # what cannot be looked at, or is being removed by another, is left alone
            if (site.home / TEMPORARY).exists() and not data_dir.exists() and not is_held(site.life):
                shutil.rmtree(site.home)
