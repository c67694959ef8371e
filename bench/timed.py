"""Work that this very process does on one database: what it took, and what it cost."""

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bench.bench import Bench
from bench.database import Fresh
from bench.meter import Meter
from bench.report import Result

Work = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Timed:
    """Measures one piece of work after the other; `count_stored` is asked how many rows are there after each."""

    bench: Bench
    fresh: Fresh
    measurement: str
    count_stored: str

    async def measure(self, what: str, count: int, work: Work, ceiling: float | None = None) -> Result:
        """Do the work for so many rows; without a ceiling it is one."""
        await self.fresh.settle()
        meter = Meter(self.fresh.sql, self.bench.postmaster, [os.getpid()])
        before, began = await meter.read(), time.monotonic()
        await work()
        seconds = time.monotonic() - began
        cost = await meter.read() - before
        stored = await self.fresh.sql.fetchval(self.count_stored)
        if stored != count:
            raise AssertionError(f"{what}: {count} rows should be there, not {stored}")
        of_ceiling = 1.0 if ceiling is None else count / seconds / ceiling
        return Result(self.measurement, what, 1, count, seconds, of_ceiling, **cost.for_each(count))
