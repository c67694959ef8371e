"""A sample of people from the live database, and what became of them in a scratch one. Reached from simulation/."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import EVERYTHING
from tidings.domain.people.audience import Audience
from tidings.domain.simulation import SimulatedItem, Walk
from tidings.storage.contact_parts import for_filter
from tidings.storage.database import Row, Tx
from tidings.storage.rows import reader_of
from tidings.storage.statements import load
from tidings.views.contacts import Contact

_SQL = load("simulation")
_READ_SAMPLE: Callable[[Sequence[Row]], Mapping[str, Contact]] = reader_of(Mapping[str, Contact])


async def count_audience(tx: Tx, *, shard: Shard, workspace: Workspace, audience: Audience, now: datetime) -> int:
    """How many of one shard's contacts an audience has."""
    statement, values = for_filter(_SQL["count_audience"], audience.everybody, workspace, EVERYTHING, now)
    row = await tx.fetch_one(statement, shard=shard, **values)
    return row["people"] if row else 0


async def sample_audience(
    tx: Tx, *, shard: Shard, workspace: Workspace, audience: Audience, now: datetime, seed: int, limit: int
) -> Mapping[str, Contact]:
    """Up to so many contacts of an audience, those with the lowest draws first."""
    statement, values = for_filter(_SQL["sample_audience"], audience.everybody, workspace, EVERYTHING, now)
    rows = await tx.fetch(statement, shard=shard, seed=str(seed), limit=limit, **values)
    return _READ_SAMPLE(rows)


@_SQL.statement
async def list_outgoing(tx: Tx, *, shard: Shard, after: UUID, limit: int) -> list[SimulatedItem]:
    """Items after an id."""


@_SQL.statement
async def list_walks(tx: Tx, *, shard: Shard, after: UUID, limit: int) -> list[Walk]:
    """Executions and runs after an id."""
