"""Write the history of jobs. Reached from deploy.py, load.py, release.py and resolve.py, which change them.

An entry is a statement of its own beside the change, in the same transaction: a cluster takes no INSERT in a WITH.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("job_history")
BY_ENGINE = "engine"


@_SQL.statement
async def insert_job_history(
    tx: Tx,
    *,
    shard: Shard,
    ids: Sequence[UUID],
    entries: Sequence[UUID],
    events: Sequence[str],
    details: Sequence[Mapping[str, object]],
    actor: str,
    now: datetime,
) -> None:
    """Write an entry for each of these jobs that is a run's."""
