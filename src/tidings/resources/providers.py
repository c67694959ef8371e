"""The providers: which channels use each, which workers serve it, how many calls each may make, and whether it rests.

They belong to the whole installation, so its operator sees everything (`details`, `workers`), and a workspace only
whether what its own channels use is ready (`own`, `own_workers`). All of it comes from the database: routes, live
workers, their shares, and rests. The process that asks may have no provider at all.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import LIVE_FOR, every_of_kind, find_route, is_printing
from tidings.domain.messages import did_you_mean, quoted
from tidings.domain.rules.key import fallback_name
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.readiness import live_staff, live_workers
from tidings.storage import fallbacks, rests, routes, shares, workers
from tidings.storage.acting import for_caller, for_everyone
from tidings.storage.database import Tx
from tidings.storage.fallbacks import ListedFallback
from tidings.storage.rests import StoredRest
from tidings.storage.routes import ChannelRoute
from tidings.storage.shares import HeldShare
from tidings.storage.workers import ListedWorker
from tidings.views.providers import LiveWorker, ProviderStatus, Served, WorkerShare

__all__ = ["Providers", "StoredRest"]

Shown = list[ProviderStatus]
Listed = list[LiveWorker]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the database says about all providers."""

    routes: Sequence[ChannelRoute]
    workers: Sequence[ListedWorker]
    shares: Sequence[HeldShare]
    rests: Mapping[str, StoredRest]
    fallbacks: Sequence[ListedFallback]

    @property
    def names(self) -> list[str]:
        routed = {one.provider for one in self.routes}
        served = {name for one in self.workers for name in one.serves}
        known = {fallback_name(one.key) for one in self.fallbacks}
        return sorted({*routed, *served, *known, *self.rests, *(share.provider for share in self.shares)})


@for_caller
class Providers:
    """Every provider that a channel is routed to, that a worker serves, that is a known fallback, or that rests."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def own(self, workspace: Workspace) -> Shown:
        """Return the providers of a workspace's channels by name: whether each is ready, and until when it rests."""
        now = await self._kernel.clock.now()
        channels = await self._own_channels(workspace)
        staff = await live_staff(self._kernel)
        resting = await self._kernel.db.persist(lambda tx: rests.load_rests(tx, now=now), alone=True)
        return [
            ProviderStatus(
                name=name,
                state=_state(staff.serves(name), _rests_until(resting.get(name), now)),
                channels=channels[name],
                printing=is_printing(name),
                rests_until=_rests_until(resting.get(name), now),
            )
            for name in sorted(channels)
        ]

    async def own_workers(self, workspace: Workspace) -> Listed:
        """Return the live workers without where they run, and with what they serve for this workspace."""
        channels = await self._own_channels(workspace)
        return [_without_place(_worker(one), channels) for one in await live_workers(self._kernel)]

    async def _own_channels(self, workspace: Workspace) -> dict[str, Sequence[Channel]]:
        """Return the channels of a workspace by the provider that serves them."""
        read = partial(routes.list_own_routes, workspace=workspace)
        routed = {(one.workspace, one.channel): one.provider for one in await self._kernel.db.persist(read)}
        found = {channel: find_route(routed, workspace, channel) for channel in Channel}
        return {name: [one for one in found if found[one] == name] for name in found.values() if name}

    @for_everyone
    async def details(self) -> Shown:
        """Return all providers by name, as the system's operator may see them."""
        now = await self._kernel.clock.now()

        async def read(tx: Tx) -> _Facts:
            return _Facts(
                await routes.list_routes(tx),
                await workers.list_workers(tx, since=now - LIVE_FOR),
                await shares.list_shares(tx, now=now),
                await rests.load_rests(tx, now=now),
                await fallbacks.list_fallbacks(tx),
            )

        facts = await self._kernel.db.persist(read)
        return [_shown(name, facts, now) for name in facts.names]

    @for_everyone
    async def unavailable(self) -> Sequence[StoredRest]:
        """Return the providers that could not be used when they were last called, by name."""
        now = await self._kernel.clock.now()
        resting = await self._kernel.db.persist(lambda tx: rests.load_rests(tx, now=now), alone=True)
        return [rest for rest in resting.values() if rest.since]

    @for_everyone
    async def workers(self) -> Listed:
        """Return the live workers, the longest at work first."""
        return [_worker(one) for one in await live_workers(self._kernel)]

    @for_everyone
    async def unroute(self, caller: Caller, channel: Channel) -> str:
        """Remove a channel's route in every workspace; return the provider's name.

        Nothing more is started that needs the channel. A process that starts with the setting sets the route again.
        """
        now = await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(channel), now)
        entry = self._kernel.new_id(bucket_of_id(id), now)

        removed: list[str] = []

        async def write(tx: Tx) -> None:
            if provider := await routes.remove_route(tx, channel=channel):
                removed.append(provider)  # remembered past a commit whose answer is lost
                audit_entry = AuditEntry("route", id, "removed", {"channel": channel, "provider": provider}, entry)
                await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)
        self._kernel.route_table.forget()
        if not removed:
            raise NotFound(f"no provider is set up for {channel}; `tidings providers list` shows what is")
        return removed[-1]

    @for_everyone
    async def forget(self, caller: Caller, name: str) -> None:
        """Forget a fallback that no application registers any more: from now on, events are decided without it.

        A process that starts with it registers it again.
        """
        now, found = await self._kernel.clock.now(), await self._find_fallback(name)
        id = self._kernel.new_id(caller.workspace.bucket_of(name), now)
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await fallbacks.remove_fallback(tx, key=found.key):
                audit_entry = AuditEntry("route", id, "removed", {"fallback": name}, entry)
                await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def _find_fallback(self, name: str) -> ListedFallback:
        listed = await self._kernel.db.persist(fallbacks.list_fallbacks, alone=True)
        known = {fallback_name(one.key): one for one in listed}
        if name not in known:
            raise NotFound(f"there is no fallback {quoted(name)}{did_you_mean(name, sorted(known))}")
        return known[name]


def _shown(name: str, facts: _Facts, now: datetime) -> ProviderStatus:
    routed = [one for one in facts.routes if one.provider == name]
    names = [every_of_kind(name.partition("/")[0]), name] if "/" in name else [name]
    serving = {one.id: one.serves[served] for served in names for one in facts.workers if served in one.serves}
    services = list(serving.values())
    held = [share for share in facts.shares if share.provider == name]
    limits = [share.provider_limit for share in held] + [one.limit for one in services if one.limit]
    rest = facts.rests.get(name)
    calls = {channel for one in services for channel in one.channels if channel is Channel.FUNCTION}
    return ProviderStatus(
        name=name,
        state=_state(bool(serving), _rests_until(rest, now)),
        provider_class=services[0].provider_class or None if services else None,
        channels=[*dict.fromkeys(one.channel for one in routed), *calls],
        routed_since=min((one.since for one in routed), default=None),
        printing=is_printing(name),
        served_by=list(serving),
        concurrency=services[0].concurrency if services else None,
        limit=min(limits, default=None),
        workers=[_held(share) for share in held],
        rests_until=_rests_until(rest, now),
        unavailable_since=rest.since if rest else None,
        unavailable_times=rest.times if rest else 0,
        unavailable_reason=rest.reason if rest and rest.since else None,
        is_refused=rest is not None and rest.is_refused,
        rest_reason=rest.reason if rest else None,
    )


def _held(share: HeldShare) -> WorkerShare:
    return WorkerShare(worker_id=share.worker_id, slots=share.slots, wanted=share.wanted, until=share.until)


def _rests_until(rest: StoredRest | None, now: datetime) -> datetime | None:
    return rest.until if rest and rest.until > now else None


def _state(is_served: bool, rests_until: datetime | None) -> str:
    if rests_until:
        return "resting"
    return "ready" if is_served else "unserved"


def _without_place(worker: LiveWorker, own: Collection[str]) -> LiveWorker:
    return replace(worker, host=None, pid=None, serves=[one for one in worker.serves if one.provider in own])


def _worker(worker: ListedWorker) -> LiveWorker:
    return LiveWorker(
        id=worker.id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        lanes=[lane.name.lower() for lane in worker.lanes],
        serves=[
            Served(
                provider=name,
                provider_class=one.provider_class,
                channels=one.channels,
                concurrency=one.concurrency,
            )
            for name, one in worker.serves.items()
        ],
        started_at=worker.started_at,
        last_seen_at=worker.last_seen_at,
    )
