"""`tidings providers`: what may be called, by whom, and what rests."""

from typing import TYPE_CHECKING

import typer

from tidings.cli.opened import on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.cli.worker import AppReference

if TYPE_CHECKING:
    from tidings.products.providers import ShownProvider, WorkerShare

app = typer.Typer(help="Providers: who calls them how often at once, and which rest.", no_args_is_help=True)


@app.command("list")
def list_(
    app: AppReference = None, database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List every provider with its class, its limit, who holds its slots, and whether it rests."""
    from tidings.cli.output import print_json, print_table

    found = on_database(database_url, data_dir, lambda engine: engine.providers.list(), app)
    if as_json:
        print_json(found)
        return
    print_table("providers", [_shown(one) for one in found], empty="there is no provider")
    held = [_held(one, share) for one in found for share in one.workers]
    if held:
        print_table("slots", held, empty="")


def _shown(one: "ShownProvider") -> dict[str, object]:
    taken = sum(share.slots for share in one.workers)
    return {
        "name": one.name,
        "class": one.provider_class,
        "channels": ", ".join(one.channels),
        "calls of a process": one.concurrency,
        "calls of all": "no limit" if one.limit is None else f"{taken} of {one.limit} given out",
        "rests until": one.rests_until,
        "because": one.rest_reason,
        "cannot be used since": one.unavailable_since,
        "times": one.unavailable_times or None,
    }


def _held(one: "ShownProvider", share: "WorkerShare") -> dict[str, object]:
    return {
        "provider": one.name,
        "worker": share.worker_id,
        "slots": share.slots,
        "wanted": share.wanted,
        "until": share.until,
    }
