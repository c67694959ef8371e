"""Write who changed what: every person's action leaves a line, in the transaction that does it."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.ids import bucket_of_id
from tidings.kernel.kernel import Kernel
from tidings.storage import resolve
from tidings.storage.database import Tx


async def write_audit(
    kernel: Kernel,
    tx: Tx,
    caller: Caller,
    *,
    kind: str,
    id: UUID,
    event: str,
    detail: Mapping[str, object],
    now: datetime,
    entry: UUID | None = None,
) -> None:
    """Add a line about one thing, in its own shard; `entry` is given where a repeat must be known by it."""
    await resolve.insert_audit(
        tx,
        shard=kernel.shard_of(id),
        id=entry or kernel.new_id(bucket_of_id(id), now),
        tenant=caller.workspace.tenant,
        workspace=caller.workspace.name,
        subject_kind=kind,
        subject_id=id,
        event=event,
        actor=caller.actor,
        detail=detail,
        now=now,
    )
