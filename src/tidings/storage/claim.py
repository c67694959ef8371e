"""Lease what is due, and know when the next thing will be. Reached from kernel/flow/claim.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Fence
from tidings.domain.flow.queue import Claimed, Kind, Lane, Stop
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("claim")
_KINDS = {kind.value: kind for kind in Kind}


class Claim(msgspec.Struct, frozen=True):
    """What a claim took, and up to which due time it has taken everything; None where it had to leave some.

    Where there are suspects (rows that were worked on in a crash), it has taken the first and says when that was due.
    """

    leases: list[Claimed]
    reached: datetime | None
    suspect_due_at: datetime | None = None


class ClaimScope(msgspec.Struct, frozen=True):
    """What every claim says, whose ever work it is for; `without` are rows to leave while they have these fences."""

    shard: Shard
    lane: Lane
    since: datetime
    now: datetime
    lease_until: datetime
    limit: int
    without: Mapping[UUID, int] = {}

    def values(self) -> dict[str, object]:
        """The parameters of a statement."""
        values = msgspec.structs.asdict(self)
        without: Mapping[UUID, int] = values.pop("without")
        return {**values, "passed_ids": list(without), "passed_fences": list(without.values())}


async def claim_due(tx: Tx, *, scope: ClaimScope) -> Claim:
    """Lease up to `limit` rows that are due."""
    return claim_of_rows(await tx.fetch(_SQL["claim_due"], **scope.values()), scope)


def claim_of_rows(rows: Sequence[Row], scope: ClaimScope) -> Claim:
    """What a claim took, from the rows that it returned."""
    leases = [_claimed(row, scope.lease_until) for row in rows]
    if rows and rows[0]["suspect_due_at"]:
        return Claim(leases, None, rows[0]["suspect_due_at"])
    if len(rows) < scope.limit:
        return Claim(leases, scope.now)
    # Only one row carries it: reading a time costs the driver as much as the rest of a row.
    return Claim(leases, next(row["reached"] for row in rows if row["reached"]))


async def reread_claim(tx: Tx, *, shard: Shard, lane: Lane, lease_until: datetime) -> list[Claimed]:
    """Read back what an earlier claim took, when its answer was lost."""
    rows = await tx.fetch(_SQL["reread_claim"], shard=shard, lane=lane, lease_until=lease_until)
    return [_claimed(row, lease_until) for row in rows]


async def next_due(tx: Tx, *, shard: Shard, since: Mapping[Lane, datetime]) -> Mapping[Lane, datetime]:
    """The earliest due time of each lane that has any row, looked for from the given times on."""
    begins = {lane.name.lower(): since[lane] for lane in Lane}
    row = await tx.fetch_one(_SQL["next_due"], shard=shard, **begins)
    times = {lane: row[lane.name.lower()] for lane in Lane} if row else {}
    return {lane: due for lane, due in times.items() if due is not None}


async def give_back_leases(
    tx: Tx, *, shard: Shard, ids: Sequence[UUID], fences: Sequence[Fence], due_at: datetime
) -> set[UUID]:
    """End leases that still hold, with nothing done; the rows are due again at the given time."""
    rows = await tx.fetch(_SQL["give_back_leases"], shard=shard, ids=ids, fences=fences, due_at=due_at)
    return {row["id"] for row in rows}


async def renew_leases(
    tx: Tx, *, shard: Shard, ids: Sequence[UUID], fences: Sequence[Fence], lease_until: datetime
) -> Mapping[UUID, Stop | None]:
    """Extend the leases that still hold; return what was asked of each meanwhile."""
    rows = await tx.fetch(_SQL["renew_leases"], shard=shard, ids=ids, fences=fences, lease_until=lease_until)
    return {row["id"]: Stop(row["stop"]) if row["stop"] else None for row in rows}


def _claimed(row: Row, until: datetime) -> Claimed:
    id, kind, fence, crashes, stop, workspace_hash = row[:6]
    return Claimed(id, _KINDS[kind], fence, crashes, Stop(stop) if stop else None, until, workspace_hash)
