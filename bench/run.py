"""The benchmark: the kernel beside raw SQL and its peers, on one server with fsync on, in one run.

    make bench          a few minutes
    make bench-full     all of it: millions of sleepers, a million items, a ten-minute soak, peers

Everything is measured on the same machine within minutes, so that the ratios hold whatever the machine. The results
are printed as one table and written to bench/results/ as JSON after each of them. docs/performance.md says what each
figure means.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import asyncpg
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bench.bench import Bench
from bench.calling import measure_calling
from bench.counting import measure_counting
from bench.database import Tell
from bench.deploying import measure_deploying
from bench.edge import measure_edge
from bench.enrolling import measure_enrolling
from bench.fairness import measure_fairness
from bench.growth import measure_growth
from bench.growth_aims import all_passed
from bench.importing import measure_importing
from bench.latency import measure_latency
from bench.letters import measure_letters
from bench.memory import measure_memory
from bench.peer_results import measure_every_peer
from bench.proc import require_proc
from bench.quiet import measure_quiet
from bench.report import Report, Result
from bench.settings import FULL, QUICK, RESULTS, Settings
from bench.sleepers import measure_sleepers
from bench.smtp import measure_smtp
from bench.soak import measure_soak
from bench.starting import measure_starting
from bench.throughput import CAMPAIGN, CONTACTS, EXECUTIONS, THREE_STEP, WAVE, measure_workload
from tidings import embedded

MEASUREMENTS: Mapping[str, Callable[[Bench], AsyncIterator[Result]]] = {
    "executions": partial(measure_workload, workload=EXECUTIONS),
    "campaign": partial(measure_workload, workload=CAMPAIGN),
    "three-step": partial(measure_workload, workload=THREE_STEP),
    "starting": measure_starting,
    "edge": measure_edge,
    "importing": measure_importing,
    "deploying": measure_deploying,
    "contacts": partial(measure_workload, workload=CONTACTS),
    "smtp": measure_smtp,
    "letters": measure_letters,
    "calling": measure_calling,
    "enrolling": measure_enrolling,
    "counting": measure_counting,
    "wave": partial(measure_workload, workload=WAVE),
    "sleepers": measure_sleepers,
    "growth": measure_growth,
    "latency": measure_latency,
    "fairness": measure_fairness,
    "idle": measure_quiet,
    "memory": measure_memory,
    "soak": measure_soak,
    "peers": measure_every_peer,
}
ONLY_FULL = ("soak", "peers")


def arguments() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--full", action="store_true", help="measure everything, in its full size")
    parser.add_argument(
        *("--only",), nargs="+", choices=MEASUREMENTS, metavar="NAME", help=f"only some of: {', '.join(MEASUREMENTS)}"
    )
    sizes = "; ".join(
        f"{quick:,} {what}, full {full:,}"
        for what, quick, full in (
            ("items", QUICK.items, FULL.items),
            ("contacts", QUICK.people, FULL.people),
            ("enrollments of a wave", QUICK.wave, FULL.wave),
        )
    )
    parser.add_argument("--items", type=int, metavar="N", help=f"the size of every measurement [{sizes}; BENCH_ITEMS]")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often raw SQL and the kernel take turns [3]")
    parser.add_argument("--requests", type=int, metavar="N", help="how often each operation of the API is asked")
    parser.add_argument("--beside", metavar="TREE", help="another checkout, whose API is measured in turns")
    parser.add_argument("--sleepers", type=int, nargs="+", metavar="N", help="sleeping executions, in growing numbers")
    parser.add_argument("--memory-items", type=int, metavar="N", help="items of the run that memory is watched over")
    parser.add_argument("--quiet-seconds", type=float, metavar="S", help="how long an idle worker is watched")
    parser.add_argument("--soak-seconds", type=float, metavar="S", help="how long the soak lasts")
    parser.add_argument("--fair-items", type=int, metavar="N", help="what one of ten tenants has due")
    parser.add_argument("--fair-seconds", type=float, metavar="S", help="how long the other nine are measured")
    parser.add_argument("--fair-patience", type=float, metavar="S", help="how long what is late is waited for")
    parser.add_argument(
        "--millions", type=float, nargs="+", metavar="N", help="finished messages to grow to, in millions"
    )
    parser.add_argument("--gate", action="store_true", help="fail unless growth was measured and within its aims")
    return parser


def settings_of(given: argparse.Namespace) -> Settings:
    """The sizes: what was asked for, and the run's own for the rest."""
    settings = FULL if given.full else QUICK
    items = given.items or int(os.environ.get("BENCH_ITEMS", "0"))
    if items:
        settings = replace(
            settings, items=items, people=items, wave=items, growth_items=items, growth_between=10 * items
        )
    return replace(
        settings,
        requests=given.requests or settings.requests,
        beside=given.beside or "",
        rounds=max(given.rounds or settings.rounds, 1),
        sleepers=tuple(sorted(given.sleepers or settings.sleepers)),
        memory_items=given.memory_items or settings.memory_items,
        quiet_seconds=given.quiet_seconds or settings.quiet_seconds,
        soak_seconds=given.soak_seconds or settings.soak_seconds,
        fair_items=given.fair_items or settings.fair_items,
        fair_seconds=given.fair_seconds or settings.fair_seconds,
        fair_patience=given.fair_patience or settings.fair_patience,
        millions=tuple(sorted(given.millions or settings.millions)),
    )


def chosen(given: argparse.Namespace) -> Sequence[str]:
    """The measurements to make, in their order."""
    if given.only:
        return [name for name in MEASUREMENTS if name in given.only]
    return [name for name in MEASUREMENTS if given.full or name not in ONLY_FULL]


class Screen:
    """Two bars: the measurements, and what the present one is doing."""

    def __init__(self, progress: Progress, measurements: int) -> None:
        self._progress = progress
        self._all = progress.add_task("measurements", total=measurements)
        self._step: TaskID = progress.add_task("starting PostgreSQL", total=None)

    def step(self, description: str, total: int | None) -> Tell:
        """Show what begins now."""
        self._progress.reset(self._step, description=description, total=total)
        return lambda done: self._progress.update(self._step, completed=done)

    def next(self) -> None:
        """One measurement is done."""
        self._progress.advance(self._all)


async def measure(bench: Bench, names: Sequence[str], screen: Screen) -> bool:
    """Make the measurements; one that fails is a row that says why, and the others are made all the same."""
    succeeded = True
    for name in names:
        try:
            async for result in MEASUREMENTS[name](bench):
                bench.report.add(result)
        except Exception as error:
            succeeded = False
            bench.report.add(Result(name, name, note=f"FAILED: {type(error).__name__}: {error}"))
        screen.next()
    return succeeded


async def run(settings: Settings, names: Sequence[str], console: Console, *, gate: bool = False) -> bool:
    """Start a server, measure on it, and show what was seen."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    RESULTS.mkdir(exist_ok=True)
    with Progress(*columns, console=console, transient=True) as progress:
        screen = Screen(progress, len(names))
        async with embedded.TemporaryServer() as server:
            superuser = embedded.url_of(server.data_dir, server.dsn, embedded.SUPERUSER)
            report = Report(settings, await _version(superuser))
            postmaster = (await embedded.status(server.data_dir)).pid
            if postmaster is None:
                raise RuntimeError("the server has just been started and is not there")
            try:
                bench = Bench(superuser, postmaster, settings, report, screen.step)
                return await measure(bench, names, screen) and (not gate or all_passed(report.results))
            finally:
                report.show(console)  # also what was seen before somebody had enough


async def _version(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        return str(await connection.fetchval("show server_version"))
    finally:
        await connection.close()


def main() -> None:
    """Run what the command line asks for."""
    given = arguments().parse_args()
    require_proc()
    console = Console(width=None if sys.stdout.isatty() else 160)  # a file has no width, and the table needs one
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            succeeded = runner.run(run(settings_of(given), chosen(given), console, gate=given.gate))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(0 if succeeded else 1)


if __name__ == "__main__":
    main()
