"""`tidings secrets`: which key seals what is stored, and changing that key."""

from typing import TYPE_CHECKING

import typer

from tidings.cli.command import command
from tidings.cli.opened import Operating
from tidings.cli.output import print_aside, print_line

if TYPE_CHECKING:
    from tidings.views.secrets import Resealed, SecretsStatus

app = typer.Typer()


def _print_status(found: "SecretsStatus") -> None:
    for one in found.keys:
        print_line(f"key {one.key}  {one.secrets} secrets" + ("  seals new ones" if one.seals else ""))
    if not found.keys:
        print_line("there is no key: set TIDINGS_SECRET_KEY")
    for place in found.unopened_places:
        print_line(f"no key opens {place}", style="red")
    if found.unopened:
        print_line(f"{found.unopened} secrets are opened by none of these keys", style="red")


@command(app, shows=_print_status, fails=lambda found: bool(found.unopened))
async def status(at: Operating) -> "SecretsStatus":
    """Show how many stored secrets each key has sealed; exits 1 when none of the keys opens some."""
    return await at.engine.secrets.status()


def _print_resealed(found: "Resealed") -> None:
    print_line(f"{found.resealed} secrets are sealed with the newest key now, {found.already} were before")
    if found.unopened:
        print_line(f"{found.unopened} stay as they are: none of the keys opens them", style="red")


@command(app, shows=_print_resealed, fails=lambda found: bool(found.unopened))
async def rotate(at: Operating) -> "Resealed":
    """Seal every stored secret with the newest key; safe to repeat and to interrupt, while workers run.

    The newest is the first in TIDINGS_SECRET_KEY. The embedded server's key file gets a new one, unless an earlier
    rotation is not finished, and keeps the old ones until `tidings secrets prune`.
    """
    from tidings.administration import add_own_key

    await add_own_key(at.config, at.engine)
    return await at.engine.secrets.rotate(lambda count: print_aside(f"{count} secrets looked at", style="dim"))


def _print_pruned(dropped: int) -> None:
    print_line(
        f"{dropped} keys that sealed nothing are gone" if dropped else "every key seals something; none was dropped"
    )


@command(app, shows=_print_pruned, answers=lambda dropped: {"dropped": dropped})
async def prune(at: Operating) -> int:
    """Drop the old keys that seal nothing any more from the embedded server's key file."""
    from tidings.administration import drop_old_keys

    return await drop_old_keys(at.config, at.engine)
