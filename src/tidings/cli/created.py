"""The options of lists that are asked for what was created when."""

from typing import Annotated

import typer

from tidings.domain.paging import Created, read_created

CreatedAfter = Annotated[
    str | None,
    typer.Option(
        "--created-after",
        metavar="TIME",
        help="Only what was created at this time or later: ISO 8601; a date alone is its midnight in UTC.",
        show_default=False,
    ),
]
CreatedBefore = Annotated[
    str | None,
    typer.Option(
        "--created-before", metavar="TIME", help="Only what was created before this time.", show_default=False
    ),
]


def created_in(after: str | None, before: str | None) -> Created:
    """The times that were given with these options."""
    return read_created(after, before, ("--created-after", "--created-before"))
