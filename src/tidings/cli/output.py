"""What commands print: tables and colour for people, JSON for scripts."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidings.domain.errors import ChannelNotReady, TidingsError

WIDTH_OF_A_PIPE = 160
console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_A_PIPE)
errors = Console(stderr=True)


def print_json(value: object) -> None:
    """Print a value for scripts."""
    sys.stdout.write(json.dumps(value, default=_plain, indent=2) + "\n")


def print_json_line(value: object) -> None:
    """Print a value as one line at once, for scripts that read a stream."""
    sys.stdout.write(json.dumps(value, default=_plain) + "\n")
    sys.stdout.flush()


def print_table(title: str, rows: Sequence[Mapping[str, object]], *, empty: str) -> None:
    """Print rows for people, or say that there are none."""
    if not rows:
        console.print(empty)
        return
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in rows[0]:
        table.add_column(name, overflow="fold", no_wrap=name == "id")  # an id is there to be copied
    for row in rows:
        table.add_row(*(Text("" if value is None else printable(str(value))) for value in row.values()))
    console.print(table)


def print_not_ready(channels: Sequence[str]) -> None:
    """Say which channels no provider is set up for, and what to do about it; nothing if all have one."""
    if channels:
        print_line(f"not ready: {ChannelNotReady(channels)}", style="yellow")


def print_line(text: str, style: str = "") -> None:
    """Print one line that may hold what users wrote: no markup, no wrapping."""
    console.print(Text(printable(text), style=style), soft_wrap=True)


def printable(text: str) -> str:
    """What users wrote, with whatever could steer a terminal escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def fail(error: TidingsError) -> None:
    """Say in one line what is wrong."""
    line = Text.assemble(("tidings:", "bold red"), " ", printable(" ".join(str(error).split())))
    errors.print(line, soft_wrap=True)


def _plain(value: Any) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
