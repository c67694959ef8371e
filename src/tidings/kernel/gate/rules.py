"""Whether the rules that waiting items come from still stand: what was disabled or deleted meanwhile does not leave.

Made by event.py from what it has just loaded; contacts.py asks it before every mark, as it asks what contacts allow.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from tidings.kernel.kernel import Kernel
from tidings.storage import rules

FRESH = timedelta(seconds=2)
"""How old the reading of a rule, or of what people allow, may be when something is marked."""


@dataclass(slots=True)
class RuleGate:
    """The rules of one batch's items, never older than two seconds when a mark is made or a call starts."""

    kernel: Kernel
    read_at: datetime
    rule_of: Mapping[UUID, UUID] = field(default_factory=dict)  # by item
    enabled: Mapping[UUID, bool | None] = field(default_factory=dict)  # by rule; None where there is none any more

    async def refresh(self, items: Iterable[UUID]) -> None:
        """Read the rules of these items again, unless that was done a moment ago."""
        if self.rule_of and self.is_old() and any(id in self.rule_of for id in items):
            self.read_at = self.kernel.clock.carried()
            read = partial(rules.read_enabled, ids=list(set(self.rule_of.values())))
            self.enabled = await self.kernel.db.persist(read, alone=True)

    def refusal(self, item: UUID) -> str | None:
        """Why an item must not leave, or None when it may."""
        rule = self.rule_of.get(item)
        if rule is None or self.enabled[rule]:
            return None
        return "its rule was deleted" if self.enabled[rule] is None else "its rule was disabled"

    def is_old_for(self, item: UUID) -> bool:
        """Whether the rule of an item, if it has one, must be asked about once more before anything leaves."""
        return item in self.rule_of and self.is_old()

    def is_old(self) -> bool:
        """Whether it is time to read again."""
        return self.kernel.clock.carried() - self.read_at > FRESH
