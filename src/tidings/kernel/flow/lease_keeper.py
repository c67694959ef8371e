"""Keep the leases of one batch for as long as this worker is alive and works on it.

Reached from executions.py and jobs.py, around all they do. A lease that runs out therefore means a worker that is dead,
frozen or cut off. One that waits for a lock, a slow template or a slow call is none of these: it renews, so that no
other worker takes its work for that of a crashed one.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Fence
from tidings.domain.flow.queue import Claimed
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import claim

BEATS_PER_LEASE = 4


class LeaseKeeper:
    """The leases of one batch, and until when they hold."""

    def __init__(self, kernel: Kernel, shard: Shard, leases: Iterable[Claimed]) -> None:
        self._kernel, self._shard = kernel, shard
        self._held: dict[UUID, Fence] = {lease.id: lease.fence for lease in leases}
        self._until = min((lease.until for lease in leases), default=kernel.clock.carried())
        self._margin = kernel.limits.lease_margin
        self._beating: asyncio.Task[None] | None = None
        self.lease = kernel.limits.lease
        self._releasing: set[UUID] = set()

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop_beating()

    async def _stop_beating(self) -> None:
        if self._beating:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

    async def shorten(self, lease: timedelta, now: datetime) -> None:
        """Hold the leases for less from now on, so that a dead worker's steps are found sooner.

        Never for less than any call may take: a call starts only if its lease outlasts it.
        """
        kernel = self._kernel
        deadlines = [one.call_deadline for one in kernel.providers.values()]
        longest = max(
            [*deadlines, kernel.vendors.call_deadline] if kernel.vendors.kinds else deadlines, default=timedelta()
        )
        shorter = max(lease, longest + 3 * self._margin)
        if shorter >= self.lease:
            return
        self.lease = shorter
        await self._stop_beating()
        self._beating = asyncio.create_task(self._beat())
        await self._renew(now)

    @property
    def held(self) -> Iterable[UUID]:
        """The owners whose lease this worker still holds, as far as it knows."""
        return self._held

    def holds(self, owner: UUID) -> bool:
        """Whether this worker still holds an owner's lease, as far as it knows."""
        return owner in self._held

    def keeps(self, owner: UUID, until: datetime) -> bool:
        """Whether this worker holds an owner's lease, as far as it knows, and until then, with a margin."""
        return owner in self._held and until + self._margin < self._until

    def begin_release(self, owners: Iterable[UUID]) -> None:
        """Note that these are being released: their leases are kept meanwhile, and one that is gone may be ours."""
        self._releasing.update(owners)

    def let_go(self, owners: Iterable[UUID]) -> None:
        """Hold the leases of these owners no longer: they are released, while others go on."""
        for owner in owners:
            self._held.pop(owner, None)

    async def renew_before(self, needed: timedelta, now: datetime) -> None:
        """Renew the leases if they would end before the needed time is over."""
        if self._held and self._until - now < needed:
            await self._renew(now)

    async def _beat(self) -> None:
        interval = self.lease / BEATS_PER_LEASE
        while self._held:
            await asyncio.sleep(interval.total_seconds())
            try:
                await self.renew_before(self.lease - interval / 2, await self._kernel.clock.now())
            except Exception:  # the batch meets the same trouble itself if it lasts; the next beat may succeed
                log.exception("renewal_failed", owners=len(self._held))

    async def _renew(self, now: datetime) -> None:
        until = now + self.lease
        ids, fences = list(self._held), list(self._held.values())
        renewed = await self._kernel.db.persist(
            lambda tx: claim.renew_leases(tx, shard=self._shard, ids=ids, fences=fences, lease_until=until), alone=True
        )
        for owner in set(ids) - set(renewed):
            fence = self._held.pop(owner, None)
            if fence is not None and owner not in self._releasing:
                log.warning("lease_lost", owner=str(owner), fence=fence)
        self._until = until
