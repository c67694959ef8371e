"""The queue of one batch for one provider and workspace, which deliver.py looks up once for all its calls."""

from collections import deque
from collections.abc import Callable
from datetime import timedelta

from tidings.domain.flow.item import Marked
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.slots import Slots

Ready = tuple[Marked, Outgoing]
"""An item whose mark is committed and whose call has not begun."""


class ProviderQueue:
    """The items marked and not yet called, the number of tasks that call, and the room taken for them."""

    def __init__(self, name: str, call_deadline: timedelta, slots: Slots, lane: Lane, whose: int) -> None:
        self.name, self.call_deadline, self.slots, self.lane, self.whose = name, call_deadline, slots, lane, whose
        self.ready: deque[Ready] = deque()
        self.callers = 0
        self.is_next_coming = False  # whether one more caller is about to begin
        self._promised = 0

    @property
    def is_busy(self) -> bool:
        """Whether a task calls, or is about to."""
        return bool(self.callers or self.ready)

    @property
    def may_add_caller(self) -> bool:
        """Whether an item is ready and one more caller might get a slot."""
        return bool(self.ready) and self.callers < self.slots.limit(self.lane)

    def promise(self, wanted: int = 1) -> int:
        """Take room for calls that are about to be marked, if there is any; return for how many."""
        promised = self.slots.promise(self.lane, wanted, self.whose)
        self._promised += promised
        return promised

    def redeem(self) -> None:
        """Release the room of one call, once: a cancelled call ends after the batch has released everything."""
        if self._promised:
            self._promised -= 1
            self.slots.redeem(self.lane, self.whose)

    def take_out(self, is_meant: Callable[[Marked], bool]) -> list[Ready]:
        """Remove some of the ready items from the queue, and release their room."""
        ready = list(self.ready)
        taken = [one for one in ready if is_meant(one[0])]
        self.ready.clear()  # callers hold on to this very queue
        self.ready.extend(one for one in ready if not is_meant(one[0]))
        for _ in taken:
            self.redeem()
        return taken

    def clear(self) -> None:
        """Empty the queue, so that no more calls begin, and release all room."""
        self.ready.clear()  # a caller that is about to begin must find nothing
        while self._promised:
            self.redeem()
