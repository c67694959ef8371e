"""How many calls of this process ended in which way, minute by minute, written about once a second.

Told by kernel/flow/commit.py after each commit of facts; resources/overview.py shows the sums of all processes. No
commit waits for it: whole counts of a minute are written under this worker's id, in a statement of their own. A process
that is killed takes up to a second of its counts with it; nothing but a plot depends on them.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked
from tidings.log import log
from tidings.storage import overview
from tidings.storage.acting import EVERYONE, act_for
from tidings.storage.database import Database, TransientFailure
from tidings.storage.finalize import Fact
from tidings.storage.overview import CountedCalls
from tidings.views.overview import outcome_of

WRITTEN_EVERY_SECONDS = 1.0
KEPT = timedelta(hours=49)
"""What is shown are the last hours, and the sum of a day."""
CLEANED_EVERY = timedelta(hours=1)
_Key = tuple[Workspace, datetime, str, str]


class CallCounts:
    """The counts of this process, and the task that writes them while there is something to write."""

    def __init__(self, db: Database, worker_id: UUID) -> None:
        self._db, self._worker_id = db, worker_id
        self._counts: Counter[_Key] = Counter()
        self._unwritten: set[_Key] = set()
        self._writing: asyncio.Task[None] | None = None
        self._cleaned_at: datetime | None = None

    def note(self, calls: Iterable[tuple[Marked, Fact]], at: datetime) -> None:
        """Count calls that ended at this time, each with its fact."""
        minute = at.replace(second=0, microsecond=0)
        for item, fact in calls:
            key = (item.workspace, minute, item.channel, outcome_of(fact.status, is_unknown=fact.unknown))
            self._counts[key] += 1
            self._unwritten.add(key)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_soon())

    async def write(self) -> None:
        """Write now what is not written yet; what the database does not take stays for the next time."""
        keys, self._unwritten = self._unwritten, set()
        if not keys:
            return
        try:
            with act_for(EVERYONE):
                await self._write(sorted(keys, key=repr))
        except TransientFailure as failure:
            self._unwritten |= keys
            log.warning("call_counts_not_written", reason=str(failure))

    async def close(self) -> None:
        """Write what is left, and end."""
        writing, self._writing = self._writing, None
        if writing:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        await self.write()

    async def _write_soon(self) -> None:
        await asyncio.sleep(WRITTEN_EVERY_SECONDS)
        self._writing = None
        await self.write()

    async def _write(self, keys: Iterable[_Key]) -> None:
        counts = [CountedCalls(*key, self._counts[key]) for key in keys]
        newest = max(one.minute for one in counts)
        async with self._db.autocommit() as tx:
            await overview.write_call_counts(tx, worker_id=self._worker_id, counts=counts)
            if self._cleaned_at is None or newest - self._cleaned_at >= CLEANED_EVERY:
                await overview.forget_call_counts(tx, minute=newest - KEPT)
                self._cleaned_at = newest
        self._forget(newest - timedelta(minutes=5))

    def _forget(self, before: datetime) -> None:
        """Forget minutes in which no call ends any more."""
        for key in [key for key in self._counts if key[1] < before and key not in self._unwritten]:
            del self._counts[key]
