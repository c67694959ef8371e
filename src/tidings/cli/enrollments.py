"""`tidings enrollments`: contacts on their way through sequences."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, Yes, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.sequences_enroll import SequenceReference, find_sequence
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.resources.shown_enrollments import EnrollmentFilter, EnrollmentOutcome, EnrollmentStatus

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.resources.shown_enrollments import ShownEnrollment, StepLog, Why
    from tidings.views.pages import Page

app = typer.Typer(help="Contacts on their way through sequences.", no_args_is_help=True)
EnrollmentId = Annotated[UUID | None, typer.Argument(metavar="ENROLLMENT", help="Its id.", show_default=False)]
OneId = Annotated[UUID, typer.Argument(metavar="ENROLLMENT", help="Its id.")]
OfSequence = Annotated[str | None, typer.Option("--sequence", help="Its name or id.", show_default=False)]
OfContact = Annotated[str | None, typer.Option("--contact", help="Its id or external id.", show_default=False)]
WithStatus = Annotated[EnrollmentStatus | None, typer.Option(help="Only these.", show_default=False)]
AtStep = Annotated[str | None, typer.Option("--step", help="Only whose next step this is: its id.", show_default=False)]
Only = typer.Option(help="Only those of it.", show_default=False)
SomeContacts = Annotated[
    list[str] | None, typer.Option("--contact", help="Its id or external id; may be repeated.", show_default=False)
]
Everyone = Annotated[bool, typer.Option("--all", help="Every live enrollment of the sequence.")]


@app.command("list")
def list_enrollments(
    sequence: OfSequence = None,
    contact: OfContact = None,
    status: WithStatus = None,
    step: AtStep = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List who is or was in a sequence, or what a contact is or was in; newest first."""
    from tidings.cli.output import print_json, print_table

    if (sequence is None) == (contact is None):
        raise typer.BadParameter("name a --sequence or a --contact")
    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "Page[ShownEnrollment]":
        if contact is not None:
            return await engine.enrollments.list_of_contact(room, contact, status=status, limit=limit, created=created)
        id = await find_sequence(engine, room, sequence or "")
        return await engine.enrollments.list(room, id, status=status, step_id=step, limit=limit, created=created)

    page = on_database(database_url, data_dir, work)
    if as_json:
        print_json(page.items)
    else:
        print_table("enrollments", [_row(one) for one in page.items], empty="nobody is enrolled")


@app.command()
def show(
    enrollment: OneId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show an enrollment and what its steps did."""
    from tidings.cli.output import print_json, print_table

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "tuple[ShownEnrollment, list[StepLog]]":
        found = await engine.enrollments.get(room, enrollment)
        return found, await engine.enrollments.logs.of_enrollment(room, enrollment)

    found, logs = on_database(database_url, data_dir, work)
    if as_json:
        print_json(found, logs=logs)
        return
    _print(found)
    print_table("steps so far", [_log_row(line) for line in logs], empty="nothing was sent yet")


@app.command()
def why(
    sequence: SequenceReference,
    contact: Annotated[str, typer.Argument(metavar="CONTACT", help="The contact's id or external id.")],
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Say why a contact did or did not get what a sequence sends."""
    from tidings.cli.output import print_json, print_line, print_table

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "Why":
        id = await find_sequence(engine, room, sequence)
        return await engine.enrollments.why(room, id, contact)

    found = on_database(database_url, data_dir, work)
    if as_json:
        print_json(found)
        return
    print_line(f"{found.contact or found.contact_id} in {found.sequence_name}: {found.reason}")
    rows = [
        {"step": one.step_index + 1, "channel": one.channel, "fate": one.fate, "at": one.at, "reason": one.reason}
        for one in found.steps
    ]
    print_table("steps", rows, empty="the sequence has no steps")


@app.command()
def pause(
    enrollment: EnrollmentId = None,
    sequence: OfSequence = None,
    everyone: Everyone = False,
    step: AtStep = None,
    contact: SomeContacts = None,
    company: Annotated[str | None, Only] = None,
    tag: Annotated[str | None, Only] = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let nothing more leave until it is resumed: of one enrollment, or of those of a sequence that match."""
    wish = _Wish(EnrollmentStatus.PAUSED, enrollment, sequence, everyone, step, contact, company, tag)
    by = caller(tenant, workspace, actor)
    _print_done(wish, on_database(database_url, data_dir, lambda engine: _do(engine, by, wish)), as_json=as_json)


@app.command()
def resume(
    enrollment: EnrollmentId = None,
    sequence: OfSequence = None,
    everyone: Everyone = False,
    step: AtStep = None,
    contact: SomeContacts = None,
    company: Annotated[str | None, Only] = None,
    tag: Annotated[str | None, Only] = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let go on as planned: one enrollment, or those of a sequence that match; a time already past is due now."""
    wish = _Wish(EnrollmentStatus.ACTIVE, enrollment, sequence, everyone, step, contact, company, tag)
    by = caller(tenant, workspace, actor)
    _print_done(wish, on_database(database_url, data_dir, lambda engine: _do(engine, by, wish)), as_json=as_json)


@app.command()
def cancel(
    enrollment: EnrollmentId = None,
    sequence: OfSequence = None,
    everyone: Everyone = False,
    step: AtStep = None,
    contact: SomeContacts = None,
    company: Annotated[str | None, Only] = None,
    tag: Annotated[str | None, Only] = None,
    yes: Yes = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End before the last step: one enrollment, or those of a sequence that match."""
    wish = _Wish(EnrollmentStatus.CANCELLED, enrollment, sequence, everyone, step, contact, company, tag)
    if sequence is not None and not yes:
        typer.confirm(f"Cancel enrollments of {sequence} for ever?", abort=True)
    by = caller(tenant, workspace, actor)
    _print_done(wish, on_database(database_url, data_dir, lambda engine: _do(engine, by, wish)), as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Wish:
    """A status for one enrollment, or for those of a sequence that match."""

    status: EnrollmentStatus
    enrollment: UUID | None
    sequence: str | None
    everyone: bool
    step: str | None
    contacts: list[str] | None
    company: str | None
    tag: str | None

    def __post_init__(self) -> None:
        if (self.enrollment is None) == (self.sequence is None):
            raise typer.BadParameter("name an enrollment, or a --sequence and which of its enrollments")


async def _do(engine: "Engine", by: Caller, wish: _Wish) -> "ShownEnrollment | int":
    if wish.enrollment is not None:
        return await engine.enrollments.set_status(by, wish.enrollment, wish.status)
    where = EnrollmentFilter(wish.everyone, None, wish.step, wish.contacts or None, wish.company, wish.tag)
    id = await find_sequence(engine, by.workspace, wish.sequence or "")
    return await engine.enrollments.set_status_of_many(by, id, where, wish.status)


def _print_done(wish: _Wish, done: "ShownEnrollment | int", *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json({"count": done} if isinstance(done, int) else done)
    elif isinstance(done, int):
        print_line(f"{done:,} {wish.status}")
    else:
        _print(done)


def _row(one: "ShownEnrollment") -> dict[str, object]:
    return {
        "id": one.id,
        "contact": one.contact or one.contact_id,
        "sequence": one.sequence_name,
        "version": one.sequence_version,
        "step": one.current_step_index + 1,
        "next step at": one.next_step_at,
        "status": _status(one),
        "messages": ", ".join(f"{count} {name}" for name, count in asdict(one.messages).items() if count) or None,
        "enrolled at": one.enrolled_at,
        "reason": one.reason,
    }


def _status(one: "ShownEnrollment") -> str:
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


def _print(one: "ShownEnrollment") -> None:
    from tidings.cli.output import print_fields, print_line

    print_line(f"{one.id}  {_status(one)}")
    print_fields({name: value for name, value in _row(one).items() if name not in {"id", "status"}})
