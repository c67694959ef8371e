"""A provider that cannot be used is left alone by all workers, then tried with a few calls (rule 17).

Reached from providers.py before marks, from windows.py after calls, from finalize.py for what becomes of an item,
and from jobs.py, which does not even read the items of a job that could send nothing. trials.py writes the rests and
claims the trials; hosts.py does the same for hosts.
"""

from collections.abc import Callable, Iterable, MutableSequence
from datetime import datetime
from typing import assert_never

import msgspec

from tidings.domain.flow.hosts import HOSTED_CHANNELS
from tidings.domain.flow.item import Channel, Delivered, ItemStatus, Reserved
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Claimed, Lane
from tidings.domain.flow.retry import RetryPolicy, outlasted, rests_for
from tidings.domain.storable import storable
from tidings.kernel.gate.answer import Never
from tidings.kernel.gate.check import Item
from tidings.kernel.gate.failover import has_way_around
from tidings.kernel.gate.hosts import CalledHosts
from tidings.kernel.gate.trials import Trouble, may_try, tell, unusable_until, waited
from tidings.kernel.kernel import Kernel
from tidings.storage.load import LoadedRun

TRIALS = 3
"""The number of calls that try whether a provider is back: one alone may be refused for reasons of its own."""


class Outages:
    """What one batch learns of providers that cannot be used, and the trials that it has claimed."""

    def __init__(self, kernel: Kernel, lane: Lane) -> None:
        self._kernel, self._lane = kernel, lane
        self._troubles: dict[str, Trouble] = {}
        self._back: dict[str, datetime] = {}  # provider → when the call began that proves it
        self._trials: dict[str, int] = {}  # provider → calls left that try whether it is back
        self.hosts = CalledHosts(kernel, lane)

    def is_out(self, provider: str, now: datetime | None = None) -> bool:
        """Whether a provider is known to be unusable; with a time, whether it then rests for that reason."""
        outage = self._kernel.rests.outage(provider)
        return outage is not None and (now is None or outage.until > now)

    def note(self, call: Delivered) -> None:
        """Note an answer: a provider that answered is used again, one whose call could not begin is left alone."""
        if call.item.channel in HOSTED_CHANNELS:
            self.hosts.note(call)
        if call.item.channel is Channel.FUNCTION:
            return  # one name stands for many functions: trouble of one must not rest the others
        provider, rests = call.item.provider, self._kernel.rests
        match call.outcome:
            case Accepted() | Rejected() | RetryLater():
                if proof := rests.answered(provider, call.started_at):
                    self._back[provider] = proof
            case Unavailable() as said:
                outcome = msgspec.structs.replace(said, reason=storable(call.told) or "")
                rest = rests_for(outcome).shortest
                if rests.begin_outage(provider, outcome.reason, call.started_at, call.ended_at, rest):
                    self._troubles[provider] = Trouble(outcome, call.started_at, call.ended_at)
            case Unknown():
                pass  # it is unknown whether the provider was reached
            case _:
                assert_never(call.outcome)

    async def tell(self, now: datetime) -> None:
        """Tell all workers what was noted: which providers cannot be used, and which can be again."""
        troubles, self._troubles, back, self._back = self._troubles, {}, self._back, {}
        await tell(self._kernel, troubles, back, now)
        await self.hosts.tell(now)

    def wait_after(self, call: Delivered, outcome: Unavailable) -> datetime:
        """When an item that could not be called for is due again: at the end of the provider's rest, or later by a wait
        of its own that grows with each attempt."""
        own = call.ended_at + rests_for(outcome).after(call.item.attempt)
        return max(own, self._kernel.rests.until(call.item.provider, call.ended_at) or own)

    async def take_on(self, providers: Iterable[str], is_calling: Callable[[str], bool], now: datetime) -> None:
        """Claim the trial of providers whose rest is over, unless another batch has it; use one that has answered."""
        for provider in providers:
            if proof := self._kernel.rests.end_outage(provider):
                await tell(self._kernel, {}, {provider: proof}, now)
            if not is_calling(provider) and not self.is_trying(provider) and await may_try(self._kernel, provider, now):
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
        # What the provider said stays with the calls it was said to: they may be another tenant's.
        reason = outlasted(waited(outage, item, now), patience, "it cannot be used")
        return Never(reason, ItemStatus.FAILED) if reason else None


def outlasted_outage(
    kernel: Kernel, item: Reserved, lane: Lane, retry: RetryPolicy, reason: str, now: datetime
) -> str | None:
    """Why an item whose call could not begin is given up, or None while it goes on waiting."""
    patience = kernel.limits.outage_patience[lane]
    so_far = waited(kernel.rests.outage(item.provider), item, now)
    # An item that alone is refused like this, while others pass, would begin a new outage each time: it must end, too.
    in_all, longest = now - (item.first_marked_at or now), retry.patience + patience
    return outlasted(so_far, patience, reason) or outlasted(in_all, longest, reason)


def left_until(kernel: Kernel, lease: Claimed, run: LoadedRun, lane: Lane, now: datetime) -> datetime | None:
    """Until when a run's job may be released without reading its items, which could not be sent anyway."""
    outage = kernel.rests.outage(run.provider)
    if outage is None or outage.since is None or lease.stop or lease.crashes or run.max_lateness:
        return None
    if now - outage.since >= kernel.limits.outage_patience[lane]:
        return None
    if has_way_around(kernel, kernel.route_table.find(run.where, run.channel), run.provider, now):
        return None
    return unusable_until(kernel, run.provider, now)
