"""The checks behind `tidings verify`, one statement for each promise. Reached from kernel/manage/observe.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from tidings.domain.campaigns.run import JobCounts, JobStatus, RunStatus
from tidings.domain.flow.ids import Shard
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("verify")


@dataclass(frozen=True, slots=True)
class Offence:
    """A row that breaks a promise."""

    id: UUID
    problem: str


@dataclass(frozen=True, slots=True)
class EndedRun:
    """What a run that has ended says of itself."""

    id: UUID
    status: RunStatus
    planned: int


async def unkeyed_sends(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Items that were sent without a mark."""
    return _offences(await tx.fetch(_SQL["unkeyed_sends"], shard=shard, limit=limit))


async def double_items(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Items that are one intention written twice."""
    return _offences(await tx.fetch(_SQL["double_items"], shard=shard, limit=limit))


async def misplaced_items(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Items whose key does not say their place."""
    return _offences(await tx.fetch(_SQL["misplaced_items"], shard=shard, limit=limit))


async def lost_items(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Open items that no worker will look at."""
    return _offences(await tx.fetch(_SQL["lost_items"], shard=shard, limit=limit))


async def lost_executions(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Open executions that no worker will look at."""
    return _offences(await tx.fetch(_SQL["lost_executions"], shard=shard, limit=limit))


async def lost_jobs(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Open jobs that no worker will look at."""
    return _offences(await tx.fetch(_SQL["lost_jobs"], shard=shard, limit=limit))


async def lost_runs(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Open runs that no worker will look at."""
    return _offences(await tx.fetch(_SQL["lost_runs"], shard=shard, limit=limit))


async def lost_events(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Events that no worker will route."""
    return _offences(await tx.fetch(_SQL["lost_events"], shard=shard, limit=limit))


async def ownerless_rows(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Queue rows without an owner."""
    return _offences(await tx.fetch(_SQL["ownerless_rows"], shard=shard, limit=limit))


async def miscounted_jobs(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Jobs whose counts are not those of their items."""
    return _offences(await tx.fetch(_SQL["miscounted_jobs"], shard=shard, limit=limit))


async def early_jobs(tx: Tx, *, shard: Shard, limit: int) -> list[Offence]:
    """Jobs that ended with open items."""
    return _offences(await tx.fetch(_SQL["early_jobs"], shard=shard, limit=limit))


async def ended_runs(tx: Tx, *, shard: Shard) -> list[EndedRun]:
    """Runs that have ended."""
    rows = await tx.fetch(_SQL["ended_runs"], shard=shard)
    return [EndedRun(row["id"], RunStatus(row["status"]), row["planned"]) for row in rows]


async def jobs_of_runs(tx: Tx, *, shard: Shard) -> Mapping[UUID, Sequence[tuple[JobStatus, JobCounts]]]:
    """One shard's jobs, added up by run and status."""
    found: dict[UUID, list[tuple[JobStatus, JobCounts]]] = {}
    for row in await tx.fetch(_SQL["jobs_of_runs"], shard=shard):
        counts = JobCounts(row["planned"], row["sent"], row["called"], row["posted"], row["failed"], row["skipped"])
        found.setdefault(row["run_id"], []).append((JobStatus(row["status"]), counts))
    return found


async def missing_constraints(tx: Tx, *, names: Sequence[str]) -> list[str]:
    """Which of these constraints the database lacks."""
    return [row["name"] for row in await tx.fetch(_SQL["missing_constraints"], names=names)]


def _offences(rows: Sequence[Row]) -> list[Offence]:
    return [Offence(row["id"], row["problem"]) for row in rows]
