"""Call providers for one batch, a window at a time.

Reached from executions.py and jobs.py with items that are reserved; the only module that calls a provider. It holds no
connection while it does: mark.py commits between the calls. One slow call holds up nobody, because finished ones are
written every 50 ms or 100 results.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Self
from uuid import UUID

import msgspec
import structlog
from msgspec.structs import replace

from tidings.domain.ids import Shard
from tidings.domain.item import Channel, Delivered, Marked, Planned
from tidings.domain.outcome import Accepted, Outcome, Unknown
from tidings.domain.provider import MayStart, Provider
from tidings.domain.queue import Lane
from tidings.domain.retry import RetryPolicy
from tidings.domain.storable import storable
from tidings.kernel import crash_points
from tidings.kernel.finalize import Landed
from tidings.kernel.keep import Keeper
from tidings.kernel.kernel import Kernel
from tidings.kernel.limits import blocked_until, refresh_limits
from tidings.kernel.mark import Window, commit_window
from tidings.kernel.parking import Parking
from tidings.kernel.people import Consents, TurnedAway
from tidings.kernel.slots import Rest
from tidings.storage.database import assert_no_transaction
from tidings.storage.finalize import Fact
from tidings.storage.outbox import Unstarted, Wanted

log = structlog.get_logger()


class Parcel(msgspec.Struct, frozen=True):
    """An item to be called for, and the policy should that fail."""

    wanted: Wanted
    retry: RetryPolicy


class Flown(msgspec.Struct, frozen=True):
    """What a batch came to: facts, and for what was not called when to try again."""

    facts: Sequence[Fact]
    postponed: Mapping[UUID, datetime]  # item → not before
    turned_away: TurnedAway


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


class Flight:
    """The calls of one batch; never starts one that the lease may not outlast."""

    def __init__(
        self,
        kernel: Kernel,
        shard: Shard,
        lane: Lane,
        keeper: Keeper,
        consents: Consents | None = None,
        parking: Parking | None = None,
    ) -> None:
        self.kernel, self.shard, self.lane, self.keeper = kernel, shard, lane, keeper
        self.consents = consents or Consents(kernel, {}, kernel.clock.carried())
        self.parking = parking or Parking(kernel)
        self.waiting: deque[Parcel] = deque()  # to be marked
        self.parcels: dict[UUID, Parcel] = {}  # marked
        self.ready: dict[str, deque[Marked]] = defaultdict(deque)  # marked and not yet called, by provider
        self.callers: Counter[str] = Counter()
        self.next_callers: set[str] = set()  # the providers for which one more caller is about to begin
        self.promised: Counter[str] = Counter()
        self.flying: set[asyncio.Task[None]] = set()
        self.landed: list[Landed] = []
        self.unstarted: list[Marked] = []
        self.rests: dict[str, Rest] = {}
        self.facts: list[Fact] = []
        self.postponed: dict[UUID, datetime] = {}
        self.may_be_skipped = False
        self.stirred = asyncio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing in the air and no room taken, however the batch ended."""
        for ready in self.ready.values():
            ready.clear()  # a caller that was to begin soon must find nothing
        for task in self.flying:
            task.cancel()
        for provider in list(self.promised.elements()):
            self._redeem(provider)

    async def choose_new(self, planned: Sequence[Planned], now: datetime) -> set[UUID]:
        """The items that may be marked in the very commit that reserves them, because they would be called at once."""
        await refresh_limits(self.kernel, now)
        await self.consents.refresh(planned)
        blocked = {name: blocked_until(self.kernel, name, now) for name in {item.provider for item in planned}}
        return {
            item.id
            for item in planned
            if not (item.error or blocked[item.provider] or self.consents.refusal(item))
            and self._promise(item.provider)
        }

    def board(self, item: Marked, parcel: Parcel) -> None:
        """Take an item whose mark is committed and for whose call there was room."""
        self.parcels[item.id] = parcel
        self.ready[item.provider].append(item)

    def refuse(self, items: Iterable[Planned]) -> None:
        """Give back the room of items that could not be marked after all."""
        for item in items:
            self._redeem(item.provider)

    async def fly(self, parcels: Iterable[Parcel]) -> Flown:
        """Call for what has boarded, and for every parcel that may be called."""
        self.waiting.extend(parcels)
        self.may_be_skipped = any(one.wanted.may_be_skipped for one in (*self.waiting, *self.parcels.values()))
        self._call_ready()
        while self.waiting or self.flying or self.landed or self.unstarted:
            await self._commit_and_call()
            await self._wait()
        return Flown(self.facts, self.postponed, self.consents.turned_away)

    async def _commit_and_call(self) -> None:
        now = await self.kernel.clock.now()
        await refresh_limits(self.kernel, now)
        await self._keep_leases(now)
        if self.may_be_skipped:
            refused = await self.consents.turn_away(self.shard, [one.wanted for one in self.waiting], now)
            self.waiting = deque(one for one in self.waiting if one.wanted.item.id not in refused)
        await self.parking.refresh(now)
        chosen = {parcel.wanted.item.id: parcel for parcel in self._choose(now)}
        wanted = [parcel.wanted for parcel in chosen.values()]
        window = Window(wanted, self._take_landed(), self._take_unstarted(), self._take_rests())
        if not (window.wanted or window.landed or window.unstarted):
            return
        committed = await commit_window(self.kernel, self.shard, window, now)
        self.facts += committed.facts
        for item in committed.marked:
            self.board(item, chosen.pop(item.id))
        for parcel in chosen.values():
            self._redeem(parcel.wanted.item.provider)
        self._call_ready()

    async def _keep_leases(self, now: datetime) -> None:
        if not (self.waiting or self.flying):
            return
        providers = {parcel.wanted.item.provider for parcel in (*self.waiting, *self.parcels.values())}
        known = [self.kernel.providers[name].call_deadline for name in providers if name in self.kernel.providers]
        longest = max(known, default=timedelta())
        needed = longest + 2 * self.kernel.limits.lease_margin
        await self.keeper.renew_before(max(self.keeper.lease / 2, needed), now)

    def _promise(self, provider: str) -> bool:
        """Take room for one call that is about to be marked, if there is any."""
        if self.kernel.slots[provider].room(self.lane) <= 0:
            return False
        self.kernel.slots[provider].promise(self.lane)
        self.promised[provider] += 1
        return True

    def _redeem(self, provider: str) -> None:
        """Give room back, once: a cancelled call ends after the batch has given back everything."""
        if self.promised[provider]:
            self.kernel.slots[provider].redeem(self.lane)
            self.promised[provider] -= 1

    def _choose(self, now: datetime) -> list[Parcel]:
        """Take from the waiting what would start within a fraction of a second; the rest waits or is postponed."""
        chosen: list[Parcel] = []
        blocked: dict[str, datetime | None] = {}
        for _ in range(len(self.waiting)):
            parcel = self.waiting.popleft()
            item, provider = parcel.wanted.item, parcel.wanted.item.provider
            if not self.keeper.holds(item.owner):
                continue
            if provider not in blocked:
                blocked[provider] = blocked_until(self.kernel, provider, now)
            if not_before := blocked[provider] or self.parking.not_before(item.owner, now):
                self.postponed[item.id] = not_before
            elif self._promise(provider):
                chosen.append(parcel)
            else:
                self.waiting.append(parcel)
        return chosen

    def _call_ready(self) -> None:
        for provider in self.ready:
            self._add_caller(provider)

    def _add_caller(self, provider: str) -> None:
        """One more task that calls, if there is something to call and a slot it might get."""
        self.next_callers.discard(provider)
        if self.ready[provider] and self.callers[provider] < self.kernel.slots[provider].limit(self.lane):
            self.callers[provider] += 1
            self.flying.add(asyncio.create_task(self._call_one_by_one(provider)))

    async def _call_one_by_one(self, provider: str) -> None:
        """Call until nothing is ready. Whenever this waits for an answer, the next caller begins: a provider that
        answers at once needs no task for each call."""
        ready, slots, soon = self.ready[provider], self.kernel.slots[provider], asyncio.get_running_loop().call_soon
        try:
            while ready:
                async with slots.one(self.lane) as has_slot:
                    if not has_slot:
                        self._take_back(ready)
                    elif ready:
                        item = ready.popleft()
                        if ready and provider not in self.next_callers:
                            self.next_callers.add(provider)
                            soon(self._add_caller, provider)
                        await self._call(item)
        finally:
            self.callers[provider] -= 1
            task = asyncio.current_task()
            if task:
                self.flying.discard(task)
            self.stirred.set()

    def _take_back(self, ready: deque[Marked]) -> None:
        """There are fewer slots than when these were marked: they wait unmarked, or for another worker."""
        while ready:
            self.unstarted.append(item := ready.popleft())
            self._redeem(item.provider)

    async def _call(self, item: Marked) -> None:
        provider = self.kernel.providers[item.provider]
        try:
            if self.kernel.draining.is_set() or not self._may_start(item, provider.call_deadline):
                self.unstarted.append(item)
                return
            if self.consents.are_old_for(self.parcels[item.id].wanted.item):  # it has waited long for its slot
                self.unstarted.append(item)
                return
            crash_points.reach("before_call")
            started_at = self.kernel.clock.carried()
            # Asked again right before the data is handed over: a frozen process may wake up long after.
            outcome = await call_provider(provider, item, lambda: self._may_start(item, timedelta()))
            crash_points.reach("after_call")
            self._land(item, outcome, started_at)
        finally:
            self._redeem(item.provider)
            self.stirred.set()

    def _may_start(self, item: Marked, duration: timedelta) -> bool:
        """Whether the item's own lease, and our share of the provider, hold and outlast a call of this duration."""
        return (
            self.keeper.holds(item.owner)
            and self.keeper.outlasts(duration)
            and self.kernel.shares.outlast(item.provider, duration)
        )

    def _land(self, item: Marked, outcome: Outcome, started_at: datetime) -> None:
        ended_at = self.kernel.clock.carried()
        parcel = self.parcels.pop(item.id)
        self.landed.append(Landed(Delivered(item, outcome, started_at, ended_at), parcel.wanted.item, parcel.retry))
        slots = self.kernel.slots[item.provider]
        slots.observe(ended_at - started_at)
        # Behind the one name of functions are many services: one's trouble must not rest the others.
        rest = None if item.channel is Channel.FUNCTION else slots.rest_after(outcome, started_at, ended_at)
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
        patience = self.keeper.lease.total_seconds() / 4
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
            await self.kernel.shares.refresh(self.kernel.clock.carried())
