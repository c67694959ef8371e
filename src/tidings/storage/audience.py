"""Find the contacts of an audience, a chunk at a time. Reached from kernel/people/audience_chunks.py."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.content.lacks import ATTRIBUTES
from tidings.domain.flow.ids import Shard
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("audience")


@dataclass(frozen=True, slots=True)
class Picked:
    """One contact of an audience, and where they live."""

    id: UUID
    time_zone: str | None


@dataclass(frozen=True, slots=True)
class Reach:
    """How many of some contacts have an address, and how many of those may not be written to."""

    reachable: int
    refused: int


async def pick_contacts(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, made_by: datetime, after: UUID | None, limit: int
) -> list[Picked]:
    """The next contacts, in the order of their ids."""
    return _picked(
        await tx.fetch(
            _SQL["pick_contacts"],
            shard=shard,
            tenant=tenant,
            workspace=workspace,
            made_by=made_by,
            after=after,
            limit=limit,
        )
    )


async def pick_contacts_of_status(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, status: str, made_by: datetime, after: UUID | None, limit: int
) -> list[Picked]:
    """The same of those with a status."""
    return _picked(
        await tx.fetch(
            _SQL["pick_contacts_of_status"],
            shard=shard,
            tenant=tenant,
            workspace=workspace,
            status=status,
            made_by=made_by,
            after=after,
            limit=limit,
        )
    )


async def pick_contacts_of_company(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    company: str,
    status: str | None,
    made_by: datetime,
    after: UUID | None,
    limit: int,
) -> list[Picked]:
    """The same of those of a company."""
    return _picked(
        await tx.fetch(
            _SQL["pick_contacts_of_company"],
            shard=shard,
            tenant=tenant,
            workspace=workspace,
            company=company,
            status=status,
            made_by=made_by,
            after=after,
            limit=limit,
        )
    )


async def pick_contacts_with_tag(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    tag: str,
    company: str | None,
    status: str | None,
    made_by: datetime,
    after: UUID | None,
    limit: int,
) -> list[Picked]:
    """The same of those with a tag."""
    return _picked(
        await tx.fetch(
            _SQL["pick_contacts_with_tag"],
            shard=shard,
            tenant=tenant,
            workspace=workspace,
            tag=tag,
            company=company,
            status=status,
            made_by=made_by,
            after=after,
            limit=limit,
        )
    )


async def pick_named_contacts(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, ids: Sequence[UUID], made_by: datetime
) -> list[Picked]:
    """Those of a workspace among the named, in no order."""
    return _picked(
        await tx.fetch(
            _SQL["pick_named_contacts"], shard=shard, tenant=tenant, workspace=workspace, ids=ids, made_by=made_by
        )
    )


async def count_reachable(tx: Tx, *, shard: Shard, channel: str, ids: Sequence[UUID]) -> Reach:
    """How many of these can be written to over a channel."""
    row = await tx.fetch_one(_SQL["count_reachable"], shard=shard, channel=channel, ids=ids)
    return Reach(row["reachable"], row["refused"]) if row else Reach(0, 0)


async def count_lacking(tx: Tx, *, shard: Shard, ids: Sequence[UUID], paths: Collection[str]) -> Mapping[str, int]:
    """How many of these contacts lack each of the attributes; what nobody lacks is not in the answer."""
    below = {path.removeprefix(ATTRIBUTES): path for path in paths}
    rows = await tx.fetch(_SQL["count_lacking"], shard=shard, ids=ids, paths=list(below))
    return {below[row["path"]]: row["contacts"] for row in rows}


def _picked(rows: Sequence[Row]) -> list[Picked]:
    return [Picked(row["id"], row["time_zone"]) for row in rows]
