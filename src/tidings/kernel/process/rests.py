"""Which providers rest, and which cannot be used, as this process knows: what it has read, and what it has seen itself.

kernel/gate/rests.py and kernel/gate/outages.py read and write the database; a Kernel holds the one Rests of a process.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from tidings.kernel.calls.slots import Rest
from tidings.storage.rests import StoredRest

FORGOTTEN_AFTER = timedelta(minutes=15)
"""An outage that no call has tried for this long says nothing about now: no worker ran, or nothing waited."""


class Rests:
    """The rests in force and the outages not known to be over, as last read from the database or seen here."""

    STALE_AFTER = timedelta(seconds=1)

    def __init__(self) -> None:
        self._rests: dict[str, StoredRest] = {}
        self._untold: dict[str, StoredRest] = {}  # outages that this process has seen, and others do not know of yet
        self._answered: dict[str, datetime] = {}  # provider → when the last call began that was answered here
        self._read_at: datetime | None = None

    @property
    def has_outages(self) -> bool:
        """Whether any provider cannot be used."""
        return any(rest.since for rest in self._rests.values())

    def is_stale(self, now: datetime) -> bool:
        """Whether it is time to read them again; always in an outage, or what is woken at its end would wait on."""
        if self._read_at is None or self.has_outages:
            return self._read_at != now
        return now - self._read_at >= self.STALE_AFTER

    def update(self, rests: Mapping[str, StoredRest], now: datetime) -> None:
        """Take over what was read; what was seen here since counts too, but not for ever if it could not be written."""
        self._untold = {name: rest for name, rest in self._untold.items() if rest.until > now}
        self._rests, self._read_at = {**rests, **self._untold}, now

    def extend(self, rests: Mapping[str, Rest]) -> None:
        """Add rests that this process has just asked for; the later end of two wins."""
        for name, rest in rests.items():
            known = self._rests.get(name)
            if known is None:
                self._rests[name] = StoredRest(name, rest.until, rest.reason)
            elif known.until < rest.until:
                self._rests[name] = replace(known, until=rest.until, reason=rest.reason)

    def until(self, provider: str, now: datetime) -> datetime | None:
        """When the provider may be called again, if not now."""
        rest = self._rests.get(provider)
        return rest.until if rest and rest.until > now else None

    def outage(self, provider: str) -> StoredRest | None:
        """What is known, here or in the database, of a provider that cannot be used."""
        rest = self._rests.get(provider)
        return rest if rest and rest.since else None

    def begin_outage(self, name: str, reason: str, started_at: datetime, ended_at: datetime, rest: timedelta) -> bool:
        """Leave a provider alone at once; return False when the call was already under way as its last rest began."""
        known = self.outage(name)
        if known and known.rested_at and started_at <= known.rested_at:
            return False
        is_same = known and known.rested_at and ended_at - known.rested_at <= FORGOTTEN_AFTER
        since = known.since if known and is_same else ended_at
        untold = StoredRest(name, ended_at + rest, reason, since, rested_at=ended_at)
        self._rests[name] = self._untold[name] = untold
        return True

    def forget(self, name: str) -> None:
        """Forget what is known of one: a person has ended its rest."""
        self._rests.pop(name, None)
        self._untold.pop(name, None)

    def told(self, provider: str) -> None:
        """Note that the outages seen here are in the database now."""
        self._untold.pop(provider, None)

    def answered(self, name: str, started_at: datetime) -> datetime | None:
        """Note that a call was answered; if it began after the provider's last rest did, use the provider again."""
        self._answered[name] = started_at
        return self.end_outage(name) if self._rests else None

    def end_outage(self, provider: str) -> datetime | None:
        """Use a provider again if a call was answered here that began after its last rest did; return when it began.

        Asked again for each outage that is read: a call may have been answered here while others failed.
        """
        known, started_at = self.outage(provider), self._answered.get(provider)
        if known is None or known.rested_at is None or started_at is None or started_at <= known.rested_at:
            return None
        del self._rests[provider]
        self.told(provider)
        return started_at


class HostRests(Rests):
    """The hosts of functions that rest, by the names of their rests: each is read for itself, for there may be many."""

    MOST_KNOWN = 10_000

    def __init__(self) -> None:
        super().__init__()
        self._looked_at: dict[str, datetime] = {}
        self._failures: dict[str, int] = {}

    def old(self, names: Iterable[str], now: datetime) -> list[str]:
        """Return those that must be read again: an open one at every look, as whoever else has tried it says."""
        return [name for name in names if self._is_old(name, now)]

    def _is_old(self, name: str, now: datetime) -> bool:
        at = self._looked_at.get(name)
        if at is None or self.outage(name):
            return at != now
        return not timedelta() <= now - at < self.STALE_AFTER

    def update_some(self, names: Iterable[str], rests: Mapping[str, StoredRest], now: datetime) -> None:
        """Take over what was read of these; what was seen here since counts too, but not for ever."""
        if len(self._looked_at) > self.MOST_KNOWN:
            self.forget_all()
        self._untold = {name: rest for name, rest in self._untold.items() if rest.until > now}
        for name in names:
            self._looked_at[name] = now
            self._rests.pop(name, None)
            if found := self._untold.get(name) or rests.get(name):
                self._rests[name] = found

    def failed(self, name: str) -> int:
        """Count a call that nothing answered; return how many there were in a row."""
        self._failures[name] = self._failures.get(name, 0) + 1
        return self._failures[name]

    def begin_outage(self, name: str, reason: str, started_at: datetime, ended_at: datetime, rest: timedelta) -> bool:
        """Leave a host alone at once; the count of failures begins anew."""
        self._failures.pop(name, None)
        return super().begin_outage(name, reason, started_at, ended_at, rest)

    def answered(self, name: str, started_at: datetime) -> datetime | None:
        """Note that a host answered: failures before that do not count any more."""
        self._failures.pop(name, None)
        return super().answered(name, started_at)

    def forget_all(self) -> None:
        """Forget what can be read or learned again."""
        for known in (self._looked_at, self._rests, self._answered, self._failures):
            known.clear()
