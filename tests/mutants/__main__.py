"""Take each guard away and see whether a test notices; a survivor, or an entry that is stale, is a failure.

python -m tests.mutants [--only NAME …] [--jobs N] [--list]
"""

import argparse
import asyncio
import os
import sys
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.mutants.breaks import Break, StaleBreak
from tests.mutants.runner import Result, Verdict, copies, fail_anyway, try_all
from tests.mutants.table import every_break


def main() -> int:
    """Try what was asked for; give the exit code."""
    asked, console = _arguments(), Console()
    chosen = [one for one in every_break() if not asked.only or any(name in one.name for name in asked.only)]
    if asked.list:
        console.print(_listed(chosen))
        return 0
    if not chosen:
        console.print(f"no break has {' or '.join(asked.only)} in its name: see --list", style="red")
        return 2
    try:
        for one in chosen:
            one.broken()
    except StaleBreak as stale:
        console.print(str(stale), style="red")
        return 2
    return asyncio.run(_run(console, chosen, asked.jobs))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only breaks with this in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies that work side by side")
    parser.add_argument("--list", action="store_true", help="show the table and try nothing")
    return parser.parse_args()


async def _run(console: Console, chosen: Sequence[Break], jobs: int) -> int:
    columns = (TextColumn("{task.description}"), BarColumn(40), MofNCompleteColumn(), TimeElapsedColumn())
    results: list[Result] = []
    async with copies(max(1, min(jobs, len(chosen)))) as free:
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            bar = progress.add_task("without any break", total=len({one.tests for one in chosen}))
            console.print("first their tests without any break …")
            async for said in fail_anyway(free, chosen):
                progress.advance(bar)
                if said is not None:
                    console.print(f"these tests fail without any break:\n{said}", style="red", markup=False)
                    return 2
            bar = progress.add_task("breaks", total=len(chosen))
            async for result in try_all(free, chosen):
                results.append(result)
                progress.advance(bar)
                if not console.is_terminal or result.verdict is not Verdict.CAUGHT:
                    console.print(_line(result, len(results), len(chosen)), markup=False)
    console.print(_summary(results))
    return int(any(result.verdict is not Verdict.CAUGHT for result in results))


def _line(result: Result, number: int, of: int) -> str:
    line = f"{number}/{of} {result.verdict}: {result.broken.name} ({result.seconds:.0f} s)"
    return line if result.verdict is Verdict.CAUGHT else f"{line}\n{result.said}"


def _summary(results: Sequence[Result]) -> Table:
    table = Table(title="breaks by what they guard")
    for name in ("guards", *Verdict):
        table.add_column(name, justify="left" if name == "guards" else "right")
    counts = Counter((result.broken.guards, result.verdict) for result in results)
    for guards in sorted({result.broken.guards for result in results}):
        table.add_row(guards, *(str(counts[guards, verdict]) for verdict in Verdict))
    table.add_section()
    table.add_row("all", *(str(sum(result.verdict is verdict for result in results)) for verdict in Verdict))
    for result in results:
        if result.verdict is not Verdict.CAUGHT:
            table.add_row(f"[red]{result.verdict}: {result.broken.name} ({result.broken.path})")
    return table


def _listed(breaks: Sequence[Break]) -> Table:
    table = Table("name", "guards", "file")
    for one in breaks:
        table.add_row(one.name, one.guards, one.file)
    return table


if __name__ == "__main__":
    sys.exit(main())
