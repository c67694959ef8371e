"""`tidings outbox`: what was sent, and what nobody knows."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, ItemStatus

if TYPE_CHECKING:
    from tidings.views.outbox import Item, ItemDetail

app = typer.Typer(help="Messages: what became of them, and what nobody knows.", no_args_is_help=True)

ItemId = Annotated[UUID, typer.Argument(help="The item's id.")]


@app.command("list")
def list_items(
    status: Annotated[ItemStatus | None, typer.Option(help="Only these.", show_default=False)] = None,
    channel: Annotated[Channel | None, typer.Option(help="Only these.", show_default=False)] = None,
    in_doubt: Annotated[bool, typer.Option("--in-doubt", help="Only what is in doubt.")] = False,
    run: Annotated[UUID | None, typer.Option(help="Only those of this run.", show_default=False)] = None,
    execution: Annotated[UUID | None, typer.Option(help="Only those of this execution.", show_default=False)] = None,
    event: Annotated[UUID | None, typer.Option(help="Only those of this event.", show_default=False)] = None,
    contact: Annotated[
        str | None, typer.Option(help="Only those for this contact: its id or external id.", show_default=False)
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
    """List items, newest first: every message and call, and what became of it."""
    from tidings.cli.output import print_json, print_table
    from tidings.resources.outbox import OutboxFilter

    room, created = Workspace(tenant, workspace), created_in(created_after, created_before)
    where = OutboxFilter(status, channel, in_doubt or None, run, execution, event, contact)
    page = on_database(
        database_url, data_dir, lambda engine: engine.outbox.list(room, where, limit=limit, created=created)
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("items", [_row(item) for item in page.items], empty="there is no such item")


@app.command("in-doubt")
def in_doubt(
    limit: Limit = 50,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the items in doubt, newest first: the process died between the first byte and the answer."""
    from tidings.cli.output import print_json, print_table
    from tidings.resources.outbox import OutboxFilter

    room, where = Workspace(tenant, workspace), OutboxFilter(in_doubt=True)
    page = on_database(database_url, data_dir, lambda engine: engine.outbox.list(room, where, limit=limit))
    if as_json:
        print_json(page.items)
    else:
        print_table("in doubt", [_row(item) for item in page.items], empty="nothing is in doubt")


@app.command()
def show(
    item_id: ItemId,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show one item: what was sent, its failed attempts, and what people did about it."""
    from tidings.cli.output import print_json

    room = Workspace(tenant, workspace)
    found = on_database(database_url, data_dir, lambda engine: engine.outbox.get(room, item_id))
    if as_json:
        print_json(found)
    else:
        _print(found)


@app.command()
def resolve(
    item_id: ItemId,
    note: Annotated[str, typer.Option(help="What shows that this is so; kept in the audit log.")],
    sent: Annotated[bool, typer.Option("--sent", help="It arrived.")] = False,
    resend: Annotated[bool, typer.Option("--resend", help="It did not arrive: send it once more.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It did not arrive, and shall not.")] = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End the doubt about one item by a person's word (audited)."""
    from tidings.cli.output import print_json, print_line
    from tidings.engine import Resolution

    chosen = [kind for kind, given in zip(Resolution, (sent, resend, failed), strict=True) if given]
    if len(chosen) != 1:
        raise typer.BadParameter("choose one of --sent, --resend and --failed")
    by = caller(tenant, workspace, actor)
    found = on_database(database_url, data_dir, lambda engine: engine.outbox.resolve(by, item_id, chosen[0], note))
    if as_json:
        print_json(found)
    else:
        print_line(f"{item_id} is no longer in doubt: {chosen[0]}")


def _print(found: "ItemDetail") -> None:
    from tidings.cli.output import print_content, print_table

    print_table("item", [_row(found)], empty="")
    print_content(found.payload or {})
    print_table(
        "attempts that did not succeed",
        [
            {"attempt": one.attempt, "outcome": one.outcome, "error": one.error, "at": one.started_at}
            for one in found.failed_attempts
        ],
        empty="no attempt failed",
    )
    print_table(
        "history",
        [{"at": one.at, "event": one.event, "by": one.actor, "note": one.detail.get("note")} for one in found.history],
        empty="nobody has touched it",
    )


def _status(item: "Item") -> str:
    if item.in_doubt:
        return "in doubt"
    return "printed, not sent" if item.printed and item.status is ItemStatus.SENT else item.status


def _row(item: "Item") -> dict[str, object]:
    return {
        "id": item.id,
        "status": _status(item),
        "channel": item.channel,
        "provider": item.provider,
        "recipient": item.recipient,
        "contact": item.contact or item.contact_id,
        "of": item.campaign_name or item.workflow_name or item.trigger,
        "of id": item.run_id or item.execution_id or item.event_id,
        "attempts": item.attempts,
        "created": item.created_at,
        "first called": item.first_called_at,
        "error": item.error,
    }
