"""What an execution has done so far, as a timeline; and waiting for its end."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tidings.cli.output import print_line, printable
from tidings.cli.screen import console
from tidings.domain.errors import Conflict
from tidings.engine import Engine, Workspace
from tidings.views.executions import Execution, LogLine

STYLES = {
    "completed": "green",
    "sent": "green",
    "called": "green",
    "posted": "green",
    "failed": "red",
    "partial": "red",
    "cancelled": "yellow",
    "paused": "yellow",
    "in_doubt": "magenta",
    "processing": "cyan",
}


async def wait_for(engine: Engine, room: Workspace, id: UUID, seconds: float) -> Execution:
    """Return an execution once it has ended; raise Conflict when that takes longer."""
    execution = await engine.executions.get(room, id)
    try:
        async with asyncio.timeout(seconds):
            async for changed in engine.executions.changes(room, id):
                execution = changed
    except TimeoutError as error:
        raise Conflict(
            f"execution {id} is still {execution.status} after {seconds:g} s; it goes on if a worker runs: "
            f"tidings executions watch {id}"
        ) from error
    return execution


async def watch(engine: Engine, room: Workspace, id: UUID) -> Execution:
    """Show an execution until it has ended: redrawn on a terminal, elsewhere a line for each change."""
    execution = await engine.executions.get(room, id)
    if not console.is_terminal:
        return await _watch_lines(engine, room, execution)
    with Live(console=console, refresh_per_second=4) as live:
        live.update(timeline(execution, await engine.executions.log(room, id)))
        async for changed in engine.executions.changes(room, id):
            execution = changed
            live.update(timeline(execution, await engine.executions.log(room, id)))
    return execution


async def _watch_lines(engine: Engine, room: Workspace, execution: Execution) -> Execution:
    said = ""
    async for changed in engine.executions.changes(room, execution.id):
        execution = changed
        if (words := state_words(execution)) != said:
            print_line(words, style=STYLES.get(execution.status, ""))
        said = words
    return execution


def timeline(execution: Execution, log: Sequence[LogLine]) -> RenderableType:
    """Return the whole picture: what the execution is, what each node did, and its present state."""
    head = f"{execution.workflow_name} version {execution.workflow_version} · {execution.id}"
    return Group(
        Text(printable(head), style="bold"),
        log_table(log),
        Text(printable(state_words(execution)), style=STYLES.get(execution.status, "")),
    )


def log_table(log: Sequence[LogLine]) -> Table:
    """Return a table of what each node did, in order."""
    table = Table(header_style="bold")
    for name in ("", "node", "kind", "status", "started", "took", "attempts", "error"):
        table.add_column(name, overflow="fold")
    for line in log:
        style = STYLES.get(line.status, "")
        table.add_row(
            Text("●" if line.ended_at else "○", style=style),
            Text(printable(line.node)),
            Text(line.kind),
            Text(_status(line), style=style),
            Text(_time(line.started_at)),
            Text(_took(line.duration_ms)),
            Text(str(line.attempts or "")),
            Text(printable(line.error or "")),
        )
    return table


def state_words(execution: Execution) -> str:
    """Return the state of an execution in one line."""
    if execution.status.has_ended:
        return ended_words(execution)
    words = [execution.status, f"step {execution.current_step + 1} of {execution.total_steps}"]
    if execution.cursor:
        words.append(f"at {execution.cursor}")
    if execution.available_at:
        words.append(f"due {_time(execution.available_at)}")
    if execution.waiting:
        words.append(f"waiting: {execution.waiting}")
    return " · ".join(words)


def ended_words(execution: Execution) -> str:
    """Return in one line how an execution ended."""
    at = f" at {_time(execution.completed_at)}" if execution.completed_at else ""
    node = f" in {execution.error_step}" if execution.error_step else ""
    error = f": {execution.error_message}" if execution.error_message else ""
    return f"{execution.status}{at}{node}{error}"


def _status(line: LogLine) -> str:
    return "printed, not sent" if line.status == "sent" and any(item.printed for item in line.items) else line.status


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else ""


def _took(milliseconds: float | None) -> str:
    if milliseconds is None:
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
