"""`tidings workers`: who is there to do the work."""

from typing import TYPE_CHECKING

import typer

from tidings.cli.opened import on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir

if TYPE_CHECKING:
    from tidings.views.providers import Served, Worker

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


def _served(one: "Served") -> str:
    return f"{one.provider} ({', '.join(one.channels)})" if one.channels else one.provider


def _shown(one: "Worker") -> dict[str, object]:
    return {
        "id": one.id,
        "host": one.host,
        "pid": one.pid,
        "version": one.version,
        "lanes": ", ".join(one.lanes),
        "serves": ", ".join(_served(served) for served in one.serves),
        "since": one.started_at,
        "last seen": one.last_seen_at,
    }
