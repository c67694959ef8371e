"""How a soak is shown: bars while it runs on a terminal, a line now and then elsewhere, and one table at the end."""

import time
from collections.abc import Mapping, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from tests.chaos.app import CLASSES
from tests.chaos.book import KERNEL, WORKLOADS
from tests.chaos.plan import Report
from tidings.kernel.crash_points import POINTS

LINE_EVERY_SECONDS = 60.0
TALLY_ROWS = ("intended", "sent", "calls", "repeats", "duplicates", "losses", "failed", "in_doubt")


class Screen:
    """The progress of a soak."""

    def __init__(self, console: Console, targets: Mapping[str, int]) -> None:
        self._console = console
        self._targets = targets
        self._bars = Progress(
            TextColumn("{task.description:<10}"), BarColumn(40), MofNCompleteColumn(), console=console
        )
        self._tasks = {name: self._bars.add_task(name, total=target) for name, target in targets.items()}
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self._began = self._told_at = time.monotonic()
        self._first: Mapping[str, int] | None = None

    def __enter__(self) -> "Screen":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, now: Mapping[str, int], sums: Report, rounds: int) -> None:
        """Show how far it is: `now` has what the targets name, unfinished rounds included."""
        self._first = self._first or dict(now)
        line = (
            f"{rounds} rounds, {sums.total('duplicates')} duplicates, {sums.total('losses')} losses, "
            f"{sums.total('in_doubt')} in doubt, {len(sums.violations)} violations; {self._left(now)}"
        )
        for name, task in self._tasks.items():
            self._bars.update(task, completed=now[name])
        if self._live:
            self._live.update(Group(self._bars, line))
        elif time.monotonic() - self._told_at >= LINE_EVERY_SECONDS:
            self._told_at = time.monotonic()
            self.say(", ".join(f"{now[name]:,} of {target:,} {name}" for name, target in self._targets.items()))
            self.say(f"  {line}")

    def say(self, text: str) -> None:
        """Print something that stays."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _left(self, now: Mapping[str, int]) -> str:
        """How long it will take by what was reached since this process began."""
        elapsed, first = time.monotonic() - self._began, self._first or now
        shares = [
            (self._targets[name] - now[name]) / (now[name] - first[name]) if now[name] > first[name] else 0.0
            for name in self._targets
        ]
        return f"{elapsed / 60:.0f} min, about {max(0.0, elapsed * max(shares)) / 60:.0f} more"


def summary(sums: Report, rounds: int, seed: str) -> Table:
    """Everything in one table: what was done, and what came of it, by class."""
    table = Table(title=f"{rounds} rounds, seed {seed}", title_justify="left")
    for name in ("", *CLASSES, "all"):
        table.add_column(name, justify="right" if name else "left")
    for point, row in _kills(sums).items():
        _add(table, f"kill -9 {point}" if point in POINTS else point, row)
    _add(table, "kills", [sum(column) for column in zip(*_kills(sums).values(), strict=True)])
    for what, count in sorted(sums.others.items()):
        table.add_row(what, *([""] * len(CLASSES)), f"{count:,}")
    table.add_section()
    for name in TALLY_ROWS:
        _add(table, name.replace("_", " "), [getattr(sums.tallies[provider], name) for provider in CLASSES])
    table.add_section()
    for workload in (KERNEL, *WORKLOADS):
        _add(table, f"sent by {workload}", [sums.workloads[f"{workload} {provider}"] for provider in CLASSES])
    if sums.fairness.messages:
        table.caption, table.caption_justify = str(sums.fairness), "left"
    return table


def _kills(sums: Report) -> dict[str, list[int]]:
    """Times by point and class, also for the points that were never reached."""
    how = [*POINTS, *sorted({kind.rpartition(" ")[0] for kind in sums.kills} - set(POINTS))]
    return {point: [sums.kills[f"{point} {provider}"] for provider in CLASSES] for point in how}


def _add(table: Table, name: str, row: Sequence[int]) -> None:
    table.add_row(name, *(f"{count:,}" for count in row), f"{sum(row):,}", end_section=name == "kills")
