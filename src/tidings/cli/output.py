"""What commands print: words for people, which screen.py draws, and JSON for scripts, which needs nothing of it."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from tidings.cli.answers import answer_of
from tidings.domain.errors import ChannelNotReady
from tidings.domain.flow.item import in_reading_order

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = TypeVar("Row")


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
    from tidings.cli.screen import show_table

    show_table(title, rows, empty=empty)


def print_shown(shown: "RenderableType") -> None:
    """Print what is drawn already: a timeline, a bar, a line of a drawing."""
    from tidings.cli.screen import show

    show(shown)


def print_aside(text: str, style: str = "") -> None:
    """Print one line to standard error, for people; what scripts read stays alone on standard output."""
    from tidings.cli.screen import errors, show_line

    show_line(text, style, errors)


def print_not_ready(channels: Sequence[str]) -> None:
    """Say which channels no provider is set up for, and what to do about it; nothing if all have one."""
    if channels:
        print_line(f"not ready: {ChannelNotReady(channels)}", style="yellow")


def print_line(text: str, style: str = "") -> None:
    """Print one line that may hold what users wrote, without markup or wrapping."""
    from tidings.cli.screen import console, show_line

    show_line(text, style, console)


def print_content(content: Mapping[str, object], indent: int = 0) -> None:
    """Print what a message says: each of its parts under its name, line by line as it was written."""
    for line in content_lines(content):
        print_line(f"{'':{indent}}{line}")


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
    from tidings.cli.screen import show_problem

    show_problem(words)
