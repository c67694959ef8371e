"""What the gate asks: each check knows one kind of reason why something may not leave.

A new reason is one class with this shape, in the list of gate.py.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from tidings.domain.flow.item import Planned, Reserved
from tidings.kernel.gate.answer import Answer

FRESH = timedelta(seconds=2)
"""How old the reading of what may change its mind (a contact, a rule, a sequence) may be when something is marked."""

Item = Planned | Reserved
Ask = Callable[[Item], Answer]


class GateCheck(Protocol):
    """One kind of reason."""

    def concerns(self, items: Sequence[Item], /) -> bool:
        """Whether this can ever speak against one of these; asked once for a batch, so that most cost it nothing."""

    async def prepare(self, items: Sequence[Item], now: datetime, /) -> Ask | None:
        """Read what is too old, for all items at once, and return what answers for each.

        None where nothing can speak against any of them: then this check costs nothing for an item.
        """


class Recheck(GateCheck, Protocol):
    """One whose answer grows old while a marked item waits for its call."""

    def is_old_for(self, item: Reserved) -> bool:
        """Whether this must be asked once more before the item leaves."""
