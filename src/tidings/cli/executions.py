"""`tidings executions`: what was triggered, and what became of it."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import with_fields
from tidings.cli.command import already_shown, command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, OfWorkflow
from tidings.cli.output import print_json_line, print_line, print_shown, table
from tidings.domain.words import ShownStatus

if TYPE_CHECKING:
    from tidings.views.executions import Execution, LogLine

app = typer.Typer()

ExecutionId = Annotated[UUID, typer.Argument(help="The execution's id.")]


def row(execution: "Execution") -> dict[str, object]:
    """Return an execution as a row of a table."""
    return {
        "id": execution.id,
        "workflow": f"{execution.workflow_name} v{execution.workflow_version}",
        "contact": execution.contact or execution.contact_id,
        "status": execution.status,
        "step": f"{execution.current_step + 1}/{execution.total_steps}",
        "at": execution.cursor,
        "created": execution.created_at,
        "error": execution.error_message,
    }


def _print(found: "tuple[Execution, list[LogLine]]") -> None:
    from tidings.cli.timeline import timeline

    execution, log = found
    print_shown(timeline(execution, log))
    for name, value in (("input", execution.input_payload), ("vars", execution.vars)):
        print_line(f"{name}  {_json_line(value)}")
    print_line(f"key  {execution.idempotency_key}")
    if execution.contact_id:
        print_line(f"contact  {execution.contact or 'deleted'}  {execution.contact_id}")


def _says(words: str) -> "Callable[[Execution], None]":
    return lambda execution: print_line(f"{execution.id} {words}: it is {execution.status}")


def _json_line(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


@command(app, "list", shows=table("executions", row, empty="there is no execution"))
async def list_executions(
    at: InWorkspace,
    *,
    workflow: OfWorkflow = None,
    status: Annotated[ShownStatus | None, typer.Option(help="Only these.", show_default=False)] = None,
    contact: Annotated[
        str | None, typer.Option(help="Only for this contact: its id or external id.", show_default=False)
    ] = None,
    error: Annotated[
        str | None, typer.Option(help="Only what failed with this in its error.", show_default=False)
    ] = None,
    listed: Listed,
) -> "list[Execution]":
    """List executions, newest first."""
    page = await at.engine.executions.list(
        at.workspace,
        workflow=workflow,
        status=status,
        contact_id=contact,
        error=error,
        limit=listed.limit,
        created=listed.created,
    )
    return page.items


@command(app, shows=_print, answers=lambda found: with_fields(found[0], log=found[1]))
async def show(at: InWorkspace, execution_id: ExecutionId) -> "tuple[Execution, list[LogLine]]":
    """Show an execution: what each node did, what it was given and what it has produced."""
    executions = at.engine.executions
    return await executions.get(at.workspace, execution_id), await executions.log(at.workspace, execution_id)


def _is_incomplete(execution: "Execution") -> bool:
    return execution.status != "completed"


@command(app, shows=already_shown, fails=_is_incomplete)
async def watch(at: InWorkspace, execution_id: ExecutionId) -> "Execution":
    """Show an execution live until it has ended; exits 1 unless it completed. With --json: a line for each change."""
    from tidings.cli.timeline import watch as watch_live

    if not at.as_json:
        return await watch_live(at.engine, at.workspace, execution_id)
    execution = await at.engine.executions.get(at.workspace, execution_id)
    async for changed in at.engine.executions.changes(at.workspace, execution_id):
        execution = changed
        print_json_line(changed)
    return execution


@command(app, shows=_says("is told to end"))
async def cancel(at: Acting, execution_id: ExecutionId) -> "Execution":
    """End an execution; what was not called for is skipped."""
    return await at.engine.executions.cancel(at.by, execution_id)


@command(app, shows=_says("is told to pause"))
async def pause(at: Acting, execution_id: ExecutionId) -> "Execution":
    """Let nothing more of an execution leave until it is resumed."""
    return await at.engine.executions.pause(at.by, execution_id)


@command(app, shows=_says("goes on"))
async def resume(at: Acting, execution_id: ExecutionId) -> "Execution":
    """Let a paused execution go on."""
    return await at.engine.executions.resume(at.by, execution_id)


@command(app, shows=_says("is started again"))
async def retry(at: Acting, execution_id: ExecutionId) -> "Execution":
    """Start a failed execution again where it failed (audited)."""
    return await at.engine.executions.retry(at.by, execution_id)
