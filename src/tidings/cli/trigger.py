"""`tidings trigger`: start one execution of a workflow."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.answers import with_fields
from tidings.cli.command import command
from tidings.cli.given import Json, read_data
from tidings.cli.opened import Acting
from tidings.cli.options import Read, Workflow
from tidings.cli.output import print_line

if TYPE_CHECKING:
    from tidings.views.executions import Execution

app = typer.Typer()

Data = Annotated[
    Json,
    typer.Option(help="What the workflow is given: a JSON object, @FILE, or @- for standard input."),
    Read(read_data, default="{}"),
]


@dataclass(frozen=True, slots=True)
class StartedNow:
    """What was started, as it is now."""

    execution: "Execution"
    duplicate: bool
    waited: bool


def _print(started: StartedNow) -> None:
    from tidings.cli.timeline import STYLES, ended_words

    execution = started.execution
    again = " (this key had started it before)" if started.duplicate else ""
    print_line(f"{execution.id}  {execution.workflow_name} version {execution.workflow_version}{again}")
    if started.waited:
        print_line(ended_words(execution), style=STYLES.get(execution.status, ""))


@command(
    app,
    shows=_print,
    answers=lambda started: with_fields(started.execution, duplicate=started.duplicate),
    fails=lambda started: started.waited and started.execution.status != "completed",
)
async def trigger(
    at: Acting,
    workflow: Workflow,
    *,
    data: Data,
    key: Annotated[
        str | None,
        typer.Option(help="The same key again gives the same execution.  [default: a new one]", show_default=False),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(help="Whom it is for: a contact's id or external id.  [default: nobody]", show_default=False),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended; exits 1 unless it completed.")] = False,
    timeout: Annotated[float, typer.Option(min=0, help="How many seconds to wait at most.")] = 60.0,
) -> StartedNow:
    """Start one execution; workers move it."""
    from tidings.cli.timeline import wait_for

    started = await at.engine.executions.trigger(at.by, workflow, data, key, contact_id=contact, triggered_by="cli")
    execution = await wait_for(at.engine, at.workspace, started.id, timeout) if wait else started
    return StartedNow(execution, started.duplicate, wait)
