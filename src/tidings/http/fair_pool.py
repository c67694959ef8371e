"""Share what is scarce in one process between tenants: streams, and the memory of bodies."""

from collections import Counter
from contextlib import AbstractContextManager, ExitStack

from starlette.types import Scope

HELD = "tidings.held"


class FairPool:
    """A limited amount of something. Each tenant may hold as much as is still free.

    So one tenant gets at most half, two that want all of it a third each, and a newcomer always finds some. A fixed
    part for each would leave the rest unused, or run out where many want theirs.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._held: Counter[str] = Counter()
        self._in_use = 0

    @property
    def free(self) -> int:
        """Return how much nobody holds."""
        return self._total - self._in_use

    def take(self, tenant: str, amount: int = 1) -> bool:
        """Take some for a tenant; return whether it was within the tenant's share."""
        if self._held[tenant] + amount > self.free:
            return False
        self._held[tenant] += amount
        self._in_use += amount
        return True

    def give_back(self, tenant: str, amount: int = 1) -> None:
        """Return what was taken."""
        self._in_use -= amount
        self._held[tenant] -= amount
        if not self._held[tenant]:
            del self._held[tenant]  # so that there are no more counts than tenants that hold something


def holding(scope: Scope) -> AbstractContextManager[ExitStack]:
    """Return what a request holds until it ends, however it ends; edge.py lets go of it."""
    scope[HELD] = ExitStack()
    held: ExitStack = scope[HELD]
    return held


def held_by(scope: Scope) -> ExitStack:
    """Return what a request holds, to add to it."""
    held: ExitStack = scope[HELD]
    return held
