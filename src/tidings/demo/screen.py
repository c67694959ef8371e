"""What a person sees while the demo runs: a line for each event, and bars in a terminal or milestones in a pipe."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

MILESTONES = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the work stands."""

    people: int
    sent: int
    in_doubt: int
    queued: int | None  # None until the whole audience is planned
    contacts: int
    ended: int
    is_over: bool


class Screen:
    """Tells the story."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._started = monotonic()
        self._bars: _Bars | None = None
        self._milestone = 0

    @property
    def seconds(self) -> float:
        """The time since the demo began."""
        return monotonic() - self._started

    def say(self, text: str) -> None:
        """One event, with its time."""
        self.console.print(f"[dim]{self.seconds:5.1f} s[/]  {text}", soft_wrap=True)

    def fail(self, text: str) -> None:
        """What went wrong, plainly."""
        self.say(f"[bold red]failed:[/] {escape(text)}")

    @contextmanager
    def bars(self) -> Iterator[None]:
        """Show bars for as long as the block, where the screen can."""
        if not self.console.is_terminal:
            yield
            return
        self._bars = _Bars(self.console)
        try:
            with self._bars.progress:
                yield
        finally:
            self._bars = None

    def show(self, standing: Standing) -> None:
        """Bring bars or milestones up to date."""
        if self._bars is not None:
            self._bars.update(standing)
            return
        milestone = standing.sent * MILESTONES // standing.people
        if milestone > self._milestone:
            self._milestone = milestone
            self.say(
                f"{standing.sent:,} of {standing.people:,} e-mails of the campaign sent, "
                f"{standing.ended} of {standing.contacts} executions ended, {standing.in_doubt} in doubt"
            )


class _Bars:
    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            TextColumn("         {task.description}"),
            BarColumn(bar_width=36, complete_style="cyan", finished_style="green"),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
        )
        self._campaign = self._add("campaign: e-mails sent")
        self._workflow = self._add("workflow: executions ended")

    def update(self, standing: Standing) -> None:
        note = f"[yellow]{standing.in_doubt} in doubt[/]" if standing.in_doubt else ""
        self.progress.update(self._campaign, total=standing.people, completed=standing.sent, note=note)
        self.progress.update(self._workflow, total=standing.contacts, completed=standing.ended)

    def _add(self, name: str) -> TaskID:
        return self.progress.add_task(f"{name:<27}", total=None, note="")
