"""What commands print: tables and colour for people, JSON for scripts."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tidings.cli.answers import answer_of
from tidings.domain.errors import ChannelNotReady
from tidings.domain.flow.item import in_reading_order

Row = TypeVar("Row")

WIDTH_OF_A_PIPE = 160
console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_A_PIPE)
errors = Console(stderr=True)


def print_json(value: object) -> None:
    """Print a value for scripts as the API would answer it."""
    sys.stdout.write(json.dumps(value, default=answer_of, indent=2) + "\n")


def print_json_line(value: object) -> None:
    """Print a value as one line at once, for scripts that read a stream."""
    sys.stdout.write(json_line(value))
    sys.stdout.flush()


def json_line(value: object) -> str:
    """Return a value as one line for scripts."""
    return json.dumps(value, default=answer_of) + "\n"


def table(title: str, row: Callable[[Row], Mapping[str, object]], *, empty: str) -> Callable[[Sequence[Row]], None]:
    """Return a function that prints a list as a table, each record by `row`."""
    return lambda records: print_table(title, [row(one) for one in records], empty=empty)


def print_table(title: str, rows: Sequence[Mapping[str, object]], *, empty: str) -> None:
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


def print_shown(shown: RenderableType) -> None:
    """Print what is drawn already: a timeline, a bar, a line of a drawing."""
    console.print(shown, soft_wrap=isinstance(shown, Text))


def print_aside(text: str, style: str = "") -> None:
    """Print one line to standard error, for people; what scripts read stays alone on standard output."""
    errors.print(Text(printable(text), style=style), soft_wrap=True)


def print_not_ready(channels: Sequence[str]) -> None:
    """Say which channels no provider is set up for, and what to do about it; nothing if all have one."""
    if channels:
        print_line(f"not ready: {ChannelNotReady(channels)}", style="yellow")


def print_line(text: str, style: str = "") -> None:
    """Print one line that may hold what users wrote, without markup or wrapping."""
    console.print(Text(printable(text), style=style), soft_wrap=True)


def print_content(content: Mapping[str, object], indent: int = 0) -> None:
    """Print what a message says: each of its parts under its name, line by line as it was written."""
    for line in content_lines(content):
        print_line(f"{'':{indent}}{line}")


def content_cell(content: Mapping[str, object]) -> Text:
    """Return the content of a message for a cell of a table."""
    return lines_cell("\n".join(content_lines(content)))


def lines_cell(text: str) -> Text:
    """Return a string of several lines for a cell of a table."""
    return Text("\n".join(printable(line) for line in text.splitlines()))


def content_lines(content: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of a message; those after a part's first line stand below it."""
    width = max((len(name) for name in content), default=0) + 2
    for name, value in in_reading_order(content):
        lines = in_words(value).splitlines() or [""]
        yield from (f"{f'{name}:' if place == 0 else '':{width}}{line}" for place, line in enumerate(lines))


def print_fields(shown: Mapping[str, object]) -> None:
    """Print what is given of a record, each field on a line of its own."""
    print_content({name: value for name, value in shown.items() if value not in (None, "", {}, [])})


def in_words(value: object) -> str:
    """Return a value as a person writes it on a line: `tag=vip, company=Acme`."""
    match value:
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
        case timedelta():
            from tidings.domain.timing import format_duration

            return format_duration(value)
        case Mapping():
            return ", ".join(_named(name, inner) for name, inner in value.items())
        case list() | tuple():
            return ", ".join(in_words(inner) for inner in value)
        case _:
            return "–" if value is None else str(value)


def _named(name: str, value: object) -> str:
    if value is True:
        return name
    nested = isinstance(value, Mapping | list | tuple)
    return f"{name} ({in_words(value)})" if nested else f"{name}={in_words(value)}"


def printable(text: str) -> str:
    """Return what users wrote, with everything that could control a terminal escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def fail(words: str) -> None:
    """Print in one line what is wrong."""
    line = Text.assemble(("tidings:", "bold red"), " ", printable(words))
    errors.print(line, soft_wrap=True)
