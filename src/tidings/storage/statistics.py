"""What the planner believes of the queue, and what is so. Reached from kernel/planner.py."""

from datetime import datetime

import asyncpg

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.storage.database import TransientFailure, Tx
from tidings.storage.statements import load

_SQL = load("statistics")


async def believed_rows(tx: Tx) -> float | None:
    """How many rows the planner believes the whole queue to have, where that may be wrong."""
    row = await tx.fetch_one(_SQL["believed_rows"])
    return row["believed"] if row else None


async def count_due(tx: Tx, *, shard: Shard, lane: Lane, since: datetime, now: datetime, most: int) -> int:
    """How many rows are due, counted no further than `most`."""
    (row,) = await tx.fetch(_SQL["count_due"], shard=shard, lane=lane, since=since, now=now, most=most)
    return int(row["due"])


async def analyze_queue(tx: Tx) -> None:
    """Correct what the planner believes, if that may be done and takes no longer than a statement may."""
    try:
        await tx.fetch(_SQL["analyze_queue"])
    except asyncpg.QueryCanceledError as error:
        raise TransientFailure("the queue took too long to analyze") from error
