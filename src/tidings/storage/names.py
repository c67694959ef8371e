"""The names of what answers know by its id. Reached from resources/names.py. Never writes."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.contacts import ContactName

_SQL = load("names")
Names = Mapping[UUID, str]


@_SQL.statement
async def name_contacts(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Mapping[UUID, ContactName]:
    """The names of one shard's contacts, without those that were deleted."""


@_SQL.statement
async def name_executions(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Names:
    """The names of the workflows or sequences of one shard's executions."""


@_SQL.statement
async def name_runs(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Names:
    """The names of the campaigns of one shard's runs."""


@_SQL.statement
async def name_events(tx: Tx, *, shard: Shard, tenant: str, ids: Sequence[UUID]) -> Names:
    """The triggers of one shard's events."""


@_SQL.statement
async def name_definitions(tx: Tx, *, tenant: str, ids: Sequence[UUID]) -> Names:
    """The names of workflows, sequences, campaigns, segments, rules and keys."""
