"""`tidings overview`: what happens in a workspace just now, once or live."""

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.command import command
from tidings.cli.opened import InWorkspace
from tidings.cli.output import print_line, print_table

if TYPE_CHECKING:
    from tidings.views.overview import Overview

app = typer.Typer()

EVERY_SECONDS = 2.0
PLOTTED = "▁▂▃▄▅▆▇█"


def plot(counts: "list[int]") -> str:
    """Return counts as a line of bars, the newest last."""
    most = max(counts, default=0)
    return "".join(" " if not one else PLOTTED[(one * len(PLOTTED) - 1) // most] for one in counts)


def rows(found: "Overview") -> list[dict[str, object]]:
    """Return the numbers, a row for each."""
    numbers = {
        "sent today": found.sent_today,
        "failed today": found.failed_today,
        "due, and nobody has it": found.queued,
        "the first of it waits": f"{found.lag_seconds:.1f} s",
        "in doubt": found.in_doubt,
        "executions": found.executions_open,
        "runs": found.runs_open,
    }
    return [{"what": name, "now": f"{value:,}" if isinstance(value, int) else value} for name, value in numbers.items()]


def calls(found: "Overview") -> list[dict[str, object]]:
    """Return the calls of the shown minutes, a row for each channel and outcome."""
    by_kind: dict[tuple[str, str], Counter[object]] = {}
    for one in found.minutes:
        by_kind.setdefault((one.channel, one.outcome), Counter())[one.at] += one.count
    minutes = sorted({one.at for one in found.minutes})
    return [
        {
            "channel": channel,
            "outcome": outcome,
            "calls": f"{counts.total():,}",
            "minutes": plot([counts[at] for at in minutes]),
        }
        for (channel, outcome), counts in sorted(by_kind.items())
    ]


def _print(found: "Overview") -> None:
    print_table("now", rows(found), empty="")
    print_table("calls by the minute", calls(found), empty="no call has ended in these minutes")
    for rest in found.resting:
        because = f": {rest.reason}" if rest.reason else ""
        print_line(f"{rest.provider} rests until {rest.until:%H:%M:%S}Z{because}", style="yellow")
    for reason in found.waiting:
        print_line(f"waiting: {reason}", style="yellow")


@command(app, shows=_print)
async def overview(
    at: InWorkspace,
    *,
    minutes: Annotated[int, typer.Option(min=1, max=1440, help="How many of the last minutes to show calls of.")] = 60,
    watch: Annotated[bool, typer.Option("--watch", help="Show it anew every two seconds, until Ctrl-C.")] = False,
) -> "Overview":
    """Show what happens just now: calls by the minute, what is due, in doubt, resting or waiting, what failed today."""
    from tidings.cli.screen import console

    while watch and not at.as_json:
        found = await at.engine.overview.get(at.workspace, minutes)
        console.clear()
        _print(found)
        await asyncio.sleep(EVERY_SECONDS)
    return await at.engine.overview.get(at.workspace, minutes)
