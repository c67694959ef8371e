"""What is stored, looked at past the API: whatever its workspace, with its place in the queue."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import Counts
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.resources.outbox import OutboxFilter, ShownItem
from tidings.storage import deploy, observe, runs
from tidings.storage.database import Tx
from tidings.storage.observe import ShownRun
from tidings.storage.statements import Statement

TESTER = Caller(Workspace(), "test")
"""Who decides in tests, in the workspace that a test has unless it names another."""

FIND_EXECUTION = Statement(
    "stored_execution",
    """
    select e.tenant_id, e.workspace_id, e.workflow_id, e.version_id, e.status, e.cursor, e.input, e.vars, e.attempts,
           e.error, e.error_node, e.triggered_by, coalesce(e.started_at, q.started_at) as started_at, e.ended_at,
           q.due_at, q.leased, q.stop
      from executions e
      left join queue q on q.shard = $1 and q.id = e.id
     where e.shard = $1 and e.id = $2
    """,
    ("shard", "id"),
)


@dataclass(frozen=True)
class StoredExecution:
    """An execution as it is stored; ExecutionStatus has fewer states than people are shown."""

    id: UUID
    tenant_id: str
    workspace_id: str
    workflow_id: UUID
    version_id: UUID
    status: ExecutionStatus
    cursor: str | None
    input: Mapping[str, object]
    vars: Mapping[str, object]
    attempts: int
    error: str | None
    error_node: str | None
    triggered_by: str | None
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    leased: bool | None
    stop: str | None


@dataclass(frozen=True)
class StoredRun:
    """A run, and its jobs' counts added up."""

    run: ShownRun
    counts: Counts
    in_doubt: int

    @property
    def queued(self) -> int:
        return self.counts.open - self.in_doubt


async def stored_execution(engine: Engine, id: UUID) -> StoredExecution:
    shard = engine.kernel.shard_of(id)
    row = await engine.kernel.db.persist(lambda tx: tx.fetch_one(FIND_EXECUTION, shard=shard, id=id), alone=True)
    assert row, f"there is no execution {id}"
    found = dict(row)
    return StoredExecution(id=id, status=ExecutionStatus(found.pop("status")), **found)


async def stored_run(engine: Engine, id: UUID) -> StoredRun:
    async def read(tx: Tx) -> StoredRun:
        run = await observe.find_run(tx, shard=engine.kernel.shard_of(id), id=id)
        assert run, f"there is no run {id}"
        counts, in_doubt = Counts(0), 0
        for shard in engine.kernel.every_shard():
            for part in (await deploy.sum_jobs(tx, shard=shard, run_id=id)).values():
                counts += part
            doubt = await runs.sum_doubt_of_runs(tx, shard=shard, run_ids=[id])
            in_doubt += sum(one.items for one in doubt.values())
        return StoredRun(run, counts, in_doubt)

    async with engine.kernel.db.transaction(snapshot=True) as tx:
        return await read(tx)


async def items_in_doubt(engine: Engine) -> list[ShownItem]:
    """The items in doubt of the workspace that a test has, oldest first."""
    return (await engine.outbox.list(TESTER.workspace, OutboxFilter(in_doubt=True))).items[::-1]
