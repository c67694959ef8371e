"""What commands print: tables and colour for people, JSON for scripts."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from tidings.domain.errors import TidingsError

console = Console()
errors = Console(stderr=True)


def print_json(value: object) -> None:
    """Print a value for scripts."""
    sys.stdout.write(json.dumps(value, default=_plain, indent=2) + "\n")


def print_table(title: str, rows: Sequence[Mapping[str, object]], *, empty: str) -> None:
    """Print rows for people, or say that there are none."""
    if not rows:
        console.print(empty)
        return
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    console.print(table)


def fail(error: TidingsError) -> None:
    """Say in one line what is wrong."""
    errors.print(f"[bold red]tidings:[/] {_escaped(str(error))}", soft_wrap=True, highlight=False)


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("[", r"\[")


def _plain(value: Any) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
