"""`tidings dead-letters`: executions that failed for good, and starting them again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import with_fields
from tidings.cli.command import command
from tidings.cli.executions import row
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, OfWorkflow
from tidings.cli.output import print_line, print_table, table

if TYPE_CHECKING:
    from tidings.views.executions import Execution, Replay

app = typer.Typer()

WithError = Annotated[str | None, typer.Option("--error", help="Only whose error has this in it.", show_default=False)]
AtNode = Annotated[str | None, typer.Option("--node", help="Only what failed in this node.", show_default=False)]


@command(app, "list", shows=table("dead letters", row, empty="nothing has failed"))
async def list_dead_letters(
    at: InWorkspace, *, workflow: OfWorkflow = None, error: WithError = None, node: AtNode = None, listed: Listed
) -> "list[Execution]":
    """List failed executions, newest first."""
    page = await at.engine.executions.dead_letters(
        at.workspace, workflow=workflow, error=error, node=node, limit=listed.limit, created=listed.created
    )
    return page.items


def _print(done: "tuple[Replay, bool]") -> None:
    result, dry_run = done
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


@dataclass(frozen=True, slots=True)
class ChosenDeadLetters:
    """What to start again."""

    ids: Annotated[list[UUID] | None, typer.Argument(metavar="ID…", help="Executions.", show_default=False)] = None
    workflow: OfWorkflow = None
    error: WithError = None
    node: AtNode = None
    everything: Annotated[bool, typer.Option("--all", help="Every dead letter of the workspace.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be started again.")] = False

    def __post_init__(self) -> None:
        is_chosen = any((self.ids, self.workflow, self.error, self.node))
        if (self.everything and is_chosen) or not (self.everything or is_chosen or self.dry_run):
            raise typer.BadParameter(
                "name executions or choose them by --workflow, --error or --node; or say --all alone"
            )


@command(app, shows=_print, answers=lambda done: with_fields(done[0], dry_run=done[1]))
async def replay(at: Acting, chosen: ChosenDeadLetters) -> "tuple[Replay, bool]":
    """Start failed executions again where they failed (audited). Name them, choose them by options, or say --all."""
    from tidings.resources.executions import DeadLetterFilter

    ids = tuple(chosen.ids) if chosen.ids else None
    where = DeadLetterFilter(workflow=chosen.workflow, error=chosen.error, node=chosen.node, ids=ids)
    return await at.engine.executions.replay(at.by, where, dry_run=chosen.dry_run), chosen.dry_run
