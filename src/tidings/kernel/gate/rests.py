"""Which providers may be called now: those that do not rest, and of which this process has a share (rule 12).

Reached from deliver.py before anything is marked, and from mark.py when a provider has asked for a rest.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import structlog

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.slots import Rest
from tidings.kernel.flow.held import Held
from tidings.kernel.kernel import Kernel
from tidings.kernel.readiness import know_others
from tidings.storage import finalize, rests

log = structlog.get_logger()

WITHOUT_PROVIDER = timedelta(seconds=30)
"""How long items wait whose provider no worker serves that lives."""


async def refresh_limits(kernel: Kernel, now: datetime, providers: Iterable[str]) -> None:
    """Learn which providers rest, how many calls are ours, and what others serve, before anything is marked."""
    await know_others(kernel, providers, now)
    await kernel.shares.refresh(now)
    if kernel.rests.is_stale(now):
        await read_rests(kernel, now)


async def read_rests(kernel: Kernel, now: datetime) -> None:
    """Learn which providers rest."""
    kernel.rests.update(await kernel.db.persist(lambda tx: rests.load_rests(tx, now=now), alone=True), now)


def blocked_until(kernel: Kernel, provider: str, lane: Lane, now: datetime) -> datetime | None:
    """When to try again, if nothing of a provider may be called now: it rests, or we drain, lack it or a share."""
    if provider not in kernel.providers:
        return others_may_call_at(kernel, provider, lane, now)
    if kernel.draining.is_set():
        return now
    if not kernel.shares.last(provider, kernel.clock.carried() + kernel.providers[provider].call_deadline):
        return now + kernel.limits.slot_wait
    return kernel.rests.until(provider, now)


def others_may_call_at(kernel: Kernel, provider: str, lane: Lane, now: datetime) -> datetime:
    """When work is due again that this worker cannot do: at once if somebody else can, as far as is known.

    Who has the provider and does not work on the lane cannot: it would be given back to nobody, over and over.
    """
    if kernel.roster.staff.serves(provider, lane):
        return now
    log.warning("no_worker_serves", provider=provider, lane=lane.name.lower(), remedy="start a worker that has it")
    return now + WITHOUT_PROVIDER


def hand_over(kernel: Kernel, shard: Shard, lane: Lane, owners: Iterable[Held], now: datetime) -> None:
    """Leave to others what was released to them just now: pass it over for a while, and tell them."""
    given_back = [
        (held.lease.id, held.lease.fence + 1)  # as the release has left it
        for held in owners
        if held.postponed and any(_is_others(kernel, held, id, now) for id in held.postponed)
    ]
    if given_back:
        kernel.elsewhere.note(given_back, now)
        if not kernel.elsewhere.is_full:  # else they have enough to do, and this worker would hear of it, too
            kernel.notifier.tell(shard, lane)


def _is_others(kernel: Kernel, held: Held, item: UUID, now: datetime) -> bool:
    open_item = held.open.get(item)
    return open_item is not None and open_item.provider not in kernel.providers and held.postponed[item] <= now


async def announce(kernel: Kernel, provider: str, rest: Rest) -> None:
    """Let the provider rest for all; its table is no part of any shard, so it has a transaction of its own."""
    log.warning("provider_rests", provider=provider, until=rest.until, reason=rest.reason)
    pause = partial(finalize.pause_provider, provider=provider, paused_until=rest.until, reason=rest.reason)
    await kernel.db.persist(pause, alone=True)
