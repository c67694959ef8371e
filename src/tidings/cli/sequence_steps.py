"""`tidings sequences steps`: the messages of a sequence's draft."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.opened import Actor, Tenant, WorkspaceName, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.channels import CONTACT_CHANNELS, one_of
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.domain.sequences.form import Step
    from tidings.engine import Engine

app = typer.Typer(help="The steps of a sequence's draft.", no_args_is_help=True)
Reference = Annotated[str, typer.Argument(metavar="SEQUENCE", help="The sequence's name or id.")]
StepReference = Annotated[str, typer.Argument(metavar="STEP", help="The step's id, or its order.")]
Day = Annotated[int | None, typer.Option(help="Days after the enrollment, or the step before.", show_default=False)]
Hour = Annotated[int | None, typer.Option(help="0 to 23; else the time of day of the enrollment.", show_default=False)]
Order = Annotated[int | None, typer.Option(help="Its place among the steps; else the last.", show_default=False)]
ChannelName = Annotated[str | None, typer.Option(help=f"{one_of(CONTACT_CHANNELS)}.", show_default=False)]
Subject = Annotated[str | None, typer.Option(help="Of an e-mail, or a push message's title.", show_default=False)]
Content = Annotated[str | None, typer.Option(help="What it says, or @FILE; sees contact.*.", show_default=False)]
MaxLateness = Annotated[
    str | None, typer.Option(help="Skip it if it would leave later, as in PT12H.", show_default=False)
]


@app.command("list")
def list_steps(
    sequence: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the steps of the draft, in their order."""
    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "tuple[UUID, Sequence[Step]]":
        id = await _id_of(engine, room, sequence)
        return id, (await engine.sequences.get(room, id, in_flight=False)).steps

    _print(*on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def add(
    sequence: Reference,
    day: Annotated[int, typer.Option(help="Days after the enrollment, or the step before.")],
    channel: Annotated[str, typer.Option(help=f"{one_of(CONTACT_CHANNELS)}.")],
    content: Annotated[str, typer.Option(help="What it says, or @FILE; sees contact.*.")],
    hour: Hour = None,
    order: Order = None,
    subject: Subject = None,
    max_lateness: MaxLateness = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write a new step into the draft."""
    given, by = _given(day, hour, order, channel, subject, content, max_lateness), caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "tuple[UUID, Step]":
        id = await _id_of(engine, by.workspace, sequence)
        return id, await engine.sequences.add_step(by, id, given)

    _print(*on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def change(
    sequence: Reference,
    step: StepReference,
    day: Day = None,
    hour: Hour = None,
    order: Order = None,
    channel: ChannelName = None,
    subject: Subject = None,
    content: Content = None,
    max_lateness: MaxLateness = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Change a step of the draft; what is published stays until the draft is published."""
    given, by = _given(day, hour, order, channel, subject, content, max_lateness), caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "tuple[UUID, Step]":
        id, step_id = await _step_of(engine, by.workspace, sequence, step)
        return id, await engine.sequences.update_step(by, id, step_id, given)

    _print(*on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def delete(
    sequence: Reference,
    step: StepReference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take a step out of the draft; versions that were published keep it."""
    from tidings.cli.output import print_json, print_line

    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> UUID:
        id, step_id = await _step_of(engine, by.workspace, sequence, step)
        await engine.sequences.delete_step(by, id, step_id)
        return step_id

    gone = on_database(database_url, data_dir, work)
    if as_json:
        print_json({"id": gone, "deleted": True})
    else:
        print_line(f"step {gone} is removed from the draft")


def print_steps(steps: "Sequence[Step]", *, title: str, whole: bool = False) -> None:
    """Steps for people: their content from its beginning, or the whole of it."""
    from tidings.cli.output import print_table

    print_table(title, [_row(step, whole) for step in steps], empty="there is no step yet")


def _given(
    day: int | None,
    hour: int | None,
    order: int | None,
    channel: str | None,
    subject: str | None,
    content: str | None,
    max_lateness: str | None,
) -> dict[str, object]:
    given = {
        "dayOffset": day,
        "sendHour": hour,
        "stepOrder": order,
        "channel": channel,
        "subject": subject,
        "content": _text(content),
        "maxLateness": max_lateness,
    }
    return {name: value for name, value in given.items() if value is not None}


def _text(content: str | None) -> str | None:
    if content is None or not content.startswith("@"):
        return content
    try:
        return Path(content[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputInvalid(f"{content[1:]!r} cannot be read: {reason}") from error


async def _id_of(engine: "Engine", room: Workspace, text: str) -> UUID:
    named = reference(text)
    return named if isinstance(named, UUID) else (await engine.sequences.find(room, named)).id


async def _step_of(engine: "Engine", room: Workspace, sequence: str, step: str) -> tuple[UUID, UUID]:
    """The ids of a sequence and of one of its steps, which may be named by its order."""
    id = await _id_of(engine, room, sequence)
    named = reference(step)
    if isinstance(named, UUID):
        return id, named
    found = [one for one in (await engine.sequences.get(room, id, in_flight=False)).steps if str(one.order) == step]
    if len(found) != 1:
        raise InputInvalid(f"{len(found)} steps have the order {step!r}; name the step by its id")
    return id, UUID(found[0].id)


def _print(sequence_id: UUID, found: "Step | Sequence[Step]", *, as_json: bool) -> None:
    from tidings.cli.output import print_json
    from tidings.domain.sequences.form import Step

    steps = [found] if isinstance(found, Step) else found
    if not as_json:
        print_steps(steps, title="steps", whole=True)
        return
    from tidings.http.sequence_shapes import show_step

    shown = [show_step(step, sequence_id).model_dump(mode="json", by_alias=True) for step in steps]
    print_json(shown[0] if isinstance(found, Step) else shown)


def _row(step: "Step", whole: bool) -> dict[str, object]:
    from tidings.cli.output import lines_cell

    return {
        "order": step.order,
        "day": step.day_offset,
        "hour": "as enrolled" if step.send_hour is None else f"{step.send_hour}:00",
        "channel": step.channel,
        "subject": step.subject,
        "content": lines_cell(step.content if whole or len(step.content) <= 60 else f"{step.content[:59]}…"),
        "may be late": step.max_lateness,
        "id": step.id,
    }
