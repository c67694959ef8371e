"""What the operator set for tenants and workspaces. Reached from resources/, and from directory.py for a call."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from tidings.domain.flow.ids import Workspace
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.workspaces import TenantSettings, WorkspaceSettings

_SQL = load("workspaces")


class StoredSettings(Struct, frozen=True):
    """The settings of one workspace, or their defaults."""

    weight: int
    tenant_weight: int
    private_addresses: list[str]
    phone_region: str | None
    updated_at: datetime | None


@_SQL.statement
async def list_workspaces(tx: Tx, *, tenant: str | None) -> list[WorkspaceSettings]:
    """Every workspace that is known, of one tenant or of all, by name."""


@_SQL.statement
async def read_workspace_settings(tx: Tx, *, workspace: Workspace) -> StoredSettings:
    """The settings of one workspace; the defaults where nothing is set."""


@_SQL.statement
async def put_workspace_settings(
    tx: Tx,
    *,
    workspace: Workspace,
    weight: int | None,
    private_addresses: Sequence[str] | None,
    phone_region: str | None,
    now: datetime,
) -> None:
    """Set what is not None, and leave the rest; an empty region is none of its own."""


async def read_phone_regions(tx: Tx, *, workspaces: Sequence[Workspace]) -> Mapping[Workspace, str | None]:
    """The country of each workspace's phone numbers; None where it has none of its own."""
    rows = await tx.fetch(
        _SQL["read_phone_regions"],
        tenants=[one.tenant for one in workspaces],
        workspaces=[one.name for one in workspaces],
    )
    found = {Workspace(row["tenant_id"], row["workspace_id"]): row["phone_region"] for row in rows}
    return {one: found.get(one) for one in workspaces}


@_SQL.statement
async def list_tenants(tx: Tx) -> list[TenantSettings]:
    """Every tenant that is known, by name."""


@_SQL.statement
async def put_tenant_weight(tx: Tx, *, tenant: str, weight: int, now: datetime) -> TenantSettings:
    """Set a tenant's weight."""
