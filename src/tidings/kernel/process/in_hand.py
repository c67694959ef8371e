"""The batches that this process works on, by whose work they hold: one that hangs must not keep others from starting.

A lane has so many places for batches (`AT_ONCE`), which one workspace alone may fill; who gets the next one is decided
by turns. A tenant without a batch always gets one beside them. A batch that takes long waits for something, for answers
mostly: it still counts for whose it is, who may have no more than that, but takes no place from others.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from uuid import UUID

from tidings.domain.flow.ids import tenant_part
from tidings.domain.flow.queue import Claimed, Lane

AT_ONCE: Mapping[Lane, int] = {Lane.TRANSACTIONAL: 4, Lane.SEQUENCES: 4, Lane.CAMPAIGNS: 4, Lane.RUNS: 2}
"""How many batches a workspace may have under way in a lane."""
FOR_A_TENANT = 2
"""How many times as many all workspaces of a tenant may have."""
FOR_ALL = 16
"""And how many times as many there may be in all: a process has only so much memory."""
LONG_SECONDS = 1.0
"""How long a batch has a place of its lane, if it takes longer than that."""


class InHand:
    """How many batches hold work of each workspace and tenant, by lane."""

    def __init__(self) -> None:
        self._lanes = {lane: _LaneInHand(AT_ONCE[lane]) for lane in Lane}

    @contextmanager
    def hold(self, lane: Lane, leases: Sequence[Claimed], on_release: Callable[[], None]) -> Iterator[None]:
        """Count a batch for as long as the block; what of it is released before that no longer counts.

        `on_release` is called then, and at the end: rows may be due again, and somebody may have one more batch.
        """
        batch = _Batch(self._lanes[lane], leases, on_release)
        before = _current.set(batch)
        try:
            yield
        finally:
            _current.reset(before)
            batch.end()

    def release(self, ids: Collection[UUID]) -> None:
        """Note that rows of the batch that this task works on are released, while others of it go on."""
        if batch := _current.get():
            batch.release(ids)

    def is_open(self, lane: Lane, starting: int = 0) -> bool:
        """Whether everybody may have one more batch, besides those that are about to begin for nobody knows whom."""
        return self._lanes[lane].is_open(starting)

    def may_claim(self, lane: Lane, workspace: int) -> bool:
        """Whether a workspace may have one more batch; the more its tenant has, the fewer each of its workspaces."""
        return self._lanes[lane].may_claim(workspace)


class _LaneInHand:
    """The batches of one lane."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self.batches: set[_Batch] = set()
        self.of_workspaces: Counter[int] = Counter()
        self.of_tenants: Counter[int] = Counter()

    def is_open(self, starting: int) -> bool:
        if len(self.batches) + starting < self._at_once:
            return True  # nobody has more than there are
        busiest, of_a_tenant = (max(one.values(), default=0) for one in (self.of_workspaces, self.of_tenants))
        return (
            len(self._short()) + starting < self._at_once
            and busiest + starting < self._at_once
            and of_a_tenant + starting < self._at_once * FOR_A_TENANT
            and len(self.batches) + starting < self._at_once * FOR_ALL
        )

    def may_claim(self, workspace: int) -> bool:
        tenant, short = tenant_part(workspace), self._short()
        left = self._at_once * FOR_A_TENANT - self.of_tenants[tenant]
        return (
            self.of_workspaces[workspace] < min(self._at_once, left)
            and len(self.batches) < self._at_once * FOR_ALL
            and (len(short) < self._at_once or not any(batch.is_of(tenant) for batch in short))
        )

    def _short(self) -> "list[_Batch]":
        """The batches that have a place: those that have not taken long yet."""
        since = monotonic() - LONG_SECONDS
        return [batch for batch in self.batches if batch.begun_at > since]


class _Batch:
    """The rows of one batch that are not yet released, and so count for their workspaces and tenants."""

    def __init__(self, lane: _LaneInHand, leases: Sequence[Claimed], on_release: Callable[[], None]) -> None:
        self._lane, self._leases, self._on_release = lane, leases, on_release
        self.begun_at = monotonic()
        self._left = Counter([lease.workspace_hash for lease in leases])
        lane.batches.add(self)
        lane.of_workspaces.update(self._left.keys())
        lane.of_tenants.update(set(map(tenant_part, self._left)))

    def is_of(self, tenant: int) -> bool:
        return any(tenant_part(workspace) == tenant for workspace in self._left)

    def release(self, ids: Collection[UUID]) -> None:
        if len(ids) >= self._left.total():
            return  # all that is left: the batch is about to end
        whose = {lease.id: lease.workspace_hash for lease in self._leases}
        self._take_out(Counter(whose[id] for id in ids if id in whose))
        self._on_release()

    def end(self) -> None:
        self._take_out(self._left.copy())
        self._lane.batches.discard(self)
        self._on_release()

    def _take_out(self, rows: Counter[int]) -> None:
        """Take rows away; with the last of a workspace or tenant, the batch no longer counts for it."""
        self._left.subtract(rows)
        for workspace in [one for one in rows if self._left[one] <= 0]:
            del self._left[workspace]
            _less(self._lane.of_workspaces, workspace)
            if not self.is_of(tenant := tenant_part(workspace)):
                _less(self._lane.of_tenants, tenant)


_current: ContextVar[_Batch | None] = ContextVar("batch", default=None)


def _less(counter: Counter[int], key: int) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
