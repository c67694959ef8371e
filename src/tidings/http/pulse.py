"""Check whether the database can be written to, at most once a second: anybody may ask for it."""

import asyncio
import time

from tidings.domain.errors import StorageUnavailable
from tidings.engine import Engine
from tidings.kernel.writable import require_writable

FRESH_SECONDS = 1.0
LONGEST_LOOK_SECONDS = 2.0


class Pulse:
    """The last check, shared by all requests until the next."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._looking: asyncio.Task[bool] | None = None
        self._looked_at = 0.0

    async def is_healthy(self) -> bool:
        """Return whether the database could be written to a moment ago."""
        if self._looking is None or (self._looking.done() and time.monotonic() - self._looked_at >= FRESH_SECONDS):
            self._looked_at = time.monotonic()
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> bool:
        try:
            async with asyncio.timeout(LONGEST_LOOK_SECONDS):
                await require_writable(self._engine.kernel)
        except (TimeoutError, StorageUnavailable):
            return False
        return True
