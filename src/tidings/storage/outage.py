"""Whether PostgreSQL is known to be out of reach, so that a caller that cannot wait is told at once.

Begun by the first connection that cannot be made; ended by a task that tries until one can. Reached from database.py.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from tidings.log import log

BRIEF_SECONDS = 1.0
"""How long a caller in a hurry waits for what may be over in a moment: a lost connection, a restart."""
LOOK_SECONDS = 0.2
LONGEST_TRY_SECONDS = 2.0


class Hurry:
    """Work that fails rather than waits for the database, until its owner calls `end`."""

    is_on = True

    def end(self) -> None:
        """From now on wait like any other work."""
        self.is_on = False


_hurry: ContextVar[Hurry | None] = ContextVar("hurry", default=None)


@contextmanager
def hurried() -> Iterator[Hurry]:
    """Run the block, and the tasks that begin in it, in a hurry."""
    hurry = Hurry()
    token = _hurry.set(hurry)
    try:
        yield hurry
    finally:
        _hurry.reset(token)


def is_hurried() -> bool:
    """Tell whether the current task fails rather than waits."""
    hurry = _hurry.get()
    return hurry is not None and hurry.is_on


class Outage:
    """Whether PostgreSQL is known to be out of reach."""

    def __init__(self, can_connect: Callable[[], Awaitable[bool]]) -> None:
        self._can_connect = can_connect
        self._since = 0.0
        self._looking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Note that a connection could not be made, and start watching for one that can."""
        if self._looking is None:
            self._since = time.monotonic()
            self._looking = asyncio.create_task(self._look())

    async def is_known(self) -> bool:
        """Tell whether PostgreSQL is out of reach for longer than a moment; waits for the rest of that moment."""
        await self.wait(self._since + BRIEF_SECONDS - time.monotonic())
        return self._looking is not None

    async def wait(self, seconds: float) -> None:
        """Wait, but not longer than until the end of the outage."""
        if self._looking is None:
            return
        if seconds > 0:
            await asyncio.wait({self._looking}, timeout=seconds)

    async def close(self) -> None:
        """Stop watching."""
        if self._looking:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        try:
            while not await self._try():  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
            log.info("storage_reached", after_seconds=round(time.monotonic() - self._since, 1))
        finally:
            self._looking = None

    async def _try(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_TRY_SECONDS):
                return await self._can_connect()
        return False
