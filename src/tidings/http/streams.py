"""Limit how many executions are followed at once: each stream is a connection and reads the database twice a second."""

from collections import Counter
from uuid import UUID

from starlette.types import Scope

from tidings.http.errors import TooManyRequests
from tidings.http.fair_pool import FairPool, held_by
from tidings.resources.identity import Identity

MOST_OF_A_KEY = 100
MOST = 1_000
COME_AGAIN_SECONDS = 15


class Streams:
    """The streams of one process: shared out between tenants, and limited for each key."""

    def __init__(self) -> None:
        self._pool = FairPool(MOST)
        self._of_keys: Counter[UUID] = Counter()

    def open(self, scope: Scope, identity: Identity) -> None:
        """Count a stream from now until its request ends, or raise if there are too many already."""
        tenant, key = identity.workspace.tenant, identity.id
        if self._of_keys[key] >= MOST_OF_A_KEY:
            raise TooManyRequests(f"this key follows {MOST_OF_A_KEY} executions already; end one", COME_AGAIN_SECONDS)
        if not self._pool.take(tenant):
            raise TooManyRequests(
                f"this tenant has its share of the {MOST:,} streams of this server open; end one", COME_AGAIN_SECONDS
            )
        self._of_keys[key] += 1
        held_by(scope).callback(self._close, tenant, key)

    def _close(self, tenant: str, key: UUID) -> None:
        self._pool.give_back(tenant)
        self._of_keys[key] -= 1
        if not self._of_keys[key]:
            del self._of_keys[key]
