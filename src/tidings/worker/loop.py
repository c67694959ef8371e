"""One worker process: starts batches where work is due, sleeps until more is due, drains when asked.

Correct with notifications off: they only make it faster.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Claimed, Lane
from tidings.engine import Engine
from tidings.kernel.flow.claim import give_back
from tidings.kernel.presence import Presence
from tidings.kernel.wake import listen
from tidings.log import log
from tidings.worker.agenda import Agenda, Place

AFTER_NOTHING = timedelta(milliseconds=20)
"""The wait after an empty claim: another may lock rows for a moment, and asking again at once would only spin."""
AFTER_OTHERS = timedelta(seconds=1)
"""The wait while all due work is for other workers: new work is notified, and other work is found soon enough."""
AFTER_FAILURE = timedelta(seconds=1)
"""The wait after an unforeseen failure, which would occur again at once."""
AFTER_CROWD = timedelta(milliseconds=250)
"""How often to look for others' work while somebody has as many batches under way as they may have."""
ALONE_AFTER = 2
"""Crashes after which work gets the process to itself: work beside a row that kills is in every crash too."""
AFTER_ANOTHER = timedelta(seconds=1)
"""How long such work waits, unleased, while other such work has the process; healthy work has its turn in between."""


class Worker:
    """Move what is due until asked to stop."""

    def __init__(
        self, engine: Engine, *, lanes: tuple[Lane, ...] = tuple(Lane), batch: int = 100, poll_seconds: float = 5
    ) -> None:
        self._engine = engine
        self._batch = batch
        self._poll_seconds = poll_seconds
        self._agenda = Agenda(engine.kernel.every_shard(), lanes, timedelta(seconds=poll_seconds))
        self._running: dict[Lane, set[asyncio.Task[None]]] = {lane: set() for lane in lanes}
        self._claiming: Counter[Lane] = Counter()  # batches that begin, for nobody knows whom
        self._crowded_until: dict[Place, datetime] = {}  # where all that is due is of those who may have no more
        self._stirred = asyncio.Event()
        self._told: set[Place] = set()
        self._to_ask: set[Shard] = set()
        self._moved: set[Place] = set()  # where batches ended: their rows have new due times
        self._suspect: asyncio.Task[None] | None = None  # it has the process to itself, or waits until it has

    async def run(self) -> None:
        """Work until drained; return once no call is under way."""
        kernel = self._engine.kernel
        listener = asyncio.create_task(listen(kernel.db, kernel.stops, kernel.connections, self._heard))
        looking = asyncio.create_task(self._look_for_ever())
        shares = kernel.shares
        shares.start()
        presence = Presence(kernel, list(self._running))
        presence.start()
        lanes = [lane.name.lower() for lane in self._running]
        log.info("worker_started", worker_id=str(shares.worker_id), lanes=lanes, batch=self._batch)
        try:
            await kernel.draining.wait()
        finally:
            self.drain()
            listener.cancel()
            looking.cancel()  # even while it waits for a database that is down
            await asyncio.gather(listener, looking, return_exceptions=True)
            await asyncio.gather(*(task for tasks in self._running.values() for task in tasks))
            await asyncio.gather(shares.give_back(), presence.end())
        log.info("worker_drained")

    def drain(self) -> None:
        """Start nothing new; calls under way are finished and recorded."""
        self._engine.kernel.draining.set()

    async def _look_for_ever(self) -> None:
        while True:
            try:
                await self._step()
            except Exception:
                log.exception("look_failed")
                await asyncio.sleep(AFTER_FAILURE.total_seconds())

    async def _step(self) -> None:
        self._stirred.clear()
        now = await self._engine.kernel.clock.now()
        await self._ask(now)
        for place in self._agenda.due_places(now):
            if not self._suspect and (self._is_open(place[1]) or self._may_look(place, now)):
                self._start(place)
        await self._sleep()

    def _is_open(self, lane: Lane) -> bool:
        """Whether one more batch may begin, whose ever work it holds."""
        return self._engine.kernel.in_hand.is_open(lane, self._claiming[lane])

    def _may_look(self, place: Place, now: datetime) -> bool:
        """Whether it is time to look for work of those who have less under way; one claim at a time does."""
        return not self._claiming[place[1]] and now >= self._crowded_until.get(place, now)

    def _times_to_look(self, now: datetime) -> list[datetime]:
        return [
            until
            for place, until in self._crowded_until.items()
            if not self._suspect and not self._claiming[place[1]] and self._agenda.is_due(place, now)
        ]

    async def _ask(self, now: datetime) -> None:
        """Bring the agenda up to date.

        A notification that arrives while the database answers may be newer than the answer: it waits outside the
        agenda.
        """
        to_ask, self._to_ask = self._to_ask | self._moved_shards(now), set()
        self._agenda.ask_soon(to_ask)
        for shard in self._agenda.shards_to_ask(now):
            self._moved = {place for place in self._moved if place[0] != shard}
            self._agenda.learn(shard, await self._engine.next_due(shard), now)
        told, self._told = self._told, set()
        self._agenda.hear(told, now)

    def _moved_shards(self, now: datetime) -> set[Shard]:
        """The shards whose rows may be due sooner than is known.

        Where there is more to claim anyway, the claim that finds nothing is soon enough: under load this saves one
        statement in seven.
        """
        return {place[0] for place in self._moved if not self._agenda.is_due(place, now)}

    def _start(self, place: Place) -> None:
        self._claiming[place[1]] += 1
        task = asyncio.create_task(self._work(place))
        self._running[place[1]].add(task)
        task.add_done_callback(lambda done: self._finished(place, done))

    def _finished(self, place: Place, task: asyncio.Task[None]) -> None:
        self._running[place[1]].discard(task)
        self._stirred.set()

    def _released(self, place: Place) -> None:
        """Note that some of a batch is released: rows may be due sooner than is known, and somebody may have more."""
        self._moved.add(place)
        self._crowded_until = {one: until for one, until in self._crowded_until.items() if one[1] != place[1]}
        self._stirred.set()

    async def _work(self, place: Place) -> None:
        """Work on one batch. What fails unforeseen stays leased, comes back alone, and is given up after a few
        times."""
        shard, lane = place
        try:
            claimed = await self._claim(place)
            if not claimed:
                self._found_nothing(place)
                return
            self._agenda.took_some(place, self._engine.kernel.clock.carried())
            self._stirred.set()  # there may be more: the next batch need not wait for this one
            with self._engine.kernel.in_hand.hold(lane, claimed, partial(self._released, place)):
                await self._move(place, claimed)
            if self._engine.kernel.elsewhere.is_full:  # all due work may be for others, and no note is left for more
                self._agenda.found_nothing(place, self._engine.kernel.clock.carried() + AFTER_OTHERS)
        except Exception:
            log.exception("batch_failed", shard=shard, lane=lane.name.lower())
            self._agenda.found_nothing(place, self._engine.kernel.clock.carried() + AFTER_FAILURE)

    async def _claim(self, place: Place) -> list[Claimed]:
        try:
            return await self._engine.claim(*place, self._limit(place[1]))
        finally:
            self._claiming[place[1]] -= 1

    def _found_nothing(self, place: Place) -> None:
        now = self._engine.kernel.clock.carried()
        if self._engine.kernel.in_hand.is_open(place[1]):
            self._agenda.found_nothing(place, now + self._after_nothing())
        else:
            self._crowded_until[place] = now + AFTER_CROWD  # there is work, of those who may have no more under way

    def _after_nothing(self) -> timedelta:
        """Note an empty claim: work left to others stays due, and a worker that cannot do it must not query all the
        time."""
        elsewhere, now = self._engine.kernel.elsewhere, self._engine.kernel.clock.carried()
        return AFTER_OTHERS if elsewhere.notes(now) else AFTER_NOTHING

    async def _move(self, place: Place, claimed: Sequence[Claimed]) -> None:
        if all(lease.crashes < ALONE_AFTER for lease in claimed):
            await self._engine.move(*place, claimed)
        elif self._suspect:
            # No row may wait for its turn here: the first waits for all others, and a lease spent waiting would
            # count as one more crash.
            await give_back(self._engine.kernel, place[0], claimed, AFTER_ANOTHER)
        else:
            await self._move_alone(place, claimed)

    async def _move_alone(self, place: Place, claimed: Sequence[Claimed]) -> None:
        self._suspect = asyncio.current_task()
        try:
            await self._until_others_end()
            await self._engine.move(*place, claimed)
        finally:
            self._suspect = None
            self._stirred.set()

    async def _until_others_end(self) -> None:
        """Wait for the other batches, but not too long: a slow call in one of them must not cost this work its
        lease."""
        others = {task for tasks in self._running.values() for task in tasks} - {self._suspect}
        if others:
            await asyncio.wait(others, timeout=self._engine.kernel.limits.lease.total_seconds() / 4)

    def _limit(self, lane: Lane) -> int:
        """How many rows to claim: of jobs (each is a batch already) and runs (deploying one is long) only one."""
        return 1 if lane in {Lane.CAMPAIGNS, Lane.RUNS} else self._batch

    def _heard(self, places: set[Place] | None) -> None:
        if places is None:
            self._to_ask.update(self._engine.kernel.every_shard())
        else:
            self._told |= places
            self._expect_others(places)
        self._stirred.set()

    def _expect_others(self, places: Iterable[Place]) -> None:
        """Look at once who has work where some was just notified: it may be a newcomer's."""
        for place in places:
            self._crowded_until.pop(place, None)
            self._engine.kernel.turns.work(place).expire()

    async def _sleep(self) -> None:
        full = [lane for lane in self._running if self._suspect or not self._is_open(lane)]
        now = self._engine.kernel.clock.carried()
        next_time = self._agenda.next_time(full, now)
        if next_time is None:
            return
        seconds = (min([next_time, *self._times_to_look(now)]) - now).total_seconds()
        try:
            async with asyncio.timeout(min(max(seconds, 0), self._poll_seconds)):
                await self._stirred.wait()
        except TimeoutError:
            return
