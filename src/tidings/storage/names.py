"""The names of what answers know by its id. Reached from resources/names.py. Never writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("names")
Names = Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class ContactName:
    """What a contact is called."""

    external_id: str
    name: str | None
    email: str | None

    def __str__(self) -> str:
        """For a table: the name or else the address, and the external id, by which every command knows it."""
        called = self.name or self.email
        return f"{called} ({self.external_id})" if called and called != self.external_id else self.external_id


async def name_contacts(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Mapping[UUID, ContactName]:
    """What contacts of one shard are called, without those that were deleted."""
    rows = await tx.fetch(_SQL["name_contacts"], shard=shard, tenant=tenant, ids=ids)
    return {row["id"]: ContactName(row["external_id"], row["name"], row["email"]) for row in rows}


async def name_executions(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Names:
    """The names of the workflows or sequences of one shard's executions."""
    return _names(await tx.fetch(_SQL["name_executions"], shard=shard, tenant=tenant, ids=ids))


async def name_runs(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Names:
    """The names of the campaigns of one shard's runs."""
    return _names(await tx.fetch(_SQL["name_runs"], shard=shard, tenant=tenant, ids=ids))


async def name_events(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Names:
    """The triggers of one shard's events."""
    return _names(await tx.fetch(_SQL["name_events"], shard=shard, tenant=tenant, ids=ids))


async def name_definitions(tx: Tx, *, tenant: str, ids: Sequence[UUID]) -> Names:
    """The names of workflows, sequences, campaigns, segments, rules and keys."""
    return _names(await tx.fetch(_SQL["name_definitions"], tenant=tenant, ids=ids))


def _names(rows: Sequence[Row]) -> Names:
    return {row["id"]: row["name"] for row in rows}
