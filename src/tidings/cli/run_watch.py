"""A run as a person watches it: bars for the whole and for the jobs under way, the rate, and the time that is left."""

from collections import deque
from datetime import timedelta
from time import monotonic
from uuid import UUID

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tidings.cli.screen import console
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.views.runs import Counts, Job, Run

MOST_JOBS = 8
RATE_OVER_SECONDS = 10.0
STYLES = {
    "sent": "green",
    "called": "green",
    "posted": "green",
    "failed": "red",
    "skipped": "yellow",
    "in_doubt": "magenta",
    "queued": "dim",
}


class Pace:
    """How many items are done per second, over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def look(self, done: int, at: float) -> float:
        """Add the number that is done now; return the rate."""
        self._seen.append((at, done))
        while len(self._seen) > 2 and at - self._seen[0][0] > RATE_OVER_SECONDS:
            self._seen.popleft()
        (then, before), (now, after) = self._seen[0], self._seen[-1]
        return (after - before) / (now - then) if now > then else 0.0


async def watch_run(engine: Engine, room: Workspace, id: UUID) -> Run:
    """Show a run live until it has ended; return it as it is then."""
    pace = Pace()
    run = await engine.runs.get(room, id)
    with Live(console=console, refresh_per_second=4) as live:
        async for run in engine.runs.changes(room, id):
            jobs = await engine.runs.jobs(room, id, open_only=True, limit=MOST_JOBS)
            live.update(screen(run, jobs.items, pace.look(_done(run.counts), monotonic())))
    if not console.is_terminal:
        console.line()  # which only a terminal gets from Live
    return run


def screen(run: Run, jobs: list[Job], rate: float) -> Group:
    """Return one picture of a run."""
    style = "green" if run.status is RunStatus.COMPLETED else "red" if run.status is RunStatus.FAILED else "bold"
    head = Text.assemble(
        f"{run.id}  ",
        f"{run.campaign_name}  " if run.campaign_name else "",
        (run.status_text, style),
        f"  {_words(run, rate)}",
    )
    bars = Table.grid(padding=(0, 1))
    bars.add_row("all", _bar(_done(run.counts), run.counts.planned), _counts(run.counts))
    for job in jobs:
        counts = job.counts
        told = f"{counts.planned - counts.open:,} of {counts.planned:,}  {job.status}"
        bars.add_row(f"job …{str(job.id)[-6:]}", _bar(counts.planned - counts.open, counts.planned), Text(told, "dim"))
    return Group(head, bars)


def _done(counts: Counts) -> int:
    return counts.planned - counts.queued - counts.in_doubt


def _bar(done: int, of: int) -> ProgressBar:
    return ProgressBar(total=max(of, 1), completed=done, width=30)


def _counts(counts: Counts) -> Text:
    told = Text(f"{counts.planned:,} planned")
    for name, style in STYLES.items():
        if number := getattr(counts, name):
            told.append(f"  {number:,} {name.replace('_', ' ')}", style)
    return told


def _words(run: Run, rate: float) -> str:
    if run.has_ended or rate <= 0:
        return ""
    left = timedelta(seconds=round(run.counts.queued / rate))
    return f"{rate:,.0f} a second, {'at least ' if run.planning else ''}{left} left"
