"""The time, which is the database's (rule 3).

The database is asked at most every ten seconds; in between a monotonic clock carries its answer forward. Tests and
simulations hand the engine another Clock.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from tidings.storage.database import Database, Tx
from tidings.storage.statements import load

_SQL = load("clock")
LONGEST_CARRY = timedelta(seconds=10)
_LONGEST_CARRY_SECONDS = LONGEST_CARRY.total_seconds()
# Unlike CLOCK_MONOTONIC it runs on while the machine sleeps, as leases do.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """The engine's source of time."""

    async def now(self) -> datetime:
        """The time to store and compare with."""

    def carried(self) -> datetime:
        """The last known time carried forward, for a check that must not wait."""


class DatabaseClock:
    """The database's clock, carried forward for at most ten seconds."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._read_at = -_LONGEST_CARRY_SECONDS
        self._ahead = 0.0  # on the machine's monotonic clock

    async def now(self) -> datetime:
        """Return the time; ask the database again when the last answer is old."""
        if time.clock_gettime(_CLOCK) - self._read_at >= _LONGEST_CARRY_SECONDS:
            await self._db.persist(self._read, alone=True)
        return self.carried()

    def carried(self) -> datetime:
        """The last answer plus the time since."""
        # Asked three times for each call: adding a timedelta to a datetime would take more than twice as long.
        return datetime.fromtimestamp(time.clock_gettime(_CLOCK) + self._ahead, UTC)

    async def _read(self, tx: Tx) -> None:
        # Taken before the query: a slow answer makes our time late, never early.
        asked_at = time.clock_gettime(_CLOCK)
        self._ahead = (await database_time(tx)).timestamp() - asked_at
        self._read_at = asked_at


async def database_time(tx: Tx) -> datetime:
    """The database's own time."""
    row = await tx.fetch_one(_SQL["database_time"])
    if row is None:
        raise AssertionError("a select without from has one row")
    now: datetime = row["now"]
    return now
