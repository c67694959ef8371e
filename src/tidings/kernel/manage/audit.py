"""Write who changed what: every person's action leaves a line, in the transaction that does it."""

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
class Deed:
    """What happened to one thing; `entry` is given where a repeat must be known by it."""

    kind: str
    id: UUID
    event: str
    detail: Mapping[str, object]
    entry: UUID | None = None


async def write_audit(kernel: Kernel, tx: Tx, caller: Caller, deeds: Sequence[Deed], now: datetime) -> None:
    """Add a line for each deed; all in one shard."""
    if not deeds:
        return
    await resolve.insert_audit(
        tx,
        shard=kernel.shard_of(deeds[0].id),
        workspace=caller.workspace,
        actor=caller.actor,
        ids=[deed.entry or kernel.new_id(bucket_of_id(deed.id), now) for deed in deeds],
        subject_kinds=[deed.kind for deed in deeds],
        subject_ids=[deed.id for deed in deeds],
        events=[deed.event for deed in deeds],
        details=[deed.detail for deed in deeds],
        now=now,
    )
