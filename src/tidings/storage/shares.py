"""What each worker holds of the providers whose limit all share.

Reached from kernel/process/shares.py and who lists them.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("shares")


@dataclass(frozen=True, slots=True)
class Granted:
    """A worker's slots, how many would be fair, and until when it holds them."""

    slots: int
    fair: int
    until: datetime


@dataclass(frozen=True, slots=True)
class HeldShare:
    """What one worker holds of a provider, and the limit that it was told."""

    provider: str
    worker_id: UUID
    slots: int
    wanted: int
    provider_limit: int
    until: datetime


async def beat_share(
    tx: Tx,
    *,
    provider: str,
    worker_id: UUID,
    provider_limit: int,
    kept: int,
    wanted: int,
    turn: str,
    now: datetime,
    lease_until: datetime,
) -> Granted:
    """Renew a worker's share; it keeps what it says that it keeps, and gets more as far as is fair and free."""
    row = await tx.fetch_one(
        _SQL["beat_share"],
        provider=provider,
        worker_id=worker_id,
        provider_limit=provider_limit,
        kept=kept,
        wanted=wanted,
        turn=turn,
        now=now,
        lease_until=lease_until,
    )
    if row is None:
        raise AssertionError("beat_share() has one row")
    return Granted(row["slots"], row["fair"], row["until"])


async def drop_shares(tx: Tx, *, worker_id: UUID) -> None:
    """Give back everything that a worker holds."""
    await tx.fetch(_SQL["drop_shares"], worker_id=worker_id)


async def list_shares(tx: Tx, *, now: datetime) -> list[HeldShare]:
    """Who holds what, by provider and worker."""
    rows = await tx.fetch(_SQL["list_shares"], now=now)
    return [
        HeldShare(row["provider"], row["worker_id"], row["slots"], row["wanted"], row["provider_limit"], row["until"])
        for row in rows
    ]
