"""`tidings functions`: where a workspace's functions are, and what signs the calls to them."""

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.output import print_aside, print_line, table

if TYPE_CHECKING:
    from tidings.views.functions import FunctionAddress, FunctionHost, NewSigningSecret

app = typer.Typer()
STANDARD_INPUT = "-"
Name = Annotated[str, typer.Argument(help="The function's name, or '*' for the base of all others.")]


def _row(one: "FunctionAddress") -> dict[str, object]:
    return {
        "name": one.name,
        "url": one.url,
        "secret": "set" if one.has_secret else None,
        "updated": one.updated_at,
        "rests until": one.rests_until,
    }


@command(app, "list", shows=table("functions", _row, empty="this workspace has set no address of a function"))
async def list_functions(at: InWorkspace) -> "list[FunctionAddress]":
    """List the addresses that a workspace has set; never their secrets."""
    return await at.engine.functions.list(at.workspace)


def _say_set(one: "FunctionAddress") -> None:
    print_line(f"{one.name} is at {one.url}{', called with its secret' if one.has_secret else ''}")


@command(app, "set", shows=_say_set)
async def set_function(
    at: Acting,
    name: Name,
    url: Annotated[str, typer.Argument(help="Where it is; of a base, what stands before /functions/v1/NAME.")],
    secret: Annotated[
        str | None,
        typer.Option(
            help="The bearer token of its calls; - reads it from standard input, where no list of processes shows it.  "
            "[default: the one it has, if the URL stays]",
            show_default=False,
        ),
    ] = None,
) -> "FunctionAddress":
    """Set where a function is."""
    given = sys.stdin.readline().strip() if secret == STANDARD_INPUT else secret
    return await at.engine.functions.set(at.by, name, url, given)


def _say_deleted(name: str) -> None:
    print_line(f"{name} has no address of its own any more")


@command(app, shows=_say_deleted, answers=lambda name: {"name": name, "deleted": True})
async def delete(at: Acting, name: Name) -> str:
    """Forget where a function is, and its secret."""
    await at.engine.functions.delete(at.by, name)
    return name


def _print_secret(made: "NewSigningSecret") -> None:
    until = f"; the one before is valid until {made.previous_until:%Y-%m-%d %H:%M} UTC" if made.previous_until else ""
    print_aside(f"calls of this workspace are signed with this secret, shown this once{until}:", style="dim")
    typer.echo(made.secret)


@command(app, shows=_print_secret)
async def sign(
    at: Acting,
    overlap_hours: Annotated[
        float, typer.Option(min=0, max=720, help="How long calls also carry a signature of the secret before.")
    ] = 24,
) -> "NewSigningSecret":
    """Make the secret that signs the workspace's calls and print it: this once, it is stored sealed."""
    return await at.engine.functions.rotate_signing_secret(at.by, timedelta(hours=overlap_hours))


def _host_row(one: "FunctionHost") -> dict[str, object]:
    return {
        "host": one.host,
        "since": one.since,
        "rests until": one.rests_until or "now: one call tries it",
        "times": one.failures,
        "because": one.reason,
    }


@command(app, shows=table("hosts", _host_row, empty="every host of this workspace's functions is called"))
async def hosts(at: InWorkspace) -> "list[FunctionHost]":
    """List the hosts of a workspace's functions that do not answer, and until when each is left alone."""
    return await at.engine.functions.hosts(at.workspace)


def _say_reset(host: str) -> None:
    print_line(f"{host} is called again")


@command(app, shows=_say_reset, answers=lambda host: {"host": host, "reset": True})
async def reset(
    at: Acting, host: Annotated[str, typer.Argument(help="Its name and port, as `hosts` shows them.")]
) -> str:
    """Let a host be called again at once, whatever it has not answered."""
    await at.engine.functions.reset_host(at.by, host)
    return host
