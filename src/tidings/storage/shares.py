"""What each worker holds of the providers whose limit all share.

Reached from kernel/process/shares.py and resources/.
"""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("shares")


class Granted(Struct, frozen=True):
    """A worker's slots, how many would be fair, and until when it holds them."""

    slots: int
    fair: int
    until: datetime


class HeldShare(Struct, frozen=True):
    """What one worker holds of a provider, and the limit that it was told."""

    provider: str
    worker_id: UUID
    slots: int
    wanted: int
    provider_limit: int
    until: datetime


@_SQL.statement
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
    """Renew a worker's share; it keeps what it asks to keep, and gets more as far as that is fair and free."""


@_SQL.statement
async def drop_shares(tx: Tx, *, worker_id: UUID) -> None:
    """Release everything that a worker holds."""


@_SQL.statement
async def list_shares(tx: Tx, *, now: datetime) -> list[HeldShare]:
    """What each worker holds, by provider and worker."""
