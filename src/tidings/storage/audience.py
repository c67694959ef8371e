"""Find the contacts of an audience, a chunk at a time. Reached from kernel/people/audience_chunks.py."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.channels import Channel
from tidings.domain.content.lacks import ATTRIBUTES
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import EVERYTHING
from tidings.domain.people.audience_filter import AudienceFilter
from tidings.storage.contact_parts import address_fields, everything_after, for_filter
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("audience")


@dataclass(frozen=True, slots=True)
class Picked:
    """One contact of an audience, and where they live."""

    id: UUID
    time_zone: str | None


@dataclass(frozen=True, slots=True)
class Reach:
    """How many contacts match, how many of them have an address, and how many of those may not be written to."""

    matching: int = 0
    addressed: int = 0
    refused: int = 0

    def __add__(self, other: "Reach") -> "Reach":
        return Reach(self.matching + other.matching, self.addressed + other.addressed, self.refused + other.refused)


async def pick_contacts(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    wanted: AudienceFilter,
    now: datetime,
    made_by: datetime,
    after: UUID | None,
    limit: int,
) -> list[Picked]:
    """The next contacts of a filter, in the order of their ids."""
    statement, values = for_filter(_SQL["pick_contacts"], wanted, workspace, everything_after(after), now)
    rows = await tx.fetch(statement, shard=shard, made_by=made_by, limit=limit, **values)
    return [Picked(row["id"], row["time_zone"]) for row in rows]


async def count_reachable(
    tx: Tx, *, shard: Shard, workspace: Workspace, wanted: AudienceFilter, now: datetime, channel: Channel | None
) -> Reach:
    """How many contacts match a filter, and can be written to over a channel; without one, nobody has an address."""
    fields = address_fields(channel) if channel else []
    statement, values = for_filter(_SQL["count_reachable"], wanted, workspace, EVERYTHING, now)
    row = await tx.fetch_one(
        statement, shard=shard, made_by=now, channel=channel or "", address_fields=fields, **values
    )
    return Reach(row["matching"], row["addressed"], row["refused"]) if row else Reach()


async def count_audience_lacking(
    tx: Tx, *, shard: Shard, workspace: Workspace, wanted: AudienceFilter, now: datetime, paths: Collection[str]
) -> Mapping[str, int]:
    """How many contacts of a filter lack each of the attributes."""
    below = _below_attributes(paths)
    statement, values = for_filter(_SQL["count_audience_lacking"], wanted, workspace, EVERYTHING, now)
    rows = await tx.fetch(statement, shard=shard, made_by=now, paths=list(below), **values)
    return {below[row["path"]]: row["contacts"] for row in rows}


async def count_lacking(tx: Tx, *, shard: Shard, ids: Sequence[UUID], paths: Collection[str]) -> Mapping[str, int]:
    """How many of these contacts lack each of the attributes; an attribute that none lacks is not in the answer."""
    below = _below_attributes(paths)
    rows = await tx.fetch(_SQL["count_lacking"], shard=shard, ids=ids, paths=list(below))
    return {below[row["path"]]: row["contacts"] for row in rows}


def _below_attributes(paths: Collection[str]) -> Mapping[str, str]:
    """Paths as templates write them, by what they are within a contact's attributes."""
    return {path.removeprefix(ATTRIBUTES): path for path in paths}
