"""The connections of workspaces. Reached from kernel/connecting.py, which remembers them, and from resources/."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tidings.domain.connections.connection import WorkspaceConnection
from tidings.domain.flow.ids import Shard, Workspace
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.executions import Attempt

_SQL = load("connections")
TAKEN_OVER_WITHIN = timedelta(minutes=1)
"""By when every process that calls anything has taken a change over."""


class SealedConnection(WorkspaceConnection, frozen=True):
    """A connection with its credentials as they are stored, and when these or its settings last changed, if ever."""

    sealed: bytes | None = None
    set_up_anew_at: datetime | None = None

    def knows_calls_of(self, time: datetime) -> bool:
        """Whether what it leads to is sure to be what was called then: a key means nothing to another account."""
        return self.set_up_anew_at is None or time >= self.set_up_anew_at + TAKEN_OVER_WITHIN


class ListedConnection(WorkspaceConnection, frozen=True, kw_only=True):
    """A connection, and when it was made and changed."""

    created_at: datetime
    updated_at: datetime


class ProviderSum(msgspec.Struct, frozen=True):
    """How many items were sent and have failed, and how long the calls of those sent took together."""

    sent: int
    failed: int
    seconds: float


@_SQL.statement
async def take_connection_version(tx: Tx) -> int:
    """Return the version of a change that this transaction is about to make; others wait until it ends."""


@_SQL.statement
async def list_changed_connections(tx: Tx, *, after: int) -> list[SealedConnection]:
    """Every connection that was changed after a version, in the order of the changes."""


@_SQL.statement
async def list_connections(tx: Tx, *, workspace: Workspace) -> list[ListedConnection]:
    """A workspace's connections, in the order in which they are tried."""


@_SQL.statement
async def lock_connection(tx: Tx, *, workspace: Workspace, id: UUID) -> SealedConnection | None:
    """One connection, which nobody else changes until the transaction ends."""


async def insert_connection(tx: Tx, *, connection: SealedConnection, now: datetime) -> None:
    """Add a connection."""
    await tx.fetch(
        _SQL["insert_connection"], **_values(connection, now), channel=connection.channel, kind=connection.kind
    )


async def change_connection(tx: Tx, *, connection: SealedConnection, now: datetime) -> bool:
    """Store a connection as it is from now on; False when it was removed meanwhile."""
    values = _values(connection, now)
    return bool(await tx.fetch(_SQL["change_connection"], **values, set_up_anew_at=connection.set_up_anew_at))


@_SQL.statement
async def remove_connection(tx: Tx, *, workspace: Workspace, id: UUID, version: int, now: datetime) -> UUID | None:
    """Take a connection out of use for good; None when it is not there any more."""


@_SQL.statement
async def name_connections(tx: Tx, *, workspace: Workspace, ids: Sequence[UUID]) -> Mapping[UUID, str]:
    """The names of some connections of a workspace, also of those that were removed."""


@_SQL.statement
async def forget_credentials(
    tx: Tx, *, workspace: Workspace, id: UUID, sealed: bytes, version: int, now: datetime
) -> UUID | None:
    """Remove credentials that no key opens; None when they have been set anew or removed since they were read."""


@_SQL.statement
async def sum_up_provider(tx: Tx, *, shard: Shard, workspace: Workspace, provider: str, since: UUID) -> ProviderSum:
    """What became, in one shard, of a connection's items that are not older than an id."""


@_SQL.statement
async def count_doubt_of_provider(tx: Tx, *, shard: Shard, workspace: Workspace, provider: str) -> int:
    """How many of a connection's items are in doubt, in one shard."""


@_SQL.statement
async def list_errors_of_provider(
    tx: Tx, *, shard: Shard, workspace: Workspace, provider: str, since: UUID, limit: int
) -> list[Attempt]:
    """The last attempts with a connection that did not succeed, in one shard."""


async def read_dialogue(tx: Tx, *, shard: Shard, workspace: Workspace, id: UUID) -> Sequence[str] | None:
    """The lines of the last call of a test; None before there was one."""
    row = await tx.fetch_one(
        _SQL["read_dialogue"], shard=shard, id=id, tenant=workspace.tenant, workspace=workspace.name
    )
    lines = row["result"].get("dialogue") if row and isinstance(row["result"], dict) else None
    return lines if isinstance(lines, list) else None


def place_of_credentials(workspace: Workspace, id: str) -> tuple[str, ...]:
    """The place that a connection's credentials are sealed for."""
    return ("connection", workspace.tenant, workspace.name, id)


def _values(connection: SealedConnection, now: datetime) -> dict[str, object]:
    return {
        "tenant": connection.workspace.tenant,
        "workspace": connection.workspace.name,
        "id": connection.id,
        "name": connection.name,
        "settings": connection.settings,
        "credential_names": list(connection.credential_names),
        "credentials": connection.sealed,
        "limits": msgspec.to_builtins(connection.limits),
        "position": connection.position,
        "weight": connection.weight,
        "is_sticky": connection.is_sticky,
        "is_enabled": connection.is_enabled,
        "version": connection.version,
        "now": now,
    }
