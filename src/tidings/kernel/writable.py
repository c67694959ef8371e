"""Whether the database accepts writes, and how long a caller waits for one that does not. Reached from the edges."""

from tidings.domain.flow.ids import Shard
from tidings.kernel.kernel import Kernel
from tidings.storage import probe
from tidings.storage.database import Database
from tidings.storage.outage import Hurry, hurried

__all__ = ["Hurry", "hurried", "require_writable", "require_writable_anew"]


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
