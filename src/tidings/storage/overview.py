"""What happens in a workspace just now: counts of calls by the minute, and how much waits, is in doubt or has failed.

Reached from kernel/process/call_counts.py, which writes the counts, and resources/overview.py.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.overview import CallCount

_SQL = load("overview")


class CountedCalls(Struct, frozen=True):
    """How many calls of one worker ended in one way within one minute."""

    workspace: Workspace
    minute: datetime
    channel: str
    outcome: str
    calls: int


class OwnQueue(Struct, frozen=True, kw_only=True):
    """What a workspace has in one lane of one shard."""

    lane: Lane
    due_since: datetime | None
    due: int
    live: int


async def write_call_counts(tx: Tx, *, worker_id: UUID, counts: Sequence[CountedCalls]) -> None:
    """Write a worker's counts of some minutes."""
    await tx.fetch(
        _SQL["write_call_counts"],
        worker_id=worker_id,
        tenants=[one.workspace.tenant for one in counts],
        workspaces=[one.workspace.name for one in counts],
        minutes=[one.minute for one in counts],
        channels=[one.channel for one in counts],
        outcomes=[one.outcome for one in counts],
        calls=[one.calls for one in counts],
    )


@_SQL.statement
async def forget_call_counts(tx: Tx, *, minute: datetime) -> None:
    """Delete the counts of minutes before this one."""


@_SQL.statement
async def list_call_counts(tx: Tx, *, workspace: Workspace, minute: datetime) -> list[CallCount]:
    """The calls of a workspace from a minute on, by minute, channel and outcome."""


@_SQL.statement
async def sum_call_counts(tx: Tx, *, workspace: Workspace, minute: datetime) -> Mapping[str, int]:
    """The calls of a workspace from a minute on, by outcome."""


async def look_at_own_queue(
    tx: Tx, *, shard: Shard, workspace: Workspace, lanes: Sequence[Lane], now: datetime, most: int
) -> list[OwnQueue]:
    """What a workspace has in some lanes of one shard, in the order of the lanes."""
    rows = await tx.fetch(
        _SQL["look_at_own_queue"],
        shard=shard,
        workspace_hash=workspace.hash,
        lanes=list(lanes),
        now=now,
        most=most,
    )
    return [
        OwnQueue(lane=Lane(row["lane"]), due_since=row["due_since"], due=row["due"], live=row["live"]) for row in rows
    ]


@_SQL.statement
async def count_own_doubt(tx: Tx, *, shard: Shard, workspace: Workspace, most: int) -> int:
    """How many items of a workspace are in doubt in one shard, up to so many."""


@_SQL.statement
async def count_own_failures(tx: Tx, *, shard: Shard, workspace: Workspace, failed_since: datetime, most: int) -> int:
    """How many executions, and items of runs and events, have failed in one shard since then, up to so many of each."""
