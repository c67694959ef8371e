"""Items a second through the kernel and through raw SQL: executions, runs and enrollments, each beside its ceiling."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from bench.bench import Bench
from bench.contacts import deploy_to_everybody, store_contacts
from bench.database import Fresh, Tell
from bench.enrolling import enroll_all, make_sequence
from bench.meter import Meter
from bench.programs import Programs
from bench.report import Result
from bench.settings import PROCESSES, Settings
from bench.workers import Workers


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of work: how so many items of it are stored; it gives how many that came to."""

    name: str
    title: str
    store: Callable[[Fresh, int, str, Tell], Awaitable[int]]
    size: Callable[[Settings], int] = lambda settings: settings.items


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


async def _contacts(fresh: Fresh, items: int, _prefix: str, tell: Tell) -> int:
    await store_contacts(fresh, items)
    await deploy_to_everybody(fresh)
    tell(items)
    return items


async def _wave(fresh: Fresh, items: int, _prefix: str, tell: Tell) -> int:
    await store_contacts(fresh, items)
    await enroll_all(fresh, await make_sequence(fresh, day_offset=0), items, tell)
    return items


EXECUTIONS = Workload("executions", "executions with one send", _one)
CAMPAIGN = Workload("campaign", "a campaign's run", _campaign)
THREE_STEP = Workload("three-step", "executions with three sends", _three)
CONTACTS = Workload("contacts", "a campaign to contacts", _contacts)
WAVE = Workload("wave", "a wave of due enrollments", _wave, lambda settings: settings.wave)


async def measure_workload(bench: Bench, workload: Workload) -> AsyncIterator[Result]:
    """The kernel beside its own ceiling, with each number of processes.

    Both are measured in turns, because a machine is not as fast in one minute as in the next: the middle rate is given
    of each, and the middle share of all rounds.
    """
    for processes in PROCESSES:
        ceilings, kernels = [], []
        for _ in range(bench.settings.rounds):
            ceilings.append(await _measure_ceiling(bench, workload, processes))
            async with Fresh(bench.dsn) as fresh, Workers(fresh, processes) as workers:
                size = workload.size(bench.settings)
                kernels.append(await measure_kernel(bench, fresh, workers, workload, size))
        shares = sorted(
            _rate(kernel) / (_rate(ceiling) or 1) for kernel, ceiling in zip(kernels, ceilings, strict=True)
        )
        yield replace(_middle(ceilings), of_ceiling=1.0)
        yield replace(
            _middle(kernels),
            of_ceiling=median(shares),
            note=_spread(shares),
            seen={"shares": shares, "rates": _rates(kernels)},
        )


def _rate(result: Result) -> float:
    return result.rate or 0


def _rates(results: Sequence[Result]) -> list[float]:
    return [_rate(result) for result in results]


def _middle(results: Sequence[Result]) -> Result:
    return sorted(results, key=_rate)[len(results) // 2]


def _spread(shares: Sequence[float]) -> str:
    return f"{shares[0]:.0%} to {shares[-1]:.0%} in {len(shares)} rounds" if len(shares) > 1 else ""


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
    best = max(tried, key=lambda connections: _rate(tried[connections]))
    rates = {connections: _rate(result) for connections, result in tried.items()}
    return replace(tried[best], note=f"{best} connections each", seen={"rate_by_connections": rates})


async def _measure_raw(bench: Bench, fresh: Fresh, workload: Workload, processes: int, connections: int) -> Result:
    what = f"raw SQL for {workload.title}, {processes} process(es) with {connections} connections"
    size = workload.size(bench.settings)
    items = await workload.store(fresh, size, "k", bench.step(f"{what}: storing", size))
    await fresh.settle()
    environ = {"DATABASE_URL": fresh.dsn, "BENCH_CONNECTIONS": str(connections)}
    async with Programs(["bench.raw", workload.name], environ, processes) as programs:
        meter = Meter(fresh.sql, bench.postmaster, programs.pids)
        since, before = await fresh.now(), await meter.read()
        bench.step(what, None)
        await programs.work()
        cost = await meter.read() - before
    seconds = await fresh.span(since, items)
    title = f"raw SQL for {workload.title}"
    return Result(workload.name, title, processes, items, seconds, **cost.for_each(items))
