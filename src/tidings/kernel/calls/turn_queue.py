"""Tasks that wait for a slot, in fair order: tenants take turns by their weights, and inside each its workspaces do."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tidings.domain.flow.ids import tenant_part
from tidings.kernel.calls.fair_order import FairOrder
from tidings.kernel.calls.weights import Weights


@dataclass(slots=True, eq=False)
class Turn:
    """A task's place in the queue for a slot."""

    number: int
    whose: int
    answered: asyncio.Future[bool]

    def answer(self, has_slot: bool) -> None:
        """Tell the task whether it has a slot."""
        if not self.answered.done():
            self.answered.set_result(has_slot)

    @property
    def has_slot(self) -> bool:
        """Whether the task was given one."""
        return self.answered.done() and not self.answered.cancelled() and self.answered.result()


class TurnQueue:
    """The waiting tasks of one class of work: of tenants, and of a tenant's workspaces, the least served comes next."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self.tenants: dict[int, dict[int, deque[Turn]]] = {}  # empty while nobody waits
        self._order = FairOrder()
        self._inside: dict[int, FairOrder] = {}  # of each tenant that waits: others' turns say nothing about its own

    def add(self, turn: Turn) -> None:
        """Let a task wait, behind its own workspace's."""
        tenant = tenant_part(turn.whose)
        workspaces = self.tenants.setdefault(tenant, {})
        self._inside.setdefault(tenant, FairOrder())
        workspaces.setdefault(turn.whose, deque()).append(turn)

    def peek(self, may_take: Callable[[int], bool]) -> Turn | None:
        """The task whose turn is next, of those whose workspace may take a slot; forgets those that wait no more."""
        for tenant in _sorted(self.tenants, self._order):
            for whose in _sorted(self.tenants[tenant], self._inside[tenant]):
                turn = self._first(whose)
                if turn and may_take(whose):
                    return turn
        return None

    def take(self, turn: Turn) -> None:
        """Take the task out that is next; its workspace and tenant are served."""
        whose, tenant = turn.whose, tenant_part(turn.whose)
        self.tenants[tenant][whose].popleft()
        self._order.serve(tenant, 1 / self._weights.of_tenant(tenant))
        self._inside[tenant].serve(whose, 1 / self._weights.of_workspace(whose))
        self._first(whose)

    def dismiss(self) -> None:
        """Tell every task that there is no slot for it."""
        for workspaces in self.tenants.values():
            for turns in workspaces.values():
                for turn in turns:
                    turn.answer(False)
        self.tenants.clear()
        self._inside.clear()

    def _first(self, whose: int) -> Turn | None:
        """The task of a workspace that has waited longest; without one, the workspace is forgotten."""
        tenant = tenant_part(whose)
        turns = self.tenants[tenant][whose]
        while turns and turns[0].answered.done():
            turns.popleft()
        if turns:
            return turns[0]
        del self.tenants[tenant][whose]
        if not self.tenants[tenant]:
            del self.tenants[tenant], self._inside[tenant]
        return None


def _sorted(keys: Collection[int], order: FairOrder) -> list[int]:
    return list(keys) if len(keys) == 1 else sorted(keys, key=order.start)
