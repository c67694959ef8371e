"""What has failed in a workspace, the latest first. Reached from resources/failures.py. Never writes."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("failures")


class FoundFailure(Struct, frozen=True, kw_only=True):
    """An execution or an item that failed."""

    id: UUID
    at: datetime
    error: str
    node: str | None
    contact_id: UUID | None
    execution_id: UUID | None
    item_id: UUID | None
    """Null for an execution."""
    run_id: UUID | None
    event_id: UUID | None
    call: Sequence[str]
    """The channel, the provider and the recipient of the call that failed, if there was one."""
    is_repeated: bool = False
    """It is an item of an execution that failed by it, and so is found a second time."""


@_SQL.statement
async def list_failures(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    failed_since: datetime,
    failed_before: datetime,
    before: UUID,
    limit: int,
) -> list[FoundFailure]:
    """What has failed since then in one shard, from one time and id backwards, the latest first."""
