"""`tidings sequences`: a series of messages to a contact, written step by step and published."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, Yes, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.sequence_steps import app as steps
from tidings.cli.sequence_steps import print_steps
from tidings.cli.trigger import read_data
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.sequences.form import InFlightChoice
from tidings.views.sequences import SequenceStatus

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.sequences import InFlight
    from tidings.views.sequences import Sequence as ShownSequence

app = typer.Typer(help="Sequences: messages to a contact over time.", no_args_is_help=True)
app.add_typer(steps, name="steps")
Reference = Annotated[str, typer.Argument(metavar="SEQUENCE", help="The sequence's name or id.")]


@app.command("list")
def list_sequences(
    status: Annotated[SequenceStatus | None, typer.Option(help="Only these.", show_default=False)] = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List sequences, newest first."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)
    page = on_database(
        database_url, data_dir, lambda engine: engine.sequences.list(room, status=status, limit=limit, created=created)
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("sequences", [_row(one) for one in page.items], empty="there is no sequence")


@app.command()
def show(
    sequence: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a sequence: its steps, what is published, and who is on the way to which step."""
    room = Workspace(tenant, workspace)
    _print(on_database(database_url, data_dir, lambda engine: find(engine, room, sequence)), as_json=as_json)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    data: Annotated[
        str,
        typer.Option(help="Settings and steps: a JSON object {timezone, offsetFrom, …, steps: […]}, @FILE, or @-."),
    ] = "{}",
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a sequence: a draft until it is published."""
    given, by = dict(read_data(data)), caller(tenant, workspace, actor)
    written = given.pop("steps", [])
    if not isinstance(written, list) or not all(isinstance(one, dict) for one in written):
        raise InputInvalid("steps: give a list of objects with dayOffset, channel and content")
    made = on_database(database_url, data_dir, lambda engine: engine.sequences.create(by, name, given, written))
    _print(made, as_json=as_json)


@app.command()
def update(
    sequence: Reference,
    data: Annotated[str, typer.Option(help="What is changed: a JSON object {name, timezone, …}, @FILE, or @-.")],
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Change the name or the settings of the draft; what is published stays until the draft is published."""
    given, by = dict(read_data(data)), caller(tenant, workspace, actor)
    name = given.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise InputInvalid(f"name: {name!r} is not a text")

    async def work(engine: "Engine") -> "ShownSequence":
        found = await find(engine, by.workspace, sequence)
        return await engine.sequences.update(by, found.id, name=name, settings=given)

    _print(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def publish(
    sequence: Reference,
    in_flight: Annotated[
        InFlightChoice | None,
        typer.Option(
            help="Let those on the way finish their version, or move them to the same step of the new one.",
            show_default=False,
        ),
    ] = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Publish the draft, so that contacts can be enrolled."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "ShownSequence":
        found = await find(engine, by.workspace, sequence)
        return await engine.sequences.update(by, found.id, status=SequenceStatus.ACTIVE, in_flight=in_flight)

    _print(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def pause(
    sequence: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let nothing of a sequence be sent until it is resumed."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "ShownSequence":
        found = await find(engine, by.workspace, sequence)
        return await engine.sequences.update(by, found.id, status=SequenceStatus.PAUSED)

    _print_status(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def resume(
    sequence: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a paused sequence go on: what is overdue is sent now, unless it is later than its step allows."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "ShownSequence":
        found = await find(engine, by.workspace, sequence)
        if found.status is not SequenceStatus.PAUSED:
            raise InputInvalid(f"sequence {found.name!r} is {found.status}, not paused; a draft is published")
        return await engine.sequences.update(by, found.id, status=SequenceStatus.ACTIVE)

    _print_status(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def delete(
    sequence: Reference,
    yes: Yes = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove a sequence that nobody is on the way through. Asks first."""
    from tidings.cli.output import print_json, print_line

    if not yes:
        typer.confirm(f"Remove {sequence}?", abort=True, err=True)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "ShownSequence":
        found = await find(engine, by.workspace, sequence)
        await engine.sequences.delete(by, found.id)
        return found

    removed = on_database(database_url, data_dir, work)
    if as_json:
        print_json({"id": removed.id, "deleted": True})
    else:
        print_line(f"{removed.name} is removed")


async def find(engine: "Engine", room: Workspace, text: str) -> "ShownSequence":
    """A sequence by its id or its name."""
    named = reference(text)
    return await (engine.sequences.get(room, named) if isinstance(named, UUID) else engine.sequences.find(room, named))


def _print(found: "ShownSequence", *, as_json: bool) -> None:
    from tidings.cli.output import in_words, print_json, print_line, print_not_ready, print_table

    if as_json:
        print_json(found)
        return
    version = f"version {found.published.version}" if found.published else "never published"
    print_line(f"{found.name}  {found.status} · {version} · {found.id}", style="bold")
    print_line(in_words({name: in_words(value) for name, value in found.settings.to_json().items()}))
    print_not_ready(found.not_ready)
    print_steps(found.steps, title="draft" if found.has_draft else "steps")
    if found.has_draft and found.published:
        print_steps(found.published.steps, title=f"published as version {found.published.version}")
    if found.in_flight:
        print_table("on the way", [_flight(one) for one in found.in_flight], empty="")
    if found.moved:
        moved = found.moved
        print_line(f"{moved.moved} moved, {moved.completed} completed, {moved.left} left on their version")


def _print_status(found: "ShownSequence", *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json(found)
    else:
        print_line(f"{found.name} is {found.status}")


def _flight(one: "InFlight") -> dict[str, object]:
    return {"version": one.version, "order": one.step_order, "contacts": one.count, "id": one.step_id}


def _row(sequence: "ShownSequence") -> dict[str, object]:
    return {
        "name": sequence.name,
        "status": sequence.status,
        "version": sequence.published.version if sequence.published else None,
        "steps": len(sequence.steps),
        "draft": "yes" if sequence.has_draft else "no",
        "not ready": ", ".join(sequence.not_ready),
        "updated": sequence.updated_at,
        "id": sequence.id,
    }
