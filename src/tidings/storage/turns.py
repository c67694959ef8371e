"""Lease what is due of some workspaces, and find out who has work. Reached from kernel/flow/turns.py."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.storage.claim import Claim, ClaimScope, claim_of_rows
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("turns")


class DueWorkspace(msgspec.Struct, frozen=True):
    """A workspace with work in a shard and lane: the first due time, and how many rows are due, up to a limit."""

    workspace_hash: int
    due_at: datetime
    due: int


async def claim_due_of(tx: Tx, *, workspace_hash: int, scope: ClaimScope) -> Claim:
    """Lease rows of one workspace that are due, however long its backlog is."""
    rows = await tx.fetch(_SQL["claim_due_of"], workspace_hash=workspace_hash, **scope.values())
    return claim_of_rows(rows, scope)


async def claim_due_of_some(tx: Tx, *, workspace_hashes: Sequence[int], scope: ClaimScope) -> Claim:
    """Lease rows of several workspaces that have little."""
    rows = await tx.fetch(_SQL["claim_due_of_some"], workspace_hashes=workspace_hashes, **scope.values())
    return claim_of_rows(rows, scope)


@_SQL.statement
async def find_due_workspaces(
    tx: Tx, *, shard: Shard, lane: Lane, after: int, since: datetime, now: datetime, most: int, limit: int
) -> list[DueWorkspace]:
    """The next workspaces with work in a shard and lane, in the order of their hashes."""
