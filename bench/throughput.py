"""Items a second through the kernel and through raw SQL: one send, a campaign's run, three sends in a row."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from bench.bench import Bench
from bench.database import Fresh, Tell
from bench.meter import Meter
from bench.report import Result
from bench.settings import PROCESSES
from bench.workers import Workers, python

RAW_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of work: how so many items of it are stored; it gives how many that came to."""

    name: str
    title: str
    store: Callable[[Fresh, int, str, Tell], Awaitable[int]]


async def _one(fresh: Fresh, items: int, prefix: str, tell: Tell) -> int:
    await fresh.trigger("one", prefix, range(items), tell)
    return items


async def _three(fresh: Fresh, items: int, prefix: str, tell: Tell) -> int:
    executions = max(items // 3, 1)
    await fresh.trigger("three", prefix, range(executions), lambda done: tell(3 * done))
    return 3 * executions


async def _campaign(fresh: Fresh, items: int, prefix: str, tell: Tell) -> int:
    await fresh.deploy(prefix, items)
    tell(items)
    return items


EXECUTIONS = Workload("executions", "executions with one send", _one)
CAMPAIGN = Workload("campaign", "a campaign's run", _campaign)
THREE_STEP = Workload("three-step", "executions with three sends", _three)


async def measure_workload(bench: Bench, workload: Workload) -> AsyncIterator[Result]:
    """The kernel beside its own ceiling, with each number of processes."""
    for processes in PROCESSES:
        ceiling = await _measure_ceiling(bench, workload, processes)
        yield replace(ceiling, of_ceiling=1.0)
        async with Fresh(bench.dsn) as fresh, Workers(fresh, processes) as workers:
            result = await measure_kernel(bench, fresh, workers, workload, bench.settings.items)
        yield replace(result, of_ceiling=(result.rate or 0) / (ceiling.rate or 1))


async def measure_kernel(
    bench: Bench,
    fresh: Fresh,
    workers: Workers,
    workload: Workload,
    items: int,
    *,
    once_stored: Callable[[], Awaitable[None]] | None = None,
    prefix: str = "k",
) -> Result:
    """Store work under the eyes of frozen workers, let them go, and read what it took."""
    what = f"{workload.title}, {len(workers.pids)} process(es)"
    workers.freeze()
    items = await workload.store(fresh, items, prefix, bench.step(f"{what}: storing", items))
    if once_stored:
        await once_stored()
    await fresh.settle()
    meter = Meter(fresh.sql, bench.postmaster, workers.pids)
    since, before = await fresh.now(), await meter.read()
    workers.thaw()
    await fresh.until_done(bench.step(what, items))
    cost = await meter.read() - before
    seconds = await fresh.span(since, items)
    return Result(workload.name, workload.title, len(workers.pids), items, seconds, **cost.for_each(items))


async def _measure_ceiling(bench: Bench, workload: Workload, processes: int) -> Result:
    """Raw SQL with as many connections as keep it fastest."""
    tried: dict[int, Result] = {}
    for connections in bench.settings.raw_connections:
        async with Fresh(bench.dsn) as fresh:
            tried[connections] = await _measure_raw(bench, fresh, workload, processes, connections)
    best = max(tried, key=lambda connections: tried[connections].rate or 0)
    rates = {connections: result.rate for connections, result in tried.items()}
    return replace(tried[best], note=f"{best} connections each", seen={"rate_by_connections": rates})


async def _measure_raw(bench: Bench, fresh: Fresh, workload: Workload, processes: int, connections: int) -> Result:
    what = f"raw SQL for {workload.title}, {processes} process(es) with {connections} connections"
    items = await workload.store(fresh, bench.settings.items, "k", bench.step(f"{what}: storing", bench.settings.items))
    await fresh.settle()
    arguments = ["-m", "bench.raw", workload.name]
    environ = {"DATABASE_URL": fresh.dsn, "BENCH_CONNECTIONS": str(connections)}
    children = [await python([*arguments, str(number)], environ, talks=True) for number in range(processes)]
    try:
        await _hear(children, "ready")
        meter = Meter(fresh.sql, bench.postmaster, [child.pid for child in children])
        since, before = await fresh.now(), await meter.read()
        bench.step(what, None)
        _speak(children)
        await _hear(children, "done")
        cost = await meter.read() - before
        _speak(children)
        await asyncio.gather(*(child.wait() for child in children))
    finally:
        for child in children:
            if child.returncode is None:
                child.kill()
    seconds = await fresh.span(since, items)
    title = f"raw SQL for {workload.title}"
    return Result(workload.name, title, processes, items, seconds, **cost.for_each(items))


def _speak(children: Sequence[Process]) -> None:
    for child in children:
        if child.stdin:
            child.stdin.write(b"go\n")


async def _hear(children: Sequence[Process], word: str) -> None:
    async with asyncio.timeout(RAW_SECONDS):
        lines = [await child.stdout.readline() if child.stdout else b"" for child in children]
    if any(line.decode().strip() != word for line in lines):
        raise RuntimeError(f"the raw program said {lines} instead of {word!r}; see bench/results/workers.log")
