"""`tidings dead-letters`: executions that failed for good, and starting them again."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.executions import OfWorkflow, row
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.views.executions import Replay

app = typer.Typer(help="Dead letters: executions that failed for good.", no_args_is_help=True)

WithError = Annotated[str | None, typer.Option("--error", help="Only whose error has this in it.", show_default=False)]
AtNode = Annotated[str | None, typer.Option("--node", help="Only what failed in this node.", show_default=False)]


@app.command("list")
def list_dead_letters(
    workflow: OfWorkflow = None,
    error: WithError = None,
    node: AtNode = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List failed executions, newest first."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    room, of = Workspace(tenant, workspace), reference(workflow) if workflow else None
    page = on_database(
        database_url,
        data_dir,
        lambda engine: engine.executions.dead_letters(
            room, workflow=of, error=error, node=node, limit=limit, created=created
        ),
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("dead letters", [row(one) for one in page.items], empty="nothing has failed")


@app.command()
def replay(
    ids: Annotated[list[UUID] | None, typer.Argument(metavar="ID…", help="Executions.", show_default=False)] = None,
    workflow: OfWorkflow = None,
    error: WithError = None,
    node: AtNode = None,
    everything: Annotated[bool, typer.Option("--all", help="Every dead letter of the workspace.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be started again.")] = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Start failed executions again where they failed (audited). Name them, choose them by options, or say --all."""
    from tidings.resources.shown import DeadLetterFilter

    is_chosen = any((ids, workflow, error, node))
    if (everything and is_chosen) or not (everything or is_chosen or dry_run):
        raise typer.BadParameter("name executions or choose them by --workflow, --error or --node; or say --all alone")
    where = DeadLetterFilter(
        workflow=reference(workflow) if workflow else None, error=error, node=node, ids=tuple(ids) if ids else None
    )
    by = caller(tenant, workspace, actor)
    result = on_database(database_url, data_dir, lambda engine: engine.executions.replay(by, where, dry_run=dry_run))
    _print(result, dry_run=dry_run, as_json=as_json)


def _print(result: "Replay", *, dry_run: bool, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line, print_table

    if as_json:
        print_json(result, dry_run=dry_run)
        return
    if result.by_error:
        rows = [{"error": name, "executions": count} for name, count in result.by_error.items()]
        print_table("errors", rows, empty="")
    verb = "would be started again" if dry_run else "started again"
    print_line(f"{result.count} {verb}")
    for id in result.executions:
        print_line(f"  {id}")
    if result.count > len(result.executions):
        print_line(f"  and {result.count - len(result.executions)} more")
    if result.refused:
        print_line(f"{result.refused} left alone: what they tried may have arrived, or somebody works on them")
