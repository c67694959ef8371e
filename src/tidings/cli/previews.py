"""What previews have in common on the command line: their options, how they are printed, and the page of `--open`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.given import Json, read_data
from tidings.cli.options import Read
from tidings.cli.output import print_content, print_line

if TYPE_CHECKING:
    from tidings.views.previews import Preview

PreviewData = Annotated[
    Json,
    typer.Option(help="What templates see: a JSON object, @FILE, or @- for standard input."),
    Read(read_data, default="{}"),
]
Open = Annotated[bool, typer.Option("--open", help="Write it to a page, and open that.")]


def any_failed(previews: "Sequence[Preview]") -> bool:
    """Return whether one of them cannot be sent like this."""
    return any(one.error for one in previews)


def print_previews(previews: "Sequence[Preview]") -> None:
    """Print what people would receive."""
    for one in previews:
        if one.part is not None:
            print_line(f"{one.channel} {one.part}", style="bold")
        print_line(f"to: {', '.join(one.recipients) or '–'}")
        print_content(one.content)
        for name, words in _facts(one):
            print_line(f"{name}: {words}", style="yellow" if name in ("skipped", "error", "problem") else "")


def _facts(one: "Preview") -> list[tuple[str, str]]:
    facts = [("problem", words) for words in one.problems if words not in (one.error or "")]
    if one.segments:
        facts.append(
            ("segments", f"{one.segments.segments} ({one.segments.units} characters, {one.segments.encoding})")
        )
    if one.size is not None and "html" in one.content:
        facts.append(("size", f"{one.size:,} bytes"))
    return [*facts, *((name, words) for name, words in (("skipped", one.skipped), ("error", one.error)) if words)]


def open_page(previews: "Sequence[Preview]", title: str) -> None:
    """Write previews to a page that only its writer may read, say where it is, and have it opened on a screen."""
    import os
    import sys
    from tempfile import mkstemp

    from tidings.cli.output import print_aside
    from tidings.cli.preview_page import page_of

    file, path = mkstemp(prefix="tidings-preview-", suffix=".html")
    with os.fdopen(file, "w", encoding="utf-8") as page:
        page.write(page_of(previews, title))
    print_aside(f"written to {path}")
    if sys.stdout.isatty():  # a script has no use for a window
        typer.launch(path)
