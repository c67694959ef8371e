"""Hold a server while a command runs in the foreground: kept running for `tidings up`, left in good order by all.

Reached from wiring.py. A server that such a command started ends with its last user; one that ran before stays.
"""

import asyncio
import os
import shlex
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tidings.domain.errors import Conflict, EmbeddedServerFailed
from tidings.embedded.placement import Site, find_site, make_site
from tidings.embedded.processes import POLL_SECONDS, is_held, open_lock, try_lock
from tidings.embedded.server import ensure_running, failures_naming, read_postmaster, stop_completely
from tidings.embedded.users import depart, is_used
from tidings.log import log

LOOK_SECONDS = 0.5
HEALTHY_SECONDS = 10.0
"""How long a server must have run for its end to be a mishap, and not part of a row of failed starts."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
STOP_SECONDS = 5.0
"""How long a command waits for the end of a server that it leaves; the keeper has all the time it takes."""


class HeldServer:
    """A server as a command in the foreground holds it."""

    def __init__(self, data_dir: Path, bin_dir: Path | None) -> None:
        self.data_dir = data_dir
        self._bin_dir = bin_dir
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Return the server's address, starting it if none runs."""
        return await ensure_running(self.data_dir, bin_dir=self._bin_dir, stop_when_unused=True)

    async def start_and_keep(self) -> str:
        """Return the server's address, and from now on start it again whenever it is gone."""
        address = await self.start()
        if not is_held(find_site(self.data_dir).keeper):
            log.info("postgres_stays", reason="it ran before this command", stop_with=self._stop_command())
        self._keeping = asyncio.create_task(self.keep_running())
        return address

    async def keep_running(self) -> None:
        """Start the server again whenever it is gone, for ever; one that cannot run is tried after growing pauses."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            await self._until_gone()
            failure = await self._start_again()
            started = time.monotonic()
            await self._until_gone()
            if time.monotonic() - started >= HEALTHY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
                continue
            reason = failure or "it ended soon after its start"
            log.error("postgres_keeps_failing", data_dir=str(self.data_dir), reason=reason, next_try_seconds=pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def _until_gone(self) -> None:
        while self._is_running():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)

    def _is_running(self) -> bool:
        with suppress(EmbeddedServerFailed), failures_naming(self.data_dir):
            return read_postmaster(find_site(self.data_dir)) is not None
        return False

    async def _start_again(self) -> str | None:
        """Start the server; return why not, if it cannot."""
        log.warning("postgres_gone", data_dir=str(self.data_dir), reason="it ended by itself; starting it again")
        try:
            self._require_files()
            await self.start()
        except EmbeddedServerFailed as error:
            return str(error)
        log.info("postgres_started_again", data_dir=str(self.data_dir))
        return None

    def _require_files(self) -> None:
        """Refuse to make an empty database where a full one was: nothing would tell the two apart."""
        data = find_site(self.data_dir).data
        if not data.exists():
            raise EmbeddedServerFailed(f"{data} is gone: bring it back, or stop and start again to begin empty")

    async def leave(self) -> None:
        """Stop using the server, stop it if no other process uses it, and say so if it stays."""
        if self._keeping:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        is_gone = False
        with suppress(TimeoutError, EmbeddedServerFailed), failures_naming(self.data_dir):
            async with asyncio.timeout(STOP_SECONDS):
                is_gone = await _leave(find_site(self.data_dir))
        if self._keeping and not is_gone:
            log.info("postgres_stays", reason="others use it, or it ran before", stop_with=self._stop_command())

    def _stop_command(self) -> str:
        return f"tidings db stop --data-dir {shlex.quote(str(self.data_dir))}"


async def _leave(site: Site) -> bool:
    depart(site)
    if not is_held(site.keeper):
        return read_postmaster(site) is None
    while read_postmaster(site) is not None:
        if not is_used(site):
            await _stop_if_free(site)
        elif not is_held(site.users):
            return False  # others share the lock; the keeper, who is about to stop the server, would have it alone
        await asyncio.sleep(POLL_SECONDS)
    return True


async def _stop_if_free(site: Site) -> None:
    turn = open_lock(site.turn)
    try:
        if try_lock(turn) and not is_used(site):
            await stop_completely(site)
    finally:
        os.close(turn)


@asynccontextmanager
async def held(data_dir: Path, bin_dir: Path | None = None) -> AsyncIterator[HeldServer]:
    """Hold a server, started by the caller's word, for as long as the block; then leave it."""
    server = HeldServer(data_dir, bin_dir)
    try:
        yield server
    finally:
        await server.leave()


@asynccontextmanager
async def supervised(data_dir: Path, bin_dir: Path | None = None) -> AsyncIterator[HeldServer]:
    """Hold a server for `tidings up`, of which a data directory has one at a time."""
    async with _only_up(data_dir), held(data_dir, bin_dir) as server:
        yield server


@asynccontextmanager
async def _only_up(data_dir: Path) -> AsyncIterator[None]:
    """Be the one `tidings up` of a data directory for as long as the block; refused while there is another."""
    with failures_naming(data_dir):
        site, _ = make_site(data_dir)
        lock = open_lock(site.up)
    try:
        if not try_lock(lock):
            raise Conflict(
                f"'tidings up' (pid {_pid_in(site)}) runs on {data_dir} already: stop it, run 'tidings worker' or "
                "'tidings serve' beside it, or choose another --data-dir"
            )
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)


def require_no_up(data_dir: Path) -> None:
    """Refuse what a running `tidings up` would undo at once."""
    with failures_naming(data_dir):
        site = find_site(data_dir)
        if is_held(site.up):
            raise Conflict(
                f"'tidings up' (pid {_pid_in(site)}) keeps PostgreSQL in {data_dir} running: stop it instead"
            )


def _pid_in(site: Site) -> str:
    return site.up.read_text().strip() or "unknown"
