"""`tidings workers`: who is there to do the work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from tidings.cli.command import command
from tidings.cli.opened import Opened
from tidings.cli.output import table

if TYPE_CHECKING:
    from tidings.views.providers import LiveWorker, Served

app = typer.Typer()


def _row(one: "LiveWorker") -> dict[str, object]:
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


def _served(one: "Served") -> str:
    return f"{one.provider} ({', '.join(one.channels)})" if one.channels else one.provider


@command(app, "list", shows=table("workers", _row, empty="no worker is running; start one: tidings worker"))
async def list_workers(at: Opened) -> "Sequence[LiveWorker]":
    """List the workers that were seen in the last half minute, on whatever host."""
    return await at.engine.providers.workers()
