"""Long work in a process that answers others: it stops now and then, and whoever waits has the loop meanwhile."""

import asyncio
import time

MOMENT_SECONDS = 0.01


class Breaks:
    """Made where the work begins, asked at each piece of it."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    async def take_if_due(self) -> None:
        """Let others have the loop if this task has had it for a moment."""
        if time.monotonic() - self._since > MOMENT_SECONDS:
            await asyncio.sleep(0)
            self._since = time.monotonic()
