"""What people see: tables, lines and colour, drawn by rich. output.py imports it with the first of them."""

import os
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tidings.cli.output import content_lines, in_words, printable

WIDTH_OF_A_PIPE = 160
console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_A_PIPE)
errors = Console(stderr=True)


def show(shown: RenderableType) -> None:
    """Print what is drawn already."""
    console.print(shown, soft_wrap=isinstance(shown, Text))


def show_line(text: str, style: str, on: Console) -> None:
    """Print one line that may hold what users wrote, without markup or wrapping."""
    on.print(Text(printable(text), style=style), soft_wrap=True)


def show_problem(words: str) -> None:
    """Print in one line what is wrong."""
    errors.print(Text.assemble(("tidings:", "bold red"), " ", printable(words)), soft_wrap=True)


def show_table(title: str, rows: Sequence[Mapping[str, object]], *, empty: str) -> None:
    """Print rows for people, without columns that are empty in all of them; or say that there are none."""
    if not rows:
        console.print(empty)
        return
    cells = [{name: _cell(value) for name, value in row.items()} for row in rows]
    told = [name for name in rows[0] if any(row[name].plain for row in cells)]
    if _narrowest(told, cells) > console.width:
        _print_records(title, told, cells)
        return
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in told:
        table.add_column(name, overflow="fold", no_wrap=name == "id")  # an id is there to be copied
    for row in cells:
        table.add_row(*(row[name] for name in told))
    console.print(table)


def _narrowest(names: Sequence[str], cells: Sequence[Mapping[str, Text]]) -> int:
    """Return the width of a table in which no word is broken."""
    words = [[word for text in (name, *(row[name].plain for row in cells)) for word in text.split()] for name in names]
    return sum(max(Text(word).cell_len for word in column) + 3 for column in words) + 1


def _print_records(title: str, names: Sequence[str], cells: Sequence[Mapping[str, Text]]) -> None:
    """Print each row field by field: a table that breaks words cannot be read."""
    width = max(len(name) for name in names) + 2
    console.print(Text(title, style="italic"))
    for row in cells:
        console.print()
        for name in names:
            first, *more = row[name].split("\n", allow_blank=True)
            console.print(Text.assemble((f"{name}:".ljust(width), "bold"), first), soft_wrap=True)
            for line in more:
                console.print(Text.assemble(" " * width, line), soft_wrap=True)


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return value
    return Text("" if value is None else printable(in_words(value)))


def content_cell(content: Mapping[str, object]) -> Text:
    """Return the content of a message for a cell of a table."""
    return lines_cell("\n".join(content_lines(content)))


def lines_cell(text: str) -> Text:
    """Return a string of several lines for a cell of a table."""
    return Text("\n".join(printable(line) for line in text.splitlines()))
