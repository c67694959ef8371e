"""What has no recipient was erased, and is never sent: not again after doubt, nor by a replay."""

from collections.abc import Sequence
from datetime import datetime

from tidings.domain.people.contact import ERASED
from tidings.kernel.gate.answer import NOW, Answer, Never
from tidings.kernel.gate.check import Ask, Item


class ErasedItems:
    """Whether an item was erased; most batches have none, and pay nothing."""

    def concerns(self, items: Sequence[Item]) -> bool:
        """Whether any of the items has no recipient."""
        return any(not item.recipient for item in items)

    async def prepare(self, items: Sequence[Item], _now: datetime) -> Ask | None:
        """Return the answer for each, if any of them was erased."""
        return self._answer if self.concerns(items) else None

    def _answer(self, item: Item) -> Answer:
        return NOW if item.recipient else Never(ERASED)
