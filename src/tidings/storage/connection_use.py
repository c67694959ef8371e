"""How much has left through connections with a limit. Reached from kernel/gate/limits.py and resources/."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from tidings.domain.connections.limits import PERIODS, RateRule
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("connection_use")


class Places(Struct, frozen=True):
    """How many of the places that were wanted for a domain were granted, and when the next is free if not all."""

    domain: str
    granted: int
    free_at: datetime | None


class UsedPlaces(Struct, frozen=True):
    """The places taken in the parts of one period, the oldest first, and the number of the newest part."""

    last: int
    counts: Sequence[int]
    since: datetime


async def take_places(
    tx: Tx,
    *,
    provider: str,
    wanted: Mapping[str, int],
    rules: Sequence[RateRule],
    warm_up: Sequence[int],
    now: datetime,
) -> dict[str, Places]:
    """Take places for as many messages to each domain as every limit allows."""
    rows = await tx.fetch(
        _SQL["take_places"],
        provider=provider,
        domains=list(wanted),
        wanted=list(wanted.values()),
        of_domains=[one.domain for one in rules],
        periods=[one.period.name for one in rules],
        most=[one.most for one in rules],
        part_ms=[one.period.part_ms for one in rules],
        parts=[one.period.parts for one in rules],
        warm_up=list(warm_up),
        now=now,
    )
    return {row["domain"]: Places(row["domain"], row["granted"], row["free_at"]) for row in rows}


@_SQL.statement
async def read_use(tx: Tx, *, provider: str) -> Mapping[str, UsedPlaces]:
    """What was taken of the limits of a connection as a whole, by period."""


async def forget_use(tx: Tx, *, provider: str, now: datetime) -> None:
    """Forget the domains of which no place counts any more."""
    milliseconds = int(now.timestamp() * 1_000)
    await tx.fetch(
        _SQL["forget_use"],
        provider=provider,
        periods=[one.name for one in PERIODS],
        before=[milliseconds // one.part_ms - one.parts for one in PERIODS],
    )
