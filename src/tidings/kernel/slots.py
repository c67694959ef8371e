"""Who may call a provider now: a share kept for transactional work, a minimum for bulk, and rests for all (rule 12)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import assert_never

from tidings.domain.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.queue import Lane

WINDOW_SECONDS = 0.1
"""A window is what will start within this time at the provider's current pace: twice the time between two commits."""

TRANSACTIONAL_SHARE = 0.25
BULK_MINIMUM = 0.1
UNKNOWNS_BEFORE_REST = 5
SHORTEST_REST = timedelta(seconds=5)
LONGEST_REST = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Rest:
    """How long a provider is left alone, and why."""

    until: datetime
    reason: str


class Slots:
    """The calls to one provider that may be in the air at once in this process."""

    def __init__(self, concurrency: int) -> None:
        kept = max(1, round(concurrency * TRANSACTIONAL_SHARE)) if concurrency > 1 else 0
        minimum = max(1, round(concurrency * BULK_MINIMUM)) if concurrency > 1 else 0
        self._limit = {True: max(1, concurrency - kept), False: concurrency - minimum}
        self._all = asyncio.Semaphore(concurrency)
        self._by_class = {bulk: asyncio.Semaphore(limit) for bulk, limit in self._limit.items()}
        self._taken = {True: 0, False: 0}
        self._seconds_per_call = WINDOW_SECONDS  # unknown yet: a crash of a fresh worker must leave few in doubt
        self._unknowns = 0
        self._rested_at = datetime.min.replace(tzinfo=UTC)

    def room(self, lane: Lane) -> int:
        """How many more calls would start within a fraction of a second."""
        bulk = lane.is_bulk
        pace = 1 + WINDOW_SECONDS / max(self._seconds_per_call, 1e-4)
        return max(0, int(self._limit[bulk] * pace) - self._taken[bulk])

    def promise(self, lane: Lane) -> None:
        """Count a call that is about to be marked, so that no other batch takes the same room."""
        self._taken[lane.is_bulk] += 1

    def redeem(self, lane: Lane) -> None:
        """A promised call has ended, or was not marked after all."""
        self._taken[lane.is_bulk] -= 1

    def limit(self, lane: Lane) -> int:
        """The most calls of a lane's class in the air."""
        return self._limit[lane.is_bulk]

    def one(self, lane: Lane) -> "_Slot":
        """A slot to wait for and hold during one call."""
        return _Slot(self._by_class[lane.is_bulk], self._all)

    def observe(self, duration: timedelta) -> None:
        """Learn the provider's pace from a call that was made."""
        self._seconds_per_call += (duration.total_seconds() - self._seconds_per_call) * 0.1

    def rest_after(self, outcome: Outcome, started_at: datetime, ended_at: datetime) -> timedelta | None:
        """How long everyone should leave the provider alone after this answer."""
        match outcome:
            case Accepted() | Rejected():
                self._unknowns = 0
                return None
            case RetryLater(delay=delay, uses_attempt=uses_attempt):
                return min(delay, LONGEST_REST) if delay and not uses_attempt else None
            case Unknown():
                if started_at < self._rested_at:
                    return None  # in the air when the rest began: the same trouble, not more of it
                self._unknowns += 1
                if self._unknowns % UNKNOWNS_BEFORE_REST:
                    return None
                self._rested_at = ended_at
                times = self._unknowns // UNKNOWNS_BEFORE_REST
                return min(SHORTEST_REST * 2.0 ** min(times - 1, 10), LONGEST_REST)
            case _:
                assert_never(outcome)


class _Slot:
    """One place among its class and among all; a class of its own because it is taken for every call."""

    __slots__ = ("_all", "_class")

    def __init__(self, of_class: asyncio.Semaphore, of_all: asyncio.Semaphore) -> None:
        self._class, self._all = of_class, of_all

    async def __aenter__(self) -> None:
        await self._class.acquire()
        try:
            await self._all.acquire()
        except BaseException:
            self._class.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._all.release()
        self._class.release()


class Pauses:
    """The rests in force, as last read from the database."""

    STALE_AFTER = timedelta(seconds=1)

    def __init__(self) -> None:
        self._until: Mapping[str, datetime] = {}
        self._read_at: datetime | None = None

    def is_stale(self, now: datetime) -> bool:
        """Whether it is time to read them again."""
        return self._read_at is None or now - self._read_at >= self.STALE_AFTER

    def update(self, until: Mapping[str, datetime], now: datetime) -> None:
        """Take over what was read."""
        self._until, self._read_at = until, now

    def extend(self, rests: Mapping[str, Rest]) -> None:
        """Add rests that this process has just asked for; the later end of two wins."""
        longer = {name: max(rest.until, self._until.get(name, rest.until)) for name, rest in rests.items()}
        self._until = {**self._until, **longer}

    def until(self, provider: str, now: datetime) -> datetime | None:
        """When the provider may be called again, if not now."""
        end = self._until.get(provider)
        return end if end and end > now else None
