"""Read and write which provider serves a channel, and read which workers could do its work (rule 18), and how much
each tenant gets beside others (rule 19).

A process that starts with settings writes them to the database; every process plans by what is stored there, so
nothing depends on the one that asked. Reached from wherever work is started or planned, and from gate/rests.py for what
others must do.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from tidings.domain.connections.route import SendingRoute
from tidings.domain.errors import ChannelNotReady
from tidings.domain.flow.graph import Doer
from tidings.domain.flow.ids import Workspace, tenant_part, workspace_hash
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import LIVE_FOR, Staff, channels_needing_routes
from tidings.kernel.connecting import know_connections, serve_connections
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import routes, weights, workers
from tidings.storage.acting import EVERYONE, act_for
from tidings.storage.workers import ListedWorker


async def declare_routes(kernel: Kernel, source: str = "settings") -> Mapping[Channel, str]:
    """Store the routes this process was started with; return those that are new. What is not set removes nothing."""
    if not kernel.routes:
        return {}
    now = await kernel.clock.now()
    put = partial(routes.put_routes, providers=kernel.routes, source=source, now=now)
    new = await kernel.db.persist(put, alone=True)
    kernel.route_table.forget()
    return new


async def know_routes(kernel: Kernel, wanted: Collection[tuple[Workspace, Channel]], now: datetime) -> None:
    """Refresh the routes if they are stale, and also where one is missing, before anything is refused or waits."""
    await know_connections(kernel, now)
    if kernel.route_table.is_stale(now) or any(kernel.route_table.find(*one) is None for one in wanted):
        with act_for(EVERYONE):  # the table is the whole process's
            found = await kernel.db.persist(routes.list_routes, alone=True)
        kernel.route_table.update({(one.workspace, one.channel): one.provider for one in found}, now)


async def find_routes(
    kernel: Kernel, wanted: Sequence[tuple[Workspace, Doer]], now: datetime
) -> list[SendingRoute | None]:
    """Return the route of each node in its workspace; None where it was removed since the start."""
    await know_routes(kernel, {(workspace, node.channel) for workspace, node in wanted}, now)
    found = [kernel.route_of(workspace, node) for workspace, node in wanted]
    for channel in {node.channel for (_, node), route in zip(wanted, found, strict=True) if route is None}:
        log.warning("channel_not_ready", channel=channel, remedy=str(ChannelNotReady([channel])))
    return found


async def refresh_weights(kernel: Kernel, now: datetime) -> None:
    """Learn what the operator has set since: how much each tenant and workspace gets beside others."""
    if not kernel.weights.is_stale(now):
        return
    stored = await kernel.db.persist(weights.list_weights, alone=True)
    hashes = [(workspace_hash(one.tenant, one.workspace or ""), one) for one in stored]
    kernel.weights.update(
        {tenant_part(key): one.weight for key, one in hashes if one.workspace is None},
        {key: one.weight for key, one in hashes if one.workspace is not None},
        now,
    )


async def find_unrouted(kernel: Kernel, workspace: Workspace, channels: Iterable[Channel]) -> list[Channel]:
    """Return those of the channels that no provider is set up for."""
    wanted = channels_needing_routes(channels)
    await know_routes(kernel, [(workspace, channel) for channel in wanted], await kernel.clock.now())
    return [channel for channel in wanted if kernel.route_table.find(workspace, channel) is None]


async def require_ready(kernel: Kernel, workspace: Workspace, channels: Iterable[Channel]) -> None:
    """Refuse to start what needs a channel that no provider is set up for."""
    if missing := await find_unrouted(kernel, workspace, channels):
        raise ChannelNotReady(missing)


async def live_workers(kernel: Kernel) -> list[ListedWorker]:
    """Return the workers that were seen a moment ago."""
    now = await kernel.clock.now()
    return await kernel.db.persist(partial(workers.list_workers, since=now - LIVE_FOR), alone=True)


async def live_staff(kernel: Kernel) -> Staff:
    """Return what the live workers together can do."""
    return staff_of(await live_workers(kernel))


async def know_providers(kernel: Kernel, providers: Collection[str], now: datetime) -> None:
    """Serve those of these providers that are connections; if this process lacks one, refresh what others can do."""
    await serve_connections(kernel, providers, now)
    if any(name not in kernel.providers for name in providers) and kernel.roster.is_stale(now):
        kernel.roster.update(await live_staff(kernel), now)


def staff_of(found: Iterable[ListedWorker]) -> Staff:
    """What some workers together can do."""
    live = list(found)
    lanes = frozenset(lane for one in live for lane in one.lanes)
    return Staff(lanes, frozenset((lane, name) for one in live for lane in one.lanes for name in one.serves))
