"""`tidings sequences steps`: the messages of a sequence's draft."""

from collections.abc import Sequence as Several
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.command import command
from tidings.cli.given import read_content
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Read, Sequence, named
from tidings.cli.output import content_lines, print_line, print_table
from tidings.domain.channels import STEP_CHANNELS, one_of
from tidings.domain.errors import InputInvalid

if TYPE_CHECKING:
    from tidings.views.sequences import Step

app = typer.Typer(help="The steps of a sequence's draft.", no_args_is_help=True)
StepReference = Annotated[str, typer.Argument(metavar="STEP", help="The step's id, or its order.")]
Day = Annotated[int | None, typer.Option(help="Days after the enrollment, or the step before.", show_default=False)]
Hour = Annotated[int | None, typer.Option(help="0 to 23; else the time of day of the enrollment.", show_default=False)]
Order = Annotated[int | None, typer.Option(help="Its place among the steps; else the last.", show_default=False)]
ChannelName = Annotated[str | None, typer.Option(help=f"{one_of(STEP_CHANNELS)}.", show_default=False)]
To = Annotated[
    list[str] | None, typer.Option(help="Where a chat or webhook goes; else to default.", show_default=False)
]
Subject = Annotated[str | None, typer.Option(help="Of an e-mail, or a push message's title.", show_default=False)]
_CONTENT_HELP = "What it says, or @FILE; an object has all fields of a message. Sees contact.*."
Content = Annotated[str | None, typer.Option(help=_CONTENT_HELP, show_default=False), Read(read_content)]
MaxLateness = Annotated[
    str | None, typer.Option(help="Skip it if it would leave later, as in PT12H.", show_default=False)
]


def print_steps(steps: "Several[Step]", *, title: str, whole: bool = False) -> None:
    """Print steps for people: the beginning of their content, or all of it."""
    print_table(title, [_row(step, whole) for step in steps], empty="there is no step yet")


def _row(step: "Step", whole: bool) -> dict[str, object]:
    from tidings.cli.screen import lines_cell

    return {
        "order": step.step_order,
        "day": step.day_offset,
        "hour": "as enrolled" if step.send_hour is None else f"{step.send_hour}:00",
        "channel": step.channel,
        "to": ", ".join(step.to or ()),
        "subject": step.subject,
        "content": lines_cell(_content(step, whole)),
        "may be late": step.max_lateness,
        "id": step.id,
    }


def _content(step: "Step", whole: bool) -> str:
    text = step.content if isinstance(step.content, str) else "\n".join(content_lines(step.content))
    return text if whole or len(text) <= 60 else f"{text[:59]}…"


def _print(steps: "Several[Step]") -> None:
    print_steps(steps, title="steps", whole=True)


def _print_one(step: "Step") -> None:
    _print([step])


def _given(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


async def find_sequence(at: InWorkspace, sequence: UUID | str) -> UUID:
    """Return the id of a sequence that is given by its name or id."""
    return sequence if isinstance(sequence, UUID) else (await at.engine.sequences.find(at.workspace, sequence)).id


async def _find_step(at: InWorkspace, sequence: UUID | str, text: str) -> tuple[UUID, UUID]:
    """Return the ids of a sequence and of one of its steps, which may be given by its order."""
    id, step = await find_sequence(at, sequence), named(text)
    if isinstance(step, UUID):
        return id, step
    steps = (await at.engine.sequences.get(at.workspace, id, in_flight=False)).steps
    found = [one for one in steps if str(one.step_order) == step]
    if len(found) != 1:
        raise InputInvalid(f"{len(found)} steps have the order {step!r}; name the step by its id")
    return id, found[0].id


@command(app, "list", shows=_print)
async def list_steps(at: InWorkspace, sequence: Sequence) -> "Several[Step]":
    """List the steps of the draft, in their order."""
    id = await find_sequence(at, sequence)
    return (await at.engine.sequences.get(at.workspace, id, in_flight=False)).steps


@command(app, shows=_print_one)
async def add(
    at: Acting,
    sequence: Sequence,
    day: Annotated[int, typer.Option(help="Days after the enrollment, or the step before.")],
    channel: Annotated[str, typer.Option(help=f"{one_of(STEP_CHANNELS)}.")],
    content: Annotated[str, typer.Option(help=_CONTENT_HELP), Read(read_content)],
    hour: Hour = None,
    order: Order = None,
    to: To = None,
    subject: Subject = None,
    max_lateness: MaxLateness = None,
) -> "Step":
    """Write a new step into the draft."""
    given = _given(dayOffset=day, sendHour=hour, stepOrder=order, channel=channel, subject=subject, content=content)
    id = await find_sequence(at, sequence)
    return await at.engine.sequences.add_step(at.by, id, given | _given(maxLateness=max_lateness, to=to or None))


@command(app, shows=_print_one)
async def change(
    at: Acting,
    sequence: Sequence,
    step: StepReference,
    day: Day = None,
    hour: Hour = None,
    order: Order = None,
    channel: ChannelName = None,
    to: To = None,
    subject: Subject = None,
    content: Content = None,
    max_lateness: MaxLateness = None,
) -> "Step":
    """Change a step of the draft; what is published stays until the draft is published."""
    given = _given(dayOffset=day, sendHour=hour, stepOrder=order, channel=channel, subject=subject, content=content)
    id, step_id = await _find_step(at, sequence, step)
    return await at.engine.sequences.update_step(
        at.by, id, step_id, given | _given(maxLateness=max_lateness, to=to or None)
    )


def _say_removed(step_id: UUID) -> None:
    print_line(f"step {step_id} is removed from the draft")


@command(app, shows=_say_removed, answers=lambda step_id: {"id": step_id, "deleted": True})
async def delete(at: Acting, sequence: Sequence, step: StepReference) -> UUID:
    """Take a step out of the draft; versions that were published keep it."""
    id, step_id = await _find_step(at, sequence, step)
    await at.engine.sequences.delete_step(at.by, id, step_id)
    return step_id
