"""What can be done to an arena beyond killing: to its network, its mail, its clocks, its tables and its disk.

Arena inherits each as a method. A trouble is counted where it is made, so that an audit knows how much doubt to allow.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from tests.chaos import oddities
from tests.chaos.proxy import CommitCut, Cut, Moment, Proxy, postgres_proxy
from tests.chaos.waiting import DEADLINE_SECONDS, FEED_SECONDS, Overdue, until
from tidings.embedded.temporary import TemporaryServer
from tidings.storage import migrate
from tidings.storage.database import Database
from tidings.storage.statements import load

COMMITS: Mapping[str, Sequence[tuple[str, str]]] = {
    "claim": [("claim", "claim_due")],
    "reserve": [("outbox", "reserve_items"), ("deploy", "insert_job_items")],
    "mark": [("outbox", "mark_items")],
    "finalize": [("finalize", "finalize_items")],
    "release": [("release", "release_executions")],
    "release jobs": [("release", "release_jobs")],
    "roll up": [("release", "release_runs")],
}
"""The arrows whose commit can be cut, and the statements by which it is known."""


def statements(arrow: str) -> frozenset[str]:
    """The texts of an arrow's statements, as they go over the wire."""
    return frozenset(load(file)[name].text for file, name in COMMITS[arrow])


class Troubles:
    """The other half of Arena."""

    server: TemporaryServer
    troubles: Counter[str]
    _environ: dict[str, str]
    _smtp: str
    _stack: AsyncExitStack

    async def route_database(self) -> Proxy:
        """Have workers that start from now on reach PostgreSQL through a proxy."""
        proxy, self._environ["DATABASE_URL"] = await self._stack.enter_async_context(postgres_proxy(self.server.dsn))
        return proxy

    async def route_provider(self) -> Proxy:
        """Have workers that start from now on reach the ledger's HTTP door through a proxy."""
        host, _, port = self._environ["CHAOS_LEDGER"].partition(":")
        proxy = await self._stack.enter_async_context(Proxy(host, int(port)))
        self._environ["CHAOS_LEDGER"] = f"127.0.0.1:{proxy.port}"
        return proxy

    async def cut_commit(self, proxy: Proxy, arrow: str, moment: Moment, feed: Callable[[], Awaitable[None]]) -> None:
        """Cut a worker's connection in one of its commits, feeding until there is one."""
        await self.cut_link(proxy, CommitCut(statements(arrow), moment), feed, f"cut {moment} {arrow}")

    async def cut_link(
        self, proxy: Proxy, cut: Cut, feed: Callable[[], Awaitable[None]], name: str = "cut anywhere"
    ) -> None:
        """Cut the first connection that the cut fits, feeding until there is one."""
        goal = proxy.cuts + 1
        proxy.arm(cut)
        for _ in range(round(DEADLINE_SECONDS / FEED_SECONDS)):
            await feed()
            try:
                await until(name, lambda: proxy.cuts >= goal, FEED_SECONDS)
            except Overdue:
                continue
            self.troubles[name] += 1
            return
        raise Overdue(f"{name}: there was nothing to cut")

    async def turn_away(self, proxy: Proxy, seconds: float) -> None:
        """Cut every connection, and refuse new ones for some time."""
        await proxy.refuse()
        self.troubles["refuse"] += 1
        await asyncio.sleep(seconds)  # the trouble itself, not a wait for something
        await proxy.accept()

    def half_open(self, proxy: Proxy) -> None:
        """Let the open connections lead nowhere, without telling either side."""
        if not proxy.deafen():
            raise AssertionError("no connection was open")
        self.troubles["half-open"] += 1

    async def stall(self, proxy: Proxy, seconds: float) -> None:
        """Hold back every byte for some time, and deliver all of it late."""
        proxy.stall()
        self.troubles["stall"] += 1
        await asyncio.sleep(seconds)  # the trouble itself, not a wait for something
        proxy.flow()

    def mail_by_smtp(self, relay: str | None = None) -> str:
        """Have workers that start from now on send e-mail by the real SMTP provider, to the ledger's SMTP door.

        A relay's address is used instead of that door's, which is returned.
        """
        self._environ["CHAOS_SMTP"] = relay or self._smtp
        return self._smtp

    def clock_off(self, seconds: float) -> dict[str, str]:
        """Settings for a worker whose wall clock is wrong."""
        self.troubles["clock off"] += 1
        return {oddities.CLOCK: str(seconds)}

    def notice_silence_after(self, seconds: float) -> None:
        """Have workers that start from now on give up a statement after so long."""
        self._environ[oddities.STATEMENT] = str(seconds)

    async def migrate(self, file: Path) -> Sequence[str]:
        """Apply one more migration as a newer Tidings would; workers that start from now on are newer ones."""
        self._environ[oddities.MIGRATION] = str(file)
        known = migrate.migrations
        db = await Database.open(self.server.dsn, connections=1)
        try:
            oddities.add_migration(file)
            return await migrate.migrate(db)
        finally:
            migrate.migrations = known
            await db.close()
            self.troubles["migration"] += 1

    def fill_disk(self, volume: Path) -> Path:
        """Take all the room there is on a volume; give the file that takes it."""
        self.troubles["disk full"] += 1
        return take_all_room(volume)

    async def revive_postgres(self) -> None:
        """Start PostgreSQL if it has gone: without room for its log it stops by itself."""
        await self.server.start()


def take_all_room(volume: Path) -> Path:
    """Fill a volume; give the file that does."""
    ballast = volume / "ballast"
    with ballast.open("wb", buffering=0) as file:
        room = os.statvfs(volume)
        with suppress(OSError):  # somebody may be taking the same room
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
        with suppress(OSError):
            file.seek(0, os.SEEK_END)
            while file.write(bytes(4096)):
                pass
    return ballast
