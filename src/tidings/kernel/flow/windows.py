"""Mark, deliver and finalize what is due of one batch, a window at a time.

Reached from executions.py and jobs.py with items that are reserved. Each turn asks the gate what may leave, commits the
facts of finished calls and the marks of the next ones (commit.py), and has those called (deliver.py). One slow call
does not delay the others, because finished ones are written every 50 ms or 100 results.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from math import inf
from operator import attrgetter
from time import monotonic
from typing import Self, TypeVar
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import ItemId, ItemStatus, Marked, Planned
from tidings.domain.flow.outcome import Unavailable
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.provider_queue import Ready
from tidings.kernel.calls.slots import Rest
from tidings.kernel.flow.commit import Committed, Window, commit_window
from tidings.kernel.flow.deliver import Answered, Calling, Delivery
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.lease_keeper import LeaseKeeper
from tidings.kernel.flow.mark import marked_on_arrival
from tidings.kernel.flow.reroute import reroute
from tidings.kernel.flow.reserve import Written
from tidings.kernel.flow.settle import Settlement, settle
from tidings.kernel.gate.answer import Later, Never
from tidings.kernel.gate.check import Item
from tidings.kernel.gate.failover import earliest_opening
from tidings.kernel.gate.gate import Gate
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import finalize
from tidings.storage.database import assert_no_transaction

LET_GO_SECONDS = 0.25
"""How long owners that are done wait for others of their batch, before they are released without them."""
LetGo = Callable[[Collection[UUID]], Awaitable[None]]
One = TypeVar("One")


class Windows:
    """The calls of one batch. Never starts one that the lease may not outlast; tells its owners the results."""

    def __init__(
        self,
        kernel: Kernel,
        shard: Shard,
        lane: Lane,
        keeper: LeaseKeeper,
        gate: Gate,
        owners: Mapping[UUID, Held],
        let_go: LetGo,
    ) -> None:
        self.kernel, self.shard, self.lane, self.keeper, self.gate = kernel, shard, lane, keeper, gate
        self.owners, self._let_go = owners, let_go
        self._let_go_at = monotonic() + LET_GO_SECONDS
        self.waiting: deque[Outgoing] = deque()  # to be marked
        self.longest_call = timedelta()
        self.delivery = Delivery(
            Calling(
                kernel.providers,
                kernel.slots,
                kernel.clock.carried,
                lane,
                kernel.limits.flush_results,
                self._may_begin,
                self._may_hand_over,
                gate.providers.outages.note,
            )
        )
        gate.providers.is_calling = self.delivery.is_calling

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.delivery.close()

    async def choose_new(self, planned: Sequence[Planned], now: datetime) -> list[bool]:
        """For each item, whether it may be marked in the commit that reserves it: it would be called at once."""
        sendable = [item for item in planned if not item.error]
        answers = await self.gate.ask(sendable, now)
        allowed = [item for item in sendable if item.id not in answers] if answers else sendable
        outages = self.gate.providers.outages
        chosen = {
            item.id
            for (provider, workspace), some in _grouped(allowed, lambda item: item).items()
            if not outages.is_out(provider)
            for item in some[: self.delivery.queue(provider, workspace).promise(len(some))]
        }
        chosen -= await self._without_place([item for item in planned if item.id in chosen], now)
        return [item.id in chosen for item in planned]

    async def _without_place(self, items: Sequence[Item], now: datetime) -> set[ItemId]:
        """Take places in the limits of connections; return the items that got none, and release their room."""
        refused = await self.gate.places.take(items, now)
        without = [item for item in items if item.id in refused] if refused else []
        for item in without:
            self.delivery.queue(item.provider, item.workspace).redeem()
            self.owners[item.owner].postponed[item.id] = refused[item.id].at
        return {item.id for item in without}

    def take_new(self, written: Written) -> None:
        """Take the items that were reserved with a mark; release the room of those that were not marked after all."""
        for item, outgoing in written.marked:
            self.delivery.add(marked_on_arrival(item), outgoing)
        for item in written.refused:
            self.delivery.queue(item.provider, item.workspace).redeem()

    async def run(self, outgoing: Iterable[Outgoing]) -> None:
        """Call for what was taken, and for everything else that may be called."""
        self.waiting.extend(outgoing)
        items = [one.item for one in (*self.delivery.ready, *self.waiting)]
        self.gate.watch(items)
        names = {item.provider for item in items}
        self.longest_call = max([self.kernel.call_deadline_of(name) for name in names], default=timedelta())
        self._call_ready()
        delivery = self.delivery
        while self.waiting or delivery.callers or delivery.answered or delivery.unstarted:
            await self._commit_and_call()
            if monotonic() >= self._let_go_at and (done := self._done()):
                await self._let_go_of(done)
            await self._wait()

    async def _let_go_of(self, done: Collection[UUID]) -> None:
        """Release owners that are done. One that cannot be must not cut off the calls that others wait for."""
        self._let_go_at = monotonic() + LET_GO_SECONDS
        try:
            await self._let_go(done)
        except Exception:  # they stay leased, and come back alone
            log.exception("early_release_failed", owners=len(done))
            self._let_go_at = inf

    def _done(self) -> list[UUID]:
        """The owners for which nothing more is called in this batch, while others wait for a slot or an answer."""
        if len(self.owners) == 1 or not self.delivery.callers:
            return []
        busy = self.delivery.busy_owners | {one.item.owner for one in self.waiting}
        return [owner for owner in self.owners if owner not in busy and self.keeper.holds(owner)]

    async def _commit_and_call(self) -> None:
        self._take_back_stopped()
        now = await self.kernel.clock.now()
        await self._keep_leases(now)
        await self._reroute(now)
        chosen = {one.item.id: one for one in self._choose(await self._ask(now))}
        for id in await self._without_place([one.item for one in chosen.values()], now):
            del chosen[id]
        window = Window(list(chosen.values()), self._take_answered(), self._take_unstarted(), self._take_rests())
        if window.is_empty:
            return
        committed = await commit_window(self.kernel, self.shard, self.lane, window, now)
        await self.gate.providers.outages.tell(now)
        self._learn(window.answered, committed)
        for item in committed.marked:
            self.delivery.add(item, chosen.pop(item.id))
        for refused in chosen.values():
            self.delivery.queue(refused.item.provider, refused.item.workspace).redeem()
        self._call_ready()

    def _call_ready(self) -> None:
        assert_no_transaction()  # deliver.py has no database; a caller must not start it inside a transaction
        self.delivery.call_ready()

    def _take_back_stopped(self) -> None:
        """Take back the marks of owners that were asked to stop; the next mark decides whether they are called for."""
        stopped = self.gate.stopped
        if not stopped.is_anybody_asked:
            return
        self.delivery.take_out(stopped.is_stopped)
        if stopped.are_sequences_asked:
            self.gate.paused.forget()  # a sequence may have been paused just now
        stopped.follow(self.owners)  # other owners of the batch may be in the hands of another task

    async def _reroute(self, now: datetime) -> None:
        """Have what waits for a connection that is closed take another one, if there is one."""
        moved = await reroute(self.kernel, self.shard, self.waiting, self.gate.providers.outages.is_trying, now)
        for place, one in enumerate(self.waiting) if moved else ():
            if provider := moved.get(one.item.id):
                self.waiting[place] = replace(one, item=replace(one.item, provider=provider))
                self.owners[one.item.owner].reroute(one.item.id, provider)

    async def _keep_leases(self, now: datetime) -> None:
        if self.waiting or self.delivery.callers:
            needed = self.longest_call + 2 * self.kernel.limits.lease_margin
            await self.keeper.renew_before(max(self.keeper.lease / 2, needed), now)

    async def _ask(self, now: datetime) -> Mapping[UUID, Later | Never]:
        """Ask the gate about what waits; settle what must never leave."""
        answers = await self.gate.ask([one.item for one in self.waiting], now)
        never = [
            (one, answer)
            for one in (self.waiting if answers else ())
            if isinstance(answer := answers.get(one.item.id), Never)
        ]
        if never:
            await settle(self.kernel, self.shard, [self._end(*one) for one in never if not one[0].item.in_doubt], now)
            await self._hold([one for one, _ in never if one.item.in_doubt])
        return answers

    def _end(self, one: Outgoing, answer: Never) -> Settlement:
        return Settlement(self.owners[one.item.owner], one.item.id, answer.status, answer.why)

    async def _hold(self, doubtful: Sequence[Outgoing]) -> None:
        """Leave what may have arrived and must not be repeated to a fact or a person."""
        if not doubtful:
            return
        hold = partial(
            finalize.schedule_doubtful_items,
            shard=self.shard,
            items=[one.item for one in doubtful],
            fences=[one.fence for one in doubtful],
            retry_at=[None] * len(doubtful),
        )
        await self.kernel.db.persist(hold, alone=True)
        for one in doubtful:
            self.owners[one.item.owner].doubt(one.item.id, None)

    def _choose(self, answers: Mapping[UUID, Later | Never]) -> list[Outgoing]:
        """Take the waiting items that would start within a fraction of a second; the rest waits or is postponed."""
        willing: list[Outgoing] = []
        for one in self.waiting:
            item = one.item
            if not self.keeper.holds(item.owner):
                continue
            answer = answers.get(item.id) if answers else None
            if answer is None:
                willing.append(one)
            elif isinstance(answer, Later):
                self.owners[item.owner].postponed[item.id] = answer.at
        self.waiting.clear()
        chosen: list[Outgoing] = []
        outages = self.gate.providers.outages
        for (provider, workspace), some in _grouped(willing, attrgetter("item")).items():
            promised = self.delivery.queue(provider, workspace).promise(outages.choose(provider, some))
            outages.spend(provider, promised)
            chosen += some[:promised]
            self.waiting += some[promised:]
        return chosen

    def _learn(self, answered: Sequence[Answered], committed: Committed) -> None:
        """Tell the owners the results of their calls, and when to retry what could not be called for."""
        for one, fact in zip(answered, committed.facts, strict=True):
            call = one.delivered
            owner = self.owners[call.item.owner]
            owner.learn(fact)
            if isinstance(call.outcome, Unavailable) and fact.status is ItemStatus.QUEUED:
                own = self.gate.providers.outages.wait_after(call, call.outcome)
                until = earliest_opening(self.kernel, call.item.provider, own, call.ended_at)
                owner.postponed[fact.id] = fact.retry_at or until if fact.id in committed.moved else until

    def _may_begin(self, item: Marked, outgoing: Outgoing, now: datetime, longest: timedelta) -> bool:
        """Whether the gate still allows a call, and its lease and this worker's share outlast the longest one."""
        return self.gate.still_allows(item, outgoing.item, now) and self._may_call(item, now + longest)

    def _may_hand_over(self, item: Marked) -> bool:
        return self._may_call(item, self.kernel.clock.carried())

    def _may_call(self, item: Marked, until: datetime) -> bool:
        """Whether the item's own lease and this worker's share of the provider last until then."""
        return self.keeper.keeps(item.owner, until) and self.kernel.shares.last(item.provider, until)

    def _take_answered(self) -> list[Answered]:
        answered, self.delivery.answered = self.delivery.answered, []
        return answered

    def _take_rests(self) -> dict[str, Rest]:
        rests, self.delivery.rests = self.delivery.rests, {}
        self.kernel.rests.extend(rests)
        return rests

    def _take_unstarted(self) -> list[Ready]:
        """The marks to take back; unless the worker drains, their items wait for a fresh one."""
        unstarted, self.delivery.unstarted = self.delivery.unstarted, []
        for item, outgoing in unstarted:
            fresh = replace(outgoing.item, marked_attempt=item.attempt, marked_at=None)
            self.waiting.append(replace(outgoing, item=fresh))
        return unstarted

    async def _wait(self) -> None:
        """Wait until there is enough to write, 50 ms after the first result, or until the lease must be renewed."""
        delivery = self.delivery
        if self.waiting and not delivery.callers and not delivery.answered and not delivery.unstarted:
            await self._wait_for_slot()
        deadline = monotonic() + self.keeper.lease.total_seconds() / 4
        if monotonic() < self._let_go_at or self._done():
            deadline = min(deadline, self._let_go_at)
        while delivery.callers and len(delivery.answered) < self.kernel.limits.flush_results:
            if delivery.answered or delivery.unstarted or self.waiting:
                deadline = min(deadline, monotonic() + self.kernel.limits.flush_after.total_seconds())
            delivery.stirred.clear()
            try:
                async with asyncio.timeout(deadline - monotonic()):
                    await delivery.stirred.wait()
            except TimeoutError:
                return

    async def _wait_for_slot(self) -> None:
        """Wait a little for a slot while others use them all, then release the items unmarked, using no attempt."""
        tried_until = monotonic() + self.kernel.limits.slot_wait.total_seconds()
        wanted = {(one.item.provider, one.item.workspace.hash) for one in self.waiting}
        while not any(self.kernel.slots[name].room(self.lane, whose) for name, whose in wanted):
            if monotonic() > tried_until or self.kernel.draining.is_set():
                not_before = self.kernel.clock.carried() + self.kernel.limits.slot_wait
                for one in self.waiting:
                    self.owners[one.item.owner].postponed[one.item.id] = not_before
                self.waiting.clear()
                return
            await asyncio.sleep(self.kernel.limits.flush_after.total_seconds())
            await self.kernel.shares.refresh(self.kernel.clock.carried())


def _grouped(many: Iterable[One], item_of: Callable[[One], Item]) -> dict[tuple[str, Workspace], list[One]]:
    """What goes to each provider for each workspace; mostly all of it is for one, so few keys are made."""
    groups: dict[tuple[str, Workspace], list[One]] = {}
    provider, workspace, group = "", None, list[One]()
    for one in many:
        item = item_of(one)
        if item.workspace is not workspace or item.provider != provider:
            provider, workspace = item.provider, item.workspace
            group = groups.setdefault((provider, workspace), [])
        group.append(one)
    return groups
