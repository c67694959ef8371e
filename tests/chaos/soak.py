"""Kill at random for a while and count what was sent: `python -m tests.chaos.soak`, or `make chaos`.

CHAOS_SEED draws the same faults again, CHAOS_ROUNDS says how many rounds, and CHAOS_SECONDS after how many seconds no
further round begins. Each round feeds work, does some harm under load, lets everything settle with the faults off, and
audits all that was ever intended. The exit status is 0 only if every audit was clean.
"""

import asyncio
import logging
import os
import random
import sys
import time
from functools import partial

import structlog
from rich.console import Console
from rich.table import Table

from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena, Faults, Timing, WorkerProcess, open_arena, until
from tests.chaos.audit import Findings
from tidings.kernel.crash_points import POINTS

HARM_PER_ROUND = 5
SETTLE_SECONDS = 180.0
FURTHEST_TIME = 25
FREQUENT = frozenset({"before_call", "after_call"})
"""Points that are reached for each item; the others are for each batch."""

FAULTS = {"drop": 0.004, "half": 0.002, "hang": 0.002, "error": 0.003, "broken": 0.002, "cut": 0.002, "throttle": 0.004}
TRIGGER_POINTS = frozenset({"before_trigger_commit"})  # not reached by workers; test_chaos.py kills a client there
WORKER_POINTS = [point for point in POINTS if point not in TRIGGER_POINTS]

console = Console(width=100)


class Soak:
    """One arena, and the rounds it lives through."""

    def __init__(self, arena: Arena, seed: str) -> None:
        self._arena = arena
        self._seed = seed
        self.rounds = 0
        self.findings = Findings()

    async def round(self) -> None:
        """Feed, harm, settle, audit."""
        draw = random.Random(f"{self._seed}:{self.rounds}")
        await self._arena.order(weights=FAULTS)
        await self._feed(200)
        workers = await self._arena.start_workers(2)
        for _ in range(HARM_PER_ROUND):
            await self._feed(40)
            kinds = [self._crash, self._kill, self._freeze, self._terminate, self._postgres]
            [harm] = draw.choices(kinds, weights=[6, 4, 2, 1, 2])
            workers = await harm(draw, workers)
        await self._arena.settle(seconds=SETTLE_SECONDS)
        self.findings = await self._arena.audit()
        self.rounds += 1

    async def _feed(self, people: int) -> None:
        for provider in CLASSES:
            await self._arena.workload.start_executions(provider, people // 4)
            await self._arena.workload.start_run(provider, people)
        await self._arena.workload.start_walks(people // 10)

    async def _crash(self, draw: random.Random, workers: list[WorkerProcess]) -> list[WorkerProcess]:
        """One more worker, which dies at a point."""
        point = draw.choice(WORKER_POINTS)
        times = draw.randint(1, FURTHEST_TIME if point in FREQUENT else 2)
        await self._arena.crash_worker(f"{point}:{times}", partial(self._feed, 20))
        return workers

    async def _kill(self, draw: random.Random, workers: list[WorkerProcess]) -> list[WorkerProcess]:
        await self._arena.until_calls(draw.randint(1, 60))
        victim = draw.choice(workers)
        await self._arena.kill(victim)
        return await self._replace(victim, workers)

    async def _freeze(self, draw: random.Random, workers: list[WorkerProcess]) -> list[WorkerProcess]:
        """Longer than a lease, so that others take over, then on with it."""
        await self._arena.until_calls(draw.randint(1, 60))
        zombie = draw.choice(workers)
        self._arena.freeze(zombie)
        thaw_at = time.monotonic() + Timing().lease_seconds * draw.uniform(0.5, 2)
        await until("the lease is over", lambda: time.monotonic() >= thaw_at)
        self._arena.thaw(zombie)
        return workers

    async def _terminate(self, draw: random.Random, workers: list[WorkerProcess]) -> list[WorkerProcess]:
        await self._arena.until_calls(draw.randint(1, 60))
        leaver = draw.choice(workers)
        self._arena.terminate(leaver)
        if await leaver.wait():
            raise AssertionError(f"a drained worker ended with {leaver.code}:\n{leaver.tail()}")
        return await self._replace(leaver, workers)

    async def _postgres(self, draw: random.Random, workers: list[WorkerProcess]) -> list[WorkerProcess]:
        await self._arena.until_calls(draw.randint(1, 60))
        await self._arena.kill_postgres()
        return workers

    async def _replace(self, gone: WorkerProcess, workers: list[WorkerProcess]) -> list[WorkerProcess]:
        return [worker for worker in workers if worker is not gone] + await self._arena.start_workers(1)


def show(faults: Faults, findings: Findings, rounds: int, seed: str) -> None:
    """Print what was done and what came of it."""
    done = Table(title=f"Harm in {rounds} rounds, seed {seed}", title_justify="left")
    for column in ("what", "times"):
        done.add_column(column, justify="right" if column == "times" else "left")
    harm = {f"kill -9 {point}": count for point, count in sorted(faults.kills.items())}
    harm |= {"kills": faults.kills.total(), "PostgreSQL kill -9 and restart": faults.postgres}
    harm |= {"SIGSTOP and SIGCONT": faults.freezes, "SIGTERM": faults.terminations}
    for what, times in harm.items():
        done.add_row(what, str(times))
    console.print(done)
    result = Table(title="What came of it", title_justify="left")
    columns = ("intended", "sent", "calls", "repeats", "duplicates", "losses", "failed", "in_doubt")
    result.add_column("provider")
    for column in columns:
        result.add_column(column.replace("_", " "), justify="right")
    for name, tally in findings.tallies.items():
        result.add_row(name, *(str(getattr(tally, column)) for column in columns))
    console.print(result)


async def run(seed: str, rounds: int, seconds: float) -> int:
    """Soak; give the exit status."""
    started = time.monotonic()
    async with open_arena(seed) as arena:
        soak = Soak(arena, seed)
        problem = ""
        try:
            while soak.rounds < rounds and not soak.findings.violations and time.monotonic() - started < seconds:
                await soak.round()
                console.print(
                    f"round {soak.rounds}: {arena.faults.kills.total()} kills, {time.monotonic() - started:.0f} s"
                )
        except AssertionError as error:
            problem = str(error)
        show(arena.faults, soak.findings, soak.rounds, seed)
        if problem or soak.findings.violations:
            console.print(problem or str(soak.findings), markup=False, highlight=False, soft_wrap=True)
            console.print(f"Broken. Again: CHAOS_SEED={seed} CHAOS_ROUNDS={rounds} make chaos", markup=False)
            return 1
    console.print(f"Nothing sent twice, nothing lost, in {time.monotonic() - started:.0f} s.")
    return 0


def main() -> int:
    """Read the settings and soak."""
    seed = os.environ.get("CHAOS_SEED") or str(random.SystemRandom().randrange(10**6))
    rounds = int(os.environ.get("CHAOS_ROUNDS") or 10)
    seconds = float(os.environ.get("CHAOS_SECONDS") or 300)
    console.print(f"CHAOS_SEED={seed} CHAOS_ROUNDS={rounds}")
    # The engine in this process says much while PostgreSQL is down; what matters is in the audit.
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    return asyncio.run(run(seed, rounds, seconds))


if __name__ == "__main__":
    sys.exit(main())
