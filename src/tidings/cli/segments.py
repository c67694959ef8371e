"""`tidings segments`: audiences under a name."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, Yes, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.trigger import read_data
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.segments import Segment

app = typer.Typer(help="Segments: audiences under a name, looked at anew whenever they are used.", no_args_is_help=True)

Reference = Annotated[str, typer.Argument(metavar="SEGMENT", help="The segment's name or id.")]
Given = Annotated[
    str, typer.Option("--data", metavar="JSON", help="name and audience as a JSON object, @file.json, or @- for stdin.")
]


@app.command("list")
def list_segments(
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List segments, newest first."""
    from tidings.cli.output import in_words, print_json, print_table

    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)
    page = on_database(database_url, data_dir, lambda engine: engine.segments.list(room, limit=limit, created=created))
    if as_json:
        print_json(page.items)
    else:
        rows = [{"id": one.id, "name": one.name, "audience": in_words(one.audience)} for one in page.items]
        print_table("segments", rows, empty="there is no segment")


@app.command()
def show(
    segment: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a segment and how many are in it at this moment."""
    from tidings.cli.output import in_words, print_json, print_line

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "tuple[Segment, int]":
        found = await _find(engine, room, segment)
        return found, (await engine.segments.count(room, found.id)).matching

    found, matching = on_database(database_url, data_dir, work)
    if as_json:
        print_json(found, matching=matching)
    else:
        print_line(f"{found.id}  {found.name}: {matching:,} contacts by {in_words(found.audience)}")


@app.command()
def create(
    data: Given,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Keep an audience under a name."""
    given, by = read_data(data), caller(tenant, workspace, actor)
    made = on_database(database_url, data_dir, lambda engine: engine.segments.create(by, given))
    _print(made, "is made", as_json=as_json)


@app.command()
def update(
    segment: Reference,
    data: Given,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Change a segment's name or audience."""
    given, by = read_data(data), caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Segment":
        found = await _find(engine, by.workspace, segment)
        return await engine.segments.update(by, found.id, given)

    _print(on_database(database_url, data_dir, work), "is changed", as_json=as_json)


@app.command()
def delete(
    segment: Reference,
    yes: Yes = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove a segment; one that a campaign names is refused."""
    from tidings.cli.output import print_json, print_line

    if not yes:
        typer.confirm(f"Delete segment {segment}?", abort=True)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Segment":
        found = await _find(engine, by.workspace, segment)
        await engine.segments.delete(by, found.id)
        return found

    gone = on_database(database_url, data_dir, work)
    if as_json:
        print_json({"id": gone.id, "deleted": True})
    else:
        print_line(f"{gone.id}  {gone.name} is deleted")


async def _find(engine: "Engine", room: Workspace, segment: str) -> "Segment":
    named = reference(segment)
    return await (engine.segments.get(room, named) if isinstance(named, UUID) else engine.segments.find(room, named))


def _print(segment: "Segment", words: str, *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json(segment)
    else:
        print_line(f"{segment.id}  {segment.name} {words}")
