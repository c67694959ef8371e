"""Which providers may be called now: those that do not rest, and of which this process has a share (rule 12).

Reached from providers.py before anything is marked, and from commit.py when a provider has asked for a rest.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial

from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.slots import Rest
from tidings.kernel.gate.answer import Later
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import know_providers, refresh_weights
from tidings.log import log
from tidings.storage import finalize, rests

WITHOUT_PROVIDER = timedelta(seconds=30)
"""How long items wait when no live worker serves their provider."""


async def refresh_limits(kernel: Kernel, now: datetime, providers: Collection[str]) -> None:
    """Learn which providers rest, how many calls this process may make, and what others serve, before a mark."""
    await know_providers(kernel, providers, now)
    await kernel.shares.refresh(now)
    await refresh_weights(kernel, now)
    if kernel.rests.is_stale(now):
        await read_rests(kernel, now)


async def read_rests(kernel: Kernel, now: datetime) -> None:
    """Read which providers rest."""
    kernel.rests.update(await kernel.db.persist(lambda tx: rests.load_rests(tx, now=now), alone=True), now)


async def read_host_rests(kernel: Kernel, names: Sequence[str], now: datetime) -> None:
    """Read which of these hosts of functions rest."""
    found = await kernel.db.persist(partial(rests.load_host_rests, names=names), alone=True)
    kernel.host_rests.update_some(names, found, now)


def blocked_until(kernel: Kernel, provider: str, lane: Lane, now: datetime) -> Later | None:
    """When to try again, if a provider may not be called here now: it rests, or we drain, lack it or have no share."""
    if provider not in kernel.providers:
        return Later(others_may_call_at(kernel, provider, lane, now), "this worker does not serve its provider")
    if kernel.draining.is_set():
        return Later(now, "this worker drains")
    if (connection := kernel.connections.find(provider)) and not connection.is_usable:
        return Later(now + WITHOUT_PROVIDER, f"its connection is {'removed' if connection.is_removed else 'disabled'}")
    if not kernel.shares.last(provider, kernel.clock.carried() + kernel.providers[provider].call_deadline):
        return Later(now + kernel.limits.slot_wait, "this worker has no share of its provider's limit")
    until = kernel.rests.until(provider, now)
    return Later(until, "its provider rests") if until else None


def others_may_call_at(kernel: Kernel, provider: str, lane: Lane, now: datetime) -> datetime:
    """When work that this worker cannot do is due again: at once if another worker can do it, as far as is known.

    A worker that has the provider but does not work on the lane cannot: the work would be released for no one, over and
    over.
    """
    if kernel.roster.staff.serves(provider, lane):
        return now
    log.warning("no_worker_serves", provider=provider, lane=lane.name.lower(), remedy="start a worker that has it")
    return now + WITHOUT_PROVIDER


async def announce(kernel: Kernel, provider: str, rest: Rest) -> None:
    """Let the provider rest for all workers. Its table is not part of any shard, so this uses its own transaction."""
    log.warning("provider_rests", provider=provider, until=rest.until, reason=rest.reason)
    pause = partial(finalize.pause_provider, provider=provider, paused_until=rest.until, reason=rest.reason)
    await kernel.db.persist(pause, alone=True)
