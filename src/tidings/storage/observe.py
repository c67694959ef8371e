"""Read attempts, audit entries and counts, for metrics and commands. Never writes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Lane
from tidings.domain.words import ShownStatus
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load
from tidings.views.executions import Attempt
from tidings.views.outbox import HistoryLine

_SQL = load("observe")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """How much a lane holds."""

    live: int
    due: int
    leased: int


@_SQL.statement
async def list_attempts(tx: Tx, *, shard: Shard, item_id: UUID) -> list[Attempt]:
    """What went wrong with one item, in order."""


@_SQL.statement
async def list_audit(tx: Tx, *, shard: Shard, subject_id: UUID) -> list[HistoryLine]:
    """What was done to one thing, in order."""


async def count_queue(tx: Tx, *, shard: Shard, now: datetime) -> Mapping[Lane, LaneLoad]:
    """How much each lane of one shard holds."""
    rows = await tx.fetch(_SQL["count_queue"], shard=shard, now=now)
    return {Lane(row["lane"]): LaneLoad(row["live"], row["due"], row["leased"]) for row in rows}


async def count_items(tx: Tx, *, shard: Shard) -> Sequence[tuple[ItemStatus, bool, int]]:
    """One shard's items by status and doubt."""
    return _items(await tx.fetch(_SQL["count_items"], shard=shard))


async def count_own_items(
    tx: Tx, *, shard: Shard, workspace: Workspace, run_ids: Sequence[UUID]
) -> Sequence[tuple[ItemStatus, bool, int]]:
    """One shard's items of a workspace by status and doubt; `run_ids` are its runs in all shards."""
    own = {"tenant": workspace.tenant, "workspace": workspace.name}
    return _items(await tx.fetch(_SQL["count_own_items"], shard=shard, run_ids=run_ids, **own))


@_SQL.statement
async def list_own_runs(tx: Tx, *, shard: Shard, workspace: Workspace) -> list[UUID]:
    """The runs of a workspace in one shard."""


async def count_executions(tx: Tx, *, shard: Shard) -> Mapping[ShownStatus, int]:
    """One shard's executions by the state that people see."""
    return _executions(await tx.fetch(_SQL["count_executions"], shard=shard))


async def count_own_executions(tx: Tx, *, shard: Shard, workspace: Workspace) -> Mapping[ShownStatus, int]:
    """One shard's executions of a workspace by the state that people see."""
    own = {"tenant": workspace.tenant, "workspace": workspace.name}
    return _executions(await tx.fetch(_SQL["count_own_executions"], shard=shard, **own))


def _items(rows: Sequence[Row]) -> Sequence[tuple[ItemStatus, bool, int]]:
    return [(ItemStatus(row["status"]), row["in_doubt"], row["items"]) for row in rows]


def _executions(rows: Sequence[Row]) -> Mapping[ShownStatus, int]:
    sums = Counter[ShownStatus]()
    for row in rows:
        sums[ShownStatus(row["status"])] += row["executions"]
    return +sums  # without states that no execution is in
