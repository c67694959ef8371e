"""Let only one retry of a run be started at a time.

Reached from resources/run_retry.py, which plans a retry, and from start_run.py, which starts it. The keys of its items
let nobody be written to twice, but a worker writes them later: until then the failed run names its last retry, and a
request that read an earlier one is refused.
"""

from datetime import timedelta
from functools import partial
from uuid import UUID

from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import made_at
from tidings.kernel.kernel import Kernel
from tidings.storage import load, start
from tidings.storage.database import Tx

STARTS_WITHIN = timedelta(minutes=1)
"""A turn without a run after this time was taken by a process that died."""


async def find_last_retry(kernel: Kernel, run_id: UUID) -> UUID | None:
    """Return the last retry of a run, if any; raise Conflict while it is still being started or planned."""
    find = partial(start.last_retry, shard=kernel.shard_of(run_id), id=run_id)
    last = await kernel.db.persist(find, alone=True)
    if last is None:
        return None
    shard = kernel.shard_of(last)
    found = (await kernel.db.persist(partial(load.load_runs, shard=shard, ids=[last]), alone=True)).get(last)
    is_starting = found is None and await kernel.clock.now() - made_at(last) < STARTS_WITHIN
    if is_starting or (found is not None and found.planned is None):
        raise Conflict(
            f"run {last} is taking failed items of run {run_id} at this moment; look at it, and retry what it leaves"
        )
    return last


async def take_turn(kernel: Kernel, run_id: UUID, after: UUID | None, retry_id: UUID) -> bool:
    """Make a run the last retry of another, if that still names the retry that was read; else return False."""
    take = partial(start.take_retry, shard=kernel.shard_of(run_id), id=run_id, after=after, retry_id=retry_id)
    return await kernel.db.persist(take, alone=True)


async def require_turn(kernel: Kernel, tx: Tx, run_id: UUID, retry_id: UUID) -> None:
    """Refuse to start a retry so long after its turn that another may have taken it for dead."""
    if await start.last_retry(tx, shard=kernel.shard_of(run_id), id=run_id) != retry_id:
        raise too_late(run_id)


def too_late(run_id: UUID) -> Conflict:
    """The error for the slower of two retries."""
    return Conflict(
        f"somebody else retried run {run_id} at the same moment; look at that run, and retry what it leaves"
    )
