"""`tidings providers`: what may be called, by whom, and what rests."""

from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.opened import Actor, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.flow.item import Channel

if TYPE_CHECKING:
    from tidings.views.providers import ProviderDetail, WorkerShare

app = typer.Typer(
    help="Providers: which channels go through them, who serves them, and which rest.", no_args_is_help=True
)


@app.command("list")
def list_(database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List every provider of the system, whatever is set in this shell: its channels, its workers, whether it rests."""
    from tidings.cli.output import print_json, print_table

    found = on_database(database_url, data_dir, lambda engine: engine.providers.details())
    if as_json:
        print_json(found)
        return
    empty = "no provider is set up: start a worker with TIDINGS_SMTP_URL, --app or --print"
    print_table("providers", [_shown(one) for one in found], empty=empty)
    held = [_held(one, share) for one in found for share in one.workers]
    if held:
        print_table("slots", held, empty="")


@app.command()
def unroute(
    channel: Annotated[Channel, typer.Argument(help="The channel to take the provider from.")],
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take the provider from a channel in all workspaces (audited): nothing more is started that needs it.

    A worker or API that starts with the setting sets the route again, so remove the setting first.
    """
    from tidings.cli.output import print_json, print_line

    by = caller("default", "default", actor)
    provider = on_database(database_url, data_dir, lambda engine: engine.providers.unroute(by, channel))
    if as_json:
        print_json({"channel": channel, "provider": provider, "removed": True})
    else:
        print_line(f"{channel} no longer goes through {provider}")


@app.command()
def forget(
    fallback: Annotated[str, typer.Argument(help="Its name, as `list` shows it: fallback:quote_sent/email/lead, say.")],
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Forget a fallback that no application has any more (audited): events are decided without it from now on.

    A process that starts with it writes it down again, so remove it from the application first.
    """
    from tidings.cli.output import print_json, print_line

    by = caller("default", "default", actor)
    on_database(database_url, data_dir, lambda engine: engine.providers.forget(by, fallback))
    if as_json:
        print_json({"fallback": fallback, "removed": True})
    else:
        print_line(f"{fallback} is forgotten")


def _shown(one: "ProviderDetail") -> dict[str, object]:
    taken = sum(share.slots for share in one.workers)
    return {
        "name": one.name,
        "class": one.provider_class,
        "channels": ", ".join(one.channels),
        "since": one.routed_since,
        "served by": f"{len(one.served_by)} worker{'' if len(one.served_by) == 1 else 's'}"
        if one.served_by
        else "nobody",
        "calls of a process": one.concurrency,
        "calls of all": "no limit" if one.limit is None else f"{taken} of {one.limit} given out",
        "rests until": one.rests_until,
        "because": one.rest_reason,
        "cannot be used since": one.unavailable_since,
        "times": one.unavailable_times or None,
    }


def _held(one: "ProviderDetail", share: "WorkerShare") -> dict[str, object]:
    return {
        "provider": one.name,
        "worker": share.worker_id,
        "slots": share.slots,
        "wanted": share.wanted,
        "until": share.until,
    }
