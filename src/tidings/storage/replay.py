"""Reopen failed executions, in one transaction of one shard. Reached from kernel/manage/replay.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.replay import FailedExecution, Reopening, TriedItem
from tidings.storage.database import Tx
from tidings.storage.load import frontier_from_json, frontier_to_json
from tidings.storage.resolve import fence_above_all
from tidings.storage.statements import load

_SQL = load("replay")


@_SQL.statement
async def lock_queue_rows(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, bool]:
    """Lock the queue rows that exist; return for each whether a worker holds it."""


async def lock_failed_executions(
    tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]
) -> Mapping[UUID, FailedExecution]:
    """Lock those of the executions that have failed."""
    rows = await tx.fetch(
        _SQL["lock_failed_executions"], shard=shard, tenant=workspace.tenant, workspace=workspace.name, ids=ids
    )
    return {
        row["id"]: FailedExecution(
            frontier_from_json(row["frontier"]),
            row["vars"],
            row["error"],
            row["error_node"],
            Lane(row["lane"]),
            row["version_id"],
        )
        for row in rows
    }


@_SQL.statement
async def tried_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> Mapping[UUID, list[TriedItem]]:
    """The items of executions, by execution."""


async def enqueue_reopened(
    tx: Tx, *, shard: Shard, lanes: Mapping[UUID, Lane], due_at: Mapping[UUID, datetime], now: datetime
) -> set[UUID]:
    """Make executions due, at once where no time is given; return those that no worker holds."""
    rows = await tx.fetch(
        _SQL["enqueue_reopened"],
        shard=shard,
        ids=list(lanes),
        lanes=list(lanes.values()),
        due_at=[due_at.get(id, now) for id in lanes],
        fence=fence_above_all(now),
    )
    return {row["id"] for row in rows}


async def reopen_failed_executions(
    tx: Tx, *, shard: Shard, reopenings: Mapping[UUID, Reopening], now: datetime
) -> set[UUID]:
    """Let executions go on from where they failed."""
    rows = await tx.fetch(
        _SQL["reopen_failed_executions"],
        shard=shard,
        ids=list(reopenings),
        frontiers=[frontier_to_json(one.frontier) for one in reopenings.values()],
        cursors=[one.cursor for one in reopenings.values()],
        vars=[one.vars for one in reopenings.values()],
        now=now,
    )
    return {row["id"] for row in rows}


async def requeue_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> int:
    """Let items be tried again with fresh attempts; return how many."""
    return len(await tx.fetch(_SQL["requeue_items"], shard=shard, ids=ids))


async def forget_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> int:
    """Delete items that were never called for; return how many."""
    return len(await tx.fetch(_SQL["forget_items"], shard=shard, ids=ids))


async def forget_log(tx: Tx, *, shard: Shard, nodes: Mapping[UUID, str]) -> None:
    """Delete the log of nodes that are walked again."""
    await tx.fetch(_SQL["forget_log"], shard=shard, ids=list(nodes), nodes=list(nodes.values()))
