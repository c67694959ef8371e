"""Deliver: call providers for marked items, and collect their answers. The only module that makes these calls.

Reached from windows.py, which marks what is called and writes what was answered. It gets no database, by type: a
Calling has none, and neither this module nor what it imports can reach storage/ (import-linter checks it). So no call
is made inside a transaction.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import msgspec

from tidings.domain.flow.dialogue import recorded
from tidings.domain.flow.hosts import calls_hosts
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Delivered, Marked
from tidings.domain.flow.outcome import Accepted
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.provider import Provider
from tidings.domain.flow.queue import Lane
from tidings.domain.storable import storable
from tidings.kernel import crash_points
from tidings.kernel.calls.call import call_in_time
from tidings.kernel.calls.call_timer import CallTimer
from tidings.kernel.calls.provider_queue import ProviderQueue, Ready
from tidings.kernel.calls.slots import Rest, Slots


@dataclass(frozen=True, slots=True)
class Calling:
    """Everything that calling needs, and nothing that could write."""

    providers: Mapping[str, Provider]
    slots: Mapping[str, Slots]
    time: Callable[[], datetime]
    lane: Lane
    flush_results: int
    may_begin: Callable[[Marked, Outgoing, datetime, timedelta], bool]
    """Whether a call that takes as long as this may begin now; it may have waited long for its slot."""
    may_hand_over: Callable[[Marked], bool]
    """Asked right before the data is handed over: a frozen process may wake up long after its call began."""
    on_answer: Callable[[Delivered], None]
    """Called at once with every answer that says something about the provider."""


class Answered(msgspec.Struct, frozen=True):
    """A finished call, and what its consequences depend on."""

    delivered: Delivered
    outgoing: Outgoing
    is_last: bool = False  # no time is left for another call, whatever attempts are left
    said: Sequence[str] | None = None  # the dialogue of a call that was recorded


class Delivery:
    """The calls of one batch: what is ready, the tasks that call, and the results until they are taken."""

    def __init__(self, calling: Calling) -> None:
        self._calling = calling
        self._queues: dict[tuple[str, Workspace], ProviderQueue] = {}
        self.callers: set[asyncio.Task[None]] = set()
        self.in_air: dict[int, UUID] = {}  # the owners of the items being called for, by these items' addresses
        self._last: tuple[str, Workspace, ProviderQueue] | None = None  # one batch is mostly for one
        self.answered: list[Answered] = []
        self.unstarted: list[Ready] = []
        self.rests: dict[str, Rest] = {}
        self.stirred = asyncio.Event()  # there may be something to write

    @property
    def ready(self) -> Iterable[Outgoing]:
        """What is marked and not yet called."""
        return [outgoing for queue in self._queues.values() for _, outgoing in queue.ready]

    @property
    def busy_owners(self) -> set[UUID]:
        """The owners of whatever is marked, being called for, or answered and not yet taken."""
        owners: set[UUID] = {outgoing.item.owner for outgoing in self.ready}
        owners.update(self.in_air.values())
        owners.update(one.delivered.item.owner for one in self.answered)
        owners.update(item.owner for item, _ in self.unstarted)
        return owners

    def queue(self, provider: str, workspace: Workspace) -> ProviderQueue:
        """The batch's queue for a workspace's calls to a provider that this worker has."""
        last = self._last
        if last and last[1] is workspace and last[0] == provider:
            return last[2]
        queue = self._queues.get((provider, workspace))
        if queue is None:
            calling = self._calling
            slots, whose = calling.slots[provider], workspace.hash
            deadline = calling.providers[provider].call_deadline
            queue = ProviderQueue(provider, deadline, slots, calling.lane, whose)
            self._queues[provider, workspace] = queue
        self._last = provider, workspace, queue
        return queue

    def is_calling(self, provider: str) -> bool:
        """Whether a task of this batch calls a provider, or is about to."""
        return any(queue.is_busy for (name, _), queue in self._queues.items() if name == provider)

    def add(self, item: Marked, outgoing: Outgoing) -> None:
        """Take an item whose mark is committed and for whose call there was room; call_ready() begins."""
        self.queue(item.provider, item.workspace).ready.append((item, outgoing))

    def take_out(self, is_meant: Callable[[Marked], bool]) -> None:
        """Remove some of the ready items, so that they are not called for."""
        for queue in self._queues.values():
            self.unstarted += queue.take_out(is_meant)

    def call_ready(self) -> None:
        """Start calling for what is ready."""
        for queue in self._queues.values():
            self._add_caller(queue)

    def close(self) -> None:
        """End every call under way and release all room, however the batch ended."""
        for queue in self._queues.values():
            queue.clear()
        for caller in self.callers:
            caller.cancel()

    def _add_caller(self, queue: ProviderQueue) -> None:
        """Start one more calling task, if that can help."""
        queue.is_next_coming = False
        if queue.may_add_caller:
            queue.callers += 1
            self.callers.add(asyncio.create_task(self._call_one_by_one(queue)))

    async def _call_one_by_one(self, queue: ProviderQueue) -> None:
        """Call until nothing is ready. Whenever this waits for an answer, the next caller begins: a provider that
        answers at once needs no task for each call."""
        ready, slots, lane, whose = queue.ready, queue.slots, queue.lane, queue.whose
        timer = CallTimer(queue.call_deadline.total_seconds())
        try:
            while ready:
                if not (slots.take(lane, whose) or await slots.wait(lane, whose)):
                    # There are fewer slots than when these were marked: they wait unmarked, or for another worker.
                    self.unstarted += queue.take_out(lambda _: True)
                    return
                try:
                    if ready:
                        await self._call_next(queue, timer)
                finally:
                    slots.leave(lane, whose)
        finally:
            timer.end()
            queue.callers -= 1
            if task := asyncio.current_task():
                self.callers.discard(task)
            self.stirred.set()

    async def _call_next(self, queue: ProviderQueue, timer: CallTimer) -> None:
        item, outgoing = queue.ready.popleft()
        self.in_air[id(item)] = item.owner
        if queue.ready and not queue.is_next_coming:
            queue.is_next_coming = True
            asyncio.get_running_loop().call_soon(self._add_caller, queue)
        calling = self._calling
        started_at = calling.time()
        try:
            if not calling.may_begin(item, outgoing, started_at, queue.call_deadline):
                self.unstarted.append((item, outgoing))
                return
            crash_points.reach("before_call")
            may_start = partial(calling.may_hand_over, item)
            provider = calling.providers[queue.name]  # a connection's may have been replaced since the mark
            with recorded() if outgoing.is_watched else nullcontext() as said:
                outcome, is_cut = await call_in_time(provider, item, may_start, timer, outgoing.limit, started_at)
            crash_points.reach("after_call")
            lines = said.lines if said else None
            answered = Answered(Delivered(item, outcome, started_at, calling.time()), outgoing, is_cut, lines)
            self._note(queue, answered, provider)
        finally:
            del self.in_air[id(item)]
            queue.redeem()
            self._stir()

    def _note(self, queue: ProviderQueue, answered: Answered, provider: Provider) -> None:
        self.answered.append(answered)
        call = answered.delivered
        outcome, started_at, ended_at = call.outcome, call.started_at, call.ended_at
        queue.slots.observe(ended_at - started_at)
        self._calling.on_answer(call)
        if calls_hosts(provider, call.item.channel):
            return  # one name stands for many hosts: only one of them rests, by what on_answer notes
        rest = queue.slots.rest_after(outcome, started_at, ended_at)
        if rest and not isinstance(outcome, Accepted):
            asked = Rest(ended_at + rest, storable(call.told) or "")
            # Of two answers in one window the longer rest wins, whichever comes last.
            self.rests[queue.name] = max(asked, self.rests.get(queue.name, asked), key=lambda one: one.until)

    def _stir(self) -> None:
        """Wake the batch that waits for results, if this is the first or there are enough to write."""
        if len(self.answered) + len(self.unstarted) == 1 or len(self.answered) >= self._calling.flush_results:
            self.stirred.set()
