"""The items of one claimed owner, and what has been learned of them since they were read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.execution import ItemState
from tidings.domain.flow.item import ItemStatus, Reserved
from tidings.domain.flow.queue import Claimed
from tidings.domain.flow.retry import RetryPolicy
from tidings.storage.finalize import Fact
from tidings.storage.load import LoadedItem


@dataclass(slots=True)
class Held:
    """What a worker holds of an execution or job while its lease lasts."""

    lease: Claimed
    retry_for: Callable[[Reserved], RetryPolicy]
    states: dict[UUID, ItemState] = field(default_factory=dict)
    open: dict[UUID, Reserved] = field(default_factory=dict)
    postponed: dict[UUID, datetime] = field(default_factory=dict)  # could not be called for now: not before then
    overdue: str | None = None  # why its owner has no more time
    parked: bool = False  # its sequence is paused as a whole
    withdrawn: str | None = None  # why nothing more may leave for its owner: its contact is gone

    def take(self, item: LoadedItem) -> None:
        """Add an item as it was read from the database."""
        self.states[item.id] = item.state
        if item.open:
            self.open[item.id] = item.open

    def due(self, now: datetime) -> list[Reserved]:
        """The open items that are due. One that still looks marked is another worker's: it is read again first."""
        return [
            item
            for item in self.open.values()
            if item.marked_at is None and (item.retry_at is None or item.retry_at <= now)
        ]

    def learn(self, fact: Fact) -> None:
        """Note the fact of a call."""
        state = self.states[fact.id]
        self.states[fact.id] = ItemState(
            state.node,
            fact.status,
            fact.status is ItemStatus.QUEUED and (state.in_doubt or fact.unknown),
            fact.retry_at,
            state.attempts + 1 if fact.uses_attempt else state.attempts,
            fact.message_id,
            fact.error,
            fact.result,
        )
        del self.open[fact.id]

    def settle(self, id: UUID, status: ItemStatus, error: str) -> None:
        """Note that an item was skipped or failed without a call."""
        self.states[id] = replace(self.states[id], status=status, error=error, retry_at=None)
        del self.open[id]

    def doubt(self, id: UUID, retry_at: datetime | None) -> None:
        """Note that an item is in doubt, and when it is looked at again by itself."""
        self.states[id] = replace(self.states[id], in_doubt=True, retry_at=retry_at)
        self.open[id] = replace(self.open[id], in_doubt=True, retry_at=retry_at)

    def move(self, id: UUID, to: datetime) -> None:
        """Note that an item has a later time."""
        self.states[id] = replace(self.states[id], retry_at=to)
        self.open[id] = replace(self.open[id], retry_at=to)

    def reroute(self, id: UUID, provider: str) -> None:
        """Note that an item takes another connection."""
        self.open[id] = replace(self.open[id], provider=provider)

    def orphan(self, id: UUID) -> None:
        """Note that an item was found marked without an answer: it is in doubt, and the crash used no attempt."""
        state, item = self.states[id], self.open[id]
        self.states[id] = replace(state, in_doubt=True, retry_at=None, attempts=max(state.attempts - 1, 0))
        self.open[id] = replace(item, in_doubt=True, retry_at=None, marked_at=None, attempts=max(item.attempts - 1, 0))

    def clear(self, id: UUID) -> None:
        """Note that a call in doubt is proven never to have arrived."""
        self.states[id] = replace(self.states[id], in_doubt=False, retry_at=None)
        self.open[id] = replace(self.open[id], in_doubt=False, retry_at=None)
