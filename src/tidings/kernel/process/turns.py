"""Turns at a scarce place of this process: round robin between tenants, then between a tenant's workspaces.

Whoever asks waits at most for one turn of each other tenant, however many requests and workspaces those have; one
tenant alone gets every turn. Used by rendering and by simulation. A turn should be short: nobody can be interrupted.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.domain.flow.ids import Workspace

_Waiters = deque[asyncio.Future[None]]


class FairTurns:
    """Hands out `places` at a time."""

    def __init__(self, places: int = 1) -> None:
        self._free = places
        self._waiting: dict[str, dict[str, _Waiters]] = {}  # tenant, workspace; whoever stands first is served next

    @asynccontextmanager
    async def turn(self, workspace: Workspace) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the block ends."""
        await self._wait(workspace)
        try:
            yield
        finally:
            self._leave()

    async def step(self, workspace: Workspace) -> None:
        """Wait for a turn that lasts until the next await: long work of several tasks is spread, one in each round of
        the loop, and whoever else waits for the loop has it in between."""
        await self._wait(workspace)
        asyncio.get_running_loop().call_soon(self._leave)

    @property
    def is_taken(self) -> bool:
        """Whether whoever asks now would wait."""
        return not self._free

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def is_asked_by(self, tenant: str) -> bool:
        """Whether a request of a tenant waits."""
        return tenant in self._waiting

    async def _wait(self, workspace: Workspace) -> None:
        if self._free:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(workspace.tenant, {}).setdefault(workspace.name, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._leave()  # the turn came just when nobody wanted it any more
            else:
                self._forget(workspace, mine)
            raise

    def _leave(self) -> None:
        self._free += 1
        while self._free and self._waiting:
            chosen = self._next()
            if not chosen.done():  # it may have been cancelled a moment ago
                chosen.set_result(None)
                self._free -= 1

    def _forget(self, workspace: Workspace, waiter: asyncio.Future[None]) -> None:
        workspaces = self._waiting.get(workspace.tenant, {})
        waiters = workspaces.get(workspace.name, _Waiters())
        if waiter not in waiters:
            return
        waiters.remove(waiter)
        if not waiters:
            del workspaces[workspace.name]
        if not workspaces:
            del self._waiting[workspace.tenant]

    def _next(self) -> asyncio.Future[None]:
        """Take the first request of the first workspace of the first tenant, and put all three to the end."""
        tenant, workspaces = next(iter(self._waiting.items()))
        name, waiters = next(iter(workspaces.items()))
        found = waiters.popleft()
        del workspaces[name], self._waiting[tenant]
        if waiters:
            workspaces[name] = waiters
        if workspaces:
            self._waiting[tenant] = workspaces
        return found
