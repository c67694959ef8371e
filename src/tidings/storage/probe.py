"""Find out whether anything can be written, without leaving anything behind. Reached from kernel/writable.py."""

from tidings.domain.flow.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("probe")


@_SQL.statement
async def limit_memory(tx: Tx) -> None:
    """Make the next large intermediate result of this transaction go to disk."""


@_SQL.statement
async def spill(tx: Tx) -> None:
    """Write half a megabyte to a temporary file; raises TransientFailure when the disk is full."""


@_SQL.statement
async def lock_shard(tx: Tx, *, shard: Shard) -> None:
    """Write one row; raises TransientFailure when the database is read-only or recovers."""
