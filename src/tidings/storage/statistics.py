"""What the planner believes of the queue, and what is so. Reached from kernel/statistics.py."""

from tidings.domain.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("statistics")


async def believed_rows(tx: Tx) -> float | None:
    """How many rows the planner believes the whole queue to have, where that may be wrong."""
    row = await tx.fetch_one(_SQL["believed_rows"])
    return row["believed"] if row else None


async def count_rows(tx: Tx, *, shard: Shard, most: int) -> int:
    """How many rows a shard has, counted no further than `most`."""
    (row,) = await tx.fetch(_SQL["count_rows"], shard=shard, most=most)
    return int(row["found"])


async def analyze_queue(tx: Tx) -> None:
    """Correct what the planner believes."""
    await tx.fetch(_SQL["analyze_queue"])
