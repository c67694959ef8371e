"""The commands, put together: which there are, and where each is found when it is called."""

from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tidings.cli.lazy import LazyGroup, Makers, commands_in, group
from tidings.version import __version__

COMMANDS = ("trigger", "overview", "verify", "worker", "serve", "up", "demo", "sink")
"""The commands of no group. What each does is said where it is defined."""
GROUPS = {
    "db": "The database: its tables and where it is.",
    "workflows": "Workflows: apply definitions from files, show and remove them.",
    "executions": "Executions: list, show, watch, stop and repeat them.",
    "dead-letters": "Dead letters: executions that failed for good.",
    "failures": "What failed, grouped by what went wrong, and starting a group again.",
    "contacts": "The people to write to.",
    "sequences": "Sequences: messages to a contact over time.",
    "rules": "Rules: what is sent when something happens, over which channel, to whom.",
    "events": "Events: send them, or see what they would do.",
    "enrollments": "Contacts on their way through sequences.",
    "simulate": "Run the next weeks in seconds, on a scratch database: nothing leaves.",
    "campaigns": "Campaigns: what is said, to whom, when and how fast.",
    "segments": "Segments: audiences under a name, looked at anew whenever they are used.",
    "senders": "Senders: whom messages are from.",
    "templates": "Templates: what is written once, and rendered in many messages or wraps them.",
    "runs": "Runs: what became of a deploy, and of each of its items.",
    "outbox": "Messages: what became of them, and what nobody knows.",
    "connections": "Connections: what a workspace sends through, in which order, and within which limits.",
    "providers": "Providers: which channels go through them, who serves them, and which rest.",
    "workers": "Workers: which live, where, and what each serves.",
    "functions": "Functions: where a workspace's are, and what signs the calls to them.",
    "keys": "Keys of the HTTP API.",
    "users": "People who sign in: invite them, give them roles, let them in again.",
    "workspaces": "Workspaces: their weights, and the private addresses that they may call.",
    "tenants": "Tenants: their weights.",
    "secrets": "Stored secrets: which key sealed them, and sealing them with a new one.",
}
"""The groups, and what each is about."""
ELSEWHERE = {"up": ("serve", "app"), "tenants": ("workspaces", "tenants")}
"""The module and the typer app in it of what is not `app` in the module of its own name."""


def _find() -> Makers:
    return {name: partial(_command, name) for name in COMMANDS} | {name: partial(_group, name) for name in GROUPS}


def _command(name: str) -> Any:
    return _commands_of(name)[name]()


def _group(name: str) -> TyperGroup:
    return group(name, GROUPS[name], partial(_commands_of, name))


def _commands_of(name: str) -> Makers:
    module, app = ELSEWHERE.get(name, (name.replace("-", "_"), "app"))
    return commands_in(f"tidings.cli.{module}", app)


class Tidings(LazyGroup):
    """`tidings`."""

    find = staticmethod(_find)


app = typer.Typer(
    cls=Tidings,
    name="tidings",
    help="A durable engine for messages to people: each message once, through every crash, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of `tidings` itself."""
