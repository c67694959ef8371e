"""Addresses of deleted contacts that must get nothing more, as hashes. Reached from resources/suppressions.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from tidings.domain.flow.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("suppressions")


class Kept(Struct, frozen=True):
    """Why an address must get nothing more, and since when."""

    reason: str
    since: datetime


async def keep_suppressions(tx: Tx, *, shard: Shard, kept: Mapping[bytes, Kept]) -> None:
    """Add suppressions of one shard, by their hashes."""
    await tx.fetch(
        _SQL["keep_suppressions"],
        shard=shard,
        hashes=list(kept),
        reasons=[one.reason for one in kept.values()],
        since=[one.since for one in kept.values()],
    )


@_SQL.statement
async def has_suppressions(tx: Tx, *, shard: Shard) -> bool:
    """Whether a shard has any suppressions."""


@_SQL.statement
async def find_suppressions(tx: Tx, *, shard: Shard, hashes: Sequence[bytes]) -> Mapping[bytes, Kept]:
    """The suppressions of one shard among these hashes, by hash."""


@_SQL.statement
async def lift_suppressions(tx: Tx, *, shard: Shard, hashes: Sequence[bytes]) -> None:
    """Delete suppressions of one shard."""
