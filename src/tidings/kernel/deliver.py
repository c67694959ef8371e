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
from typing import Self, assert_never
from uuid import UUID

import msgspec
import structlog
from msgspec.structs import replace

from tidings.domain.ids import Shard
from tidings.domain.item import Channel, Delivered, ItemStatus, Marked, Planned, Reserved
from tidings.domain.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.provider import MayStart, Provider
from tidings.domain.queue import Lane
from tidings.domain.retry import rests_for
from tidings.domain.storable import storable
from tidings.kernel import crash_points, outages
from tidings.kernel.finalize import Landed
from tidings.kernel.keep import Keeper
from tidings.kernel.kernel import Kernel
from tidings.kernel.limits import blocked_until, refresh_limits
from tidings.kernel.line import Line, Parcel
from tidings.kernel.mark import Window, commit_window
from tidings.kernel.parking import Parking
from tidings.kernel.patience import Patience, is_task_cancelled
from tidings.kernel.people import Consents, TurnedAway
from tidings.kernel.settle import settle_waiting
from tidings.kernel.slots import Rest
from tidings.storage.database import assert_no_transaction
from tidings.storage.finalize import Fact
from tidings.storage.outbox import Unstarted

__all__ = ["Flight", "Flown", "Parcel", "call_provider"]

log = structlog.get_logger()


class Flown(msgspec.Struct, frozen=True):
    """What a batch came to: facts, and for what was not called when to try again."""

    facts: Sequence[Fact]
    postponed: Mapping[UUID, datetime]  # item → not before
    turned_away: TurnedAway
    given_up: Mapping[UUID, str]  # item → why it waits no longer for its provider


async def call_provider(provider: Provider, item: Marked, may_start: MayStart, patience: Patience) -> Outcome:
    """Make one call within its deadline; whatever is not a clear answer is Unknown."""
    assert_no_transaction()
    try:
        with patience:
            outcome = await provider.send(item, may_start)
    except TimeoutError:
        return Unknown(f"no answer within {patience.seconds:g} s")
    except (Exception, asyncio.CancelledError) as error:  # a defect of the provider; the request may have left anyway
        if isinstance(error, asyncio.CancelledError) and is_task_cancelled():
            raise
        log.exception("provider_raised", item=str(item.id), provider=provider.name)
        return Unknown(f"{type(error).__name__}: {error}")
    # Behind the one name of functions are many services: one that is away is away for its own items, by their attempts.
    if isinstance(outcome, Unavailable) and item.channel is Channel.FUNCTION:
        return RetryLater(outcome.reason)
    return outcome


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
        self.parcels: dict[UUID, Parcel] = {}  # marked, called or not
        self.lines: dict[str, Line] = {}  # by provider
        self.flying: set[asyncio.Task[None]] = set()
        self.landed: list[Landed] = []
        self.unstarted: list[tuple[Marked, Parcel]] = []
        self.rests: dict[str, Rest] = {}
        self.troubles: dict[str, outages.Trouble] = {}  # by provider: it could not be used
        self.back: dict[str, datetime] = {}  # provider → when the call began that proves it
        self.trials: dict[str, int] = {}  # provider → calls left that try whether it is back
        self.given_up: dict[UUID, str] = {}
        self.facts: list[Fact] = []
        self.postponed: dict[UUID, datetime] = {}
        self.may_be_skipped = False
        self.longest_call = timedelta()
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
            name: 0 if self._is_out(name, now) else self._line(name).promise(wanted)
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
        self.may_be_skipped = any(one.wanted.may_be_skipped for one in everything)
        self.longest_call = self._longest_call({one.wanted.item.provider for one in everything})
        self._call_ready()
        while self.waiting or self.flying or self.landed or self.unstarted:
            await self._commit_and_call()
            await self._wait()
        return Flown(self.facts, self.postponed, self.consents.turned_away, self.given_up)

    async def _commit_and_call(self) -> None:
        now = await self.kernel.clock.now()
        await refresh_limits(self.kernel, now, {one.wanted.item.provider for one in self.waiting})
        await self._keep_leases(now)
        if self.may_be_skipped:
            refused = await self.consents.turn_away(self.shard, [one.wanted for one in self.waiting], now)
            self.waiting = deque(one for one in self.waiting if one.wanted.item.id not in refused)
        await self.parking.refresh(now)
        if self.kernel.pauses.has_outages:
            await self._face_outages(now)
        chosen = {parcel.wanted.item.id: parcel for parcel in self._choose(now)}
        wanted = [parcel.wanted for parcel in chosen.values()]
        window = Window(wanted, self._take_landed(), self._take_unstarted(), self._take_rests())
        if not (window.wanted or window.landed or window.unstarted):
            return
        committed = await commit_window(self.kernel, self.shard, window, now)
        self.facts += committed.facts
        if self.troubles or self.back:
            await self._tell_of_providers(now)
        self._postpone_unavailable(window.landed, committed.facts)
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

    def _is_out(self, provider: str, now: datetime) -> bool:
        """Whether a provider cannot be called as freely as usual."""
        return blocked_until(self.kernel, provider, now) is not None or self.kernel.pauses.outage(provider) is not None

    async def _face_outages(self, now: datetime) -> None:
        """Give up what has waited too long for its provider, and where a rest is over take it on to try."""
        items = [parcel.wanted.item for parcel in self.waiting]
        reasons = {
            item.id: reason for item in items if (reason := outages.given_up_waiting(self.kernel, item, self.lane, now))
        }
        self.given_up.update(await settle_waiting(self.kernel, self.shard, ItemStatus.FAILED, reasons, now))
        self.waiting = deque(one for one in self.waiting if one.wanted.item.id not in reasons)
        for provider in {item.provider for item in items if self.keeper.holds(item.owner)}:
            if proof := self.kernel.pauses.end_outage(provider):
                await outages.tell_back(self.kernel, provider, proof, now)
            is_ours = self.trials.get(provider) or self._is_calling(provider)
            if not is_ours and await outages.may_try(self.kernel, provider, now):
                self.trials[provider] = outages.TRIALS

    def _is_calling(self, provider: str) -> bool:
        line = self.lines.get(provider)
        return line is not None and bool(line.callers or line.ready)

    async def _tell_of_providers(self, now: datetime) -> None:
        """Tell all workers which providers cannot be used, and which can be again."""
        troubles, self.troubles, back, self.back = self.troubles, {}, self.back, {}
        for provider, started_at in back.items():
            await outages.tell_back(self.kernel, provider, started_at, now)
        for provider, trouble in troubles.items():
            await outages.tell(self.kernel, provider, trouble)

    def _postpone_unavailable(self, landed: Sequence[Landed], facts: Sequence[Fact]) -> None:
        """Have what could not be called for wait as long as its provider rests; each time longer, if it is to blame."""
        for one, fact in zip(landed, facts, strict=True):
            call = one.delivered
            if isinstance(call.outcome, Unavailable) and fact.status is ItemStatus.QUEUED:
                own = call.ended_at + rests_for(call.outcome).after(call.item.attempt)
                self.postponed[fact.id] = max(own, self.kernel.pauses.until(call.item.provider, call.ended_at) or own)

    def _not_before(self, provider: str, now: datetime) -> datetime | None:
        """When to look again, if nothing of a provider may be called by this flight now."""
        if until := blocked_until(self.kernel, provider, now):
            return until
        is_ours = self.trials.get(provider) or self._is_calling(provider)
        return None if is_ours else outages.unusable_until(self.kernel, provider, now)

    def _promise(self, provider: str, parcels: list[Parcel]) -> int:
        """Take room for some of the parcels; of a provider that may be out of use, for a few that chance has chosen."""
        if self.kernel.pauses.outage(provider) is None:
            self.trials.pop(provider, None)
            return self._line(provider).promise(len(parcels))
        first = int(self.kernel.spread() * len(parcels))
        parcels[:] = parcels[first:] + parcels[:first]  # or else the same one would try again and again
        left = self.trials.get(provider, 0)
        promised = self._line(provider).promise(min(left, len(parcels)))
        self.trials[provider] = left - promised
        return promised

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
            if not_before := blocked[provider] or self.parking.not_before(item.owner, now):
                self.postponed[item.id] = not_before
            else:
                willing[provider].append(parcel)
        self.waiting.clear()
        chosen: list[Parcel] = []
        for provider, parcels in willing.items():
            promised = self._promise(provider, parcels)
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
        patience = Patience(line.call_deadline.total_seconds())
        try:
            while ready:
                if not (slots.take(lane) or await slots.wait(lane)):
                    self._take_back(line)
                    return
                try:
                    if ready:
                        await self._call_next(line, patience)
                finally:
                    slots.leave(lane)
        finally:
            patience.end()
            line.callers -= 1
            if task := asyncio.current_task():
                self.flying.discard(task)
            self.stirred.set()

    def _take_back(self, line: Line) -> None:
        """There are fewer slots than when these were marked: they wait unmarked, or for another worker."""
        while line.ready:
            self.unstarted.append(line.ready.popleft())
            line.redeem()

    async def _call_next(self, line: Line, patience: Patience) -> None:
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
            outcome = await call_provider(
                line.provider, item, lambda: self._may_call(line, item, clock.carried()), patience
            )
            crash_points.reach("after_call")
            delivered = Delivered(item, outcome, started_at, clock.carried())
            self._land(line, Landed(delivered, parcel.wanted.item, parcel.retry, self.lane))
        finally:
            line.redeem()
            self._stir()

    def _may_begin(self, line: Line, item: Marked, parcel: Parcel, now: datetime) -> bool:
        """Whether a call may begin now that takes as long as any may, its provider is not known to be out of use, and
        its contact was asked about of late: it may have waited long for its slot."""
        outage = self.kernel.pauses.outage(line.name)
        return (
            not self.kernel.draining.is_set()
            and not (outage and outage.until > now)
            and self._may_call(line, item, now + line.call_deadline)
            and not self.consents.are_old_for(parcel.wanted.item)
        )

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
        self._note_outage(line.name, outcome, started_at, ended_at)

    def _note_outage(self, provider: str, outcome: Outcome, started_at: datetime, ended_at: datetime) -> None:
        """Use a provider again once it has answered, and leave it alone when a call could not begin."""
        match outcome:
            case Accepted() | Rejected() | RetryLater():
                if proof := self.kernel.pauses.answered(provider, started_at):
                    self.back[provider] = proof
            case Unavailable():
                trouble = outages.Trouble(outcome, started_at, ended_at)
                if outages.meet(self.kernel, provider, trouble):
                    self.troubles[provider] = trouble
            case Unknown():
                pass  # nobody knows whether it was reached
            case _:
                assert_never(outcome)

    def _stir(self) -> None:
        """Wake whoever waits for results, if this is the first or there are enough to write."""
        if len(self.landed) + len(self.unstarted) == 1 or len(self.landed) >= self.kernel.limits.flush_results:
            self.stirred.set()

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
        for item, parcel in items:
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


def _take_place(room: dict[str, int], name: str) -> bool:
    room[name] -= 1
    return room[name] >= 0
