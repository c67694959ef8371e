"""A batch's way to one provider, which deliver.py looks up once for all its calls."""

from collections import deque
from collections.abc import Callable
from datetime import datetime

import msgspec

from tidings.domain.flow.item import Marked
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.retry import RetryPolicy
from tidings.kernel.kernel import Kernel
from tidings.storage.outbox import Wanted


class Limit(msgspec.Struct, frozen=True):
    """When a call is cut, however long its provider would have waited, and what is said of it then."""

    at: datetime
    reason: str


class Parcel(msgspec.Struct, frozen=True):
    """An item to be called for, the policy should that fail, and the time it has, if that is limited."""

    wanted: Wanted
    retry: RetryPolicy
    limit: Limit | None = None


class Line:
    """What is marked and not yet called, how many call, and the room that was taken."""

    def __init__(self, kernel: Kernel, name: str, lane: Lane) -> None:
        self.name, self.lane = name, lane
        self.provider, self.slots = kernel.providers[name], kernel.slots[name]
        self.call_deadline = self.provider.call_deadline
        self.ready: deque[tuple[Marked, Parcel]] = deque()
        self.callers = 0
        self.is_next_coming = False  # whether one more caller is about to begin
        self._promised = 0

    @property
    def is_busy(self) -> bool:
        """Whether somebody calls, or is about to."""
        return bool(self.callers or self.ready)

    @property
    def may_add_caller(self) -> bool:
        """Whether there is something to call and a slot that one more might get."""
        return bool(self.ready) and self.callers < self.slots.limit(self.lane)

    def promise(self, wanted: int = 1) -> int:
        """Take room for calls that are about to be marked, if there is any; give for how many."""
        promised = self.slots.promise(self.lane, wanted)
        self._promised += promised
        return promised

    def redeem(self) -> None:
        """Give the room of one call back, once: a cancelled call ends after the batch has given back everything."""
        if self._promised:
            self._promised -= 1
            self.slots.redeem(self.lane)

    def take_out(self, is_meant: Callable[[Marked], bool]) -> list[tuple[Marked, Parcel]]:
        """Call for some of what is ready no more, and give their room back."""
        ready = list(self.ready)
        taken = [one for one in ready if is_meant(one[0])]
        self.ready.clear()  # callers hold on to this very queue
        self.ready.extend(one for one in ready if not is_meant(one[0]))
        for _ in taken:
            self.redeem()
        return taken

    def clear(self) -> None:
        """Call nobody more, and give all room back."""
        self.ready.clear()  # a caller that was to begin soon must find nothing
        while self._promised:
            self.redeem()
