"""Whether the rules of waiting items still stand: an item whose rule was disabled or deleted does not leave.

Made by event.py from what it has just loaded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.flow.item import Reserved
from tidings.kernel.gate.answer import NOW, Answer, Never
from tidings.kernel.gate.check import FRESH, Ask, Item
from tidings.kernel.kernel import Kernel
from tidings.storage import rules


@dataclass(slots=True)
class RulesOfItems:
    """The rules of one batch's items, never older than two seconds when a mark is made or a call starts."""

    kernel: Kernel
    read_at: datetime
    rule_of: Mapping[UUID, UUID] = field(default_factory=dict)  # by item
    enabled: Mapping[UUID, bool | None] = field(default_factory=dict)  # by rule; None where it was deleted

    def concerns(self, _items: Sequence[Item]) -> bool:
        """Whether any of the batch's items comes from a rule."""
        return bool(self.rule_of)

    async def prepare(self, items: Sequence[Item], _now: datetime) -> Ask | None:
        """Read the rules of these items again, unless that was done a moment ago."""
        if not self.rule_of or not any(item.id in self.rule_of for item in items):
            return None
        if self._is_old():
            self.read_at = self.kernel.clock.carried()
            read = partial(rules.read_enabled, ids=list(set(self.rule_of.values())))
            self.enabled = await self.kernel.db.persist(read, alone=True)
        return self._answer

    def is_old_for(self, item: Reserved) -> bool:
        """Whether the rule of an item, if it has one, must be read once more before the item leaves."""
        return item.id in self.rule_of and self._is_old()

    def _answer(self, item: Item) -> Answer:
        rule = self.rule_of.get(item.id)
        if rule is None or self.enabled[rule]:
            return NOW
        return Never("its rule was deleted" if self.enabled[rule] is None else "its rule was disabled")

    def _is_old(self) -> bool:
        return self.kernel.clock.carried() - self.read_at > FRESH
