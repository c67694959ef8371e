"""What every step of the flow gets: the database, the time, the providers, and the limits."""

import asyncio
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.connections.route import SendingRoute
from tidings.domain.connections.vendors import Vendors
from tidings.domain.content.sender import WorkspaceSenders
from tidings.domain.content.template_facts import KeptFacts
from tidings.domain.errors import ChannelNotReady, ConfigInvalid
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.graph import Doer, Function, Graph
from tidings.domain.flow.ids import Bucket, Shard, Workspace, id_bits, shard_of
from tidings.domain.flow.item import Channel
from tidings.domain.flow.provider import Blind, Provider, ProviderClass
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.readiness import FUNCTIONS
from tidings.domain.flow.retry import OUTAGE_PATIENCE
from tidings.domain.rules.key import RuleKey
from tidings.domain.workflows.requirements import Requirements
from tidings.kernel.calls.slots import Slots
from tidings.kernel.calls.weights import Weights
from tidings.kernel.planner import Statistics
from tidings.kernel.process.call_counts import CallCounts
from tidings.kernel.process.claim_floor import ClaimFloor
from tidings.kernel.process.claim_turns import Turns
from tidings.kernel.process.connections import ConnectionTable
from tidings.kernel.process.in_hand import InHand
from tidings.kernel.process.known import Elsewhere, Roster, RouteTable
from tidings.kernel.process.known_by_workspace import KnownByWorkspace
from tidings.kernel.process.rests import HostRests, Rests
from tidings.kernel.process.shares import ProviderShare, Shares
from tidings.kernel.process.stops import Stops
from tidings.kernel.process.turns import FairTurns
from tidings.kernel.process.use import KnownUse
from tidings.kernel.render.renderer import Renderer
from tidings.kernel.wake import Notifier
from tidings.storage.clock import Clock
from tidings.storage.database import Database
from tidings.storage.load import LoadedRun
from tidings.storage.uuids import driver_uuid
from tidings.storage.vault import Vault


@dataclass(frozen=True, slots=True)
class Limits:
    """How much work is claimed at once, and for how long."""

    lease: timedelta = timedelta(seconds=300)
    lease_margin: timedelta = timedelta(seconds=1)
    flush_after: timedelta = timedelta(milliseconds=50)
    flush_results: int = 100
    slot_wait: timedelta = timedelta(seconds=1)
    job_size: int = 500
    crashes: int = 5
    doubt_policy: DoubtPolicy = DoubtPolicy.HOLD
    provider_concurrency: Mapping[str, int] = field(default_factory=dict)  # calls under way, over all workers
    outage_patience: Mapping[Lane, timedelta] = field(default_factory=lambda: OUTAGE_PATIENCE)
    share_beat: timedelta = timedelta(seconds=1)

    def require_lease_for(self, providers: Iterable[Provider]) -> None:
        """Refuse a provider whose calls may outlast a lease: a live call could not be told from a dead worker's."""
        for provider in providers:
            needed = provider.call_deadline + self.lease_margin
            if needed >= self.lease:
                raise ConfigInvalid(
                    f"a lease of {self.lease.total_seconds():g} s is too short for {provider.name}, whose calls may "
                    f"take {provider.call_deadline.total_seconds():g} s; raise TIDINGS_LEASE_SECONDS above "
                    f"{needed.total_seconds():g}"
                )


@dataclass(frozen=True)
class Kernel:
    """Everything the flow works with; it keeps no state that matters after a crash."""

    db: Database
    clock: Clock
    shards: int
    providers: Mapping[str, Provider]  # what it was started with, and the connections that it has served since
    routes: Mapping[Channel, str]  # what it was started with; the routes in force are in the database, see readiness.py
    renderer: Renderer
    limits: Limits = field(default_factory=Limits)
    vault: Vault = field(default_factory=Vault)  # without a key it seals nothing
    fallbacks: frozenset[RuleKey] = frozenset()  # what the host application does where there is no rule
    vendors: Vendors = field(default_factory=Vendors)  # what workspaces can connect to
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    rests: Rests = field(default_factory=Rests)
    host_rests: HostRests = field(default_factory=HostRests)
    connections: ConnectionTable = field(default_factory=ConnectionTable)
    route_table: RouteTable = field(init=False)
    use: KnownUse = field(default_factory=KnownUse)
    roster: Roster = field(default_factory=Roster)
    senders: KnownByWorkspace[WorkspaceSenders] = field(default_factory=lambda: KnownByWorkspace(WorkspaceSenders()))
    regions: KnownByWorkspace[str | None] = field(default_factory=lambda: KnownByWorkspace(None))  # of phone numbers
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    claim_floor: ClaimFloor = field(default_factory=ClaimFloor)
    statistics: Statistics = field(init=False)
    weights: Weights = field(default_factory=Weights)
    turns: Turns = field(init=False)
    in_hand: InHand = field(default_factory=InHand)
    stops: Stops = field(default_factory=Stops)
    notifier: Notifier = field(init=False)
    graphs: dict[UUID, Graph] = field(default_factory=dict)  # frozen versions, so never stale
    requirements: dict[UUID, Requirements] = field(default_factory=dict)  # of the same versions
    template_facts: KeptFacts = field(default_factory=KeptFacts)  # of templates that are expensive to read
    runs: dict[UUID, LoadedRun] = field(default_factory=dict)  # kept for their content, which never changes
    checks: FairTurns = field(default_factory=FairTurns)  # at what takes this process long without a break
    slots: Mapping[str, Slots] = field(init=False)
    shares: Shares = field(init=False)
    call_counts: CallCounts = field(init=False)
    _providers: dict[str, Provider] = field(init=False)
    _slots: dict[str, Slots] = field(init=False)
    _random: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.limits.require_lease_for(self.providers.values())
        object.__setattr__(self, "_providers", dict(self.providers))
        object.__setattr__(self, "providers", self._providers)
        object.__setattr__(self, "route_table", RouteTable(self.connections, self.vendors))
        object.__setattr__(self, "notifier", Notifier(self.db, self.stops, self.connections))
        object.__setattr__(self, "statistics", Statistics(self.db, self.clock, self.claim_floor, self.shards))
        shared = self.limits.provider_concurrency
        slots = {
            name: Slots(provider.concurrency, 0 if name in shared else None, self.weights)
            for name, provider in self.providers.items()
        }
        object.__setattr__(self, "_slots", slots)
        object.__setattr__(self, "slots", slots)
        object.__setattr__(self, "turns", Turns(self.weights))
        object.__setattr__(self, "shares", self._make_shares())
        object.__setattr__(self, "call_counts", CallCounts(self.db, self.shares.worker_id))

    def _make_shares(self) -> Shares:
        beat, margin = self.limits.share_beat, self.limits.lease_margin
        shares = {
            name: ProviderShare(self.providers[name], limit, self.slots[name], margin, beat)
            for name, limit in self.limits.provider_concurrency.items()
            if name in self.providers
        }
        return Shares(self.db, self.clock, self.draining, shares, beat=beat, margin=margin)

    def serve(self, provider: Provider, limit: int | None) -> Provider | None:
        """Call a connection's provider from now on, within a limit over all workers; return the one it replaces.

        Its slots stay those of the name: calls under way on the one that it replaces are counted with its own.
        """
        name, replaced = provider.name, self.providers.get(provider.name)
        slots = self._slots.setdefault(name, Slots(provider.concurrency, 0 if limit else None, self.weights))
        slots.concurrency = provider.concurrency
        self._providers[name] = provider
        self.shares.limit(provider, limit, slots)
        return replaced

    def let_go(self, provider: Provider) -> None:
        """Forget a connection's provider that nothing calls any more, unless another has taken its name."""
        if self._providers.get(provider.name) is provider:
            del self._providers[provider.name]
            self._slots.pop(provider.name, None)
            self.shares.let_go(provider.name)
            self.use.let_go(provider.name)

    def class_of(self, provider: str, called_at: datetime) -> ProviderClass:
        """What may be done after doubt about a call: nothing, once its connection may lead to another account."""
        connection = self.connections.find(provider)
        if connection and not connection.knows_calls_of(called_at):
            return Blind()
        return self.providers[provider].provider_class

    def call_deadline_of(self, provider: str) -> timedelta:
        """The longest that one call may take, also of a connection that this process does not serve yet."""
        known = self.providers.get(provider)
        return known.call_deadline if known else self.vendors.call_deadline

    def new_id(self, bucket: Bucket, now: datetime) -> UUID:
        """Return a new id in the given bucket."""
        return driver_uuid(id_bits(bucket, now, self._random.getrandbits(62)))

    def lease_until(self, now: datetime) -> datetime:
        """When a lease of now expires; a random fraction of a second makes that identify one claim."""
        return now + self.limits.lease + timedelta(microseconds=int(self.spread() * 100_000))

    def spread(self) -> float:
        """A random number in [0, 1) that keeps things from happening all at once."""
        return self._random.random()

    def shard_of(self, id: UUID) -> Shard:
        """The shard an id lives in."""
        return shard_of(id, self.shards)

    def every_shard(self) -> list[Shard]:
        """All shards, in order."""
        return [Shard(number) for number in range(self.shards)]

    def route_of(self, workspace: Workspace, node: Doer) -> SendingRoute | None:
        """The ways out for what a node does, if there are any for its channel.

        Functions that must not be called again have a provider of their own.
        """
        may_repeat = not isinstance(node, Function) or node.idempotent
        return (
            self.route_table.find(workspace, node.channel) if may_repeat else SendingRoute(self.route_once(workspace))
        )

    def route_once(self, workspace: Workspace) -> str:
        """The name of the provider for functions that must not be called again."""
        return self.once(self.route(workspace, Channel.FUNCTION).first(""))

    def once(self, name: str) -> str:
        """The name of a function provider's variant for calls that must not be repeated, if it has one."""
        return f"{name}_once" if name == FUNCTIONS or f"{name}_once" in self.providers else name

    def route(self, workspace: Workspace, channel: Channel) -> SendingRoute:
        """The ways out for a channel, as far as is known: readiness.py looks them up."""
        found = self.route_table.find(workspace, channel)
        if found is None:
            raise ChannelNotReady([channel])
        return found
