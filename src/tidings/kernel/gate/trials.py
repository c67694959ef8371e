"""What rests and is tried again, whatever its name: a provider, or a host of a workspace's functions (rule 17).

Reached from outages.py and hosts.py. The rests grow in the database, so that they grow for all workers; one of them
tries when a rest is over, and an answer to any call that began after the last rest ends the outage for all.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

import msgspec

from tidings.domain.flow.hosts import HOST_RESTS, provider_of
from tidings.domain.flow.ids import made_at
from tidings.domain.flow.item import Reserved
from tidings.domain.flow.outcome import Unavailable
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.retry import rests_for
from tidings.domain.storable import storable
from tidings.kernel.gate.rests import read_host_rests, read_rests
from tidings.kernel.kernel import Kernel
from tidings.kernel.process.rests import FORGOTTEN_AFTER, Rests
from tidings.log import log
from tidings.storage import rests
from tidings.storage.database import Tx
from tidings.storage.rests import StoredRest

LONGEST_LOOK = timedelta(seconds=30)
"""How long other batches wait for a slow trial before they look again."""
HOSTS_FORGOTTEN_AFTER = timedelta(days=1)


class Trouble(msgspec.Struct, frozen=True):
    """A call that could not begin."""

    outcome: Unavailable
    started_at: datetime
    ended_at: datetime


def rests_for_name(kernel: Kernel, name: str) -> Rests:
    """The rests that this process knows of, of providers or of hosts."""
    return kernel.host_rests if name.startswith(HOST_RESTS) else kernel.rests


async def _read(kernel: Kernel, name: str, now: datetime) -> None:
    if name.startswith(HOST_RESTS):
        await read_host_rests(kernel, [name], now)
    else:
        await read_rests(kernel, now)


async def tell(kernel: Kernel, troubles: Mapping[str, Trouble], back: Mapping[str, datetime], now: datetime) -> None:
    """Tell all workers what cannot be used, and what can be again, with when the call began that proves it."""
    for name, started_at in back.items():
        await _tell_back(kernel, name, started_at, now)
    for name, trouble in troubles.items():
        await _tell(kernel, name, trouble)


async def wake_early(kernel: Kernel, rested_until: datetime, now: datetime) -> None:
    """Make due what waits for the end of a rest that is over early."""
    for shard in kernel.every_shard() if rested_until > now else ():
        wake = partial(rests.wake_resting, shard=shard, lanes=list(Lane), rested_until=rested_until, now=now)
        for lane in await kernel.db.persist(wake, alone=True):
            kernel.notifier.tell(shard, lane)


def waited(outage: StoredRest | None, item: Reserved, now: datetime) -> timedelta:
    """How long an item has waited in this outage, from when it was made or from its own time."""
    begun = [at for at in (outage and outage.since, item.retry_at, made_at(item.id)) if at]
    return now - max(begun) if outage else timedelta()


def unusable_until(kernel: Kernel, provider: str, now: datetime) -> datetime | None:
    """When to look again at an unusable provider that rests or is being tried; None when it may be called."""
    outage = rests_for_name(kernel, provider).outage(provider)
    if outage is None:
        return None
    if outage.until > now:
        return outage.until
    if provider_of(provider) not in kernel.providers or not _is_tried(kernel, outage, now):
        return None
    age = now - (outage.tried_at or now)  # so that waiting batches look less and less often at a trial that hangs
    return now + min(max(age, kernel.limits.slot_wait), LONGEST_LOOK)


async def may_try(kernel: Kernel, provider: str, now: datetime) -> bool:
    """Whether this process gets to try a provider whose rest is over."""
    outage = rests_for_name(kernel, provider).outage(provider)
    if (
        outage is None
        or outage.until > now
        or provider_of(provider) not in kernel.providers
        or _is_tried(kernel, outage, now)
    ):
        return False
    lost_before = now - _longest_trial(kernel, provider)
    take = partial(rests.try_unavailable, provider=provider, now=now, lost_before=lost_before)
    is_ours = await kernel.db.persist(take, alone=True)
    await _read(kernel, provider, now)
    return is_ours


def _is_tried(kernel: Kernel, outage: StoredRest, now: datetime) -> bool:
    return outage.tried_at is not None and now - outage.tried_at < _longest_trial(kernel, outage.provider)


def _longest_trial(kernel: Kernel, provider: str) -> timedelta:
    return kernel.providers[provider_of(provider)].call_deadline + kernel.limits.lease_margin


async def _tell(kernel: Kernel, provider: str, trouble: Trouble) -> None:
    """Let the provider rest for all workers. Its table is not part of any shard, so this uses its own transaction."""

    async def write(tx: Tx) -> StoredRest | None:
        known = await rests.lock_rest(tx, provider=provider)
        if known and known.rested_at and trouble.started_at <= known.rested_at:
            return None  # it was under way when the rest began: the same trouble, not more of it
        rest = _next_rest(provider, known, trouble)
        await rests.rest_unavailable(tx, rest=rest, started_at=trouble.started_at)
        return rest

    rest = await kernel.db.persist(write)
    rests_for_name(kernel, provider).told(provider)
    await _read(kernel, provider, trouble.ended_at)
    if rest and provider.startswith(HOST_RESTS):
        forget = partial(rests.forget_old_host_rests, before=trouble.ended_at - HOSTS_FORGOTTEN_AFTER)
        await kernel.db.persist(forget, alone=True)
    if rest:
        log.warning("provider_unavailable", provider=provider, since=rest.since, until=rest.until, reason=rest.reason)


def _next_rest(provider: str, known: StoredRest | None, trouble: Trouble) -> StoredRest:
    """The rest after one more failure, longer than the last; an outage that was not tried for long counts as new."""
    now, outcome = trouble.ended_at, trouble.outcome
    is_same = known is not None and known.rested_at is not None and now - known.rested_at <= FORGOTTEN_AFTER
    times = known.times + 1 if known and is_same else 1
    since = known.since if known and is_same else now
    until = max(now + rests_for(outcome).after(times), known.until if known else now)
    return StoredRest(provider, until, storable(outcome.reason) or "", since, times, outcome.is_refused, now)


async def _tell_back(kernel: Kernel, provider: str, started_at: datetime, now: datetime) -> None:
    """Let all workers use a provider again, and wake what waits for the end of the rest that is over early."""
    rested_until = await kernel.db.persist(
        lambda tx: rests.end_outage(tx, provider=provider, started_at=started_at), alone=True
    )
    if rested_until is None:
        return  # another worker was first, or it has failed again since
    log.info("provider_back", provider=provider)
    await wake_early(kernel, rested_until, now)
