"""A provider that cannot be used is left alone by all workers, then tried with a few calls (rule 17).

Reached from deliver.py around its calls, from finalize.py for what becomes of an item, and from jobs.py, which does not
even read the items of a job that could send nothing. The pauses grow in the database, so that they grow for all; an
answer to any call that began after the last of them ends the outage for all.
"""

from datetime import datetime, timedelta
from functools import partial

import structlog

from tidings.domain.ids import made_at
from tidings.domain.item import Reserved
from tidings.domain.outcome import Unavailable
from tidings.domain.queue import Claimed, Lane
from tidings.domain.retry import outlasted, rests_for
from tidings.domain.storable import storable
from tidings.kernel.kernel import Kernel
from tidings.kernel.limits import read_rests
from tidings.kernel.slots import FORGOTTEN_AFTER
from tidings.storage import rests
from tidings.storage.database import Tx
from tidings.storage.load import LoadedRun
from tidings.storage.rests import StoredRest

log = structlog.get_logger()

TRIALS = 3
"""Calls that try whether a provider is back: one of them may be refused for reasons of its own."""
LONGEST_LOOK = timedelta(seconds=30)
"""How long others wait for a trial that takes its time, before they look again."""


class Trouble:
    """A call that could not begin, to be told to everybody."""

    __slots__ = ("ended_at", "outcome", "started_at")

    def __init__(self, outcome: Unavailable, started_at: datetime, ended_at: datetime) -> None:
        self.outcome, self.started_at, self.ended_at = outcome, started_at, ended_at


def meet(kernel: Kernel, provider: str, trouble: Trouble) -> bool:
    """Leave a provider alone here at once; False when this is no new trouble."""
    shortest, reason = rests_for(trouble.outcome).shortest, trouble.outcome.reason
    return kernel.pauses.begin_outage(provider, reason, trouble.started_at, trouble.ended_at, shortest)


async def tell(kernel: Kernel, provider: str, trouble: Trouble) -> None:
    """Let the provider rest for all; its table is no part of any shard, so it has a transaction of its own."""
    pauses, now, reason = rests_for(trouble.outcome), trouble.ended_at, storable(trouble.outcome.reason) or ""

    async def write(tx: Tx) -> None:
        await rests.forget_outage(tx, provider=provider, before=now - FORGOTTEN_AFTER)
        await rests.rest_unavailable(
            tx,
            provider=provider,
            reason=reason,
            refused=trouble.outcome.is_refused,
            started_at=trouble.started_at,
            now=now,
            shortest=pauses.shortest,
            longest=pauses.longest,
        )

    await kernel.db.persist(write)
    kernel.pauses.told(provider)
    await read_rests(kernel, now)
    if rest := kernel.pauses.outage(provider):
        log.warning("provider_unavailable", provider=provider, since=rest.since, until=rest.until, reason=reason)


async def tell_back(kernel: Kernel, provider: str, started_at: datetime, now: datetime) -> None:
    """Let everybody use a provider again, also those who wait for the end of a rest that is over early."""
    rested_until = await kernel.db.persist(
        lambda tx: rests.end_outage(tx, provider=provider, started_at=started_at), alone=True
    )
    if rested_until is None:
        return  # somebody else was first, or it has failed again since
    log.info("provider_back", provider=provider)
    for shard in kernel.every_shard() if rested_until > now else ():
        wake = partial(rests.wake_resting, shard=shard, lanes=list(Lane), rested_until=rested_until, now=now)
        for lane in await kernel.db.persist(wake, alone=True):
            kernel.notifier.tell(shard, lane)


async def may_try(kernel: Kernel, provider: str, now: datetime) -> bool:
    """Whether this process is the one to try a provider whose rest is over."""
    outage = kernel.pauses.outage(provider)
    if outage is None or outage.until > now or provider not in kernel.providers or _is_tried(kernel, outage, now):
        return False
    lost_before = now - _longest_trial(kernel, provider)
    take = partial(rests.try_unavailable, provider=provider, now=now, lost_before=lost_before)
    is_ours = await kernel.db.persist(take, alone=True)
    await read_rests(kernel, now)
    return is_ours


def unusable_until(kernel: Kernel, provider: str, now: datetime) -> datetime | None:
    """When to look again, while a provider that cannot be used rests or is tried by somebody; None when it may be."""
    outage = kernel.pauses.outage(provider)
    if outage is None:
        return None
    if outage.until > now:
        return outage.until
    if provider not in kernel.providers or not _is_tried(kernel, outage, now):
        return None
    age = now - (outage.tried_at or now)  # so that whoever waits looks less and less often at a trial that hangs
    return now + min(max(age, kernel.limits.slot_wait), LONGEST_LOOK)


def _is_tried(kernel: Kernel, outage: StoredRest, now: datetime) -> bool:
    return outage.tried_at is not None and now - outage.tried_at < _longest_trial(kernel, outage.provider)


def _longest_trial(kernel: Kernel, provider: str) -> timedelta:
    return kernel.providers[provider].call_deadline + kernel.limits.lease_margin


def left_until(kernel: Kernel, lease: Claimed, run: LoadedRun, lane: Lane, now: datetime) -> datetime | None:
    """Until when a run's job may be let go without a look at its items, which could not be sent anyway."""
    outage = kernel.pauses.outage(run.provider)
    if outage is None or outage.since is None or lease.stop or lease.crashes or run.max_lateness:
        return None
    if now - outage.since >= kernel.limits.outage_patience[lane]:
        return None
    return unusable_until(kernel, run.provider, now)


def given_up_waiting(kernel: Kernel, item: Reserved, lane: Lane, now: datetime) -> str | None:
    """Why an item is not waited for any longer; only while its provider is known to be out of use."""
    outage = kernel.pauses.outage(item.provider)
    if outage is None or outage.since is None or outage.until <= now or item.in_doubt:
        return None
    return outlasted(now - max(outage.since, ready_at(item)), kernel.limits.outage_patience[lane], outage.reason)


def ready_at(item: Reserved) -> datetime:
    """When an item could first have been called for in its present state: when it was made, or at its own time."""
    made = made_at(item.id)
    return max(made, item.retry_at) if item.retry_at else made
