"""Erase an address call by call, with a bar that says how much of the workspace is looked through."""

from msgspec.structs import replace
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tidings.cli.screen import errors
from tidings.domain.caller import Caller
from tidings.engine import Engine
from tidings.views.contacts import ErasedAddress

ADDED = ("executions", "events", "items", "listed", "mentions", "open")


async def run_erasure(engine: Engine, by: Caller, address: str, *, dry_run: bool) -> ErasedAddress:
    """Go through the whole workspace; return what was found in all."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("looking", total=1.0)
        done = await engine.contacts.erase_address(by, address, dry_run=dry_run)
        while done.next_cursor:
            progress.update(task, completed=done.progress)
            more = await engine.contacts.erase_address(by, address, dry_run=dry_run, cursor=done.next_cursor)
            done = replace(more, **{name: getattr(done, name) + getattr(more, name) for name in ADDED})
    return done
