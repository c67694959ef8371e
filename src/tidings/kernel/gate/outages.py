"""A provider that cannot be used is left alone by all workers, then tried with a few calls (rule 17).

Reached from providers.py before marks, from windows.py after calls, from finalize.py for what becomes of an item,
and from jobs.py, which does not even read the items of a job that could send nothing. The rests grow in the database,
so that they grow for all workers; an answer to any call that began after the last rest ends the outage for all.
"""

from collections.abc import Callable, Iterable, MutableSequence
from datetime import datetime, timedelta
from functools import partial
from typing import assert_never

import msgspec
import structlog

from tidings.domain.flow.ids import made_at
from tidings.domain.flow.item import Delivered, ItemStatus, Reserved
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Claimed, Lane
from tidings.domain.flow.retry import RetryPolicy, outlasted, rests_for
from tidings.domain.storable import storable
from tidings.kernel.gate.answer import Never
from tidings.kernel.gate.check import Item
from tidings.kernel.gate.rests import read_rests
from tidings.kernel.kernel import Kernel
from tidings.kernel.process.rests import FORGOTTEN_AFTER
from tidings.storage import rests
from tidings.storage.database import Tx
from tidings.storage.load import LoadedRun
from tidings.storage.rests import StoredRest

log = structlog.get_logger()

TRIALS = 3
"""The number of calls that try whether a provider is back: one alone may be refused for reasons of its own."""
LONGEST_LOOK = timedelta(seconds=30)
"""How long other batches wait for a slow trial before they look again."""


class Trouble(msgspec.Struct, frozen=True):
    """A call that could not begin."""

    outcome: Unavailable
    started_at: datetime
    ended_at: datetime


class Outages:
    """What one batch learns of providers that cannot be used, and the trials that it has claimed."""

    def __init__(self, kernel: Kernel, lane: Lane) -> None:
        self._kernel, self._lane = kernel, lane
        self._troubles: dict[str, Trouble] = {}
        self._back: dict[str, datetime] = {}  # provider → when the call began that proves it
        self._trials: dict[str, int] = {}  # provider → calls left that try whether it is back

    def is_out(self, provider: str, now: datetime | None = None) -> bool:
        """Whether a provider is known to be unusable; with a time, whether it then rests for that reason."""
        outage = self._kernel.rests.outage(provider)
        return outage is not None and (now is None or outage.until > now)

    def note(self, call: Delivered) -> None:
        """Note an answer: a provider that answered is used again, one whose call could not begin is left alone."""
        provider, rests = call.item.provider, self._kernel.rests
        match call.outcome:
            case Accepted() | Rejected() | RetryLater():
                if proof := rests.answered(provider, call.started_at):
                    self._back[provider] = proof
            case Unavailable(reason) as outcome:
                rest = rests_for(outcome).shortest
                if rests.begin_outage(provider, reason, call.started_at, call.ended_at, rest):
                    self._troubles[provider] = Trouble(outcome, call.started_at, call.ended_at)
            case Unknown():
                pass  # it is unknown whether the provider was reached
            case _:
                assert_never(call.outcome)

    async def tell(self, now: datetime) -> None:
        """Tell all workers what was noted: which providers cannot be used, and which can be again."""
        troubles, self._troubles, back, self._back = self._troubles, {}, self._back, {}
        for provider, started_at in back.items():
            await _tell_back(self._kernel, provider, started_at, now)
        for provider, trouble in troubles.items():
            await _tell(self._kernel, provider, trouble)

    def wait_after(self, call: Delivered, outcome: Unavailable) -> datetime:
        """When an item that could not be called for is due again: at the end of the provider's rest, or later by a wait
        of its own that grows with each attempt."""
        own = call.ended_at + rests_for(outcome).after(call.item.attempt)
        return max(own, self._kernel.rests.until(call.item.provider, call.ended_at) or own)

    async def take_on(self, providers: Iterable[str], is_calling: Callable[[str], bool], now: datetime) -> None:
        """Claim the trial of providers whose rest is over, unless another batch has it; use one that has answered."""
        for provider in providers:
            if proof := self._kernel.rests.end_outage(provider):
                await _tell_back(self._kernel, provider, proof, now)
            if (
                not is_calling(provider)
                and not self.is_trying(provider)
                and await _may_try(self._kernel, provider, now)
            ):
                self._trials[provider] = TRIALS

    def is_trying(self, provider: str) -> bool:
        """Whether this batch has calls left that try the provider."""
        return bool(self._trials.get(provider))

    def choose(self, provider: str, outgoing: MutableSequence[Outgoing]) -> int:
        """How many of these may be called for: all, or a few chosen at random."""
        if not self.is_out(provider):
            return len(outgoing)
        first = int(self._kernel.spread() * len(outgoing))
        outgoing[:] = [*outgoing[first:], *outgoing[:first]]  # otherwise the same item would try again and again
        return min(self._trials.get(provider, 0), len(outgoing))

    def spend(self, provider: str, calls: int) -> None:
        """Count calls that try a provider."""
        if provider in self._trials:
            self._trials[provider] -= calls

    def given_up(self, item: Item, now: datetime) -> Never | None:
        """Why an item waits no longer, if it has waited through this outage for as long as its lane waits."""
        outage = self._kernel.rests.outage(item.provider)
        if outage is None or outage.until <= now or not isinstance(item, Reserved) or item.in_doubt:
            return None  # only while it is known to be unusable: a rest that is over says nothing any more
        patience = self._kernel.limits.outage_patience[self._lane]
        reason = outlasted(_waited(outage, item, now), patience, outage.reason)
        return Never(reason, ItemStatus.FAILED) if reason else None


def _waited(outage: StoredRest | None, item: Reserved, now: datetime) -> timedelta:
    """How long an item has waited in this outage, from when it was made or from its own time."""
    begun = [at for at in (outage and outage.since, item.retry_at, made_at(item.id)) if at]
    return now - max(begun) if outage else timedelta()


def outlasted_outage(
    kernel: Kernel, item: Reserved, lane: Lane, retry: RetryPolicy, reason: str, now: datetime
) -> str | None:
    """Why an item whose call could not begin is given up, or None while it goes on waiting."""
    patience = kernel.limits.outage_patience[lane]
    waited = _waited(kernel.rests.outage(item.provider), item, now)
    # An item that alone is refused like this, while others pass, would begin a new outage each time: it must end, too.
    in_all, longest = now - (item.first_marked_at or now), retry.patience + patience
    return outlasted(waited, patience, reason) or outlasted(in_all, longest, reason)


def left_until(kernel: Kernel, lease: Claimed, run: LoadedRun, lane: Lane, now: datetime) -> datetime | None:
    """Until when a run's job may be released without reading its items, which could not be sent anyway."""
    outage = kernel.rests.outage(run.provider)
    if outage is None or outage.since is None or lease.stop or lease.crashes or run.max_lateness:
        return None
    if now - outage.since >= kernel.limits.outage_patience[lane]:
        return None
    return unusable_until(kernel, run.provider, now)


def unusable_until(kernel: Kernel, provider: str, now: datetime) -> datetime | None:
    """When to look again at an unusable provider that rests or is being tried; None when it may be called."""
    outage = kernel.rests.outage(provider)
    if outage is None:
        return None
    if outage.until > now:
        return outage.until
    if provider not in kernel.providers or not _is_tried(kernel, outage, now):
        return None
    age = now - (outage.tried_at or now)  # so that waiting batches look less and less often at a trial that hangs
    return now + min(max(age, kernel.limits.slot_wait), LONGEST_LOOK)


async def _may_try(kernel: Kernel, provider: str, now: datetime) -> bool:
    """Whether this process gets to try a provider whose rest is over."""
    outage = kernel.rests.outage(provider)
    if outage is None or outage.until > now or provider not in kernel.providers or _is_tried(kernel, outage, now):
        return False
    lost_before = now - _longest_trial(kernel, provider)
    take = partial(rests.try_unavailable, provider=provider, now=now, lost_before=lost_before)
    is_ours = await kernel.db.persist(take, alone=True)
    await read_rests(kernel, now)
    return is_ours


def _is_tried(kernel: Kernel, outage: StoredRest, now: datetime) -> bool:
    return outage.tried_at is not None and now - outage.tried_at < _longest_trial(kernel, outage.provider)


def _longest_trial(kernel: Kernel, provider: str) -> timedelta:
    return kernel.providers[provider].call_deadline + kernel.limits.lease_margin


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
    kernel.rests.told(provider)
    await read_rests(kernel, trouble.ended_at)
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
    for shard in kernel.every_shard() if rested_until > now else ():
        wake = partial(rests.wake_resting, shard=shard, lanes=list(Lane), rested_until=rested_until, now=now)
        for lane in await kernel.db.persist(wake, alone=True):
            kernel.notifier.tell(shard, lane)
