"""`tidings enrollments`: contacts on their way through sequences."""

from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import values_of, with_fields
from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Contact, Listed, Only, Read, Sequence, Where, named
from tidings.cli.output import print_fields, print_line, print_table, table
from tidings.cli.sequence_steps import find_sequence
from tidings.views.enrollments import EnrollmentOutcome, EnrollmentStatus

if TYPE_CHECKING:
    from tidings.views.enrollments import Enrollment, StepLog, Why

app = typer.Typer()
OfSequence = Annotated[
    UUID | str | None, typer.Option("--sequence", help="Its name or id.", show_default=False), Read(named)
]
AtStep = Annotated[str | None, typer.Option("--step", help="Only whose next step this is: its id.", show_default=False)]


def _row(one: "Enrollment") -> dict[str, object]:
    return {
        "id": one.id,
        "contact": one.contact or one.contact_id,
        "sequence": one.sequence_name,
        "version": one.sequence_version,
        "step": one.current_step_index + 1,
        "next step at": one.next_step_at,
        "status": _status(one),
        "messages": ", ".join(f"{count} {name}" for name, count in values_of(one.messages).items() if count) or None,
        "enrolled at": one.enrolled_at,
        "reason": one.reason,
    }


def _status(one: "Enrollment") -> str:
    """`completed` alone would read like a success, whatever became of the messages."""
    return str(one.status) if one.outcome in (None, EnrollmentOutcome.SENT) else f"{one.status} ({one.outcome})"


def _log_row(line: "StepLog") -> dict[str, object]:
    return {
        "step id": line.step_id,
        "channel": line.channel,
        "to": line.recipient,
        "status": "in doubt" if line.in_doubt else line.status,
        "sent at": line.sent_at,
        "attempts": line.attempts,
        "error": line.error,
    }


def _print(one: "Enrollment") -> None:
    print_line(f"{one.id}  {_status(one)}")
    print_fields({name: value for name, value in _row(one).items() if name not in {"id", "status"}})


@dataclass(frozen=True, slots=True)
class Whose:
    """The enrollments of a sequence, or of a contact."""

    sequence: OfSequence = None
    contact: Annotated[str | None, typer.Option("--contact", help="Its id or external id.", show_default=False)] = None

    def __post_init__(self) -> None:
        if (self.sequence is None) == (self.contact is None):
            raise typer.BadParameter("name a --sequence or a --contact")


@command(app, "list", shows=table("enrollments", _row, empty="nobody is enrolled"))
async def list_enrollments(
    at: InWorkspace,
    *,
    whose: Whose,
    status: Annotated[EnrollmentStatus | None, typer.Option(help="Only these.", show_default=False)] = None,
    step: AtStep = None,
    listed: Listed,
) -> "list[Enrollment]":
    """List who is or was in a sequence, or what a contact is or was in; newest first."""
    enrollments, room, limit, created = at.engine.enrollments, at.workspace, listed.limit, listed.created
    if whose.contact is not None:
        page = await enrollments.list_of_contact(room, whose.contact, status=status, limit=limit, created=created)
    else:
        id = await find_sequence(at, whose.sequence or "")
        page = await enrollments.list(room, id, status=status, step_id=step, limit=limit, created=created)
    return page.items


def _print_found(found: "tuple[Enrollment, Several[StepLog]]") -> None:
    enrollment, logs = found
    _print(enrollment)
    print_table("steps so far", [_log_row(line) for line in logs], empty="nothing was sent yet")


@command(app, shows=_print_found, answers=lambda found: with_fields(found[0], logs=found[1]))
async def show(
    at: InWorkspace, enrollment: Annotated[UUID, typer.Argument(metavar="ENROLLMENT", help="Its id.")]
) -> "tuple[Enrollment, Several[StepLog]]":
    """Show an enrollment and what its steps did."""
    found = await at.engine.enrollments.get(at.workspace, enrollment)
    return found, await at.engine.enrollments.logs.of_enrollment(at.workspace, enrollment)


def _print_why(found: "Why") -> None:
    print_line(f"{found.contact or found.contact_id} in {found.sequence_name}: {found.reason}")
    rows = [
        {"step": one.step_index + 1, "channel": one.channel, "fate": one.fate, "at": one.at, "reason": one.reason}
        for one in found.steps
    ]
    print_table("steps", rows, empty="the sequence has no steps")


@command(app, shows=_print_why)
async def why(at: InWorkspace, sequence: Sequence, contact: Contact) -> "Why":
    """Say why a contact did or did not get what a sequence sends."""
    return await at.engine.enrollments.why(at.workspace, await find_sequence(at, sequence), contact)


@dataclass(frozen=True, slots=True)
class ChosenEnrollments:
    """One enrollment, or those of a sequence that match."""

    enrollment: Annotated[UUID | None, typer.Argument(metavar="ENROLLMENT", help="Its id.", show_default=False)] = None
    sequence: OfSequence = None
    everyone: Annotated[bool, typer.Option("--all", help="Every live enrollment of the sequence.")] = False
    step: AtStep = None
    contact: Annotated[
        list[str] | None, typer.Option("--contact", help="Its id or external id; may be repeated.", show_default=False)
    ] = None
    company: Only = None
    tag: Only = None
    where: Where = None

    def __post_init__(self) -> None:
        if (self.enrollment is None) == (self.sequence is None):
            raise typer.BadParameter("name an enrollment, or a --sequence and which of its enrollments")

    def question(self) -> str | None:
        """Return the question to confirm before many are cancelled."""
        return None if self.sequence is None else f"Cancel enrollments of {self.sequence} for ever?"


@dataclass(frozen=True, slots=True)
class StatusChange:
    """How many enrollments have which status now; or the one that was named."""

    status: EnrollmentStatus
    done: "Enrollment | int"


async def _change(at: Acting, chosen: ChosenEnrollments, status: EnrollmentStatus) -> StatusChange:
    from tidings.resources.enrollments import EnrollmentFilter

    if chosen.enrollment is not None:
        return StatusChange(status, await at.engine.enrollments.set_status(at.by, chosen.enrollment, status))
    contacts = chosen.contact or None
    where = EnrollmentFilter(
        chosen.everyone, None, chosen.step, contacts, chosen.company, chosen.tag, contacts=chosen.where
    )
    id = await find_sequence(at, chosen.sequence or "")
    return StatusChange(status, await at.engine.enrollments.set_status_of_many(at.by, id, where, status))


def _print_changed(changed: StatusChange) -> None:
    if isinstance(changed.done, int):
        print_line(f"{changed.done:,} {changed.status}")
    else:
        _print(changed.done)


def _answer(changed: StatusChange) -> object:
    return {"count": changed.done} if isinstance(changed.done, int) else changed.done


@command(app, shows=_print_changed, answers=_answer)
async def pause(at: Acting, chosen: ChosenEnrollments) -> StatusChange:
    """Let nothing more leave until it is resumed: of one enrollment, or of those of a sequence that match."""
    return await _change(at, chosen, EnrollmentStatus.PAUSED)


@command(app, shows=_print_changed, answers=_answer)
async def resume(at: Acting, chosen: ChosenEnrollments) -> StatusChange:
    """Let go on as planned: one enrollment, or those of a sequence that match; a time already past is due now."""
    return await _change(at, chosen, EnrollmentStatus.ACTIVE)


@command(app, shows=_print_changed, answers=_answer, asks=lambda chosen: chosen.question())
async def cancel(at: Acting, chosen: ChosenEnrollments) -> StatusChange:
    """End before the last step: one enrollment, or those of a sequence that match."""
    return await _change(at, chosen, EnrollmentStatus.CANCELLED)
