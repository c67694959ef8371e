"""What the edges ask of the database: does it accept writes, how long to wait for it, and for whom a request acts."""

from contextlib import AbstractContextManager

from tidings.domain.flow.ids import Shard
from tidings.kernel.kernel import Kernel
from tidings.storage import probe
from tidings.storage.acting import NOBODY, act_for
from tidings.storage.database import Database
from tidings.storage.outage import Hurry, hurried

__all__ = ["Hurry", "for_nobody", "hurried", "require_writable", "require_writable_anew"]


def for_nobody() -> AbstractContextManager[None]:
    """Act for nobody within the block: what a resource does there for its caller, it does for that workspace alone."""
    return act_for(NOBODY)


async def require_writable(kernel: Kernel) -> None:
    """Raise StorageUnavailable unless the database accepts writes and its disk has room; leaves nothing behind."""
    await _write(kernel.db)


async def require_writable_anew(kernel: Kernel) -> None:
    """Raise StorageUnavailable unless the database accepts writes over a new connection, whatever the others do."""
    db = await Database.open(kernel.db.dsn, connections=1)
    try:
        await _write(db)
    finally:
        await db.close()


async def _write(db: Database) -> None:
    async with db.transaction() as tx:
        await probe.limit_memory(tx)
        await probe.spill(tx)
        await probe.lock_shard(tx, shard=Shard(0))
