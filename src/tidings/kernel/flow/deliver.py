"""Call providers for one batch, a window at a time.

Reached from executions.py and jobs.py with items that are reserved; the only module that calls a provider. It holds no
connection while it does: mark.py commits between the calls. One slow call holds up nobody, because finished ones are
written every 50 ms or 100 results.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Self
from uuid import UUID

import msgspec
import structlog
from msgspec.structs import replace

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Channel, Delivered, Marked, Planned, Reserved
from tidings.domain.flow.outcome import Accepted
from tidings.domain.flow.queue import Lane
from tidings.domain.storable import storable
from tidings.kernel import crash_points
from tidings.kernel.calls.call import call_in_time
from tidings.kernel.calls.call_timer import CallTimer
from tidings.kernel.calls.provider_queue import Line, Parcel
from tidings.kernel.calls.slots import Rest
from tidings.kernel.flow.finalize import Landed
from tidings.kernel.flow.lease_keeper import LeaseKeeper
from tidings.kernel.flow.mark import Window, commit_window
from tidings.kernel.gate.consents import Consents, TurnedAway
from tidings.kernel.gate.outages import Outages
from tidings.kernel.gate.paused_sequences import PausedSequences
from tidings.kernel.gate.rests import blocked_until, refresh_limits
from tidings.kernel.gate.stopped import Heed
from tidings.kernel.kernel import Kernel
from tidings.storage.finalize import Fact
from tidings.storage.outbox import Unstarted

__all__ = ["Flight", "Flown", "Parcel"]

log = structlog.get_logger()


class Flown(msgspec.Struct, frozen=True):
    """What a batch came to: facts, and for what was not called when to try again."""

    facts: Sequence[Fact]
    postponed: Mapping[UUID, datetime]  # item → not before
    turned_away: TurnedAway
    given_up: Mapping[UUID, str]  # item → why it waits no longer for its provider


class Flight:
    """The calls of one batch; never starts one that the lease may not outlast."""

    def __init__(
        self,
        kernel: Kernel,
        shard: Shard,
        lane: Lane,
        keeper: LeaseKeeper,
        consents: Consents | None = None,
        paused: PausedSequences | None = None,
    ) -> None:
        self.kernel, self.shard, self.lane, self.keeper = kernel, shard, lane, keeper
        self.consents = consents or Consents(kernel, {}, kernel.clock.carried())
        self.paused = paused or PausedSequences(kernel)
        self.waiting: deque[Parcel] = deque()  # to be marked
        self.parcels: dict[UUID, Parcel] = {}  # marked, called or not
        self.lines: dict[str, Line] = {}  # by provider
        self.flying: set[asyncio.Task[None]] = set()
        self.landed: list[Landed] = []
        self.unstarted: list[tuple[Marked, Parcel]] = []
        self.rests: dict[str, Rest] = {}
        self.outages = Outages(kernel, shard, lane)
        self.facts: list[Fact] = []
        self.postponed: dict[UUID, datetime] = {}
        self.may_be_skipped = False
        self.longest_call = timedelta()
        self.heed = Heed(kernel.stops, lane)
        self.stirred = asyncio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing in the air and no room taken, however the batch ended."""
        for line in self.lines.values():
            line.clear()
        for task in self.flying:
            task.cancel()

    async def choose_new(self, planned: Sequence[Planned], now: datetime) -> list[bool]:
        """Of each item, whether it may be marked in the very commit that reserves it: it would be called at once."""
        await refresh_limits(self.kernel, now, {item.provider for item in planned})
        await self.consents.refresh(planned)
        names = [None if item.error or self.consents.refusal(item) else item.provider for item in planned]
        room = {
            name: 0
            if self.outages.is_out(name) or blocked_until(self.kernel, name, self.lane, now)
            else self._line(name).promise(wanted)
            for name, wanted in Counter(filter(None, names)).items()
        }
        return [name is not None and _take_place(room, name) for name in names]

    def board(self, item: Marked, parcel: Parcel) -> None:
        """Take an item whose mark is committed and for whose call there was room."""
        self.parcels[item.id] = parcel
        self._line(item.provider).ready.append((item, parcel))

    def refuse(self, item: Planned | Reserved) -> None:
        """Give back the room of an item that could not be marked after all."""
        self._line(item.provider).redeem()

    async def fly(self, parcels: Iterable[Parcel]) -> Flown:
        """Call for what has boarded, and for every parcel that may be called."""
        self.waiting.extend(parcels)
        everything = (*self.waiting, *self.parcels.values())
        self.may_be_skipped = self.consents.watch_rules or any(one.wanted.may_be_skipped for one in everything)
        self.longest_call = self._longest_call({one.wanted.item.provider for one in everything})
        self._call_ready()
        while self.waiting or self.flying or self.landed or self.unstarted:
            await self._commit_and_call()
            await self._wait()
        return Flown(self.facts, self.postponed, self.consents.turned_away, self.outages.given_up)

    async def _commit_and_call(self) -> None:
        self.unstarted += self.heed.take_back(self.lines.values(), self.keeper.held, self.paused)
        now = await self.kernel.clock.now()
        await refresh_limits(self.kernel, now, {one.wanted.item.provider for one in self.waiting})
        await self._keep_leases(now)
        if self.may_be_skipped:
            refused = await self.consents.turn_away(self.shard, [one.wanted for one in self.waiting], now)
            self.waiting = deque(one for one in self.waiting if one.wanted.item.id not in refused)
        await self.paused.refresh(now)
        if self.kernel.rests.has_outages:
            calling = {name for name, line in self.lines.items() if line.is_busy}
            given_up = await self.outages.face([one.wanted.item for one in self.waiting], calling, now)
            self.waiting = deque(one for one in self.waiting if one.wanted.item.id not in given_up)
        chosen = {parcel.wanted.item.id: parcel for parcel in self._choose(now)}
        wanted = [parcel.wanted for parcel in chosen.values()]
        window = Window(wanted, self._take_landed(), self._take_unstarted(), self._take_rests())
        if not (window.wanted or window.landed or window.unstarted):
            return
        committed = await commit_window(self.kernel, self.shard, window, now)
        self.facts += committed.facts
        await self.outages.tell(now)
        self.postponed.update(self.outages.waits([one.delivered for one in window.landed], committed.facts))
        for item in committed.marked:
            self.board(item, chosen.pop(item.id))
        for parcel in chosen.values():
            self.refuse(parcel.wanted.item)
        self._call_ready()

    async def _keep_leases(self, now: datetime) -> None:
        if self.waiting or self.flying:
            needed = self.longest_call + 2 * self.kernel.limits.lease_margin
            await self.keeper.renew_before(max(self.keeper.lease / 2, needed), now)

    def _longest_call(self, names: Iterable[str]) -> timedelta:
        known = [self.kernel.providers[name].call_deadline for name in names if name in self.kernel.providers]
        return max(known, default=timedelta())

    def _line(self, provider: str) -> Line:
        line = self.lines.get(provider)
        if line is None:
            line = self.lines[provider] = Line(self.kernel, provider, self.lane)
        return line

    def _not_before(self, provider: str, now: datetime) -> datetime | None:
        """When to look again, if nothing of a provider may be called here now."""
        until = blocked_until(self.kernel, provider, self.lane, now)
        return until or self.outages.not_before(provider, self._line(provider).is_busy, now)

    def _choose(self, now: datetime) -> list[Parcel]:
        """Take from the waiting what would start within a fraction of a second; the rest waits or is postponed."""
        blocked: dict[str, datetime | None] = {}
        willing: dict[str, list[Parcel]] = defaultdict(list)
        for parcel in self.waiting:
            item, provider = parcel.wanted.item, parcel.wanted.item.provider
            if not self.keeper.holds(item.owner):
                continue
            if provider not in blocked:
                blocked[provider] = self._not_before(provider, now)
            if not_before := blocked[provider] or self.paused.not_before(item.owner, now):
                self.postponed[item.id] = not_before
            else:
                willing[provider].append(parcel)
        self.waiting.clear()
        chosen: list[Parcel] = []
        for provider, parcels in willing.items():
            promised = self._line(provider).promise(self.outages.choose(provider, parcels))
            self.outages.spend(provider, promised)
            chosen += parcels[:promised]
            self.waiting += parcels[promised:]
        return chosen

    def _call_ready(self) -> None:
        for line in self.lines.values():
            self._add_caller(line)

    def _add_caller(self, line: Line) -> None:
        """One more task that calls, if that can help."""
        line.is_next_coming = False
        if line.may_add_caller:
            line.callers += 1
            self.flying.add(asyncio.create_task(self._call_one_by_one(line)))

    async def _call_one_by_one(self, line: Line) -> None:
        """Call until nothing is ready. Whenever this waits for an answer, the next caller begins: a provider that
        answers at once needs no task for each call."""
        ready, slots, lane = line.ready, line.slots, self.lane
        timer = CallTimer(line.call_deadline.total_seconds())
        try:
            while ready:
                if not (slots.take(lane) or await slots.wait(lane)):
                    # There are fewer slots than when these were marked: they wait unmarked, or for another worker.
                    self.unstarted += line.take_out(lambda _: True)
                    return
                try:
                    if ready:
                        await self._call_next(line, timer)
                finally:
                    slots.leave(lane)
        finally:
            timer.end()
            line.callers -= 1
            if task := asyncio.current_task():
                self.flying.discard(task)
            self.stirred.set()

    async def _call_next(self, line: Line, timer: CallTimer) -> None:
        item, parcel = line.ready.popleft()
        if line.ready and not line.is_next_coming:
            line.is_next_coming = True
            asyncio.get_running_loop().call_soon(self._add_caller, line)
        clock = self.kernel.clock
        started_at = clock.carried()
        try:
            if not self._may_begin(line, item, parcel, started_at):
                self.unstarted.append((item, parcel))
                return
            crash_points.reach("before_call")
            # Asked again right before the data is handed over: a frozen process may wake up long after.
            may_start = partial(self._may_start, line, item)
            outcome, is_cut = await call_in_time(line.provider, item, may_start, timer, parcel.limit, started_at)
            crash_points.reach("after_call")
            delivered = Delivered(item, outcome, started_at, clock.carried())
            self._land(line, Landed(delivered, parcel.wanted.item, parcel.retry, self.lane, is_cut))
        finally:
            line.redeem()
            self._stir()

    def _may_begin(self, line: Line, item: Marked, parcel: Parcel, now: datetime) -> bool:
        """Whether a call may begin now that takes as long as any may, its provider is not known to be out of use,
        nobody has asked it to stop, and its contact was asked about of late: it may have waited long for its slot."""
        return (
            not self.kernel.draining.is_set()
            and not self.heed.is_stopped(item)
            and not self.outages.is_out(line.name, now)
            and self._may_call(line, item, now + line.call_deadline)
            and not self.consents.are_old_for(parcel.wanted.item)
        )

    def _may_start(self, line: Line, item: Marked) -> bool:
        return self._may_call(line, item, self.kernel.clock.carried())

    def _may_call(self, line: Line, item: Marked, until: datetime) -> bool:
        """Whether the item's own lease, and our share of the provider, hold until then."""
        return self.keeper.keeps(item.owner, until) and self.kernel.shares.last(line.name, until)

    def _land(self, line: Line, landed: Landed) -> None:
        self.landed.append(landed)
        call = landed.delivered
        outcome, started_at, ended_at = call.outcome, call.started_at, call.ended_at
        line.slots.observe(ended_at - started_at)
        if call.item.channel is Channel.FUNCTION:
            return  # behind one name are many services: one's trouble must not rest the others
        rest = line.slots.rest_after(outcome, started_at, ended_at)
        if rest and not isinstance(outcome, Accepted):
            asked = Rest(ended_at + rest, storable(outcome.reason) or "")
            # Of two answers in one window the longer rest holds, whichever comes last.
            self.rests[line.name] = max(asked, self.rests.get(line.name, asked), key=lambda one: one.until)
        self.outages.note(call)

    def _stir(self) -> None:
        """Wake whoever waits for results, if this is the first or there are enough to write."""
        if len(self.landed) + len(self.unstarted) == 1 or len(self.landed) >= self.kernel.limits.flush_results:
            self.stirred.set()

    def _take_landed(self) -> list[Landed]:
        landed, self.landed = self.landed, []
        return landed

    def _take_rests(self) -> dict[str, Rest]:
        rests, self.rests = self.rests, {}
        self.kernel.rests.extend(rests)
        return rests

    def _take_unstarted(self) -> list[Unstarted]:
        """Marks to be taken back; unless the worker drains, their items wait for a fresh one."""
        items, self.unstarted = self.unstarted, []
        unstarted = []
        for item, parcel in items:
            unstarted.append(Unstarted(item, doubtful=parcel.wanted.again))
            fresh = replace(parcel.wanted.item, marked_attempt=item.attempt, marked_at=None)
            self.waiting.append(replace(parcel, wanted=replace(parcel.wanted, item=fresh)))
        return unstarted

    async def _wait(self) -> None:
        """Until there is enough to write, or 50 ms after the first result, or the lease needs a look."""
        if self.waiting and not self.flying and not self.landed and not self.unstarted:
            await self._wait_for_slot()
        timer = self.keeper.lease.total_seconds() / 4
        deadline = monotonic() + timer
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


def _take_place(room: dict[str, int], name: str) -> bool:
    room[name] -= 1
    return room[name] >= 0
