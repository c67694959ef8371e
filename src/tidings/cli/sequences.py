"""`tidings sequences`: a series of messages to a contact, written step by step and published."""

from collections.abc import Sequence as Several
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.answers import deleted
from tidings.cli.command import command
from tidings.cli.given import Json, read_data, with_where
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Only, Read, Sequence, Where
from tidings.cli.output import in_words, print_line, print_not_ready, print_table, table
from tidings.cli.previews import Open, any_failed, open_page, print_previews
from tidings.cli.sequence_steps import app as steps
from tidings.cli.sequence_steps import find_sequence, print_steps
from tidings.domain.errors import InputInvalid
from tidings.domain.sequences.form import InFlightChoice
from tidings.views.sequences import SequenceStatus

if TYPE_CHECKING:
    from tidings.views.enrollments import EnrolledCounts
    from tidings.views.previews import Preview
    from tidings.views.sequences import Funnel, FunnelStep, InFlight
    from tidings.views.sequences import Sequence as ShownSequence

app = typer.Typer()
app.add_typer(steps, name="steps")


def _row(sequence: "ShownSequence") -> dict[str, object]:
    return {
        "name": sequence.name,
        "status": sequence.status,
        "version": sequence.published.version if sequence.published else None,
        "steps": len(sequence.steps),
        "draft": "yes" if sequence.has_draft else "no",
        "not ready": ", ".join(sequence.not_ready),
        "updated": sequence.updated_at,
        "id": sequence.id,
    }


def _print(found: "ShownSequence") -> None:
    version = f"version {found.published.version}" if found.published else "never published"
    print_line(f"{found.name}  {found.status} · {version} · {found.id}", style="bold")
    print_line(in_words({name: in_words(value) for name, value in found.settings.to_json().items()}))
    print_not_ready(found.not_ready)
    print_steps(found.steps, title="draft" if found.has_draft else "steps")
    if found.has_draft and found.published:
        print_steps(found.published.steps, title=f"published as version {found.published.version}")
    if found.in_flight:
        print_table("on the way", [_flight(one) for one in found.in_flight], empty="")
    if found.moved:
        moved = found.moved
        print_line(f"{moved.moved} moved, {moved.completed} completed, {moved.left} left on their version")


def _flight(one: "InFlight") -> dict[str, object]:
    return {"version": one.version, "order": one.step_order, "contacts": one.count, "id": one.step_id}


def _print_status(found: "ShownSequence") -> None:
    print_line(f"{found.name} is {found.status}")


@command(app, "list", shows=table("sequences", _row, empty="there is no sequence"))
async def list_sequences(
    at: InWorkspace,
    *,
    status: Annotated[SequenceStatus | None, typer.Option(help="Only these.", show_default=False)] = None,
    listed: Listed,
) -> "list[ShownSequence]":
    """List sequences, newest first."""
    page = await at.engine.sequences.list(at.workspace, status=status, limit=listed.limit, created=listed.created)
    return page.items


@command(app, shows=_print)
async def show(at: InWorkspace, sequence: Sequence) -> "ShownSequence":
    """Show a sequence: its steps, what is published, and who is on the way to which step."""
    return await at.find(at.engine.sequences, sequence)


def _read_new(text: str) -> tuple[Json, list[Json]]:
    """Return the settings and the steps of a new sequence."""
    given = dict(read_data(text))
    written = given.pop("steps", [])
    if not isinstance(written, list) or not all(isinstance(one, dict) for one in written):
        raise InputInvalid("steps: give a list of objects with dayOffset, channel and content")
    return given, written


@command(app, shows=_print)
async def create(
    at: Acting,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    data: Annotated[
        tuple[Json, list[Json]],
        typer.Option(help="Settings and steps: a JSON object {timezone, offsetFrom, …, steps: […]}, @FILE, or @-."),
        Read(_read_new, default="{}"),
    ],
) -> "ShownSequence":
    """Make a sequence: a draft until it is published."""
    return await at.engine.sequences.create(at.by, name, *data)


def _read_changes(text: str) -> tuple[str | None, Json]:
    """Return the new name, if any, and the settings that are given."""
    given = dict(read_data(text))
    name = given.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise InputInvalid(f"name: {name!r} is not a string")
    return name, given


@command(app, shows=_print)
async def update(
    at: Acting,
    sequence: Sequence,
    data: Annotated[
        tuple[str | None, Json],
        typer.Option(help="What is changed: a JSON object {name, timezone, …}, @FILE, or @-."),
        Read(_read_changes),
    ],
) -> "ShownSequence":
    """Change the name or the settings of the draft; what is published stays until the draft is published."""
    name, settings = data
    found = await at.find(at.engine.sequences, sequence)
    return await at.engine.sequences.update(at.by, found.id, name=name, settings=settings)


@command(app, shows=_print)
async def publish(
    at: Acting,
    sequence: Sequence,
    in_flight: Annotated[
        InFlightChoice | None,
        typer.Option(
            help="Let those on the way finish their version, or move them to the same step of the new one.",
            show_default=False,
        ),
    ] = None,
) -> "ShownSequence":
    """Publish the draft, so that contacts can be enrolled."""
    found = await at.find(at.engine.sequences, sequence)
    return await at.engine.sequences.update(at.by, found.id, status=SequenceStatus.ACTIVE, in_flight=in_flight)


@command(app, shows=_print_status)
async def pause(at: Acting, sequence: Sequence) -> "ShownSequence":
    """Let nothing of a sequence be sent until it is resumed."""
    found = await at.find(at.engine.sequences, sequence)
    return await at.engine.sequences.update(at.by, found.id, status=SequenceStatus.PAUSED)


@command(app, shows=_print_status)
async def resume(at: Acting, sequence: Sequence) -> "ShownSequence":
    """Let a paused sequence go on: what is overdue is sent now, unless it is later than its step allows."""
    found = await at.find(at.engine.sequences, sequence)
    if found.status is not SequenceStatus.PAUSED:
        raise InputInvalid(f"sequence {found.name!r} is {found.status}, not paused; a draft is published")
    return await at.engine.sequences.update(at.by, found.id, status=SequenceStatus.ACTIVE)


def _say_removed(sequence: "ShownSequence") -> None:
    print_line(f"{sequence.name} is removed")


@command(app, shows=_say_removed, answers=deleted, asks=lambda sequence: f"Remove {sequence}?")
async def delete(at: Acting, sequence: Sequence) -> "ShownSequence":
    """Remove a sequence that nobody is on the way through. Asks first."""
    found = await at.find(at.engine.sequences, sequence)
    await at.engine.sequences.delete(at.by, found.id)
    return found


Contacts = typer.Option(metavar="CONTACT", help="Its id or external id; may be repeated.", show_default=False)


def _print_enrolled(enrolled: "EnrolledCounts") -> None:
    from tidings.cli.sequences_enroll import print_enrolled

    print_enrolled(enrolled)


@command(app, shows=_print_enrolled)
async def enroll(
    at: Acting,
    sequence: Sequence,
    everyone: Annotated[bool, typer.Option("--all", help="Every contact of the workspace.")] = False,
    contact: Annotated[list[str] | None, Contacts] = None,
    company: Only = None,
    tag: Only = None,
    status: Only = None,
    where: Where = None,
    exclude: Annotated[list[str] | None, Contacts] = None,
    include_cancelled: Annotated[
        bool, typer.Option("--include-cancelled", help="Enroll those anew who were cancelled in it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be done.")] = False,
) -> "EnrolledCounts":
    """Enroll contacts in an active sequence; safe to run again, which enrolls only who is missing."""
    from tidings.cli.sequences_enroll import enroll_audience

    given: dict[str, object] = {"all": everyone, "company": company, "tag": tag, "status": status}
    given |= {"contactIds": contact, "excludeContactIds": exclude}
    audience = with_where({name: value for name, value in given.items() if value}, where)
    id = await find_sequence(at, sequence)
    return await enroll_audience(at, id, audience, include_cancelled=include_cancelled, dry_run=dry_run)


@command(app, shows=print_previews, fails=any_failed)
async def preview(
    at: InWorkspace,
    sequence: Sequence,
    contact: Annotated[str | None, typer.Option(help="The contact: its id or external id.", show_default=False)] = None,
    step: Annotated[str | None, typer.Option(help="Only the step of this order.", show_default=False)] = None,
    open_it: Open = False,
) -> "Several[Preview]":
    """Show what the steps of the draft would say; what is unknown is shown as it is written, and exits 1."""
    id = await find_sequence(at, sequence)
    shown = await at.engine.previews.sequence(at.workspace, id, {}, part=step, contact_id=contact)
    if open_it:
        open_page(shown, str(sequence))
    return shown


def _print_funnel(found: "Funnel") -> None:
    told = f"{found.enrolled:,} enrolled · {found.under_way:,} under way · {found.completed:,} completed"
    print_line(f"{told} · {found.failed:,} failed · {found.cancelled:,} cancelled")
    print_table("steps", [_funnel_row(one) for one in found.steps], empty="no step was ever published")


def _funnel_row(step: "FunnelStep") -> dict[str, object]:
    counts = ("waiting", "sending", "sent", "failed", "skipped", "in_doubt", "ended")
    numbers = {name.replace("_", " "): getattr(step, name) for name in counts}
    return {"order": step.step_order, "day": step.day_offset, "channel": step.channel, **numbers}


@command(app, shows=_print_funnel)
async def funnel(at: InWorkspace, sequence: Sequence) -> "Funnel":
    """Show how many wait before each step, what became of its messages, and who ended there."""
    found = await at.find(at.engine.sequences, sequence)
    return await at.engine.enrollments.funnel(at.workspace, found.id)
