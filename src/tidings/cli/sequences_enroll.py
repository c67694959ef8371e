"""Contacts on their way into a sequence as a person watches it: a count beforehand, a bar, and what became of all."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tidings.cli.opened import Acting
from tidings.cli.output import errors, print_line
from tidings.kernel.start.enroll import Enrolling


@dataclass(frozen=True, slots=True)
class Enrolled:
    """What was done, or would be."""

    done: Enrolling
    dry_run: bool

    def counts(self) -> dict[str, object]:
        """As the API answers them."""
        done = self.done
        why = {
            "alreadyEnrolled": done.already_enrolled,
            "completedBefore": done.completed_before,
            "cancelledBefore": done.cancelled_before,
            "notFound": done.not_found,
        }
        return {
            "enrolledCount": done.enrolled,
            "reenrolledCount": done.reenrolled,
            "skippedCount": done.skipped,
            "skipped": why,
            "dryRun": self.dry_run,
            "missing": done.missing,
        }


async def enroll_audience(
    at: Acting, sequence_id: UUID, audience: Mapping[str, object], *, include_cancelled: bool, dry_run: bool
) -> Enrolling:
    """Count first where somebody watches, so that the bar has an end."""
    # Whoever types a name that nobody has is told so, and does not look for a number in the answer.
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
                return counted
            total = counted.enrolled + counted.skipped
        progress.reset(task, description="enrolling", total=total)
        return await enroll(triggered_by="cli", on_progress=told)


def print_enrolled(enrolled: Enrolled) -> None:
    """Say how many were enrolled, and why the others were not."""
    done = enrolled.done
    print_line(f"{done.enrolled:,} {'would be enrolled' if enrolled.dry_run else 'enrolled'}", style="green")
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
