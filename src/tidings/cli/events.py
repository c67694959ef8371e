"""`tidings events`: something happened; what that does, or would do."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.command import command
from tidings.cli.given import Json
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Only, Read
from tidings.cli.output import print_line, print_table, table
from tidings.domain.errors import InputInvalid, TriggerUnknown

if TYPE_CHECKING:
    from tidings.views.events import Decision, Event

NO_RULE = "no rule and no fallback knows this trigger"
app = typer.Typer()


def _read(file: Path) -> Json:
    from tidings.cli.object_files import read_given

    given = read_given([file], "event")
    if len(given) != 1:
        raise InputInvalid(f"{file} holds {len(given)} events; give one at a time")
    return given[0].value


File = Annotated[
    Json, typer.Argument(metavar="FILE", help="A YAML or JSON file with one event."), Read(_read, typed=Path)
]
EventId = Annotated[UUID, typer.Argument(metavar="EVENT", help="The event's id.")]
Key = Annotated[str | None, typer.Option(help="Its idempotency key, over the one in the file.", show_default=False)]


def _row(event: "Event") -> dict[str, object]:
    outcomes = [f"{one.channel}/{one.audience} {one.outcome}" for one in event.decisions]
    return {
        "trigger": event.trigger,
        "key": event.idempotency_key,
        "decisions": ", ".join(outcomes) or ("none" if event.routed_at else "not routed yet"),
        "at": event.created_at,
        "id": event.id,
    }


def _print(event: "Event") -> None:
    again = " (this key had sent it before)" if event.duplicate else ""
    print_line(f"{event.id}  {event.trigger} · {event.idempotency_key}{again}", style="bold")
    if event.note:
        print_line(event.note, style="yellow")
    if event.routed_at is None:
        print_line("stored from SQL; a worker will route it")
    else:
        _print_decisions(event.decisions)


def _print_decisions(decisions: "Sequence[Decision]", if_none: str = NO_RULE) -> None:
    from tidings.cli.screen import content_cell

    if not decisions:
        print_line(f"{if_none}: nothing is sent")
    for one in decisions:
        print_line(f"{one.channel} to the {one.audience}: {one.outcome} · {one.reason}")
        if one.items:
            print_table(
                "",
                [
                    {
                        "kind": item.kind,
                        "recipient": item.recipient,
                        "status": item.status,
                        "at": item.run_at,
                        "attempts": f"{item.attempts} of {item.max_attempts}",
                        "error": item.error or item.waiting,
                        "message": content_cell(item.payload or {}),
                    }
                    for item in one.items
                ],
                empty="",
            )


@command(app, shows=_print, with_app=True)
async def send(
    at: Acting,
    file: File,
    key: Key = None,
    allow_unknown_trigger: Annotated[
        bool,
        typer.Option("--allow-unknown-trigger", help="Store it even if nothing knows its trigger."),
    ] = False,
) -> "Event":
    """Send an event; workers send its messages. The same key again changes nothing.

    A trigger that no rule and no fallback knows is refused: most are slips of the pen.
    """
    event = file if key is None else {**file, "idempotencyKey": key}
    try:
        return await at.engine.events.send(at.by, event, source="cli", must_be_known=not allow_unknown_trigger)
    except TriggerUnknown as error:
        remedy = "nothing was stored; --allow-unknown-trigger stores it all the same"
        raise InputInvalid(f"{error} ({remedy})") from error


def _print_explained(found: "tuple[Sequence[Decision], str]") -> None:
    _print_decisions(*found)


@command(app, shows=_print_explained, answers=lambda found: {"decisions": found[0]}, with_app=True)
async def explain(at: InWorkspace, file: File) -> "tuple[Sequence[Decision], str]":
    """Show what an event would do, decision by decision, and send nothing."""
    decisions = await at.engine.events.explain(at.workspace, file)
    return decisions, NO_RULE if decisions else await at.engine.events.unknown(at.workspace, str(file["trigger"]))


@command(app, "list", shows=table("events", _row, empty="there is no such event"))
async def list_events(
    at: InWorkspace,
    *,
    trigger: Only = None,
    contact: Annotated[
        str | None, typer.Option(help="Only those that name this contact: its id or external id.", show_default=False)
    ] = None,
    listed: Listed,
) -> "list[Event]":
    """List events, newest first."""
    page = await at.engine.events.list(
        at.workspace, trigger=trigger, contact_id=contact, limit=listed.limit, created=listed.created
    )
    return page.items


@command(app, shows=_print)
async def show(at: InWorkspace, event: EventId) -> "Event":
    """Show an event, what was decided about it, and how its items stand."""
    return await at.engine.events.get(at.workspace, event)


def _print_cancelled(event: "Event") -> None:
    print_line(f"{event.id} is cancelled: what it has not sent is skipped")
    _print_decisions(event.decisions, "it is not routed yet")


@command(app, shows=_print_cancelled)
async def cancel(at: Acting, event: EventId) -> "Event":
    """Skip what an event has not sent yet, and show how its items stand."""
    return await at.engine.events.cancel(at.by, event)
