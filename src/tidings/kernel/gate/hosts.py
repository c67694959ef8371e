"""The hosts of functions, webhooks and browsers' push services: each is left alone when it does not answer, for one
workspace and for all workers.

Reached from outages.py. A call that a host does not answer uses an attempt as ever; after a few in a row the calls that
would follow wait unmarked, using none, with growing rests; one call tries when a rest is over, and the first answer
ends it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.hosts import (
    FAILURES_BEFORE_REST,
    HOSTED_CHANNELS,
    connection_host_name,
    host_rest_name,
    was_answered,
)
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Delivered, ItemStatus, Marked, Reserved
from tidings.domain.flow.outcome import Accepted, Unavailable
from tidings.domain.flow.provider import HasHosts
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.retry import UNREACHED, outlasted
from tidings.kernel.gate.answer import Later, Never
from tidings.kernel.gate.check import Item
from tidings.kernel.gate.rests import read_host_rests
from tidings.kernel.gate.trials import Trouble, may_try, tell, unusable_until, waited
from tidings.kernel.kernel import Kernel
from tidings.storage.rests import StoredRest

Called = tuple[str, Workspace, str]  # provider, workspace, recipient


class CalledHosts:
    """The hosts that one batch calls, what it learns of them, and the trials that it has claimed."""

    def __init__(self, kernel: Kernel, lane: Lane) -> None:
        self._kernel, self._lane = kernel, lane
        self._names: dict[Called, str | None] = {}  # the name of the rest of each recipient's host
        self._troubles: dict[str, Trouble] = {}
        self._back: dict[str, datetime] = {}
        self._trials: dict[str, UUID | None] = {}  # those claimed here, and the item that tries

    async def prepare(self, items: Sequence[Item], now: datetime) -> bool:
        """Learn which hosts are called and which of them rest, and claim trials; return whether any of them rests."""
        called = {_called(item) for item in items if item.channel in HOSTED_CHANNELS}
        await self._find_hosts(called - self._names.keys())
        names = {name for one in called if (name := self._names[one])}
        rests = self._kernel.host_rests
        if old := rests.old(names, now):
            await read_host_rests(self._kernel, old, now)
        open_names = [name for name in names if rests.outage(name)]
        for name in open_names:
            await self._take_on(name, now)
        return bool(open_names)

    async def _find_hosts(self, called: Iterable[Called]) -> None:
        for name, workspace, recipient in called:
            provider: object = self._kernel.providers.get(name)
            host = await provider.host_of(workspace, recipient) if isinstance(provider, HasHosts) else None
            self._names[name, workspace, recipient] = self._rest_name(name, workspace, host) if host else None

    def _rest_name(self, provider: str, workspace: Workspace, host: str) -> str:
        if self._kernel.connections.find(provider):
            return connection_host_name(provider, host)
        return host_rest_name(workspace, host)

    async def _take_on(self, name: str, now: datetime) -> None:
        if proof := self._kernel.host_rests.end_outage(name):
            await tell(self._kernel, {}, {name: proof}, now)
        elif name not in self._trials and await may_try(self._kernel, name, now):
            self._trials[name] = None

    def answer(self, item: Item, now: datetime) -> Later | Never | None:
        """When or why not to call for an item whose host rests; None when it may be called."""
        name, outage = self._outage(item)
        if name is None or outage is None:
            return None
        if outage.until > now:
            return self._given_up(item, outage, now) or Later(outage.until, "the host that it calls rests")
        if name in self._trials and self._trials[name] in (None, item.id):
            self._trials[name] = item.id
            return None
        look = unusable_until(self._kernel, name, now) or now + self._kernel.limits.slot_wait
        return Later(look, "another call tries whether the host that it calls is back")

    def _given_up(self, item: Item, outage: StoredRest, now: datetime) -> Never | None:
        if not isinstance(item, Reserved) or item.in_doubt:
            return None
        patience = self._kernel.limits.outage_patience[self._lane]
        reason = outlasted(waited(outage, item, now), patience, outage.reason)
        return Never(reason, ItemStatus.FAILED) if reason else None

    def is_resting(self, item: Marked, now: datetime) -> bool:
        """Whether the host of a marked item has begun to rest since its mark."""
        _, outage = self._outage(item)
        return outage is not None and outage.until > now

    def _outage(self, item: Item | Marked) -> tuple[str | None, StoredRest | None]:
        name = self._names.get(_called(item)) if item.channel in HOSTED_CHANNELS else None
        return name, self._kernel.host_rests.outage(name) if name else None

    def note(self, call: Delivered) -> None:
        """Note whether a host answered: a few calls in a row that it did not answer, or a trial, let it rest."""
        name, outage = self._outage(call.item)
        is_answered = was_answered(call.outcome)
        if name is None or is_answered is None:
            return
        self._trials.pop(name, None)
        rests = self._kernel.host_rests
        if is_answered or isinstance(call.outcome, Accepted):
            if proof := rests.answered(name, call.started_at):
                self._back[name] = proof
        elif outage or rests.failed(name) >= FAILURES_BEFORE_REST:
            outcome = Unavailable(call.outcome.reason)
            if rests.begin_outage(name, outcome.reason, call.started_at, call.ended_at, UNREACHED.shortest):
                self._troubles[name] = Trouble(outcome, call.started_at, call.ended_at)

    async def tell(self, now: datetime) -> None:
        """Tell all workers what was noted."""
        troubles, self._troubles, back, self._back = self._troubles, {}, self._back, {}
        await tell(self._kernel, troubles, back, now)


def _called(item: Item | Marked) -> Called:
    return item.provider, item.workspace, item.recipient
