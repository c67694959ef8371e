"""Turn a run's audience into jobs and items, one chunk in one transaction. Reached from kernel/deploy.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.ids import Shard
from tidings.domain.queue import Lane, Stop
from tidings.domain.run import Counts, JobStatus
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("deploy")


@dataclass(frozen=True, slots=True)
class Part:
    """How far one shard's share of a run has come."""

    cursor: int
    planned: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Person:
    """One of a run's audience."""

    ordinal: int
    recipient: str


async def load_part(tx: Tx, *, shard: Shard, run_id: UUID) -> Part | None:
    """The share of a run in one shard."""
    row = await tx.fetch_one(_SQL["load_part"], shard=shard, run_id=run_id)
    return Part(row["cursor"], row["planned"], row["finished"]) if row else None


async def read_audience(tx: Tx, *, shard: Shard, run_id: UUID, after: int, limit: int) -> list[Person]:
    """The next people in one shard."""
    rows = await tx.fetch(_SQL["read_audience"], shard=shard, run_id=run_id, after=after, limit=limit)
    return [Person(row["ordinal"], row["recipient"]) for row in rows]


async def advance_part(
    tx: Tx,
    *,
    shard: Shard,
    run_id: UUID,
    cursor: int,
    next_cursor: int,
    added: int,
    finished: bool,
) -> bool:
    """Move the cursor from where it was; False when somebody else has."""
    row = await tx.fetch_one(
        _SQL["advance_part"],
        shard=shard,
        run_id=run_id,
        cursor=cursor,
        next_cursor=next_cursor,
        added=added,
        finished=finished,
    )
    return row is not None


async def insert_job(
    tx: Tx,
    *,
    shard: Shard,
    id: UUID,
    run_id: UUID,
    tenant: str,
    workspace: str,
    job_type: str,
    planned: int,
    now: datetime,
) -> None:
    """Write one job."""
    await tx.fetch(
        _SQL["insert_job"],
        shard=shard,
        id=id,
        run_id=run_id,
        tenant=tenant,
        workspace=workspace,
        job_type=job_type,
        planned=planned,
        now=now,
    )


async def insert_job_items(
    tx: Tx,
    *,
    shard: Shard,
    job_id: UUID,
    channel: str,
    provider: str,
    ids: Sequence[UUID],
    ordinals: Sequence[int],
    recipients: Sequence[str],
    keys: Sequence[bytes],
    now: datetime,
) -> None:
    """Write one job's items."""
    await tx.fetch(
        _SQL["insert_job_items"],
        shard=shard,
        job_id=job_id,
        channel=channel,
        provider=provider,
        ids=ids,
        ordinals=ordinals,
        recipients=recipients,
        keys=keys,
        now=now,
    )


async def enqueue_job(
    tx: Tx,
    *,
    shard: Shard,
    id: UUID,
    lane: Lane,
    due_at: datetime,
    stop: Stop | None,
) -> None:
    """Make a new job due."""
    await tx.fetch(_SQL["enqueue_job"], shard=shard, id=id, lane=lane, due_at=due_at, stop=stop)


async def sum_jobs(tx: Tx, *, shard: Shard, run_id: UUID) -> Mapping[JobStatus, Counts]:
    """One shard's jobs of a run, added up by status."""
    rows = await tx.fetch(_SQL["sum_jobs"], shard=shard, run_id=run_id)
    return {
        JobStatus(row["status"]): Counts(
            row["planned"], row["sent"], row["called"], row["posted"], row["failed"], row["skipped"]
        )
        for row in rows
    }
