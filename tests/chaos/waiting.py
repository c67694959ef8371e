"""A wait has a condition and a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable

DEADLINE_SECONDS = 60.0
POLL_SECONDS = 0.05
FEED_SECONDS = 4.0
MOST_FEEDINGS = 45


class Overdue(AssertionError):
    """What was waited for did not happen in time."""


async def until(what: str, condition: Callable[[], bool | Awaitable[bool]], seconds: float = DEADLINE_SECONDS) -> None:
    """Wait for a condition, or say what was waited for in vain."""
    deadline = time.monotonic() + seconds
    while True:
        met = condition()
        if met if isinstance(met, bool) else await met:
            return
        if time.monotonic() > deadline:
            raise Overdue(f"{what}: not within {seconds:g} s")
        await asyncio.sleep(POLL_SECONDS)
