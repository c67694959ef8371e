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
from tidings.storage import shares
from tidings.storage.database import Tx
from tidings.storage.shares import HeldShare, ListedRest

__all__ = ["Providers", "ShownProvider", "WorkerShare"]

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


class Providers:
    """Every provider that this process has, or that a worker holds a share of."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def list(self) -> "list[ShownProvider]":
        """All of them, by name."""
        now = await self._kernel.clock.now()

        async def read(tx: Tx) -> "tuple[list[HeldShare], list[ListedRest]]":
            return await shares.list_shares(tx, now=now), await shares.list_rests(tx, now=now)

        held, resting = await self._kernel.db.persist(read)
        by_provider: dict[str, list[HeldShare]] = defaultdict(list)
        for share in held:
            by_provider[share.provider].append(share)
        rests = {rest.provider: rest for rest in resting}
        names = sorted({*self._kernel.providers, *by_provider, *rests})
        return [self._shown(name, by_provider[name], rests.get(name)) for name in names]

    def _shown(self, name: str, held: "Sequence[HeldShare]", rest: ListedRest | None) -> ShownProvider:
        provider: Provider | None = self._kernel.providers.get(name)
        told = self._kernel.limits.provider_concurrency.get(name)
        return ShownProvider(
            name=name,
            provider_class=CLASS_NAMES[type(provider.provider_class)] if provider else None,
            channels=[channel for channel in self._kernel.routes if name in self._serving(channel)],
            concurrency=provider.concurrency if provider else None,
            limit=min((share.provider_limit for share in held), default=told),
            workers=[WorkerShare(share.worker_id, share.slots, share.wanted, share.until) for share in held],
            rests_until=rest.until if rest else None,
            rest_reason=rest.reason if rest else None,
        )

    def _serving(self, channel: Channel) -> set[str]:
        """Functions have two providers: one for those that may be called again, one for the others."""
        route = self._kernel.route(channel)
        return {route, self._kernel.route_once()} if channel is Channel.FUNCTION else {route}
