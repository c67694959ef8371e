"""Whether a worker grows: its memory, with its rendering child's, over one long campaign to contacts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace

from bench.bench import Bench
from bench.database import Fresh
from bench.proc import resident_bytes
from bench.report import Result
from bench.throughput import CONTACTS, measure_kernel
from bench.workers import Workers

SAMPLE_SECONDS = 0.5
SERIES = 60


async def measure_memory(bench: Bench) -> AsyncIterator[Result]:
    """One process plans and sends to so many contacts, and what it holds meanwhile."""
    items = bench.settings.memory_items
    samples: list[int] = []
    async with Fresh(bench.dsn) as fresh, Workers(fresh, 1) as workers:
        sampling = asyncio.create_task(_sample(workers, samples))
        try:
            result = await measure_kernel(bench, fresh, workers, CONTACTS, items)
        finally:
            sampling.cancel()
            with suppress(asyncio.CancelledError):
                await sampling
        samples.append(resident_bytes(workers.pids))
    first, most, last = (value / 1e6 for value in (samples[0], max(samples), samples[-1]))
    yield replace(
        result,
        measurement="memory",
        what=f"memory over {items:,} contacts of a run",
        note=f"{first:.0f} MB at first, {most:.0f} MB at most, {last:.0f} MB at last",
        seen={"first_mb": first, "max_mb": most, "last_mb": last, "series_mb": _thinned(samples)},
    )


async def _sample(workers: Workers, samples: list[int]) -> None:
    while True:
        samples.append(resident_bytes(workers.pids))
        await asyncio.sleep(SAMPLE_SECONDS)


def _thinned(samples: Sequence[int]) -> list[float]:
    step = max(1, len(samples) // SERIES)
    return [round(value / 1e6, 1) for value in samples[::step]]
