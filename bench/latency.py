"""From the trigger to the provider: how long a message takes when nothing else happens, and under half the load."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from bench.app import ARRIVALS
from bench.bench import Bench
from bench.database import Fresh
from bench.report import Result
from bench.throughput import EXECUTIONS, measure_kernel
from bench.workers import Workers

IDLE_RATE = 20
LEAST_LOADED = 2_000
TICK_SECONDS = 0.02
"""What is to be triggered within a tick goes in one call.

A call for each costs as much CPU time as three deliveries: at half the rate of one worker, two cores would do nothing
else, and the queue in front of the triggers would be measured.
"""


async def rate_of_executions(bench: Bench) -> float:
    """Items a second of one-send executions with one process: as measured before in this run, or now."""
    rate = bench.known_rate("executions", 1)
    if rate is None:
        async with Fresh(bench.dsn) as fresh, Workers(fresh, 1) as workers:
            rate = (await measure_kernel(bench, fresh, workers, EXECUTIONS, bench.settings.items)).rate
    return rate or 1


async def measure_latency(bench: Bench) -> AsyncIterator[Result]:
    """Triggers one at a time at a low rate, and then half of what one process can do."""
    half = await rate_of_executions(bench) / 2
    loaded = max(LEAST_LOADED, int(half * bench.settings.loaded_seconds))
    with tempfile.TemporaryDirectory(prefix="tidings-bench-") as directory:
        arrivals = Path(directory) / "arrivals"
        environ = {ARRIVALS: str(arrivals)}
        async with Fresh(bench.dsn) as fresh, Workers(fresh, 1, app="bench.app:recording", environ=environ):
            yield await _measure(bench, fresh, arrivals, "idle", IDLE_RATE, bench.settings.idle_triggers)
            await fresh.settle()
            yield await _measure(bench, fresh, arrivals, "at half load", half, loaded)


async def _measure(bench: Bench, fresh: Fresh, arrivals: Path, how: str, rate: float, count: int) -> Result:
    arrivals.write_bytes(b"")  # the worker appends, so it goes on at the new beginning
    tell = bench.step(f"latency {how}: {rate:,.0f} triggers a second", count)
    called: dict[str, float] = {}

    async def trigger(numbers: range) -> None:
        called.update(dict.fromkeys((f"p{number}@example.com" for number in numbers), time.monotonic()))
        await fresh.trigger("one", how, numbers)

    began, stored = time.monotonic(), 0
    async with asyncio.TaskGroup() as tasks:
        while stored < count:
            # By the plan and not after the last answer: a slow moment must not lower the load it suffers from.
            due = min(count, 1 + int((time.monotonic() - began) * rate))
            if due > stored:
                tasks.create_task(trigger(range(stored, due)))
                stored = due
                tell(stored)
            await asyncio.sleep(TICK_SECONDS)
    attained = count / (time.monotonic() - began)
    await fresh.until_done()
    return _result(how, rate, attained, _latencies(called, arrivals))


def _latencies(called: Mapping[str, float], arrivals: Path) -> list[float]:
    """Milliseconds of every trigger, sorted."""
    lines = [line.split() for line in arrivals.read_text().splitlines()]
    arrived = {recipient: float(at) for recipient, at in lines}
    if len(lines) != len(called) or arrived.keys() != called.keys():
        raise AssertionError(f"{len(called)} triggers came to {len(lines)} calls of {len(arrived)} people")
    return sorted((at - called[recipient]) * 1000 for recipient, at in arrived.items())


def _result(how: str, rate: float, attained: float, milliseconds: list[float]) -> Result:
    p50, p99 = (milliseconds[int(len(milliseconds) * share)] for share in (0.5, 0.99))
    asked = f"{attained:,.0f}/s" if attained > 0.95 * rate else f"{attained:,.0f}/s of {rate:,.0f}/s asked for"
    return Result(
        "latency",
        f"trigger to provider, {how}",
        processes=1,
        note=f"p50 {p50:.1f} ms, p99 {p99:.1f} ms of {len(milliseconds):,} at {asked}",
        seen={
            "triggers": len(milliseconds),
            "rate_asked": rate,
            "rate_attained": attained,
            "p50_ms": p50,
            "p99_ms": p99,
            "max_ms": milliseconds[-1],
        },
    )
