"""What a stretch of work cost: CPU time in Python and in PostgreSQL, and bytes of WAL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from bench.database import Sql
from bench.proc import cpu_seconds


class Each(TypedDict):
    """The cost of one item, under the names of a result's fields."""

    python_us: float
    postgres_us: float
    wal_bytes: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Readings, or the difference of two."""

    python_seconds: float
    postgres_seconds: float
    wal_bytes: int

    def __sub__(self, earlier: "Cost") -> "Cost":
        return Cost(
            self.python_seconds - earlier.python_seconds,
            self.postgres_seconds - earlier.postgres_seconds,
            self.wal_bytes - earlier.wal_bytes,
        )

    def for_each(self, items: int) -> Each:
        """Shared out among so many items."""
        return {
            "python_us": self.python_seconds / items * 1e6,
            "postgres_us": self.postgres_seconds / items * 1e6,
            "wal_bytes": self.wal_bytes / items,
        }


@dataclass(frozen=True, slots=True)
class Meter:
    """Reads the processes that work, and the server with all its children, those that have ended too."""

    sql: Sql
    postmaster: int
    workers: Sequence[int]

    async def read(self) -> Cost:
        """What has been used so far."""
        wal: int = await self.sql.fetchval("select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint")
        return Cost(cpu_seconds(self.workers), cpu_seconds([self.postmaster]), wal)
