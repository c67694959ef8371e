"""Record who changed what: every person's action adds an audit entry, in the transaction that makes the change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import bucket_of_id
from tidings.kernel.kernel import Kernel
from tidings.storage import resolve
from tidings.storage.database import Tx


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What happened to one thing; `line_id` is set where a repeat must be recognised by it."""

    kind: str
    id: UUID
    event: str
    detail: Mapping[str, object]
    line_id: UUID | None = None


async def write_audit(
    kernel: Kernel, tx: Tx, caller: Caller, audit_entries: Sequence[AuditEntry], now: datetime
) -> None:
    """Write the entries, all in one shard."""
    if not audit_entries:
        return
    await resolve.insert_audit(
        tx,
        shard=kernel.shard_of(audit_entries[0].id),
        workspace=caller.workspace,
        actor=caller.actor,
        ids=[entry.line_id or kernel.new_id(bucket_of_id(entry.id), now) for entry in audit_entries],
        subject_kinds=[entry.kind for entry in audit_entries],
        subject_ids=[entry.id for entry in audit_entries],
        events=[entry.event for entry in audit_entries],
        details=[entry.detail for entry in audit_entries],
        now=now,
    )
