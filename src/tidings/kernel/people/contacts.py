"""The contacts that work is for: what templates see of them, and what they allow (rule 14).

Reached from plan.py, jobs.py and deliver.py. A contact may be in any shard, so it is read in its own; whatever names no
contact costs nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemId, ItemStatus, Planned, Reserved
from tidings.domain.people.contact import CONTACT, DELETED, LoadedContact
from tidings.kernel.flow.settle import settle_waiting
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.rule_gate import FRESH, RuleGate
from tidings.storage import finalize, people
from tidings.storage.finalize import Lost
from tidings.storage.outbox import Wanted

if TYPE_CHECKING:
    from tidings.kernel.flow.plan import Case

__all__ = ["Consents", "LoadedContact", "TurnedAway", "find_deleted", "introduce", "load_people"]

NOT_THERE = "there is no such contact"

Read = Callable[..., Awaitable[Mapping[UUID, LoadedContact]]]


async def load_people(kernel: Kernel, ids: Iterable[UUID]) -> Mapping[UUID, LoadedContact]:
    """Contacts by id as they are now, deleted ones too; one statement for each shard that they are in."""
    return await _read(kernel, ids, people.load_people)


async def introduce(kernel: Kernel, cases: Sequence["Case"]) -> None:
    """Let executions see their contacts as they are now, among what they were given; that is never written back."""
    found = await load_people(kernel, [case.loaded.contact_id for case in cases if case.loaded.contact_id])
    for case in cases:
        case.person = found.get(case.loaded.contact_id) if case.loaded.contact_id else None
        if case.person is None or case.person.is_deleted:
            case.hand.withdrawn = DELETED
        else:
            execution = case.loaded.execution
            seen = {**execution.input, CONTACT: case.person.data}
            case.loaded = replace(case.loaded, execution=replace(execution, input=seen))


async def find_deleted(kernel: Kernel, ids: Iterable[UUID]) -> list[UUID]:
    """Those of the contacts that were deleted."""
    return [id for id, person in (await _read(kernel, ids, people.read_consents)).items() if person.is_deleted]


async def _read(kernel: Kernel, ids: Iterable[UUID], read: Read) -> Mapping[UUID, LoadedContact]:
    shares = _in_their_shards(kernel, ids)
    found = await asyncio.gather(
        *(kernel.db.persist(partial(read, shard=shard, ids=share), alone=True) for shard, share in shares.items())
    )
    return {id: person for share in found for id, person in share.items()}


def _in_their_shards(kernel: Kernel, ids: Iterable[UUID]) -> Mapping[Shard, list[UUID]]:
    """Each shard's share, without repeats."""
    shares: dict[Shard, list[UUID]] = defaultdict(list)
    for id in set(ids):
        shares[kernel.shard_of(id)].append(id)
    return shares


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
        self, kernel: Kernel, known: Mapping[UUID, LoadedContact], read_at: datetime, rules: RuleGate | None = None
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
            self._known = await _read(self._kernel, named, people.read_consents)

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
