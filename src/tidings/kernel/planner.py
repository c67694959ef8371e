"""Keep the query planner from taking a full queue for an empty one: the fourth measure of storage/planner.py.

Reached from claim.py, when a claim came back full. A queue runs empty and fills again; a vacuum in between notes
that its pages hold next to nothing, and the planner believes so until autovacuum comes by, a minute later or more.
Reading a shard of one row looks cheaper than finding a hundred by their keys, so every statement of a batch compares
each of its rows with the whole shard: with ten thousand due in each of four, an item took the server 13 ms and not 0.1.
"""

from datetime import datetime, timedelta

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.kernel.process.claim_floor import ClaimFloor
from tidings.log import log
from tidings.storage import statistics
from tidings.storage.clock import Clock
from tidings.storage.database import Database, TransientFailure, Tx

ENOUGH = 1_000
"""A planner that believes in so many rows of a shard finds those of a batch by their keys."""
FEW = 250
"""So many rows may be compared with every row of a batch: it costs less than an analyze."""
WRONG_BY = 4
LOOK_EVERY = timedelta(seconds=1)
REST = timedelta(seconds=5)
"""The wait after a correction, which reads up to thirty thousand pages."""
LONG_REST = timedelta(minutes=1)
"""The wait after a correction that changed nothing."""


class Statistics:
    """Checks what the planner believes of the queue, and has the queue analyzed where that is wrong."""

    def __init__(self, db: Database, clock: Clock, claim_floor: ClaimFloor, shards: int) -> None:
        self._db, self._clock, self._claim_floor, self._shards = db, clock, claim_floor, shards
        self._look_at: datetime | None = None

    async def correct(self, shard: Shard, lane: Lane) -> None:
        """After a full claim, at most once a second: correct what the planner believes of this shard if it is wrong."""
        now = await self._clock.now()
        if not self._is_time(now):
            return
        try:
            async with self._db.autocommit() as tx:
                believed = await statistics.believed_rows(tx)
                if believed is not None and await self._is_wrong(tx, believed, shard, lane, now):
                    await self._correct(tx, believed, now)
        except TransientFailure as failure:
            log.warning("queue_not_analyzed", reason=str(failure))  # the claimed work is done all the same
            self._look_at = now + LONG_REST

    def _is_time(self, now: datetime) -> bool:
        """Whether the caller should check now; no other caller does for a while after that."""
        if self._look_at and now < self._look_at <= now + LONG_REST:
            return False
        self._look_at = now + LOOK_EVERY
        return True

    async def _is_wrong(self, tx: Tx, believed: float, shard: Shard, lane: Lane, now: datetime) -> bool:
        if believed >= ENOUGH * self._shards:
            return False
        most = max(FEW, round(WRONG_BY * believed / self._shards))
        since = self._claim_floor.taken_until((shard, lane))
        return await statistics.count_due(tx, shard=shard, lane=lane, since=since, now=now, most=most + 1) > most

    async def _correct(self, tx: Tx, believed: float, now: datetime) -> None:
        await statistics.analyze_queue(tx)
        after = await statistics.believed_rows(tx)
        if after == believed:  # the role may not, or another process is analyzing
            log.warning("queue_not_analyzed", believed=round(believed), reason="PostgreSQL skipped it")
        else:
            log.info("queue_analyzed", believed=round(believed), rows=round(after or 0))
        self._look_at = now + (LONG_REST if after == believed else REST)
