"""`tidings failures`: what failed, grouped by what went wrong, and starting a group again."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Limit
from tidings.cli.output import print_line, print_table, table
from tidings.domain.paging import read_created

if TYPE_CHECKING:
    from tidings.views.failures import Failure, FailureGroup, FailureGroups, FailureReplay

app = typer.Typer()

GroupId = Annotated[UUID, typer.Argument(help="The group's id, as `list` shows it.")]
Since = Annotated[
    str | None, typer.Option(help="Only what failed at this time or later; without it, a week ago.", show_default=False)
]


def _group(one: "FailureGroup") -> dict[str, object]:
    return {
        "id": one.id,
        "count": one.count,
        "people": one.people,
        "error": one.text,
        "first": one.first_at,
        "last": one.last_at,
        "through": ", ".join(one.providers),
        "of": ", ".join([*one.workflows, *one.campaigns]),
    }


def _print_groups(found: "FailureGroups") -> None:
    print_table(
        "failures", [_group(one) for one in found.items], empty=f"nothing has failed since {found.since:%Y-%m-%d}"
    )
    if not found.complete:
        print_line("there are more: give a later --since to look at all of them", style="yellow")


@command(app, "list", shows=_print_groups)
async def list_failures(at: InWorkspace, *, since: Since = None) -> "FailureGroups":
    """List what failed, grouped by its error without numbers, ids and addresses, the latest first."""
    return await at.engine.failures.groups(at.workspace, read_created(since, None, ("--since", "")).after)


def _row(one: "Failure") -> dict[str, object]:
    return {
        "at": one.at,
        "recipient": one.recipient,
        "contact": one.contact or one.contact_id,
        "of": one.campaign_name or one.workflow_name,
        "node": one.node,
        "through": one.provider,
        "error": one.error,
        "id": one.id,
    }


@command(app, shows=table("failures", _row, empty="nothing has failed in this way"))
async def show(at: InWorkspace, group: GroupId, *, since: Since = None, limit: Limit = 50) -> "list[Failure]":
    """Show what failed in one way: whom it was for, and the error as it was."""
    after = read_created(since, None, ("--since", "")).after
    return (await at.engine.failures.items(at.workspace, group, after, limit=limit)).items


def _print_replay(done: "FailureReplay") -> None:
    verb = "would be started again" if done.dry_run else "started again"
    print_line(f"{done.executions:,} executions and {done.items:,} messages {verb}")
    for run in done.runs:
        print_line(f"  in run {run}")
    if done.last_at:
        print_line(f"the last execution is due at {done.last_at:%Y-%m-%d %H:%M:%S}Z")
    for reason, count in done.refused.items():
        print_line(f"{count:,} left alone: {reason}", style="yellow")
    if not done.complete:
        print_line("there are more: say it again for the next of them", style="yellow")


@command(app, shows=_print_replay)
async def replay(
    at: Acting,
    group: GroupId,
    *,
    since: Since = None,
    per_minute: Annotated[
        int | None, typer.Option(min=1, help="How many at most in a minute.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be started again.")] = False,
) -> "FailureReplay":
    """Start a group again as far as it may be (audited): executions where they failed, messages of campaigns anew."""
    after = read_created(since, None, ("--since", "")).after
    return await at.engine.failures.replay(at.by, group, after, per_minute=per_minute, dry_run=dry_run)
