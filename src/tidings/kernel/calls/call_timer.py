"""The time that one call after the other may take, for a task that makes many.

Reached from deliver.py. It does what `asyncio.timeout` does; but that sets and removes a timer for each call, which
costs more than the call to a provider that answers at once. Here one timer serves a whole task. When it goes off, it
checks whether the call then under way has exceeded its time; if not, it is set again for when that call would.
"""

import asyncio
from typing import Self


def is_task_cancelled() -> bool:
    """Whether this task itself was cancelled, as opposed to something that a provider cancelled of its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class CallTimer:
    """A context for each call of one task: raises TimeoutError when the call is not over within `seconds`."""

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("timer is a task's: make it inside one")
        self.seconds = seconds
        self.is_cut = False  # whether the last call exceeded a shorter time of its own
        self._shorter: float | None = None
        self._task, self._loop = task, asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._ends_at: float | None = None  # of the call that is under way
        self._was_cancelled = 0  # how often the task had been cancelled from outside when the call began
        self._is_over = False

    def at_most(self, seconds: float) -> Self:
        """Limit the next call to `seconds`, if that is less than the other calls have."""
        if seconds < self.seconds:
            self._shorter = seconds
            self.end()  # the timer was set for a later time
        return self

    def __enter__(self) -> None:
        self._was_cancelled, self.is_cut = self._task.cancelling(), False
        self._ends_at = self._loop.time() + (self.seconds if self._shorter is None else self._shorter)
        if self._timer is None:
            self._timer = self._loop.call_at(self._ends_at, self._look)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        is_short, self._shorter, self._ends_at = self._shorter is not None, None, None
        if not self._is_over:
            return
        self._is_over = False
        # If the task was cancelled from outside meanwhile, it must end, not see a timeout.
        if self._task.uncancel() <= self._was_cancelled and kind is asyncio.CancelledError:
            self.is_cut = is_short
            raise TimeoutError from error

    def end(self) -> None:
        """Remove the timer: no more calls follow."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._ends_at is None:
            return  # the next call sets it
        if self._loop.time() < self._ends_at:
            self._timer = self._loop.call_at(self._ends_at, self._look)
        else:
            self._is_over = True
            self._task.cancel()
