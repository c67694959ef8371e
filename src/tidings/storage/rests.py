"""The providers that all workers leave alone, and for how long.

Reached from kernel/gate/rests.py and kernel/gate/outages.py.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("rests")


class StoredRest(msgspec.Struct, frozen=True):
    """A provider that rests; with `since`, one that cannot be used and is only tried when a rest is over."""

    provider: str
    until: datetime
    reason: str
    since: datetime | None = None
    times: int = 0
    is_refused: bool = False
    rested_at: datetime | None = None
    tried_at: datetime | None = None


@_SQL.statement
async def load_rests(tx: Tx, *, now: datetime) -> Mapping[str, StoredRest]:
    """The rests in force and the outages not known to be over, by provider."""


@_SQL.statement
async def load_host_rests(tx: Tx, *, names: Sequence[str]) -> Mapping[str, StoredRest]:
    """Those of some hosts that did not answer when they were last called, by the names of their rests."""


@_SQL.statement
async def list_host_rests(tx: Tx, *, prefix: str) -> list[StoredRest]:
    """The hosts whose rests have names that begin so."""


@_SQL.statement
async def forget_rest(tx: Tx, *, provider: str) -> datetime | None:
    """Let a host be called again; return until when it would have rested, None when it did not."""


@_SQL.statement
async def forget_host_rests(tx: Tx, *, prefix: str) -> list[datetime]:
    """Let all hosts be called again whose rests have names that begin so; return until when they would have rested."""


@_SQL.statement
async def forget_old_host_rests(tx: Tx, *, before: datetime) -> None:
    """Forget hosts whose last rest began before that."""


@_SQL.statement
async def lock_rest(tx: Tx, *, provider: str) -> StoredRest | None:
    """Lock one provider's rest until the transaction ends, and return it."""


async def rest_unavailable(tx: Tx, *, rest: StoredRest, started_at: datetime) -> None:
    """Let a provider rest that a call begun at `started_at` could not use, unless it has begun to rest since."""
    await tx.fetch(
        _SQL["rest_unavailable"],
        provider=rest.provider,
        paused_until=rest.until,
        reason=rest.reason,
        since=rest.since,
        times=rest.times,
        refused=rest.is_refused,
        rested_at=rest.rested_at,
        started_at=started_at,
    )


async def try_unavailable(tx: Tx, *, provider: str, now: datetime, lost_before: datetime) -> bool:
    """Claim the trial of a provider whose rest is over; False when another worker has it."""
    return await tx.fetch_one(_SQL["try_unavailable"], provider=provider, now=now, lost_before=lost_before) is not None


@_SQL.statement
async def end_outage(tx: Tx, *, provider: str, started_at: datetime) -> datetime | None:
    """Forget an outage because a call begun at `started_at` was answered; return until when it would have rested."""


async def wake_resting(
    tx: Tx, *, shard: Shard, lanes: Sequence[Lane], rested_until: datetime, now: datetime
) -> set[Lane]:
    """Make due what waits in a shard for the end of a rest; return the lanes it is in."""
    rows = await tx.fetch(_SQL["wake_resting"], shard=shard, lanes=lanes, rested_until=rested_until, now=now)
    return {Lane(row["lane"]) for row in rows}
