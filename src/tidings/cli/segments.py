"""`tidings segments`: audiences under a name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import deleted, with_fields
from tidings.cli.command import command
from tidings.cli.given import Json, read_data, with_audience
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Read, Where, named
from tidings.cli.output import print_line, table

if TYPE_CHECKING:
    from tidings.views.segments import Segment as ShownSegment

app = typer.Typer()

Segment = Annotated[UUID | str, typer.Argument(metavar="SEGMENT", help="The segment's name or id."), Read(named)]
Given = Annotated[
    Json,
    typer.Option("--data", metavar="JSON", help="name and audience as a JSON object, @file.json, or @- for stdin."),
    Read(read_data),
]


def _row(segment: "ShownSegment") -> dict[str, object]:
    return {"id": segment.id, "name": segment.name, "audience": segment.in_words}


def _print(found: "tuple[ShownSegment, int]") -> None:
    segment, matching = found
    print_line(f"{segment.id}  {segment.name}: {matching:,} in it, {segment.in_words}")


def _says(words: str) -> "Callable[[ShownSegment], None]":
    return lambda segment: print_line(f"{segment.id}  {segment.name} {words}")


@command(app, "list", shows=table("segments", _row, empty="there is no segment"))
async def list_segments(at: InWorkspace, listed: Listed) -> "list[ShownSegment]":
    """List segments, newest first."""
    return (await at.engine.segments.list(at.workspace, limit=listed.limit, created=listed.created)).items


@command(app, shows=_print, answers=lambda found: with_fields(found[0], matching=found[1]))
async def show(at: InWorkspace, segment: Segment) -> "tuple[ShownSegment, int]":
    """Show a segment and how many are in it at this moment."""
    found = await at.find(at.engine.segments, segment)
    return found, (await at.engine.segments.count(at.workspace, found.id)).matching


@command(app, shows=_says("is made"))
async def create(at: Acting, data: Given, where: Where = None) -> "ShownSegment":
    """Keep an audience under a name."""
    return await at.engine.segments.create(at.by, with_audience(data, where))


@command(app, shows=_says("is changed"))
async def update(at: Acting, segment: Segment, data: Given, where: Where = None) -> "ShownSegment":
    """Change a segment's name or audience."""
    found = await at.find(at.engine.segments, segment)
    return await at.engine.segments.update(at.by, found.id, with_audience(data, where))


@command(app, shows=_says("is deleted"), answers=deleted, asks=lambda segment: f"Delete segment {segment}?")
async def delete(at: Acting, segment: Segment) -> "ShownSegment":
    """Remove a segment; one that a campaign names is refused."""
    found = await at.find(at.engine.segments, segment)
    await at.engine.segments.delete(at.by, found.id)
    return found
