"""A sample of people from the live database, and what became of them in a scratch one. Reached from simulation/."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.paging import EVERYTHING
from tidings.domain.people.audience import Audience
from tidings.domain.simulation import Outgoing, Walk
from tidings.storage.contact_parts import for_filter
from tidings.storage.database import Row, Tx
from tidings.storage.rows import reader_of
from tidings.storage.statements import load
from tidings.views.contacts import Contact

_SQL = load("simulation")
_READ_SAMPLE: Callable[[Sequence[Row]], Mapping[str, Contact]] = reader_of(Mapping[str, Contact])


async def count_audience(tx: Tx, *, shard: Shard, workspace: Workspace, audience: Audience) -> int:
    """How many of one shard's contacts an audience has."""
    statement, values = for_filter(_SQL["count_audience"], audience.everybody, workspace, EVERYTHING)
    row = await tx.fetch_one(statement, shard=shard, **values)
    return row["people"] if row else 0


async def sample_audience(
    tx: Tx, *, shard: Shard, workspace: Workspace, audience: Audience, seed: int, limit: int
) -> Mapping[str, Contact]:
    """Up to so many of them by their draws, the lowest first."""
    statement, values = for_filter(_SQL["sample_audience"], audience.everybody, workspace, EVERYTHING)
    rows = await tx.fetch(statement, shard=shard, seed=str(seed), limit=limit, **values)
    return _READ_SAMPLE(rows)


async def list_outgoing(tx: Tx, *, shard: Shard, after: UUID, limit: int) -> list[tuple[UUID, Outgoing]]:
    """Items after an id, each with its own."""
    rows = await tx.fetch(_SQL["list_outgoing"], shard=shard, after=after, limit=limit)
    return [
        (
            row["id"],
            Outgoing(
                owner=row["owner"],
                contact_id=row["contact_id"],
                step=row["step"],
                channel=Channel(row["channel"]),
                recipient=row["recipient"],
                payload=row["payload"] or {},
                status=ItemStatus(row["status"]),
                reason=row["error"],
                at=row["at"],
            ),
        )
        for row in rows
    ]


async def list_walks(tx: Tx, *, shard: Shard, after: UUID, limit: int) -> list[tuple[UUID, Walk]]:
    """Executions and runs after an id, each with its own."""
    rows = await tx.fetch(_SQL["list_walks"], shard=shard, after=after, limit=limit)
    return [
        (
            row["id"],
            Walk(
                id=row["id"],
                contact_id=row["contact_id"],
                status=row["status"],
                error=row["error"],
                error_node=row["error_node"],
                ended_at=row["ended_at"],
            ),
        )
        for row in rows
    ]
