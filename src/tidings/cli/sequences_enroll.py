"""`tidings sequences enroll`: contacts into a sequence, with a bar for many and a count beforehand."""

from functools import partial
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.opened import Actor, Tenant, WorkspaceName, caller, on_database, reference
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.kernel.start.enroll import Enrolling

SequenceReference = Annotated[str, typer.Argument(metavar="SEQUENCE", help="The sequence's name or id.")]
Contacts = typer.Option(metavar="CONTACT", help="Its id or external id; may be repeated.", show_default=False)
Only = typer.Option(help="Only those of it.", show_default=False)


def enroll(
    sequence: SequenceReference,
    everyone: Annotated[bool, typer.Option("--all", help="Every contact of the workspace.")] = False,
    contact: Annotated[list[str] | None, Contacts] = None,
    company: Annotated[str | None, Only] = None,
    tag: Annotated[str | None, Only] = None,
    status: Annotated[str | None, Only] = None,
    exclude: Annotated[list[str] | None, Contacts] = None,
    include_cancelled: Annotated[
        bool, typer.Option("--include-cancelled", help="Enroll those anew who were cancelled in it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be done.")] = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Enroll contacts in an active sequence; safe to run again, which enrolls only who is missing."""
    by = caller(tenant, workspace, actor)
    given: dict[str, object] = {"all": everyone or None, "company": company, "tag": tag, "status": status}

    async def work(engine: "Engine") -> "Enrolling":
        room = by.workspace
        given["contactIds"], given["excludeContactIds"] = contact, exclude
        audience = {name: value for name, value in given.items() if value}
        id = await find_sequence(engine, room, sequence)
        return await _enroll(engine, by, id, audience, include_cancelled=include_cancelled, dry_run=dry_run)

    _print(on_database(database_url, data_dir, work), dry_run=dry_run, as_json=as_json)


async def find_sequence(engine: "Engine", room: Workspace, sequence: str) -> UUID:
    """The id of a sequence that is named by its name or id."""
    named = reference(sequence)
    return named if isinstance(named, UUID) else (await engine.sequences.find(room, named)).id


async def _enroll(
    engine: "Engine",
    by: Caller,
    sequence_id: UUID,
    audience: dict[str, object],
    *,
    include_cancelled: bool,
    dry_run: bool,
) -> "Enrolling":
    """Count first where somebody watches, so that the bar has an end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tidings.cli.output import errors

    # Whoever types a name that nobody has is told so, and does not look for a number in the answer.
    enroll = partial(
        engine.enrollments.batch_enroll,
        by,
        sequence_id,
        audience,
        include_cancelled=include_cancelled,
        refuse_unknown=True,
    )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("counting", total=None)

        def told(done: "Enrolling") -> None:
            progress.update(task, completed=done.enrolled + done.skipped)

        total = None
        if dry_run or errors.is_terminal:
            counted = await enroll(dry_run=True, on_progress=told)
            if dry_run:
                return counted
            total = counted.enrolled + counted.skipped
        progress.reset(task, description="enrolling", total=total)
        return await enroll(triggered_by="cli", on_progress=told)


def _print(done: "Enrolling", *, dry_run: bool, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line
    from tidings.resources.enrollments import show_counts

    if as_json:
        print_json(show_counts(done, dry_run=dry_run))
        return
    print_line(f"{done.enrolled:,} {'would be enrolled' if dry_run else 'enrolled'}", style="green")
    reasons = {
        "of them had been cancelled in it": done.reenrolled,
        "in the sequence already": done.already_enrolled,
        "have been through it before": done.completed_before,
        "were cancelled in it; --include-cancelled enrolls them anew": done.cancelled_before,
        "not found": done.not_found,
    }
    for reason, count in reasons.items():
        if count:
            print_line(f"{count:,} {reason}")
    for lack in done.missing:
        print_line(str(lack), style="yellow")
