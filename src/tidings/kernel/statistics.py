"""Keep the planner from taking a full queue for an empty one.

Reached from claim.py. A queue runs empty and fills again. Whoever vacuums it meanwhile notes that its pages hold next
to nothing, and the planner believes so until autovacuum comes by, a minute later or more. To read a shard of one row
looks cheaper than to find a hundred by their keys, so every statement of a batch compares each of its rows with the
whole shard: with ten thousand due in each of four, an item took the server 13 ms instead of a tenth of one.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from tidings.domain.ids import Shard
from tidings.storage import statistics
from tidings.storage.database import TransientFailure, Tx

if TYPE_CHECKING:
    from tidings.kernel.kernel import Kernel

log = structlog.get_logger()

ENOUGH = 1_000
"""Whoever believes in so many rows of a shard finds those of a batch by their keys."""
FEW = 250
"""So many may be compared with every row of a batch: it costs less than to analyze."""
WRONG_BY = 4
LOOK_EVERY = timedelta(seconds=1)
REST = timedelta(seconds=5)
"""After a correction, which reads up to thirty thousand pages."""


class Statistics:
    """When to look again at what the planner believes."""

    def __init__(self) -> None:
        self._look_at: datetime | None = None

    def is_time(self, now: datetime) -> bool:
        """Whether somebody should look now, who then is the only one for a while."""
        if self._look_at and now < self._look_at <= now + REST:
            return False
        self._look_at = now + LOOK_EVERY
        return True

    def rest(self, now: datetime) -> None:
        """A correction was made."""
        self._look_at = now + REST


async def correct_statistics(kernel: "Kernel", shard: Shard, now: datetime) -> None:
    """Before a claim, at most once a second: have the planner look again where it is wrong about this shard."""
    if not kernel.statistics.is_time(now):
        return
    try:
        async with kernel.db.autocommit() as tx:
            if await _is_misled(tx, kernel.shards, shard):
                kernel.statistics.rest(now)
                await statistics.analyze_queue(tx)
                log.info("queue_analyzed", shard=shard)
    except TransientFailure as failure:
        log.warning("queue_not_analyzed", reason=str(failure))  # the claim is made all the same, or knows better


async def _is_misled(tx: Tx, shards: int, shard: Shard) -> bool:
    believed = await statistics.believed_rows(tx)
    if believed is None or believed >= ENOUGH * shards:
        return False
    most = max(FEW, round(WRONG_BY * believed / shards))
    return await statistics.count_rows(tx, shard=shard, most=most + 1) > most
