"""`tidings runs`: what became of a deploy, live or afterwards, and what people decide about it."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from tidings.cli.answers import with_fields
from tidings.cli.command import already_shown, command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Read, named
from tidings.cli.output import print_json_line, print_line, print_shown, print_table, table
from tidings.cli.resolution import OfRun
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.item import ItemStatus

if TYPE_CHECKING:
    from tidings.engine import Resolution
    from tidings.resources.run_retry import RetryFilter
    from tidings.resources.runs import History
    from tidings.views.outbox import Resolved
    from tidings.views.runs import Job, JobHistoryLine, Retry, Run

Status = TypeVar("Status", bound=StrEnum)
app = typer.Typer()

RunId = Annotated[UUID, typer.Argument(help="The run's id.")]


def _one_of(statuses: type[Status]) -> Callable[[str], Status]:
    def read(given: str) -> Status:
        if given not in [*statuses]:
            raise typer.BadParameter(f"--status {given!r}: use {', '.join(statuses)}")
        return statuses(given)

    return read


OfStatus = typer.Option(help="Only those with this status.", show_default=False)


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


@command(app, "list", shows=table("runs", _row, empty="there is no such run"))
async def list_runs(
    at: InWorkspace,
    *,
    campaign: Annotated[
        UUID | str | None,
        typer.Option(help="Only those of this campaign: its name or id.", show_default=False),
        Read(named),
    ] = None,
    status: Annotated[RunStatus | None, OfStatus, Read(_one_of(RunStatus))] = None,
    listed: Listed,
) -> "list[Run]":
    """List runs, newest first."""
    if isinstance(campaign, str):
        campaign = (await at.engine.campaigns.find(at.workspace, campaign)).id  # a deleted one's runs have its id
    page = await at.engine.runs.list(
        at.workspace, campaign_id=campaign, status=status, limit=listed.limit, created=listed.created
    )
    return page.items


def _print(found: "tuple[Run, list[Job], History]") -> None:
    from tidings.cli.run_watch import screen

    run, jobs, history = found
    print_shown(screen(run, jobs, 0.0))
    print_table("history", [{"at": one.at, "event": one.event, "by": one.actor} for one in history], empty="")


@command(app, shows=_print, answers=lambda found: with_fields(found[0], first_jobs=found[1], history=found[2]))
async def show(at: InWorkspace, run_id: RunId) -> "tuple[Run, list[Job], History]":
    """Show a run with its counts, its first jobs and its history."""
    runs, room = at.engine.runs, at.workspace
    jobs = await runs.jobs(room, run_id, limit=20)
    return await runs.get(room, run_id), jobs.items, await runs.history(room, run_id)


def _job_row(one: "JobHistoryLine") -> dict[str, object]:
    return {"at": one.at, "job": one.job_id, "event": one.event, "by": one.actor}


@command(app, shows=table("history of its jobs", _job_row, empty="it has no jobs yet"))
async def history(
    at: InWorkspace,
    run_id: RunId,
    *,
    job: Annotated[UUID | None, typer.Option(help="Only of this job.", show_default=False)] = None,
    listed: Listed,
) -> "list[JobHistoryLine]":
    """Show every change of the state of a run's jobs, in the order it happened; the run's own is in `show`."""
    page = await at.engine.runs.job_history(
        at.workspace, run_id, job_id=job, limit=listed.limit, created=listed.created
    )
    return page.items


def _is_incomplete(run: "Run") -> bool:
    return run.status is not RunStatus.COMPLETED


@command(app, shows=already_shown, fails=_is_incomplete)
async def watch(at: InWorkspace, run_id: RunId) -> "Run":
    """Show a run live until it has ended; exits 1 unless it completed. With --json: a line for each change."""
    from tidings.cli.run_watch import watch_run

    if not at.as_json:
        return await watch_run(at.engine, at.workspace, run_id)
    run = await at.engine.runs.get(at.workspace, run_id)
    async for changed in at.engine.runs.changes(at.workspace, run_id):
        run = changed
        print_json_line(changed)
    return run


def _says(words: str) -> "Callable[[Run], None]":
    return lambda run: print_line(f"{run.id} {words} ({run.status_text})")


@command(app, shows=_says("is told to pause"))
async def pause(at: Acting, run_id: RunId) -> "Run":
    """Let nothing more of a run leave until it is resumed."""
    return await at.engine.runs.pause(at.by, run_id)


@command(app, shows=_says("goes on"))
async def resume(at: Acting, run_id: RunId) -> "Run":
    """Let a paused run go on."""
    return await at.engine.runs.resume(at.by, run_id)


@command(app, shows=_says("is told to end"))
async def cancel(at: Acting, run_id: RunId) -> "Run":
    """Skip whatever of a run has not been called for."""
    return await at.engine.runs.cancel(at.by, run_id)


def _read_where(text: str) -> "RetryFilter":
    from tidings.resources.run_retry import read_where

    return read_where(text)


def _print_retry(done: "Retry") -> None:
    if done.by_error:
        print_table("errors", [{"error": name, "items": count} for name, count in done.by_error.items()], empty="")
    if done.retried_before:
        print_line(f"{done.retried_before:,} were tried again before and are left to that run")
    print_line(f"{done.run.id}  tries {done.count:,} again" if done.run else f"{done.count:,} would be tried again")


@command(app, shows=_print_retry)
async def retry(
    at: Acting,
    run_id: RunId,
    where: Annotated[
        "RetryFilter | None",
        typer.Option(help="Only those whose error has this text: error=429.", show_default=False),
        Read(_read_where),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent again.")] = False,
    key: Annotated[str | None, typer.Option(help="The same key again gives the same run.", show_default=False)] = None,
) -> "Retry":
    """Try again what failed, and nothing else, in a new run."""
    from tidings.resources.run_retry import RetryFilter

    chosen = where or RetryFilter()
    if dry_run:
        return await at.engine.runs.plan_retry(at.workspace, run_id, chosen)
    return await at.engine.runs.retry(at.by, run_id, chosen, idempotency_key=key)


def _say_resolved(done: "tuple[Resolved, Resolution]") -> None:
    resolved, outcome = done
    print_line(f"{resolved.resolved:,} are no longer in doubt: {outcome}; {resolved.refused:,} were refused")


@command(app, shows=_say_resolved, answers=lambda done: done[0])
async def resolve(at: Acting, run_id: RunId, word: OfRun) -> "tuple[Resolved, Resolution]":
    """End the doubt about a run's items by a person's word (audited)."""
    done = await at.engine.runs.resolve(at.by, run_id, word.outcome, word.note, word.item or None)
    return done, word.outcome


@command(app, shows=already_shown)
async def export(
    at: InWorkspace,
    run_id: RunId,
    to: Annotated[
        Path | None, typer.Option("--to", help="The file to write; standard output unless given.", show_default=False)
    ] = None,
    status: Annotated[ItemStatus | None, OfStatus, Read(_one_of(ItemStatus))] = None,
    in_doubt: Annotated[bool, typer.Option("--in-doubt", help="Only what is in doubt.")] = False,
) -> None:
    """Write every item of a run as CSV (with --json: a JSON object on each line)."""
    from tidings.cli.run_export import run_export
    from tidings.resources.runs import TraceFilter

    where = TraceFilter(status, True if in_doubt else None)
    await run_export(at.engine, at.workspace, run_id, where, to, as_json=at.as_json)
