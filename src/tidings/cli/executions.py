"""`tidings executions`: what was triggered, and what became of it."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.flow.ids import Workspace
from tidings.domain.words import ShownStatus

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.executions import Execution, LogLine

app = typer.Typer(help="Executions: list, show, watch, stop and repeat them.", no_args_is_help=True)

ExecutionId = Annotated[UUID, typer.Argument(help="The execution's id.")]
OfWorkflow = Annotated[
    str | None, typer.Option("--workflow", help="Only of this workflow: its name or id.", show_default=False)
]


@app.command("list")
def list_executions(
    workflow: OfWorkflow = None,
    status: Annotated[ShownStatus | None, typer.Option(help="Only these.", show_default=False)] = None,
    contact: Annotated[
        str | None, typer.Option(help="Only for this contact: its id or external id.", show_default=False)
    ] = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List executions, newest first."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    room, of = Workspace(tenant, workspace), reference(workflow) if workflow else None
    page = on_database(
        database_url,
        data_dir,
        lambda engine: engine.executions.list(
            room, workflow=of, status=status, contact_id=contact, limit=limit, created=created
        ),
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("executions", [row(one) for one in page.items], empty="there is no execution")


@app.command()
def show(
    execution_id: ExecutionId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show an execution: what each node did, what it was given and what it has produced."""
    from tidings.cli.output import console, print_json, print_line
    from tidings.cli.timeline import timeline

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "tuple[Execution, list[LogLine]]":
        return await engine.executions.get(room, execution_id), await engine.executions.log(room, execution_id)

    execution, log = on_database(database_url, data_dir, work)
    if as_json:
        print_json(execution, log=log)
        return
    console.print(timeline(execution, log))
    for name, value in (("input", execution.input_payload), ("vars", execution.vars)):
        print_line(f"{name}  {_json_line(value)}")
    print_line(f"key  {execution.idempotency_key}")
    if execution.contact_id:
        print_line(f"contact  {execution.contact or 'deleted'}  {execution.contact_id}")


@app.command()
def watch(
    execution_id: ExecutionId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show an execution live until it has ended; exits 1 unless it completed. With --json: a line for each change."""
    from tidings.cli.output import print_json_line
    from tidings.cli.timeline import watch as watch_live

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "Execution":
        if not as_json:
            return await watch_live(engine, room, execution_id)
        execution = await engine.executions.get(room, execution_id)
        async for changed in engine.executions.changes(room, execution_id):
            execution = changed
            print_json_line(changed)
        return execution

    execution = on_database(database_url, data_dir, work)
    raise typer.Exit(0 if execution.status == "completed" else 1)


@app.command()
def cancel(
    execution_id: ExecutionId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End an execution; what was not called for is skipped."""
    by = caller(tenant, workspace, actor)
    changed = on_database(database_url, data_dir, lambda engine: engine.executions.cancel(by, execution_id))
    _print_changed(changed, "is told to end", as_json=as_json)


@app.command()
def pause(
    execution_id: ExecutionId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let nothing more of an execution leave until it is resumed."""
    by = caller(tenant, workspace, actor)
    changed = on_database(database_url, data_dir, lambda engine: engine.executions.pause(by, execution_id))
    _print_changed(changed, "is told to pause", as_json=as_json)


@app.command()
def resume(
    execution_id: ExecutionId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a paused execution go on."""
    by = caller(tenant, workspace, actor)
    changed = on_database(database_url, data_dir, lambda engine: engine.executions.resume(by, execution_id))
    _print_changed(changed, "goes on", as_json=as_json)


@app.command()
def retry(
    execution_id: ExecutionId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Start a failed execution again where it failed (audited)."""
    by = caller(tenant, workspace, actor)
    changed = on_database(database_url, data_dir, lambda engine: engine.executions.retry(by, execution_id))
    _print_changed(changed, "is started again", as_json=as_json)


def row(execution: "Execution") -> dict[str, object]:
    """An execution as a line of a table."""
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


def _print_changed(execution: "Execution", words: str, *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json(execution)
    else:
        print_line(f"{execution.id} {words}: it is {execution.status}")


def _json_line(value: object) -> str:
    import json

    return json.dumps(value, default=str, ensure_ascii=False)
