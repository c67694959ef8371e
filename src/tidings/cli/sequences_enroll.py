"""Enroll an audience as a person watches: a count beforehand, a bar, and the result."""

from collections.abc import Mapping
from functools import partial
from uuid import UUID

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tidings.cli.opened import Acting
from tidings.cli.output import print_line
from tidings.cli.screen import errors
from tidings.kernel.start.enroll import Enrolling
from tidings.resources.enrollments import show_counts
from tidings.views.enrollments import EnrolledCounts


async def enroll_audience(
    at: Acting, sequence_id: UUID, audience: Mapping[str, object], *, include_cancelled: bool, dry_run: bool
) -> EnrolledCounts:
    """Enroll an audience; count first where somebody watches, so that the bar has an end."""
    # A person who types an unknown name is told so, and need not look for a number in the answer.
    enroll = partial(
        at.engine.enrollments.batch_enroll,
        at.by,
        sequence_id,
        audience,
        include_cancelled=include_cancelled,
        refuse_unknown=True,
    )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("counting", total=None)

        def told(done: Enrolling) -> None:
            progress.update(task, completed=done.enrolled + done.skipped)

        total = None
        if dry_run or errors.is_terminal:
            counted = await enroll(dry_run=True, on_progress=told)
            if dry_run:
                return show_counts(counted, dry_run=True)
            total = counted.enrolled + counted.skipped
        progress.reset(task, description="enrolling", total=total)
        return show_counts(await enroll(triggered_by="cli", on_progress=told), dry_run=False)


def print_enrolled(done: EnrolledCounts) -> None:
    """Say how many were enrolled, and why the others were not."""
    print_line(f"{done.enrolled_count:,} {'would be enrolled' if done.dry_run else 'enrolled'}", style="green")
    reasons = {
        "of them had been cancelled in it": done.reenrolled_count,
        "in the sequence already": done.skipped.already_enrolled,
        "have been through it before": done.skipped.completed_before,
        "were cancelled in it; --include-cancelled enrolls them anew": done.skipped.cancelled_before,
        "not found": done.skipped.not_found,
    }
    for reason, count in reasons.items():
        if count:
            print_line(f"{count:,} {reason}")
    for lack in done.missing:
        print_line(str(lack), style="yellow")
