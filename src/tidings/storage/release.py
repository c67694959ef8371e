"""Move owners on and end their leases, where the fence is still ours. Reached from kernel/flow/release.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.campaigns.run import JobStatus, RunStatus
from tidings.domain.flow.execution import ExecutionState
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Claimed
from tidings.storage.database import Tx
from tidings.storage.job_history import BY_ENGINE, insert_job_history
from tidings.storage.load import frontier_to_json
from tidings.storage.statements import load

_SQL = load("release")
Json = Mapping[str, object]


class MovedExecution(msgspec.Struct, frozen=True):
    """Where an execution goes from here; without a due time it leaves the queue."""

    lease: Claimed
    execution: ExecutionState
    cursor: str | None
    ended_at: datetime | None
    due_at: datetime | None


class LogEntry(msgspec.Struct, frozen=True):
    """What a node other than a send did."""

    execution_id: UUID
    node: str
    status: str
    output: Json
    at: datetime
    saw: Json | None = None
    started_at: datetime | None = None
    error: str | None = None
    seen: Sequence[str] | None = None  # of the results it saw, those of nodes that do not lead to it


class MovedJob(msgspec.Struct, frozen=True):
    """When a job that is not done is due again."""

    lease: Claimed
    due_at: datetime
    entry: UUID  # the id of its history entry, if it is done
    dead: bool = False
    error: str | None = None


class ReleasedJob(msgspec.Struct, frozen=True):
    """A released job, and whether it is done."""

    id: UUID
    run_id: UUID | None
    done: bool


class MovedRun(msgspec.Struct, frozen=True):
    """The new status and counts of a run."""

    lease: Claimed
    status: RunStatus
    planned: int | None
    ended_at: datetime | None
    due_at: datetime


async def release_executions(tx: Tx, *, shard: Shard, moves: Sequence[MovedExecution], now: datetime) -> set[UUID]:
    """Move executions; return the ids of those whose lease was lost."""
    rows = await tx.fetch(
        _SQL["release_executions"],
        shard=shard,
        **_leases([move.lease for move in moves]),
        statuses=[move.execution.status for move in moves],
        frontiers=[frontier_to_json(move.execution.frontier) for move in moves],
        cursors=[move.cursor for move in moves],
        vars=[move.execution.vars for move in moves],
        attempts=[move.execution.attempts for move in moves],
        errors=[move.execution.error for move in moves],
        error_nodes=[move.execution.error_node for move in moves],
        ended_at=[move.ended_at for move in moves],
        due_at=[move.due_at for move in moves],
        now=now,
    )
    return {row["id"] for row in rows}


async def insert_execution_log(tx: Tx, *, shard: Shard, entries: Sequence[LogEntry]) -> None:
    """Keep what nodes did."""
    await tx.fetch(
        _SQL["insert_execution_log"],
        shard=shard,
        ids=[entry.execution_id for entry in entries],
        nodes=[entry.node for entry in entries],
        statuses=[entry.status for entry in entries],
        outputs=[entry.output for entry in entries],
        at=[entry.at for entry in entries],
        saw=[entry.saw for entry in entries],
        started_at=[entry.started_at for entry in entries],
        errors=[entry.error for entry in entries],
        seen=[entry.seen for entry in entries],
    )


async def release_jobs(tx: Tx, *, shard: Shard, moves: Sequence[MovedJob], now: datetime) -> list[ReleasedJob]:
    """Release jobs; those without open items are done."""
    rows = await tx.fetch(
        _SQL["release_jobs"],
        shard=shard,
        **_leases([move.lease for move in moves]),
        due_at=[move.due_at for move in moves],
        dead=[move.dead for move in moves],
        errors=[move.error for move in moves],
        now=now,
    )
    if ended := {row["id"]: row["status"] for row in rows if row["status"] != JobStatus.QUEUED and row["run_id"]}:
        entry_of = {move.lease.id: move.entry for move in moves}
        await insert_job_history(
            tx,
            shard=shard,
            ids=list(ended),
            entries=[entry_of[id] for id in ended],
            events=list(ended.values()),
            details=[{"from": JobStatus.LOCKED}] * len(ended),
            actor=BY_ENGINE,
            now=now,
        )
    return [ReleasedJob(row["id"], row["run_id"], row["status"] != JobStatus.QUEUED) for row in rows]


async def release_runs(tx: Tx, *, shard: Shard, moves: Sequence[MovedRun], now: datetime) -> set[UUID]:
    """Write the status and counts of runs; return the ids of those whose lease still held."""
    rows = await tx.fetch(
        _SQL["release_runs"],
        shard=shard,
        **_leases([move.lease for move in moves]),
        statuses=[move.status for move in moves],
        planned=[move.planned for move in moves],
        ended_at=[move.ended_at for move in moves],
        due_at=[move.due_at for move in moves],
        now=now,
    )
    return {row["id"] for row in rows}


async def wake_owner(tx: Tx, *, shard: Shard, id: UUID, at: datetime) -> bool:
    """Make a row due by then, or right after its lease."""
    return await tx.fetch_one(_SQL["wake_owner"], shard=shard, id=id, at=at) is not None


def _leases(leases: Sequence[Claimed]) -> dict[str, object]:
    return {
        "ids": [lease.id for lease in leases],
        "fences": [lease.fence for lease in leases],
        "stops": [lease.stop for lease in leases],
    }
