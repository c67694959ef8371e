"""Whether the providers of a batch may be called now: one answer for each provider, whatever the item.

Only an item that has waited through an outage longer than its lane allows gets its own answer: never.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from tidings.domain.flow.queue import Lane
from tidings.kernel.gate.answer import NOW, Answer, Later
from tidings.kernel.gate.check import Ask, Item
from tidings.kernel.gate.failover import earliest_opening
from tidings.kernel.gate.outages import Outages
from tidings.kernel.gate.rests import blocked_until, refresh_limits
from tidings.kernel.gate.trials import unusable_until
from tidings.kernel.kernel import Kernel


class ProviderReadiness:
    """The providers of one batch; `is_calling` tells whether the batch itself has calls under way."""

    def __init__(self, kernel: Kernel, lane: Lane) -> None:
        self._kernel, self._lane = kernel, lane
        self.outages = Outages(kernel, lane)
        self.is_calling: Callable[[str], bool] = lambda _: False

    def concerns(self, _items: Sequence[Item]) -> bool:
        """Always: every item has a provider."""
        return True

    async def prepare(self, items: Sequence[Item], now: datetime) -> Ask | None:
        """Learn which providers rest or cannot be used, and claim the trial of one whose rest is over."""
        names = {item.provider for item in items}
        await refresh_limits(self._kernel, now, names)
        has_outages = self._kernel.rests.has_outages
        if has_outages:
            await self.outages.take_on(names, self.is_calling, now)
        waits = {name: wait for name in names if (wait := self._wait(name, now))}
        hosts = self.outages.hosts
        rest_hosts = await hosts.prepare(items, now)
        if not (waits or has_outages or rest_hosts):
            return None

        def answer(item: Item) -> Answer:
            # A host is asked last: the item it lets through tries it, and nothing else may object.
            waiting = self.outages.given_up(item, now) or waits.get(item.provider)
            return waiting or (hosts.answer(item, now) if rest_hosts else None) or NOW

        return answer

    def _wait(self, name: str, now: datetime) -> Later | None:
        """When to look again, if nothing of a provider may be called here now."""
        if blocked := blocked_until(self._kernel, name, self._lane, now):
            return Later(earliest_opening(self._kernel, name, blocked.at, now), blocked.why)
        if self.is_calling(name) or self.outages.is_trying(name):
            return None
        until = unusable_until(self._kernel, name, now)
        return Later(until, "somebody else tries whether its provider is back") if until else None
