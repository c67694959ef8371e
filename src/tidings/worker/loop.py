"""One worker process: starts batches where work is due, sleeps until the next, drains when asked.

Correct with notifications off: they only make it faster.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import structlog

from tidings.domain.queue import Lane
from tidings.engine import Engine
from tidings.kernel.wake import listen
from tidings.worker.agenda import Agenda, Place

log = structlog.get_logger()

BATCHES_AT_ONCE: Mapping[Lane, int] = {Lane.TRANSACTIONAL: 4, Lane.SEQUENCES: 2, Lane.CAMPAIGNS: 4, Lane.RUNS: 2}
AFTER_NOTHING = timedelta(milliseconds=20)
"""Rows may be locked by another claim for a moment; asking again at once would only spin."""


class Worker:
    """Moves what is due until it is told to stop."""

    def __init__(
        self, engine: Engine, *, lanes: tuple[Lane, ...] = tuple(Lane), batch: int = 100, poll_seconds: float = 5
    ) -> None:
        self._engine = engine
        self._batch = batch
        self._poll_seconds = poll_seconds
        self._agenda = Agenda(engine.kernel.every_shard(), lanes, timedelta(seconds=poll_seconds))
        self._running: dict[Lane, set[asyncio.Task[None]]] = {lane: set() for lane in lanes}
        self._stirred = asyncio.Event()

    async def run(self) -> None:
        """Work until drained; returns once nothing is in the air."""
        listener = asyncio.create_task(listen(self._engine.kernel.db, self._heard))
        log.info("worker_started", lanes=[lane.name.lower() for lane in self._running], batch=self._batch)
        try:
            while not self._engine.kernel.draining.is_set():
                await self._step()
        finally:
            listener.cancel()
            await asyncio.gather(listener, *self._tasks(), return_exceptions=True)
        log.info("worker_drained")

    def drain(self) -> None:
        """Start nothing new; what is in the air is finished and written."""
        self._engine.kernel.draining.set()
        self._stirred.set()

    async def _step(self) -> None:
        self._stirred.clear()
        now = await self._engine.kernel.clock.now()
        for shard in self._agenda.shards_to_ask(now):
            self._agenda.learn(shard, await self._engine.next_due(shard), now)
        for place in self._agenda.due_places(now):
            if len(self._running[place[1]]) < BATCHES_AT_ONCE[place[1]]:
                self._start(place)
        await self._sleep()

    def _start(self, place: Place) -> None:
        task = asyncio.create_task(self._work(place))
        self._running[place[1]].add(task)
        task.add_done_callback(lambda done: self._finished(place[1], done))

    def _finished(self, lane: Lane, task: asyncio.Task[None]) -> None:
        self._running[lane].discard(task)
        self._stirred.set()

    async def _work(self, place: Place) -> None:
        """One batch. What it cannot cope with stays leased, comes back alone, and dies after a few such ends."""
        shard, lane = place
        try:
            claimed = await self._engine.claim(shard, lane, self._limit(lane))
            if not claimed:
                again_at = self._engine.kernel.clock.carried() + AFTER_NOTHING
                self._agenda.found_nothing(place, again_at)
                return
            self._stirred.set()  # there may be more: the next batch need not wait for this one
            await self._engine.move(shard, lane, claimed)
        except Exception:
            log.exception("batch_failed", shard=shard, lane=lane.name.lower())

    def _limit(self, lane: Lane) -> int:
        """A job is a batch already, and deploying a run is long: those are claimed one for each slot."""
        return 1 if lane in {Lane.CAMPAIGNS, Lane.RUNS} else self._batch

    def _heard(self, places: set[Place] | None) -> None:
        if places is None:
            self._agenda.ask_everything()
        else:
            self._agenda.hear(places, self._engine.kernel.clock.carried())
        self._stirred.set()

    async def _sleep(self) -> None:
        full = [lane for lane, tasks in self._running.items() if len(tasks) >= BATCHES_AT_ONCE[lane]]
        next_time = self._agenda.next_time(full)
        if next_time is None:
            return
        seconds = (next_time - self._engine.kernel.clock.carried()).total_seconds()
        try:
            async with asyncio.timeout(min(max(seconds, 0), self._poll_seconds)):
                await self._stirred.wait()
        except TimeoutError:
            return

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [task for tasks in self._running.values() for task in tasks]
