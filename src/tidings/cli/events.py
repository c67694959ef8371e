"""`tidings events`: something happened; what that does, or would do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.worker import AppReference
from tidings.domain.errors import InputInvalid, TriggerUnknown
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.events import Decision, Event

NO_RULE = "no rule and no fallback knows this trigger"
app = typer.Typer(help="Events: send them, or see what they would do.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A YAML or JSON file with one event.")]
EventId = Annotated[UUID, typer.Argument(metavar="EVENT", help="The event's id.")]
Key = Annotated[str | None, typer.Option(help="Its idempotency key, over the one in the file.", show_default=False)]


@app.command()
def send(
    file: File,
    key: Key = None,
    allow_unknown_trigger: Annotated[
        bool,
        typer.Option("--allow-unknown-trigger", help="Store it even if nothing knows its trigger."),
    ] = False,
    app: AppReference = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send an event; workers send its messages. The same key again changes nothing.

    A trigger that no rule and no fallback knows is refused: most are slips of the pen.
    """
    given, by = _read(file, key), caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Event":
        try:
            return await engine.events.send(by, given, source="cli", must_be_known=not allow_unknown_trigger)
        except TriggerUnknown as error:
            remedy = "nothing was stored; --allow-unknown-trigger stores it all the same"
            raise InputInvalid(f"{error} ({remedy})") from error

    _print_event(on_database(database_url, data_dir, work, app), as_json=as_json)


@app.command()
def explain(
    file: File,
    app: AppReference = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what an event would do, decision by decision, and send nothing."""
    from tidings.cli.output import print_json

    given, room = _read(file, None), Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "tuple[Sequence[Decision], str]":
        decisions = await engine.events.explain(room, given)
        return decisions, NO_RULE if decisions else await engine.events.unknown(room, str(given["trigger"]))

    decisions, told = on_database(database_url, data_dir, work, app)
    if as_json:
        print_json({"decisions": decisions})
    else:
        _print_decisions(decisions, told)


@app.command("list")
def list_events(
    trigger: Annotated[str | None, typer.Option(help="Only those of it.", show_default=False)] = None,
    contact: Annotated[
        str | None, typer.Option(help="Only those that name this contact: its id or external id.", show_default=False)
    ] = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List events, newest first."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)
    page = on_database(
        database_url,
        data_dir,
        lambda engine: engine.events.list(room, trigger=trigger, contact_id=contact, limit=limit, created=created),
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("events", [_row(one) for one in page.items], empty="there is no such event")


@app.command()
def show(
    event: EventId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show an event, what was decided about it, and how its items stand."""
    room = Workspace(tenant, workspace)
    _print_event(on_database(database_url, data_dir, lambda engine: engine.events.get(room, event)), as_json=as_json)


@app.command()
def cancel(
    event: EventId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Skip what an event has not sent yet, and show how its items stand."""
    from tidings.cli.output import print_json, print_line

    by = caller(tenant, workspace, actor)
    cancelled = on_database(database_url, data_dir, lambda engine: engine.events.cancel(by, event))
    if as_json:
        print_json(cancelled)
    else:
        print_line(f"{cancelled.id} is cancelled: what it has not sent is skipped")
        _print_decisions(cancelled.decisions, "it is not routed yet")


def _read(file: Path, key: str | None) -> Mapping[str, object]:
    from tidings.cli.object_files import read_given

    given = read_given([file], "event")
    if len(given) != 1:
        raise InputInvalid(f"{file} holds {len(given)} events; give one at a time")
    return given[0].value if key is None else {**given[0].value, "idempotencyKey": key}


def _print_event(event: "Event", *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json(event)
        return
    again = " (this key had sent it before)" if event.duplicate else ""
    print_line(f"{event.id}  {event.trigger} · {event.idempotency_key}{again}", style="bold")
    if event.note:
        print_line(event.note, style="yellow")
    if event.routed_at is None:
        print_line("stored from SQL; a worker will route it")
    else:
        _print_decisions(event.decisions)


def _print_decisions(decisions: "Sequence[Decision]", if_none: str = NO_RULE) -> None:
    from tidings.cli.output import content_cell, print_line, print_table

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


def _row(event: "Event") -> dict[str, object]:
    outcomes = [f"{one.channel}/{one.audience} {one.outcome}" for one in event.decisions]
    return {
        "trigger": event.trigger,
        "key": event.idempotency_key,
        "decisions": ", ".join(outcomes) or ("none" if event.routed_at else "not routed yet"),
        "at": event.created_at,
        "id": event.id,
    }
