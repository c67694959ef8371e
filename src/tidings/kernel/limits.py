"""Which providers may be called now: those that do not rest, and of which this process has a share (rule 12).

Reached from deliver.py before anything is marked, and from mark.py when a provider has asked for a rest.
"""

from datetime import datetime, timedelta
from functools import partial

import structlog

from tidings.kernel.kernel import Kernel
from tidings.kernel.slots import Rest
from tidings.storage import finalize, rests

log = structlog.get_logger()

WITHOUT_PROVIDER = timedelta(minutes=1)
"""How long items wait that name a provider this worker was not given: another worker may have it."""


async def refresh_limits(kernel: Kernel, now: datetime) -> None:
    """Learn which providers rest, and how many calls of the others are ours, before anything is marked for them."""
    await kernel.shares.refresh(now)
    if kernel.pauses.is_stale(now):
        await read_rests(kernel, now)


async def read_rests(kernel: Kernel, now: datetime) -> None:
    """Learn which providers rest."""
    kernel.pauses.update(await kernel.db.persist(lambda tx: rests.load_rests(tx, now=now), alone=True), now)


def blocked_until(kernel: Kernel, provider: str, now: datetime) -> datetime | None:
    """When to try again, if nothing of a provider may be called now: it rests, or we drain, lack it or a share."""
    if provider not in kernel.providers:
        log.error("provider_missing", provider=provider, remedy="configure it for this worker as for the others")
        return now + WITHOUT_PROVIDER
    if kernel.draining.is_set():
        return now
    if not kernel.shares.last(provider, kernel.clock.carried() + kernel.providers[provider].call_deadline):
        return now + kernel.limits.slot_wait
    return kernel.pauses.until(provider, now)


async def announce(kernel: Kernel, provider: str, rest: Rest) -> None:
    """Let the provider rest for all; its table is no part of any shard, so it has a transaction of its own."""
    log.warning("provider_rests", provider=provider, until=rest.until, reason=rest.reason)
    pause = partial(finalize.pause_provider, provider=provider, paused_until=rest.until, reason=rest.reason)
    await kernel.db.persist(pause, alone=True)
