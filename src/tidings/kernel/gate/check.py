"""What the gate asks: each check knows one kind of reason why something may not leave.

A new reason is one class with this shape, in the list of gate.py.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from tidings.domain.flow.item import Planned, Reserved
from tidings.kernel.gate.answer import Answer

FRESH = timedelta(seconds=2)
"""How old the last reading of what may change (a contact, a rule, a sequence) may be when something is marked."""

Item = Planned | Reserved
Ask = Callable[[Item], Answer]


class GateCheck(Protocol):
    """One kind of reason why an item may not leave."""

    def concerns(self, items: Sequence[Item], /) -> bool:
        """Whether this check can ever object to one of these; asked once for a batch, so that most cost it nothing."""

    async def prepare(self, items: Sequence[Item], now: datetime, /) -> Ask | None:
        """Read again what is too old, for all items at once, and return a function that answers for each.

        Returns None where it can object to none of them: then this check costs nothing for an item.
        """


class Recheck(GateCheck, Protocol):
    """A check whose answer grows old while a marked item waits for its call."""

    def is_old_for(self, item: Reserved) -> bool:
        """Whether this check must be asked once more before the item leaves."""
