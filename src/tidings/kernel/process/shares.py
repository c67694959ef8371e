"""Share a provider's limit with all other workers, through PostgreSQL.

Each worker holds a number of slots under a lease, and renews it on a beat: nothing is asked or counted for a call.
deliver.py starts a call only if the lease outlasts it, so that a worker which is dead, frozen or cut off has no call
under way when its slots go to others. `beat_share` in storage/schema.sql decides which worker gets how many; without a
limit this module does nothing.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

from tidings.domain.flow.provider import KeepsConnections, Provider
from tidings.kernel.calls.slots import Slots
from tidings.log import log
from tidings.storage import shares
from tidings.storage.clock import Clock
from tidings.storage.database import Database, TransientFailure, Tx
from tidings.storage.shares import Granted

NEVER = datetime.min.replace(tzinfo=UTC)
BEATS_OF_GRACE = 15
"""Beats that may fail in a row before a worker starts no more calls."""
BEATS_OF_A_TURN = 10
"""How long one worker keeps the odd slot that cannot be divided."""
QUICK, OWED, IDLE = 0.1, 0.25, 3.0
"""Beats until the next one: with slots to release or request; while others still hold ours; without work."""
LONGEST_FAREWELL_SECONDS = 5.0


class ProviderShare:
    """What this process holds of one provider's limit."""

    def __init__(self, provider: Provider, limit: int, slots: Slots, margin: timedelta, beat: timedelta) -> None:
        self.provider, self.limit, self.slots, self._beat = provider, limit, slots, beat
        self.lease = provider.call_deadline + margin + BEATS_OF_GRACE * beat
        self.until = NEVER
        self.beat_at = self._faded_at = NEVER
        self.is_beating = False
        self.is_lost = False  # whether the last beat failed
        self._held = self._fair = self._wanted = 0

    @property
    def kept(self) -> int:
        """The calls that are under way or may start before the next beat."""
        return max(self.slots.size, self.slots.in_air)

    def is_due(self, now: datetime) -> bool:
        """Whether it is time for a beat; a clock that was set back must not stop them."""
        return not self.is_beating and not timedelta() <= now - self.beat_at < self._beat * self._pause

    @property
    def _pause(self) -> float:
        if self.is_lost:
            return 1.0
        if self._held > self.kept or (self.slots.is_short and self._wanted < self.slots.concurrency):
            return QUICK
        if self.slots.size < self._fair:
            return OWED
        return 1.0 if self._wanted else IDLE

    def wanted(self, now: datetime) -> int:
        """The calls that this process would make at once; past demand counts for less with time, not with beats."""
        wanted = self.slots.wanted
        if not timedelta() <= now - self._faded_at < self._beat:
            self._faded_at = now
            self.slots.fade()
        return wanted

    def take(self, granted: Granted, wanted: int) -> None:
        """Work with what was granted; slots beyond the fair share are released as their calls end."""
        self._held, self._fair, self._wanted, self.until = granted.slots, granted.fair, wanted, granted.until
        self.resize(min(granted.slots, granted.fair))

    def forget(self) -> None:
        """Hold nothing any more."""
        self._held, self.until, self.beat_at = 0, NEVER, NEVER
        self.resize(0)

    def resize(self, size: int) -> None:
        """Limit calls and connections to this number, before the rest is offered to others."""
        self.slots.resize(size)
        if isinstance(self.provider, KeepsConnections):
            self.provider.keep_connections(size)


class Shares:
    """What this process holds of every provider whose limit is shared."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        draining: asyncio.Event,
        shares: Mapping[str, ProviderShare],
        *,
        beat: timedelta,
        margin: timedelta,
    ) -> None:
        self._db, self._clock, self._draining = db, clock, draining
        self._shares, self._beat, self._margin = dict(shares), beat, margin
        self._beat_seconds = beat.total_seconds()
        self._is_started = False
        self._keeping: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self.worker_id: UUID = uuid4()

    def last(self, provider: str, until: datetime) -> bool:
        """Whether this process may call the provider until then, with a margin."""
        share = self._shares.get(provider)
        return share is None or until + self._margin < share.until

    def limit(self, provider: Provider, limit: int | None, slots: Slots) -> None:
        """Share a limit of a connection's provider from now on, or another than before, or none."""
        known = self._shares.get(provider.name)
        if limit is None:
            self._shares.pop(provider.name, None)
            slots.resize(slots.concurrency)
        elif known is None:
            slots.resize(0)  # nothing is held before the first beat
            self._shares[provider.name] = ProviderShare(provider, limit, slots, self._margin, self._beat)
            if self._is_started:
                self.start()
        else:
            known.provider, known.limit = provider, limit

    def let_go(self, provider: str) -> None:
        """Share nothing of a connection that was removed."""
        self._shares.pop(provider, None)

    def start(self) -> None:
        """Start a task that renews the shares until everything is released."""
        self._is_started = True
        if self._shares and self._keeping is None:
            self._ended.clear()
            self._keeping = asyncio.create_task(self._keep())

    async def refresh(self, now: datetime) -> None:
        """Renew the shares whose beat is due; called before each window too, for engines that have no worker."""
        for share in [*self._shares.values()]:
            if share.is_due(now):
                await self._renew_share(share, now)

    async def give_back(self) -> None:
        """Release all slots at once, when no call is under way any more."""
        if self._keeping is None and all(share.until == NEVER for share in self._shares.values()):
            return
        try:
            async with asyncio.timeout(LONGEST_FAREWELL_SECONDS):
                await self._stop_keeping()
                await self._db.persist(partial(shares.drop_shares, worker_id=self.worker_id), alone=True)
        except (TimeoutError, TransientFailure):
            log.warning("slots_not_given_back", worker_id=str(self.worker_id), remedy="they come free by themselves")
        for share in self._shares.values():
            share.forget()

    async def _stop_keeping(self) -> None:
        """Stop the beats. One that is under way is waited for: it must not come after the release."""
        self._is_started = False
        self._ended.set()
        keeping, self._keeping = self._keeping, None
        if keeping:
            await keeping

    async def _keep(self) -> None:
        while not self._ended.is_set():
            try:
                await self.refresh(await self._clock.now())
            except Exception:
                log.exception("beat_failed", worker_id=str(self.worker_id))
            try:
                async with asyncio.timeout(QUICK * self._beat_seconds):
                    await self._ended.wait()
            except TimeoutError:
                continue

    async def _renew_share(self, share: ProviderShare, now: datetime) -> None:
        share.is_beating = True
        if self._draining.is_set():
            share.resize(0)  # no call starts any more: the slot of each that ends is released
        wanted = 0 if self._draining.is_set() else share.wanted(now)
        try:
            async with self._db.autocommit() as tx:
                share.take(await self._renew(tx, share, wanted, now), wanted)
            share.is_lost = False
        except TransientFailure as failure:
            share.is_lost = True
            log.warning("beat_lost", provider=share.provider.name, slots_until=share.until, reason=str(failure))
        finally:
            share.beat_at = now
            share.is_beating = False

    async def _renew(self, tx: Tx, share: ProviderShare, wanted: int, now: datetime) -> Granted:
        return await shares.beat_share(
            tx,
            provider=share.provider.name,
            worker_id=self.worker_id,
            provider_limit=share.limit,
            kept=share.kept,
            wanted=wanted,
            turn=str(int(now.timestamp() / (BEATS_OF_A_TURN * self._beat_seconds))),
            now=now,
            lease_until=now + share.lease,
        )
