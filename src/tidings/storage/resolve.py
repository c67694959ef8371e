"""What people decide: the end of doubt, pause, cancel, resume.

Reached from resolve.py, replay.py and observe.py in kernel/manage.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.flow.queue import Lane, Stop
from tidings.storage.database import Tx
from tidings.storage.job_history import insert_job_history
from tidings.storage.statements import load

_SQL = load("resolve")

Asked = Mapping[UUID, bool]
"""Jobs that were asked something new, and whether a worker holds each at that moment."""


class FoundItem(Struct, frozen=True, kw_only=True):
    """What a person's decision about an item needs to know of it."""

    id: UUID
    workspace: Workspace
    execution_id: UUID | None
    run_id: UUID | None
    job_id: UUID | None
    channel: Channel
    recipient: str
    status: ItemStatus
    in_doubt: bool


async def resolve_item(
    tx: Tx,
    *,
    shard: Shard,
    id: UUID,
    status: ItemStatus,
    error: str | None,
    now: datetime,
) -> bool:
    """End the doubt about one item; False when it is not in doubt or a call is under way."""
    row = await tx.fetch_one(_SQL["resolve_item"], shard=shard, id=id, status=status, error=error, now=now)
    return row is not None


async def reopen_execution(tx: Tx, *, shard: Shard, id: UUID, lane: Lane, now: datetime) -> None:
    """Insert a queue row for an ended execution again, for an item that is to be sent."""
    await tx.fetch(_SQL["reopen_execution"], shard=shard, id=id, lane=lane, now=now, fence=fence_above_all(now))


def fence_above_all(now: datetime) -> int:
    """A first fence above those of every queue row the owner has had before.

    A row's fence grows by two for each lease, the microseconds since 1970 by far more.
    """
    return int(now.timestamp() * 1_000_000)


@_SQL.statement
async def insert_audit(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    actor: str,
    ids: Sequence[UUID],
    subject_kinds: Sequence[str],
    subject_ids: Sequence[UUID],
    events: Sequence[str],
    details: Sequence[Mapping[str, object]],
    now: datetime,
) -> None:
    """Write audit entries."""


async def find_audit(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> set[UUID]:
    """Those of the audit entries that exist."""
    return {row["id"] for row in await tx.fetch(_SQL["find_audit"], shard=shard, ids=ids)}


async def stop_owner(tx: Tx, *, shard: Shard, id: UUID, stop: Stop | None, now: datetime) -> bool:
    """Ask an execution or run to pause, stop or go on; False when it has ended, or is cancelled and asked to go on."""
    return await tx.fetch_one(_SQL["stop_owner"], shard=shard, id=id, stop=stop, now=now) is not None


async def flag_run(tx: Tx, *, shard: Shard, id: UUID, paused: bool, cancelled: bool) -> bool:
    """Set the flags beside a run's status; False when it has ended."""
    row = await tx.fetch_one(_SQL["flag_run"], shard=shard, id=id, paused=paused, cancelled=cancelled)
    return row is not None


async def stop_of_run(tx: Tx, *, shard: Shard, id: UUID) -> Stop | None:
    """What a run's flags ask of its jobs."""
    row = await tx.fetch_one(_SQL["stop_of_run"], shard=shard, id=id)
    return Stop(row["stop"]) if row and row["stop"] else None


async def stop_jobs_of_run(
    tx: Tx, *, shard: Shard, run_id: UUID, stop: Stop | None, actor: str, first_entry: UUID, now: datetime
) -> Asked:
    """Ask every open job of a run in one shard to pause, stop or go on; return those for which that is new."""
    rows = await tx.fetch(_SQL["stop_jobs_of_run"], shard=shard, run_id=run_id, stop=stop, now=now)
    asked = {row["id"]: row["leased"] for row in rows}
    if asked:
        await insert_job_history(
            tx,
            shard=shard,
            ids=sorted(asked),
            entries=[UUID(int=first_entry.int + number) for number in range(len(asked))],
            events=[stop or "resume"] * len(asked),
            details=[{}] * len(asked),
            actor=actor,
            now=now,
        )
    return asked


@_SQL.statement
async def find_item(tx: Tx, *, shard: Shard, id: UUID) -> FoundItem | None:
    """One item, if there is one."""
