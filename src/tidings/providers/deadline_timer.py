"""The deadlines of calls without a timer for each: one for a connection that serves many.

A timer for each call is set and taken back a thousand times a second and hardly ever goes off. This one is set once;
when it goes off it looks whether the call that is under way by then is over its time, and else is set again.
"""

import asyncio
from collections.abc import Callable


async def take_slot(slots: asyncio.Semaphore, deadline: float) -> None:
    """Take a slot; raise TimeoutError if none is free by then. Without a timer where one is free now."""
    if not slots.locked():
        await slots.acquire()
        return
    async with asyncio.timeout_at(deadline):
        await slots.acquire()


class DeadlineTimer:
    """Ends a call on one connection when its deadline has passed."""

    def __init__(self, expire: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._expire = expire
        self._deadline: float | None = None
        self._handle: asyncio.TimerHandle | None = None

    def start(self, deadline: float) -> None:
        """A call begins that must be over by then, on the loop's clock."""
        self._deadline = deadline
        if self._handle is not None and self._handle.when() > deadline:
            self._handle.cancel()
            self._handle = None
        if self._handle is None:
            self._handle = self._loop.call_at(deadline, self._look)

    def stop(self) -> None:
        """The call is over; the next may begin."""
        self._deadline = None

    def close(self) -> None:
        """There will be no other call."""
        self._deadline = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _look(self) -> None:
        self._handle = None
        if self._deadline is None:
            return
        if self._loop.time() >= self._deadline:
            self._expire()
        else:
            self._handle = self._loop.call_at(self._deadline, self._look)
