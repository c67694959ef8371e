"""Whether a connection's limits leave a place for a message: so many in a second, a minute, a day, and for a domain.

Reached from gate.py. A place is taken in the database right before the mark, for what has a slot and nothing else
against it, and holds for a moment: a call that has not begun by then takes another. Connections without such limits
cost nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from tidings.domain.connections.limits import SendingLimits
from tidings.kernel.gate.answer import NOW, Answer, Later
from tidings.kernel.gate.check import Ask, Item
from tidings.kernel.kernel import Kernel
from tidings.storage import connection_use
from tidings.storage.connection_use import Places

FULL = "the limits of its connection leave no place"


class SendingPlaces:
    """The places that one batch has taken, and the limits of the connections that it calls."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._limits: dict[str, SendingLimits | None] = {}
        self._until: dict[UUID, datetime] = {}  # by when the call of an item with a place must begin

    def concerns(self, _items: Sequence[Item]) -> bool:
        """Whether any connection is known: an item may take another one than it has now."""
        return not self._kernel.connections.is_empty

    async def prepare(self, items: Sequence[Item], now: datetime) -> Ask | None:
        """Answer for those whose limits are known to leave no place; asking again would only cost."""
        self._limits.clear()  # they may have changed
        if not any(self._limits_of(name) for name in {item.provider for item in items}):
            return None

        def answer(item: Item) -> Answer:
            limits = self._limits_of(item.provider)
            if limits is None:
                return NOW
            at = self._kernel.use.full_until(item.provider, limits.domain_of(item.recipient), now)
            return Later(at, FULL) if at else NOW

        return answer

    async def take(self, items: Sequence[Item], now: datetime) -> Mapping[UUID, Later]:
        """Take places for items that are about to be marked; return those that get none, and when to ask again."""
        refused: dict[UUID, Later] = {}
        for name in {item.provider for item in items}:
            if limits := self._limits_of(name):
                refused |= await self._take(name, limits, [item for item in items if item.provider == name], now)
        return refused

    async def _take(
        self, provider: str, limits: SendingLimits, items: Sequence[Item], now: datetime
    ) -> Mapping[UUID, Later]:
        by_domain: dict[str, list[Item]] = {}
        for item in items:
            by_domain.setdefault(limits.domain_of(item.recipient), []).append(item)
        if limits.per_domain and self._kernel.use.must_clean(provider, now):
            forget = partial(connection_use.forget_use, provider=provider, now=now)
            await self._kernel.db.persist(forget, alone=True)
        granted = await self._ask(provider, limits, {name: len(some) for name, some in by_domain.items()}, now)
        until, refused = now + timedelta(seconds=limits.shortest_part), dict[UUID, Later]()
        for domain, some in by_domain.items():
            places = granted[domain]
            self._until |= dict.fromkeys([item.id for item in some[: places.granted]], until)
            if places.granted < len(some):
                free_at = places.free_at or until
                self._kernel.use.note(provider, domain, free_at)
                refused |= {item.id: Later(free_at, FULL) for item in some[places.granted :]}
        return refused

    async def _ask(
        self, provider: str, limits: SendingLimits, wanted: Mapping[str, int], now: datetime
    ) -> Mapping[str, Places]:
        take = partial(
            connection_use.take_places,
            provider=provider,
            wanted=wanted,
            rules=limits.rules_for([*wanted]),
            warm_up=limits.warm_up,
            now=now,
        )
        return await self._kernel.db.persist(take, alone=True)

    def is_spent(self, id: UUID, now: datetime) -> bool:
        """Whether the place of an item has been held for too long to begin a call with."""
        until = self._until.get(id) if self._until else None
        return until is not None and now > until

    def _limits_of(self, provider: str) -> SendingLimits | None:
        if provider not in self._limits:
            connection = self._kernel.connections.find(provider)
            has_rates = connection is not None and connection.limits.has_rates
            self._limits[provider] = connection.limits if connection and has_rates else None
        return self._limits[provider]
