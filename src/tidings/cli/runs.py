"""`tidings runs`: what became of a deploy, live or afterwards, and what people decide about it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.campaigns import find_campaign
from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.pages import Page
    from tidings.views.runs import Job, Retry, Run

app = typer.Typer(help="Runs: what became of a deploy, and of each of its items.", no_args_is_help=True)

RunId = Annotated[UUID, typer.Argument(help="The run's id.")]
OfStatus = Annotated[str | None, typer.Option(help="Only those with this status.", show_default=False)]


@app.command("list")
def list_runs(
    campaign: Annotated[
        str | None, typer.Option(help="Only those of this campaign: its name or id.", show_default=False)
    ] = None,
    status: OfStatus = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    from tidings.cli.output import print_json, print_table
    from tidings.domain.campaigns.run import RunStatus

    if status is not None and status not in [*RunStatus]:
        raise typer.BadParameter(f"--status {status!r}: use {', '.join(RunStatus)}")
    created = created_in(created_after, created_before)
    room, wanted = Workspace(tenant, workspace), RunStatus(status) if status else None

    async def find(engine: "Engine") -> "Page[Run]":
        of = await find_campaign(engine, room, campaign) if campaign else None
        return await engine.runs.list(room, campaign_id=of, status=wanted, limit=limit, created=created)

    page = on_database(database_url, data_dir, find)
    if as_json:
        print_json(page.items)
    else:
        print_table("runs", [_row(one) for one in page.items], empty="there is no such run")


@app.command()
def show(
    run_id: RunId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a run with its counts, its first jobs and its history."""
    from tidings.cli.output import console, print_json, print_table
    from tidings.cli.run_watch import screen
    from tidings.resources.runs import History

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "tuple[Run, list[Job], History]":
        jobs = await engine.runs.jobs(room, run_id, limit=20)
        return await engine.runs.get(room, run_id), jobs.items, await engine.runs.history(room, run_id)

    run, jobs, history = on_database(database_url, data_dir, work)
    if as_json:
        print_json(run, first_jobs=jobs, history=history)
        return
    console.print(screen(run, jobs, 0.0))
    rows = [{"at": one.at, "event": one.event, "by": one.actor} for one in history]
    print_table("history", rows, empty="")


@app.command()
def history(
    run_id: RunId,
    job: Annotated[UUID | None, typer.Option(help="Only of this job.", show_default=False)] = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show every change of the state of a run's jobs, in the order it happened; the run's own is in `show`."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)
    page = on_database(
        database_url,
        data_dir,
        lambda engine: engine.runs.job_history(room, run_id, job_id=job, limit=limit, created=created),
    )
    if as_json:
        print_json(page.items)
        return
    rows = [{"at": one.at, "job": one.job_id, "event": one.event, "by": one.actor} for one in page.items]
    print_table("history of its jobs", rows, empty="it has no jobs yet")


@app.command()
def watch(
    run_id: RunId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a run live until it has ended; exits 1 unless it completed. With --json: a line for each change."""
    from tidings.cli.output import print_json_line
    from tidings.cli.run_watch import watch_run
    from tidings.domain.campaigns.run import RunStatus

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "Run":
        if not as_json:
            return await watch_run(engine, room, run_id)
        run = await engine.runs.get(room, run_id)
        async for changed in engine.runs.changes(room, run_id):
            run = changed
            print_json_line(changed)
        return run

    run = on_database(database_url, data_dir, work)
    raise typer.Exit(0 if run.status is RunStatus.COMPLETED else 1)


@app.command()
def pause(
    run_id: RunId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let nothing more of a run leave until it is resumed."""
    by = caller(tenant, workspace, actor)
    run = on_database(database_url, data_dir, lambda engine: engine.runs.pause(by, run_id))
    _print_changed(run, "is told to pause", as_json=as_json)


@app.command()
def resume(
    run_id: RunId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a paused run go on."""
    by = caller(tenant, workspace, actor)
    run = on_database(database_url, data_dir, lambda engine: engine.runs.resume(by, run_id))
    _print_changed(run, "goes on", as_json=as_json)


@app.command()
def cancel(
    run_id: RunId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Skip whatever of a run has not been called for."""
    by = caller(tenant, workspace, actor)
    run = on_database(database_url, data_dir, lambda engine: engine.runs.cancel(by, run_id))
    _print_changed(run, "is told to end", as_json=as_json)


@app.command()
def retry(
    run_id: RunId,
    where: Annotated[
        str | None, typer.Option(help="Only those whose error has this text: error=429.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent again.")] = False,
    key: Annotated[str | None, typer.Option(help="The same key again gives the same run.", show_default=False)] = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Try again what failed, and nothing else, in a new run."""
    from tidings.cli.output import print_json, print_line, print_table
    from tidings.resources.run_retry import RetryFilter, read_where

    chosen = read_where(where) if where else RetryFilter()
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Retry":
        if dry_run:
            return await engine.runs.plan_retry(by.workspace, run_id, chosen)
        return await engine.runs.retry(by, run_id, chosen, idempotency_key=key)

    done = on_database(database_url, data_dir, work)
    if as_json:
        print_json(done)
        return
    if done.by_error:
        print_table("errors", [{"error": name, "items": count} for name, count in done.by_error.items()], empty="")
    if done.retried_before:
        print_line(f"{done.retried_before:,} were tried again before and are left to that run")
    print_line(f"{done.run.id}  tries {done.count:,} again" if done.run else f"{done.count:,} would be tried again")


@app.command()
def resolve(
    run_id: RunId,
    note: Annotated[str, typer.Option(help="What shows that this is so; kept in the audit log.")],
    sent: Annotated[bool, typer.Option("--sent", help="They arrived.")] = False,
    resend: Annotated[bool, typer.Option("--resend", help="They did not arrive: send them once more.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="They did not arrive, and shall not.")] = False,
    item: Annotated[
        list[UUID] | None, typer.Option(help="Only this item; may be repeated.", show_default=False)
    ] = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End the doubt about a run's items by a person's word (audited)."""
    from tidings.cli.output import print_json, print_line
    from tidings.engine import Resolution

    chosen = [kind for kind, given in zip(Resolution, (sent, resend, failed), strict=True) if given]
    if len(chosen) != 1:
        raise typer.BadParameter("choose one of --sent, --resend and --failed")
    by = caller(tenant, workspace, actor)
    done = on_database(
        database_url, data_dir, lambda engine: engine.runs.resolve(by, run_id, chosen[0], note, item or None)
    )
    if as_json:
        print_json(done)
    else:
        print_line(f"{done.resolved:,} are no longer in doubt: {chosen[0]}; {done.refused:,} were refused")


@app.command()
def export(
    run_id: RunId,
    to: Annotated[
        Path | None, typer.Option("--to", help="The file to write; standard output unless given.", show_default=False)
    ] = None,
    status: OfStatus = None,
    in_doubt: Annotated[bool, typer.Option("--in-doubt", help="Only what is in doubt.")] = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write every item of a run as CSV (with --json: a JSON object on each line)."""
    from tidings.cli.run_export import run_export
    from tidings.domain.flow.item import ItemStatus
    from tidings.resources.runs import TraceFilter

    if status is not None and status not in [*ItemStatus]:
        raise typer.BadParameter(f"--status {status!r}: use {', '.join(ItemStatus)}")
    where = TraceFilter(ItemStatus(status) if status else None, True if in_doubt else None)
    room = Workspace(tenant, workspace)
    on_database(database_url, data_dir, lambda engine: run_export(engine, room, run_id, where, to, as_json=as_json))


def _row(run: "Run") -> dict[str, object]:
    return {
        "id": run.id,
        "campaign": run.campaign_name,
        "campaign id": run.campaign_id,
        "channel": run.channel,
        "status": run.status_text + (", test" if run.test else ""),
        "planned": run.counts.planned,
        "done": run.counts.sent + run.counts.called + run.counts.posted,
        "failed": run.counts.failed,
        "skipped": run.counts.skipped,
        "queued": run.counts.queued,
        "created": run.created_at,
    }


def _print_changed(run: "Run", words: str, *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json(run)
    else:
        print_line(f"{run.id} {words} ({run.status_text})")
