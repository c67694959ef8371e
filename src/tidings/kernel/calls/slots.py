"""Which task may call a provider now: a share kept for transactional work, a minimum for bulk, and rests (rule 12).

How many slots this process has is fixed, or set on each beat by shares.py where all workers share a limit.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import assert_never

from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.fair_use import FairUse
from tidings.kernel.calls.turn_queue import Turn, TurnQueue
from tidings.kernel.calls.weights import Weights

WINDOW_SECONDS = 0.1
"""A window is what starts within this time at the provider's current speed: twice the time between two commits."""

TRANSACTIONAL_SHARE = 0.25
BULK_MINIMUM = 0.1
UNKNOWNS_BEFORE_REST = 5
_IS_BULK = {lane: lane.is_bulk for lane in Lane}  # asked several times for each call, where a property is expensive
SHORTEST_REST = timedelta(seconds=5)
LONGEST_REST = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Rest:
    """How long a provider is left alone, and why."""

    until: datetime
    reason: str


class Slots:
    """The calls to one provider that may be under way at once in this process: `size`, at most `concurrency`.

    `whose` is the hash of the workspace that a call is for: slots and room are shared out between them (fair_use.py).
    """

    def __init__(self, concurrency: int, size: int | None = None, weights: Weights | None = None) -> None:
        weights = weights or Weights()
        self.concurrency = concurrency
        self.size = concurrency if size is None else size
        self._limit = _limits(self.size)
        self.in_air = 0
        self._in_air = {True: FairUse(weights), False: FairUse(weights)}
        self._queues = {True: TurnQueue(weights), False: TurnQueue(weights)}
        self._numbers = count()
        self._promised = {True: FairUse(weights), False: FairUse(weights)}
        self.is_short = True  # whether a caller lately found no slot; unknown at first, so rather ask for many
        self._peak = 0
        self._seconds_per_call = WINDOW_SECONDS  # unknown at first: a crash of a fresh worker must leave few in doubt
        self._unknowns = 0
        self._rested_at = datetime.min.replace(tzinfo=UTC)

    def room(self, lane: Lane, whose: int = 0) -> int:
        """How many more calls would start within a fraction of a second; only a batch that wants to call asks."""
        bulk = _IS_BULK[lane]
        room = self._promised[bulk].more_for(whose, max(0, self._room(bulk)))
        if room > 0:
            return room
        self.is_short = True
        return 0

    def _room(self, bulk: bool) -> int:
        pace = 1 + WINDOW_SECONDS / max(self._seconds_per_call, 1e-4)
        return int(self._limit[bulk] * pace) - self._promised[bulk].taken

    def promise(self, lane: Lane, wanted: int = 1, whose: int = 0) -> int:
        """Take room for calls that are about to be marked, so that no other batch takes it; return for how many."""
        promised = min(self.room(lane, whose), wanted)
        if promised < wanted:
            self.is_short = True
        self._promised[_IS_BULK[lane]].take(whose, promised)
        return promised

    def redeem(self, lane: Lane, whose: int = 0) -> None:
        """Release the room of a promised call that has ended, or was not marked after all."""
        self._promised[_IS_BULK[lane]].give_back(whose)

    def limit(self, lane: Lane) -> int:
        """The most tasks that may try to call for a lane's class at once; one even without a slot, to find that out."""
        return self._limit[_IS_BULK[lane]] or 1

    def resize(self, size: int) -> None:
        """Change the number of slots. Calls under way go on; tasks that would wait in vain are told so."""
        self.size, self._limit = size, _limits(size)
        self._admit()
        for bulk, queue in self._queues.items():
            if size == 0 or self._room(bulk) < 0:  # more is marked than would start soon
                queue.dismiss()

    @property
    def wanted(self) -> int:
        """How many calls this process would have under way if it could; 0 once it has been idle for a while."""
        return self.concurrency if self.is_short else min(self.concurrency, 2 * self._peak)

    def fade(self) -> None:
        """Halve the weight of the demand seen so far: a pause between two batches is not yet idleness."""
        self._peak = max(self.in_air, (self.concurrency if self.is_short else self._peak) // 2)
        self.is_short = False

    def take(self, lane: Lane, whose: int = 0) -> bool:
        """Take a slot for one call if its workspace may have one and no task waits that has its turn before it."""
        bulk = _IS_BULK[lane]
        if self._queues[bulk].tenants and self._next(bulk):
            return False
        if not self._in_air[bulk].try_take(whose, self._free(bulk)):
            return False
        self._count_call()
        return True

    async def wait(self, lane: Lane, whose: int = 0) -> bool:
        """Wait for a slot: workspaces take turns, first come, first served in each; False when none comes free soon."""
        self.is_short = True
        if self.size < max(1, self.in_air):  # there are fewer slots than there were: none comes free soon
            return False
        turn = Turn(next(self._numbers), whose, asyncio.get_running_loop().create_future())
        self._queues[_IS_BULK[lane]].add(turn)
        self._admit()  # what kept it from a slot may be over: a weight has changed, say
        try:
            return await turn.answered
        except asyncio.CancelledError:
            if turn.has_slot:
                self.leave(lane, whose)
            raise

    def leave(self, lane: Lane, whose: int = 0) -> None:
        """Release a slot; the next task that waits takes it."""
        self._in_air[_IS_BULK[lane]].give_back(whose)
        self.in_air -= 1
        if self._queues[True].tenants or self._queues[False].tenants:
            self._admit()

    def _may_take(self, bulk: bool, whose: int) -> bool:
        return self._in_air[bulk].may_take(whose, self._free(bulk))

    def _free(self, bulk: bool) -> int:
        free, of_class = self.size - self.in_air, self._limit[bulk] - self._in_air[bulk].taken
        return free if free < of_class else of_class

    def _count_call(self) -> None:
        self.in_air += 1
        self._peak = max(self._peak, self.in_air)

    def _admit(self) -> None:
        """Hand free slots to waiting tasks that may have one, between classes the longest waiting first."""
        while self.in_air < self.size:
            bulk, other = self._next(True), self._next(False)
            turn = min((one for one in (bulk, other) if one), key=lambda one: one.number, default=None)
            if turn is None:
                return
            self._in_air[turn is bulk].take(turn.whose)
            self._count_call()
            self._queues[turn is bulk].take(turn)
            turn.answer(True)

    def _next(self, bulk: bool) -> Turn | None:
        """The task of a class whose turn is next, if there is a slot for it."""
        queue = self._queues[bulk]
        return queue.peek(partial(self._may_take, bulk)) if queue.tenants else None

    def observe(self, duration: timedelta) -> None:
        """Learn the provider's speed from a finished call."""
        self._seconds_per_call += (duration.total_seconds() - self._seconds_per_call) * 0.1

    def rest_after(self, outcome: Outcome, started_at: datetime, ended_at: datetime) -> timedelta | None:
        """How long all workers should leave the provider alone after this answer."""
        match outcome:
            case Accepted() | Rejected():
                self._unknowns = 0
                return None
            case RetryLater(delay=delay) as said:
                # What one host of many does not answer is not the others' fault.
                is_about_all = not said.uses_attempt and not said.is_unanswered
                return min(delay, LONGEST_REST) if delay and is_about_all else None
            case Unavailable():
                return None  # its rests grow for all workers together: outages.py
            case Unknown():
                if started_at < self._rested_at:
                    return None  # under way when the rest began: the same trouble, not more of it
                self._unknowns += 1
                if self._unknowns % UNKNOWNS_BEFORE_REST:
                    return None
                self._rested_at = ended_at
                times = self._unknowns // UNKNOWNS_BEFORE_REST
                return min(SHORTEST_REST * 2.0 ** min(times - 1, 10), LONGEST_REST)
            case _:
                assert_never(outcome)


def _limits(size: int) -> dict[bool, int]:
    """The most calls of each class (bulk or not): each leaves some to the other, unless there is only one slot."""
    kept = max(1, round(size * TRANSACTIONAL_SHARE)) if size > 1 else 0
    minimum = max(1, round(size * BULK_MINIMUM)) if size > 1 else 0
    return {True: size - kept, False: size - minimum}
