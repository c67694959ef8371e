"""A sample of people from the live database, and what became of them in a scratch one. Reached from simulation/."""

from collections.abc import Mapping
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.domain.people.audience import Audience
from tidings.domain.simulation import SimulatedMessage, Walk
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


async def list_outgoing(tx: Tx, *, shard: Shard, after: UUID, limit: int) -> list[tuple[UUID, SimulatedMessage]]:
    """Items after an id, each with its own."""
    rows = await tx.fetch(_SQL["list_outgoing"], shard=shard, after=after, limit=limit)
    return [
        (
            row["id"],
            SimulatedMessage(
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
