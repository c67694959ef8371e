"""Count what is stored for metrics, seldom: counting a large database is slow, and metrics are asked for often."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tidings.domain.errors import StorageUnavailable
from tidings.log import log

COUNTED_FOR_SECONDS = 15.0
SHARE_OF_TIME = 20
"""A count takes at most one twentieth of the time, however often it is asked for."""
LONGEST_COUNT_SECONDS = 20.0
LONGEST_WAIT_SECONDS = 2.0
"""How long an answer waits for a count; after that it has the numbers of the last one."""

Counted = TypeVar("Counted")


class Counting(Generic[Counted]):
    """The last result of one count, shared by all who ask until the next."""

    def __init__(self, count: Callable[[], Awaitable[Counted]]) -> None:
        self._count = count
        self._counting: asyncio.Task[None] | None = None
        self._again_at = 0.0
        self.last: Counted | None = None

    async def latest(self) -> Counted | None:
        """Return the last count, or the next if it comes soon; None before the first has ended."""
        if self._counting is None and time.monotonic() >= self._again_at:
            self._counting = asyncio.create_task(self._run())
        if self._counting:
            await asyncio.wait({self._counting}, timeout=LONGEST_WAIT_SECONDS)
        return self.last

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is lost if this is forgotten: a count now would be due anyway."""
        return self._counting is None and time.monotonic() >= self._again_at

    async def _run(self) -> None:
        started = time.monotonic()
        try:
            async with asyncio.timeout(LONGEST_COUNT_SECONDS):
                self.last = await self._count()
        except (TimeoutError, StorageUnavailable) as error:
            log.warning("count_failed", reason=str(error) or "it took too long")
        finally:
            ended = time.monotonic()
            self._again_at = ended + max(COUNTED_FOR_SECONDS, (ended - started) * SHARE_OF_TIME)
            self._counting = None
