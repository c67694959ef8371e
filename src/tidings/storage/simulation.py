"""A sample of people from the live database, and what became of them in a scratch one. Reached from simulation/."""

from collections.abc import Mapping
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.audience import Audience
from tidings.domain.simulation import Outgoing, Walk
from tidings.storage.contacts import ShownContact, shown_contact
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("simulation")


async def count_audience(tx: Tx, *, shard: Shard, workspace: Workspace, audience: Audience) -> int:
    """How many of one shard's contacts an audience has."""
    row = await tx.fetch_one(_SQL["count_audience"], shard=shard, **_asked(workspace, audience))
    return row["people"] if row else 0


async def sample_audience(
    tx: Tx, *, shard: Shard, workspace: Workspace, audience: Audience, seed: int, limit: int
) -> Mapping[str, ShownContact]:
    """Up to so many of them by their draws, the lowest first."""
    asked = _asked(workspace, audience)
    rows = await tx.fetch(_SQL["sample_audience"], shard=shard, **asked, seed=str(seed), limit=limit)
    return {row["draw"]: shown_contact(row) for row in rows}


@_SQL.statement
async def list_outgoing(tx: Tx, *, shard: Shard, after: UUID, limit: int) -> list[Outgoing]:
    """Items after an id."""


@_SQL.statement
async def list_walks(tx: Tx, *, shard: Shard, after: UUID, limit: int) -> list[Walk]:
    """Executions and runs after an id."""


def _asked(workspace: Workspace, audience: Audience) -> dict[str, object]:
    return {
        "tenant": workspace.tenant,
        "workspace": workspace.name,
        "filtered": audience.has_filter,
        "company": audience.company,
        "status": audience.status,
        "tag": audience.tag,
        "contact_ids": list(audience.contact_ids),
        "exclude_contact_ids": list(audience.exclude_contact_ids),
    }
