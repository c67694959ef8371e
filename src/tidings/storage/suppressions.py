"""Addresses of deleted people that want nothing more, as hashes. Reached from resources/suppressions.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from tidings.domain.flow.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("suppressions")


class Kept(Struct, frozen=True):
    """Why an address wants nothing more, and since when."""

    reason: str
    since: datetime


async def keep_suppressions(tx: Tx, *, shard: Shard, kept: Mapping[bytes, Kept]) -> None:
    """Add those of one shard, by their hashes."""
    await tx.fetch(
        _SQL["keep_suppressions"],
        shard=shard,
        hashes=list(kept),
        reasons=[one.reason for one in kept.values()],
        since=[one.since for one in kept.values()],
    )


@_SQL.statement
async def has_suppressions(tx: Tx, *, shard: Shard) -> bool:
    """Whether a shard has any."""


@_SQL.statement
async def find_suppressions(tx: Tx, *, shard: Shard, hashes: Sequence[bytes]) -> Mapping[bytes, Kept]:
    """Those of one shard that are kept, by their hashes."""


@_SQL.statement
async def lift_suppressions(tx: Tx, *, shard: Shard, hashes: Sequence[bytes]) -> None:
    """Forget those of one shard."""
