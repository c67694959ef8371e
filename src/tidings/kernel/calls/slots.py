"""Which task may call a provider now: a share kept for transactional work, a minimum for bulk, and rests (rule 12).

How many slots this process has is fixed, or set on each beat by shares.py where all workers share a limit.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import assert_never

from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.queue import Lane

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
    """The calls to one provider that may be under way at once in this process: `size`, at most `concurrency`."""

    def __init__(self, concurrency: int, size: int | None = None) -> None:
        self.concurrency = concurrency
        self.size = concurrency if size is None else size
        self._limit = _limits(self.size)
        self.in_air = 0
        self._in_air = {True: 0, False: 0}
        self._queues: dict[bool, deque[_Turn]] = {True: deque(), False: deque()}
        self._numbers = count()
        self._taken = {True: 0, False: 0}
        self.is_short = True  # whether a caller lately found no slot; unknown at first, so rather ask for many
        self._peak = 0
        self._seconds_per_call = WINDOW_SECONDS  # unknown at first: a crash of a fresh worker must leave few in doubt
        self._unknowns = 0
        self._rested_at = datetime.min.replace(tzinfo=UTC)

    def room(self, lane: Lane) -> int:
        """How many more calls would start within a fraction of a second; only a batch that wants to call asks."""
        room = self._room(_IS_BULK[lane])
        if room > 0:
            return room
        self.is_short = True
        return 0

    def _room(self, bulk: bool) -> int:
        pace = 1 + WINDOW_SECONDS / max(self._seconds_per_call, 1e-4)
        return int(self._limit[bulk] * pace) - self._taken[bulk]

    def promise(self, lane: Lane, wanted: int = 1) -> int:
        """Take room for calls that are about to be marked, so that no other batch takes it; return for how many."""
        promised = min(self.room(lane), wanted)
        if promised < wanted:
            self.is_short = True
        self._taken[_IS_BULK[lane]] += promised
        return promised

    def redeem(self, lane: Lane) -> None:
        """Release the room of a promised call that has ended, or was not marked after all."""
        self._taken[_IS_BULK[lane]] -= 1

    def limit(self, lane: Lane) -> int:
        """The most tasks that may try to call for a lane's class at once; one even without a slot, to find that out."""
        return self._limit[_IS_BULK[lane]] or 1

    def resize(self, size: int) -> None:
        """Change the number of slots. Calls under way go on; tasks that would wait in vain are told so."""
        self.size, self._limit = size, _limits(size)
        self._admit()
        for bulk, queue in self._queues.items():
            if size == 0 or self._room(bulk) < 0:  # more is marked than would start soon
                while queue:
                    queue.popleft().answer(False)

    @property
    def wanted(self) -> int:
        """How many calls this process would have under way if it could; 0 once it has been idle for a while."""
        return self.concurrency if self.is_short else min(self.concurrency, 2 * self._peak)

    def fade(self) -> None:
        """Halve the weight of the demand seen so far: a pause between two batches is not yet idleness."""
        self._peak = max(self.in_air, (self.concurrency if self.is_short else self._peak) // 2)
        self.is_short = False

    def take(self, lane: Lane) -> bool:
        """Take a slot for one call if one is free and no task of the lane's class waits for it."""
        bulk = _IS_BULK[lane]
        if self._queues[bulk] or self.in_air >= self.size or self._in_air[bulk] >= self._limit[bulk]:
            return False
        self._board(bulk)
        return True

    async def wait(self, lane: Lane) -> bool:
        """Wait for a slot, first come, first served; return False when none will come free soon."""
        bulk = _IS_BULK[lane]
        self.is_short = True
        if self.size < max(1, self.in_air):  # there are fewer slots than there were: none comes free soon
            return False
        turn = _Turn(next(self._numbers), asyncio.get_running_loop().create_future())
        self._queues[bulk].append(turn)
        try:
            return await turn.answered
        except asyncio.CancelledError:
            if turn.has_slot:
                self.leave(lane)
            raise

    def leave(self, lane: Lane) -> None:
        """Release a slot; the next task that waits takes it."""
        self._in_air[_IS_BULK[lane]] -= 1
        self.in_air -= 1
        if self._queues[True] or self._queues[False]:
            self._admit()

    def _board(self, bulk: bool) -> None:
        self._in_air[bulk] += 1
        self.in_air += 1
        self._peak = max(self._peak, self.in_air)

    def _admit(self) -> None:
        """Hand free slots to waiting tasks that may have one, the longest waiting first."""
        while self.in_air < self.size:
            bulk, other = self._next(True), self._next(False)
            if bulk is None and other is None:
                return
            is_bulk = other is None or (bulk is not None and bulk.number < other.number)
            self._board(is_bulk)
            self._queues[is_bulk].popleft().answer(True)

    def _next(self, bulk: bool) -> "_Turn | None":
        """The task of a class that waits longest, if there is a slot for it; drops those that have stopped waiting."""
        queue = self._queues[bulk]
        while queue and queue[0].answered.done():
            queue.popleft()
        return queue[0] if queue and self._in_air[bulk] < self._limit[bulk] else None

    def observe(self, duration: timedelta) -> None:
        """Learn the provider's speed from a finished call."""
        self._seconds_per_call += (duration.total_seconds() - self._seconds_per_call) * 0.1

    def rest_after(self, outcome: Outcome, started_at: datetime, ended_at: datetime) -> timedelta | None:
        """How long all workers should leave the provider alone after this answer."""
        match outcome:
            case Accepted() | Rejected():
                self._unknowns = 0
                return None
            case RetryLater(delay=delay, uses_attempt=uses_attempt):
                return min(delay, LONGEST_REST) if delay and not uses_attempt else None
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


@dataclass(slots=True, eq=False)
class _Turn:
    """A task's place in the queue for a slot."""

    number: int
    answered: asyncio.Future[bool]

    def answer(self, has_slot: bool) -> None:
        if not self.answered.done():
            self.answered.set_result(has_slot)

    @property
    def has_slot(self) -> bool:
        return self.answered.done() and not self.answered.cancelled() and self.answered.result()
