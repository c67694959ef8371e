"""The providers: what each is for, what its class allows, who may call it how often at once, and whether it rests.

They are the affair of the whole installation, not of a workspace. What is configured is known to this process; shares
and rests are everybody's and come from the database, also those of providers that only other workers have.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.item import Channel
from tidings.domain.provider import Blind, Keyed, Provider, ProviderClass, Resolvable
from tidings.kernel.kernel import Kernel
from tidings.storage import rests, shares
from tidings.storage.database import Tx
from tidings.storage.rests import StoredRest
from tidings.storage.shares import HeldShare

__all__ = ["Providers", "ShownProvider", "StoredRest", "WorkerShare"]

CLASS_NAMES: Mapping[type[ProviderClass], str] = {Keyed: "keyed", Resolvable: "resolvable", Blind: "blind"}


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """What one worker holds of a provider's limit."""

    worker_id: UUID
    slots: int
    wanted: int
    until: datetime


@dataclass(frozen=True, slots=True)
class ShownProvider:
    """A provider as an administrator sees it; `provider_class` is None when only other workers have it."""

    name: str
    provider_class: str | None
    channels: Sequence[Channel]
    concurrency: int | None  # of one process
    limit: int | None  # of all workers together
    workers: Sequence[WorkerShare]
    rests_until: datetime | None
    rest_reason: str | None
    unavailable_since: datetime | None = None  # when it could first not be used, if no call was answered since
    unavailable_times: int = 0  # how often it was left alone since then
    is_refused: bool = False  # our settings are refused: a person must mend them

    @property
    def unavailable_reason(self) -> str | None:
        """Why it cannot be used; unlike other reasons to rest, this names no message."""
        return self.rest_reason if self.unavailable_since else None


class Providers:
    """Every provider that this process has, or that a worker holds a share of."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def list(self) -> "list[ShownProvider]":
        """All of them, by name."""
        now = await self._kernel.clock.now()

        async def read(tx: Tx) -> "tuple[list[HeldShare], Mapping[str, StoredRest]]":
            return await shares.list_shares(tx, now=now), await rests.load_rests(tx, now=now)

        held, resting = await self._kernel.db.persist(read)
        by_provider: dict[str, list[HeldShare]] = defaultdict(list)
        for share in held:
            by_provider[share.provider].append(share)
        names = sorted({*self._kernel.providers, *by_provider, *resting})
        return [self._shown(name, by_provider[name], resting.get(name), now) for name in names]

    async def unavailable(self) -> Sequence[StoredRest]:
        """Those that could not be used when they were last called, by name."""
        now = await self._kernel.clock.now()
        resting = await self._kernel.db.persist(lambda tx: rests.load_rests(tx, now=now), alone=True)
        return [rest for rest in resting.values() if rest.since]

    def _shown(self, name: str, held: "Sequence[HeldShare]", rest: StoredRest | None, now: datetime) -> ShownProvider:
        provider: Provider | None = self._kernel.providers.get(name)
        told = self._kernel.limits.provider_concurrency.get(name)
        return ShownProvider(
            name=name,
            provider_class=CLASS_NAMES[type(provider.provider_class)] if provider else None,
            channels=[channel for channel in self._kernel.routes if name in self._serving(channel)],
            concurrency=provider.concurrency if provider else None,
            limit=min((share.provider_limit for share in held), default=told),
            workers=[WorkerShare(share.worker_id, share.slots, share.wanted, share.until) for share in held],
            rests_until=rest.until if rest and rest.until > now else None,
            rest_reason=rest.reason if rest else None,
            unavailable_since=rest.since if rest else None,
            unavailable_times=rest.times if rest else 0,
            is_refused=rest is not None and rest.is_refused,
        )

    def _serving(self, channel: Channel) -> set[str]:
        """Functions have two providers: one for those that may be called again, one for the others."""
        route = self._kernel.route(channel)
        return {route, self._kernel.route_once()} if channel is Channel.FUNCTION else {route}
