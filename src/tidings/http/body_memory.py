"""Limit the memory that bodies under way take: in all, and for each tenant, before they are read."""

from starlette.types import Scope

from tidings.domain.flow.ids import Workspace
from tidings.http.errors import ServerBusy, TooManyRequests
from tidings.http.fair_pool import FairPool, held_by

MOST_BYTES = 100_000_000
"""Of all bodies that one process reads and works on at once. What is made of them takes several times as much."""
COME_AGAIN_SECONDS = 2
WORKSPACE = "tidings.workspace"
"""Where a request's scope says whom it is for, once its key is known."""


class BodyMemory:
    """The bytes of bodies in one process, shared out between tenants; those without a key together are one."""

    def __init__(self) -> None:
        self._pool = FairPool(MOST_BYTES)

    def hold(self, scope: Scope, size: int) -> None:
        """Count bytes until the request ends, or refuse it; one without a body is never refused."""
        whose: Workspace | None = scope.get(WORKSPACE)
        tenant = whose.tenant if whose else ""
        if not size:
            return
        if self._pool.take(tenant, size):
            held_by(scope).callback(self._pool.give_back, tenant, size)
            return
        if size > self._pool.free:
            raise ServerBusy(
                f"the requests under way leave no room for {size:,} bytes more; come again in {COME_AGAIN_SECONDS} s",
                COME_AGAIN_SECONDS,
            )
        raise TooManyRequests(
            f"this tenant's requests under way leave it no room for {size:,} bytes more; send fewer at once",
            COME_AGAIN_SECONDS,
        )
