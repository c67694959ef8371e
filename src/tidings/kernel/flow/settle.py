"""Settle items without a call: skipped because they must no longer be sent, or failed because they cannot be.

Reached from executions.py, jobs.py and windows.py. Only items for which no call was started; one in doubt stays as it
is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Stop
from tidings.kernel.flow.held import Held
from tidings.kernel.kernel import Kernel
from tidings.storage import outbox


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of one item, and why."""

    held: Held
    id: UUID
    status: ItemStatus
    error: str


async def settle(kernel: Kernel, shard: Shard, settlements: Sequence[Settlement], now: datetime) -> None:
    """Write settlements, where the items are still unmarked."""
    if not settlements:
        return
    by_id = {one.id: one for one in settlements}
    settled = await kernel.db.persist(
        lambda tx: outbox.settle_unmarked_items(
            tx,
            shard=shard,
            ids=[one.held.open[one.id].id for one in settlements],
            statuses=[one.status for one in settlements],
            errors=[one.error for one in settlements],
            now=now,
        ),
        alone=True,
    )
    for id in settled:
        by_id[id].held.settle(id, by_id[id].status, by_id[id].error)


async def settle_stopped(
    kernel: Kernel, shard: Shard, owners: Mapping[UUID, Held], now: datetime
) -> Mapping[UUID, Held]:
    """Settle what was cancelled or has crashed too many workers; return the owners that go on."""
    await settle(kernel, shard, [one for held in owners.values() for one in _stopped(kernel, held)], now)
    return {
        id: held
        for id, held in owners.items()
        if held.lease.stop is None and not (held.withdrawn or held.parked) and not given_up(kernel, held)
    }


def given_up(kernel: Kernel, held: Held) -> str | None:
    """Why an owner is not tried again: it was part of too many crashes (rule 7), or its time is over."""
    if held.lease.crashes >= kernel.limits.crashes:
        return f"workers died {held.lease.crashes} times while working on it"
    return held.overdue


def _stopped(kernel: Kernel, held: Held) -> list[Settlement]:
    if held.lease.stop is Stop.CANCEL or held.withdrawn:
        status, error = ItemStatus.SKIPPED, held.withdrawn or "cancelled"
    elif reason := given_up(kernel, held):
        status, error = ItemStatus.FAILED, reason
    else:
        return []
    return [Settlement(held, id, status, error) for id, item in held.open.items() if not item.in_doubt]
