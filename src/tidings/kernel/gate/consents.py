"""What the contacts of a batch allow (rule 14); asked before every mark, as are the rules that items come from.

Reached from deliver.py. Whatever names no contact costs nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemId, ItemStatus, Planned, Reserved
from tidings.domain.people.contact import Person
from tidings.kernel.flow.settle import settle_waiting
from tidings.kernel.gate.rules import FRESH, RuleGate
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.contacts import read_consents
from tidings.storage import finalize
from tidings.storage.finalize import Lost
from tidings.storage.outbox import Wanted

NOT_THERE = "there is no such contact"


class TurnedAway(NamedTuple):
    """What became of items that were refused: skipped with the reason, or left in doubt with nobody calling again."""

    skipped: dict[UUID, str]
    held: list[UUID]


class Consents:
    """What the contacts of one batch allow, never older than two seconds when a mark is made or a call starts.

    Turning away whom they refuse, it turns away what is too late and what comes from a rule that does not stand any
    more as well: all are asked before every mark.
    """

    def __init__(
        self, kernel: Kernel, known: Mapping[UUID, Person], read_at: datetime, rules: RuleGate | None = None
    ) -> None:
        self._kernel, self._known, self._read_at = kernel, known, read_at
        self._rules = rules or RuleGate(kernel, read_at)
        self.turned_away = TurnedAway({}, [])

    @property
    def watch_rules(self) -> bool:
        """Whether there are items that a rule may hold back."""
        return bool(self._rules.rule_of)

    async def refresh(self, items: Collection[Planned | Reserved]) -> None:
        """Read about those whom the items are for, and the rules they come from, unless done a moment ago."""
        await self._rules.refresh([item.id for item in items])
        named = {item.contact_id for item in items if item.contact_id}
        if named and (self._are_old() or not named <= self._known.keys()):
            self._read_at = self._kernel.clock.carried()
            self._known = await read_consents(self._kernel, named)

    def refusal(self, item: Planned | Reserved) -> str | None:
        """Why an item must not be sent, or None when it may."""
        if refusal := self._rules.refusal(item.id):
            return refusal
        if item.contact_id is None:
            return None
        person = self._known.get(item.contact_id)
        return person.refusal(item.channel) if person else NOT_THERE

    def are_old_for(self, item: Reserved) -> bool:
        """Whether an item's contact or rule, if it has one, must be asked about once more before anything leaves."""
        return (item.contact_id is not None and self._are_old()) or self._rules.is_old_for(item.id)

    async def turn_away(self, shard: Shard, wanted: Sequence[Wanted], now: datetime) -> Collection[UUID]:
        """Skip what is refused by now or has become too late, and give which that are.

        What is in doubt may have arrived: it stays so, and waits for a fact or a person.
        """
        await self.refresh([one.item for one in wanted])
        refused = {
            one.item.id: (one, reason) for one in wanted if (reason := self.refusal(one.item) or one.lateness(now))
        }
        if refused:
            await self._skip(shard, {id: reason for id, (one, reason) in refused.items() if not one.again}, now)
            await self._hold(shard, [one for one, _ in refused.values() if one.again])
        return refused.keys()

    def _are_old(self) -> bool:
        return self._kernel.clock.carried() - self._read_at > FRESH

    async def _skip(self, shard: Shard, reasons: Mapping[ItemId, str], now: datetime) -> None:
        skipped = await settle_waiting(self._kernel, shard, ItemStatus.SKIPPED, reasons, now)
        self.turned_away.skipped.update(skipped)

    async def _hold(self, shard: Shard, doubtful: Sequence[Wanted]) -> None:
        if doubtful:
            items = [Lost(one.item.id, one.item.owner, one.fence, one.item.marked_attempt) for one in doubtful]
            never = [None] * len(items)
            hold = partial(finalize.schedule_doubtful_items, shard=shard, items=items, retry_at=never)
            await self._kernel.db.persist(hold, alone=True)
            self.turned_away.held.extend(one.id for one in items)
