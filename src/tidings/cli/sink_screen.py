"""What arrives at the sink as a person watches it: the newest messages in a table that fits the screen."""

import asyncio
from collections.abc import Awaitable, Callable

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tidings.cli.output import printable
from tidings.cli.screen import console
from tidings.sink.arrivals import Answer, Arrival, Arrivals

REFRESH_SECONDS = 0.25
STYLES = {Answer.TAKEN: "green", Answer.REFUSED: "red", Answer.DEFERRED: "yellow"}
_ROWS_AROUND = 14
"""Lines that are no row: the settings above, the head and the frame of the table, the counts."""


async def watch_arrivals(arrivals: Arrivals, stopped: Callable[[], Awaitable[object]]) -> None:
    """Show arrivals until it is stopped."""
    ended = asyncio.ensure_future(stopped())
    drawn = -1
    with Live(console=console, auto_refresh=False) as live:
        while not ended.done():
            if drawn != arrivals.total:
                drawn = arrivals.total
                live.update(screen(arrivals, max(console.height - _ROWS_AROUND, 3)), refresh=True)
            await asyncio.wait([ended], timeout=REFRESH_SECONDS)
        live.update(screen(arrivals, max(console.height - _ROWS_AROUND, 3)), refresh=True)


def screen(arrivals: Arrivals, most: int) -> Group:
    """Return one picture of what arrived."""
    counts = Text.assemble(
        *(part for answer in Answer for part in ((f"{arrivals.counts[answer]:,} {answer}", STYLES[answer]), "   "))
    )
    newest = arrivals.newest(most)
    return Group(counts, _table(newest) if newest else Text("nothing has arrived yet; Ctrl-C ends it", "dim"))


def _table(newest: list[Arrival]) -> Table:
    table = Table(header_style="bold", expand=True)
    for name in ("#", "at", "via"):
        table.add_column(name, no_wrap=True)
    for name, ratio in (("to", 3), ("subject", 3), ("answer", 4)):
        table.add_column(name, ratio=ratio, no_wrap=True, overflow="ellipsis")
    for one in newest:
        said = Text(printable(one.said or str(one.answer)), STYLES[one.answer])
        to = printable(", ".join(one.recipients))
        table.add_row(str(one.id), f"{one.at:%H:%M:%S}", one.via, Text(to), Text(printable(one.subject)), said)
    return table
