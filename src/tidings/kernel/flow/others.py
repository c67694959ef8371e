"""Leave work that this worker cannot do to others: it is due at once, and this worker skips it for a while.

Reached from executions.py and jobs.py after they have released what they held.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.kernel.flow.held import Held
from tidings.kernel.kernel import Kernel


def leave_to_others(kernel: Kernel, shard: Shard, lane: Lane, owners: Iterable[Held], now: datetime) -> None:
    """Skip what was just released and waits for a provider that others serve, and notify them."""
    given_back = [
        (held.lease.id, held.lease.fence + 1)  # as the release has left it
        for held in owners
        if held.postponed and any(_is_others(kernel, held, id, now) for id in held.postponed)
    ]
    if given_back:
        kernel.elsewhere.note(given_back, now)
        if not kernel.elsewhere.is_full:  # otherwise the others are busy anyway, and this worker would be notified, too
            kernel.notifier.tell(shard, lane)


def _is_others(kernel: Kernel, held: Held, item: UUID, now: datetime) -> bool:
    open_item = held.open.get(item)
    return open_item is not None and open_item.provider not in kernel.providers and held.postponed[item] <= now
