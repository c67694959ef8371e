"""An arena under load: two workers, a feeder that never lets them rest, and the class that is fed right now."""

import asyncio
import random
from collections import Counter
from contextlib import suppress

import asyncpg

from tests.chaos.app import CLASSES
from tests.chaos.arena import CALL_DELAY_SECONDS, Arena, Timing, WorkerProcess
from tests.chaos.audit import Findings
from tests.chaos.plan import RESTART, Plan

TIMING = Timing(lease_seconds=2.0, call_seconds=1.0)
SETTLE_SECONDS = 180.0
WORKERS = 2
PEOPLE_PER_RUN = 400
FEWEST_JOBS = 10
"""Below so many jobs that want to be worked on, more is fed: about two seconds of work."""
FEWEST_JOBS_AHEAD = 2
PEOPLE_PER_RUN_AHEAD = 100
"""The same while more is fed already than planned by now: a crash point is reached by little work, too."""
FEED_EVERY_SECONDS = 0.25


class Scene:
    """What harms act on."""

    def __init__(self, arena: Arena, draw: random.Random, plan: Plan) -> None:
        self.arena = arena
        self.draw = draw
        self.provider = next(iter(CLASSES))
        self.workers: list[WorkerProcess] = []
        self.kills: Counter[str] = Counter()  # "point class" → times
        self._sends = plan.sends
        self.share_done = 0.0  # of the harms
        self.is_over = False

    def call_seconds(self, harms: int) -> float:
        """How long a provider takes for a call while so many harms are done."""
        return CALL_DELAY_SECONDS

    async def open(self) -> None:
        """Start the workers and the first work."""
        for provider in CLASSES:
            await self.feed(provider)
        self.workers = await self.arena.start_workers(WORKERS)

    async def feed(self, provider: str | None = None) -> None:
        """Work of every kind, most of it for one class."""
        provider = provider or self.provider
        people = PEOPLE_PER_RUN_AHEAD if self._is_ahead() else PEOPLE_PER_RUN
        await self.arena.workload.start_run(provider, people)
        await self.arena.workload.start_executions(provider, people // 20)
        await self.arena.workload.start_walks(people // 100)
        await self.arena.workload.start_enrollments(people // 100)

    def _is_ahead(self) -> bool:
        return self.arena.book.items > self._sends * self.share_done

    async def keep_feeding(self) -> None:
        """Keep the workers busy until `is_over`, also beyond the planned sends: points are reached by work alone."""
        while not self.is_over:
            if await self._jobs() < (FEWEST_JOBS_AHEAD if self._is_ahead() else FEWEST_JOBS):
                await self.feed()
            await asyncio.sleep(FEED_EVERY_SECONDS)

    async def feed_the_rest(self) -> None:
        """What is planned and not fed yet, each class in turn."""
        self.share_done = 1.0
        while self.arena.book.items < self._sends:
            for provider in CLASSES:
                await self.feed(provider)
            while await self._jobs() >= 3 * FEWEST_JOBS:
                await asyncio.sleep(FEED_EVERY_SECONDS)

    async def _jobs(self) -> int:
        """How many jobs want to be worked on; those parked in doubt do not."""
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            async with self.arena.look() as connection:
                return int(
                    await connection.fetchval(
                        "select count(*) from queue where kind = 'job' and due_at < now() + interval '10 s'"
                    )
                )
        return FEWEST_JOBS  # the database is away; feeding would wait for it too

    async def under_load(self) -> None:
        """Wait for a moment in the middle of some calls."""
        await self.arena.until_calls(self.draw.randint(1, 60))

    async def replace(self, *gone: WorkerProcess) -> None:
        """New workers instead of some that have ended."""
        self.workers = [worker for worker in self.workers if worker not in gone]
        self.workers += await self.arena.start_workers(WORKERS - len(self.workers))

    async def conclude(self) -> Findings:
        """What an audit finds once everything has settled."""
        return await self.arena.audit()

    async def close(self) -> None:
        """Let go of what was opened beside the arena."""

    def others(self) -> Counter[str]:
        """Harm so far that is no kill."""
        faults = self.arena.faults
        return Counter(
            {
                RESTART: faults.postgres,
                "SIGSTOP, then SIGCONT": faults.freezes,
                "SIGTERM": faults.terminations,
                "pause, new workers, resume": faults.hand_overs,
            }
        )
