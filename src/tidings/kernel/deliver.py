"""Call providers for one batch, a window at a time.

Reached from engine.py with items that are reserved; the only module that calls a provider. It holds no connection
while it does: mark.py commits between the calls. One slow call holds up nobody, because finished ones are written
every 50 ms or 100 results.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

import structlog

from tidings.domain.ids import Shard
from tidings.domain.item import Delivered, Fence, Marked
from tidings.domain.outcome import Accepted, Outcome, Unknown
from tidings.domain.provider import MayStart, Provider
from tidings.domain.queue import Claimed, Lane
from tidings.domain.retry import RetryPolicy
from tidings.domain.storable import storable
from tidings.kernel import crash_points
from tidings.kernel.finalize import Landed
from tidings.kernel.kernel import Kernel
from tidings.kernel.mark import Window, commit_window, refresh_pauses
from tidings.kernel.slots import Rest
from tidings.storage.database import assert_no_transaction
from tidings.storage.finalize import Fact
from tidings.storage.outbox import Unstarted, Wanted

log = structlog.get_logger()

WITHOUT_PROVIDER = timedelta(minutes=1)
"""How long items wait that name a provider this worker was not given: another worker may have it."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """An item to be called for, and the policy should that fail."""

    wanted: Wanted
    retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class Flown:
    """What a batch came to: facts, and for what was not called when to try again."""

    facts: Sequence[Fact]
    postponed: Mapping[UUID, datetime]  # item → not before


async def deliver(
    kernel: Kernel, shard: Shard, lane: Lane, leases: Iterable[Claimed], parcels: Sequence[Parcel]
) -> Flown:
    """Call for every parcel that may be called; never starts a call that the lease may not outlast."""
    return await _Flight(kernel, shard, lane, leases, parcels).fly()


async def call_provider(provider: Provider, item: Marked, may_start: MayStart) -> Outcome:
    """Make one call within its deadline; whatever is not a clear answer is Unknown."""
    assert_no_transaction()
    try:
        async with asyncio.timeout(provider.call_deadline.total_seconds()):
            return await provider.send(item, may_start)
    except TimeoutError:
        return Unknown(f"no answer within {provider.call_deadline.total_seconds():g} s")
    except Exception as error:  # a defect of the provider's code; the request may have left all the same
        log.exception("provider_raised", item=str(item.id), provider=provider.name)
        return Unknown(f"{type(error).__name__}: {error}")


class _Flight:
    """The calls of one batch."""

    def __init__(
        self, kernel: Kernel, shard: Shard, lane: Lane, leases: Iterable[Claimed], parcels: Sequence[Parcel]
    ) -> None:
        self.kernel, self.shard, self.lane = kernel, shard, lane
        self.leases: dict[UUID, Fence] = {lease.id: lease.fence for lease in leases}
        self.until = min((lease.until for lease in leases), default=kernel.clock.carried())
        self.waiting = deque(parcels)
        self.parcels: dict[UUID, Parcel] = {}
        self.flying: set[asyncio.Task[None]] = set()
        self.promised: set[Marked] = set()
        self.landed: list[Landed] = []
        self.unstarted: list[Marked] = []
        self.rests: dict[str, Rest] = {}
        self.facts: list[Fact] = []
        self.postponed: dict[UUID, datetime] = {}
        self.stirred = asyncio.Event()

    async def fly(self) -> Flown:
        try:
            while self.waiting or self.flying or self.landed or self.unstarted:
                await self._commit_and_start()
                await self._wait()
        finally:
            for task in self.flying:
                task.cancel()
            for item in tuple(self.promised):
                self._redeem(item)
        return Flown(self.facts, self.postponed)

    async def _commit_and_start(self) -> None:
        now = await self.kernel.clock.now()
        await refresh_pauses(self.kernel, now)
        chosen = self._choose(now)
        window = Window(
            [parcel.wanted for parcel in chosen],
            self._take_landed(),
            self._take_unstarted(),
            self.leases if self._must_renew(now) else {},
            self._take_rests(),
        )
        if not (window.wanted or window.landed or window.unstarted or window.renew):
            return
        until = now + self.kernel.limits.lease
        try:
            committed = await commit_window(self.kernel, self.shard, window, until, now)
        finally:
            for parcel in chosen:
                self.kernel.slots[parcel.wanted.item.provider].redeem(self.lane)
        self.facts += committed.facts
        if window.renew:
            self._keep_only(committed.renewed)
            self.until = until
        parcels = {parcel.wanted.item.id: parcel for parcel in chosen}
        for item in committed.marked:
            self._start(item, parcels[item.id])

    def _start(self, item: Marked, parcel: Parcel) -> None:
        self.kernel.slots[item.provider].promise(self.lane)  # until its task takes the slot itself
        self.promised.add(item)
        self.parcels[item.id] = parcel
        self.flying.add(asyncio.create_task(self._call(item)))

    def _redeem(self, item: Marked) -> None:
        self.promised.discard(item)
        self.kernel.slots[item.provider].redeem(self.lane)

    def _choose(self, now: datetime) -> list[Parcel]:
        """Take from the waiting what would start within a fraction of a second; the rest waits or is postponed."""
        chosen: list[Parcel] = []
        blocked: dict[str, datetime | None] = {}
        for _ in range(len(self.waiting)):
            parcel = self.waiting.popleft()
            item, provider = parcel.wanted.item, parcel.wanted.item.provider
            if provider not in blocked:
                blocked[provider] = self._not_before(provider, now)
            if not_before := blocked[provider]:
                self.postponed[item.id] = not_before
                continue
            if self.kernel.slots[provider].room(self.lane) > 0:
                self.kernel.slots[provider].promise(self.lane)
                chosen.append(parcel)
            else:
                self.waiting.append(parcel)
        return chosen

    def _not_before(self, provider: str, now: datetime) -> datetime | None:
        """Why nothing of a provider may be called now, as the time to try again: it rests, or we drain or lack it."""
        if provider not in self.kernel.providers:
            log.error("provider_missing", provider=provider, remedy="configure it for this worker as for the others")
            return now + WITHOUT_PROVIDER
        return now if self.kernel.draining.is_set() else self.kernel.pauses.until(provider, now)

    def _must_renew(self, now: datetime) -> bool:
        longest = max((self.kernel.providers[name].call_deadline for name in self._providers()), default=timedelta())
        needed = max(self.kernel.limits.lease / 2, longest + 2 * self.kernel.limits.lease_margin)
        return bool(self.leases) and self.until - now < needed and bool(self.waiting or self.flying)

    def _providers(self) -> set[str]:
        return {parcel.wanted.item.provider for parcel in (*self.waiting, *self.parcels.values())}

    def _keep_only(self, held: frozenset[UUID]) -> None:
        for owner in self.leases.keys() - held:
            log.warning("lease_lost", owner=str(owner), fence=self.leases[owner])
            del self.leases[owner]
        self.waiting = deque(parcel for parcel in self.waiting if parcel.wanted.item.owner in held)

    async def _call(self, item: Marked) -> None:
        provider, slots = self.kernel.providers[item.provider], self.kernel.slots[item.provider]
        self._redeem(item)
        try:
            async with slots.one(self.lane):
                if not self._may_begin(provider, item):
                    self.unstarted.append(item)
                    return
                crash_points.reach("before_call")
                started_at = self.kernel.clock.carried()
                outcome = await call_provider(provider, item, lambda: self._may_start(item))
                crash_points.reach("after_call")
            self._land(item, outcome, started_at)
        finally:
            task = asyncio.current_task()
            if task:
                self.flying.discard(task)
            self.stirred.set()

    def _may_begin(self, provider: Provider, item: Marked) -> bool:
        """Whether the item's own lease holds and outlasts a whole call begun now."""
        if self.kernel.draining.is_set() or item.owner not in self.leases:
            return False
        return self.kernel.clock.carried() + provider.call_deadline + self.kernel.limits.lease_margin < self.until

    def _may_start(self, item: Marked) -> bool:
        """Asked by the provider right before it hands over the data: a frozen process may wake up long after."""
        return item.owner in self.leases and self.kernel.clock.carried() + self.kernel.limits.lease_margin < self.until

    def _land(self, item: Marked, outcome: Outcome, started_at: datetime) -> None:
        ended_at = self.kernel.clock.carried()
        parcel = self.parcels.pop(item.id)
        self.landed.append(Landed(Delivered(item, outcome, started_at, ended_at), parcel.wanted.item, parcel.retry))
        rest = self.kernel.slots[item.provider].rest_after(outcome, started_at, ended_at)
        if rest and not isinstance(outcome, Accepted):
            self.rests[item.provider] = Rest(ended_at + rest, storable(outcome.reason) or "")

    def _take_landed(self) -> list[Landed]:
        landed, self.landed = self.landed, []
        return landed

    def _take_rests(self) -> dict[str, Rest]:
        rests, self.rests = self.rests, {}
        self.kernel.pauses.extend(rests)
        return rests

    def _take_unstarted(self) -> list[Unstarted]:
        """Marks to be taken back; unless the worker drains, their items wait for a fresh one."""
        items, self.unstarted = self.unstarted, []
        unstarted = []
        for item in items:
            parcel = self.parcels.pop(item.id)
            unstarted.append(Unstarted(item, doubtful=parcel.wanted.again))
            fresh = replace(parcel.wanted.item, marked_attempt=item.attempt, marked_at=None)
            self.waiting.append(replace(parcel, wanted=replace(parcel.wanted, item=fresh)))
        return unstarted

    async def _wait(self) -> None:
        """Until there is enough to write, or 50 ms after the first result, or the lease needs a look."""
        if self.waiting and not self.flying and not self.landed and not self.unstarted:
            await self._wait_for_slot()
        patience = self.kernel.limits.lease.total_seconds() / 4
        deadline = monotonic() + patience
        while self.flying and len(self.landed) < self.kernel.limits.flush_results:
            if self.landed or self.unstarted or self.waiting:
                deadline = min(deadline, monotonic() + self.kernel.limits.flush_after.total_seconds())
            self.stirred.clear()
            try:
                async with asyncio.timeout(deadline - monotonic()):
                    await self.stirred.wait()
            except TimeoutError:
                return

    async def _wait_for_slot(self) -> None:
        """Others use every slot: wait a little, then give the items back unmarked, using no attempt."""
        tried_until = monotonic() + self.kernel.limits.slot_wait.total_seconds()
        wanted = {parcel.wanted.item.provider for parcel in self.waiting}
        while not any(self.kernel.slots[name].room(self.lane) for name in wanted):
            if monotonic() > tried_until or self.kernel.draining.is_set():
                not_before = self.kernel.clock.carried() + self.kernel.limits.slot_wait
                self.postponed |= {parcel.wanted.item.id: not_before for parcel in self.waiting}
                self.waiting.clear()
                return
            await asyncio.sleep(self.kernel.limits.flush_after.total_seconds())
