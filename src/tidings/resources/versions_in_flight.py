"""How many executions are under way on each version of a workflow: what the queue holds, never what has ended."""

import asyncio
from collections import Counter
from functools import partial
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.kernel.kernel import Kernel
from tidings.storage import workflows
from tidings.views.drafts import VersionInFlight


async def count_versions(kernel: Kernel, workspace: Workspace, id: UUID) -> list[VersionInFlight]:
    """Count a workflow's live executions by version, the newest first; a version without any is not named."""
    count = partial(workflows.count_live_by_version, workspace=workspace, workspace_hash=workspace.hash, workflow_id=id)
    shards = await asyncio.gather(
        *(kernel.db.persist(partial(count, shard=shard), alone=True) for shard in kernel.every_shard())
    )
    counts: Counter[int] = Counter()
    for one in (one for shard in shards for one in shard):
        counts[one.number] += one.count
    return [VersionInFlight(version=number, count=counts[number]) for number in sorted(counts, reverse=True)]
