"""`tidings workers`: who is there to do the work."""

from typing import TYPE_CHECKING

import typer

from tidings.cli.opened import on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidings.resources.providers import ListedWorker

app = typer.Typer(help="Workers: which live, where, and what each serves.", no_args_is_help=True)


@app.command("list")
def list_(database_url: DatabaseUrl = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the workers that were seen in the last half minute, on whatever host."""
    from tidings.cli.output import print_json, print_table

    found = on_database(database_url, data_dir, lambda engine: engine.providers.workers())
    if as_json:
        print_json(found)
    else:
        print_table("workers", [_shown(one) for one in found], empty="no worker is running; start one: tidings worker")


def _served(provider: str, channels: "Sequence[str]") -> str:
    return f"{provider} ({', '.join(channels)})" if channels else provider


def _shown(one: "ListedWorker") -> dict[str, object]:
    return {
        "id": one.id,
        "host": one.host,
        "pid": one.pid,
        "version": one.version,
        "lanes": ", ".join(lane.name.lower() for lane in one.lanes),
        "serves": ", ".join(_served(name, service.channels) for name, service in one.serves.items()),
        "since": one.started_at,
        "last seen": one.last_seen_at,
    }
