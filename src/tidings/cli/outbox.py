"""`tidings outbox`: what was sent, and what nobody knows."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.opened import Actor, Limit, with_engine
from tidings.cli.options import AsJson, DatabaseUrl, DataDir, config_from
from tidings.domain.readiness import is_printing

if TYPE_CHECKING:
    from tidings.engine import FoundItem

app = typer.Typer(help="Messages: what became of them, and what nobody knows.", no_args_is_help=True)

ItemId = Annotated[UUID, typer.Argument(help="The item's id.")]


@app.command("in-doubt")
def in_doubt(
    limit: Limit = 50, database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List the items in doubt, oldest first: the process died between the first byte and the answer."""
    from tidings.cli.output import print_json, print_table

    config = config_from(database_url=database_url, data_dir=data_dir)
    items = with_engine(config, lambda engine: engine.in_doubt(limit=limit))
    if as_json:
        print_json(items)
    else:
        print_table("in doubt", [_shown(item) for item in items], empty="nothing is in doubt")


@app.command()
def show(item_id: ItemId, database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show one item: its failed attempts, and what people did about it."""
    from tidings.cli.output import print_json, print_table

    config = config_from(database_url=database_url, data_dir=data_dir)
    item, attempts, history = with_engine(config, lambda engine: engine.item(item_id))
    if as_json:
        print_json({"item": item, "attempts": attempts, "history": history})
        return
    print_table("item", [_shown(item)], empty="")
    print_table(
        "attempts that did not succeed",
        [
            {"attempt": one.attempt, "outcome": one.outcome, "error": one.error, "at": one.started_at}
            for one in attempts
        ],
        empty="no attempt failed",
    )
    print_table(
        "history",
        [{"at": one.at, "event": one.event, "by": one.actor, "detail": one.detail} for one in history],
        empty="nobody has touched it",
    )


@app.command()
def resolve(
    item_id: ItemId,
    note: Annotated[str, typer.Option(help="What shows that this is so; kept in the audit log.")],
    sent: Annotated[bool, typer.Option("--sent", help="It arrived.")] = False,
    resend: Annotated[bool, typer.Option("--resend", help="It did not arrive: send it once more.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It did not arrive, and shall not.")] = False,
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
    config = config_from(database_url=database_url, data_dir=data_dir)
    with_engine(config, lambda engine: engine.resolve(item_id, chosen[0], note, actor))
    if as_json:
        print_json({"id": item_id, "resolution": chosen[0]})
    else:
        print_line(f"{item_id} is no longer in doubt: {chosen[0]}")


def _shown(item: "FoundItem") -> dict[str, object]:
    return {
        "id": item.id,
        "status": f"{'in doubt' if item.in_doubt else item.status}{', printed' if is_printing(item.provider) else ''}",
        "channel": item.channel,
        "provider": item.provider,
        "recipient": item.recipient,
        "attempts": item.attempts,
        "marked at": item.marked_at,
        "error": item.error,
    }
