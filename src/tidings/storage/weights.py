"""What the operator has set for tenants and workspaces: how much each gets beside others. Reached from kernel/turns."""

import msgspec

from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("weights")


class StoredWeight(msgspec.Struct, frozen=True):
    """A weight other than 1, of a workspace or of its whole tenant (no workspace)."""

    tenant: str
    workspace: str | None
    weight: int


@_SQL.statement
async def list_weights(tx: Tx) -> list[StoredWeight]:
    """Every weight that is not 1."""
