"""`tidings connections`: what a workspace sends through."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import deleted
from tidings.cli.command import command
from tidings.cli.connection_values import read_limits, read_secrets, read_settings
from tidings.cli.given import read_data
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Read, named
from tidings.cli.output import in_words, print_fields, print_line, print_table, table
from tidings.domain.errors import NotFound
from tidings.domain.messages import did_you_mean, quoted

if TYPE_CHECKING:
    from tidings.views.connections import (
        ConnectionActivity,
        ConnectionTest,
        KindSetting,
        ProviderConnection,
        ProviderKindView,
    )

app = typer.Typer()
SUCCESSES = ("sent", "called", "posted")

Connection = Annotated[
    UUID | str, typer.Argument(metavar="CONNECTION", help="The connection's name or id."), Read(named)
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting; may be repeated.", show_default=False),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--credential",
        metavar="NAME=@FILE",
        help="A credential from a file, or from standard input with @-; may be repeated. What is needed is otherwise "
        "taken from TIDINGS_CREDENTIAL_NAME, or asked for.",
        show_default=False,
    ),
]
LimitsGiven = Annotated[
    str | None, typer.Option("--limits", metavar="JSON", help='Such as {"perMinute": 600}.', show_default=False)
]
Position = Annotated[int | None, typer.Option(min=1, max=1000, help="The smallest is tried first.", show_default=False)]
Weight = Annotated[
    int | None, typer.Option(min=1, max=1000, help="Beside others of the same position.", show_default=False)
]
Sticky = Annotated[
    bool | None,
    typer.Option(
        "--sticky/--no-sticky", help="Whether its messages wait for it and take no other.", show_default=False
    ),
]


def _row(one: "ProviderConnection") -> dict[str, object]:
    return {
        "name": one.name,
        "channel": one.channel,
        "provider": one.provider,
        "position": None if one.operators else one.position,
        "weight": None if one.operators else one.weight,
        "set up by": "the operator" if one.operators else "this workspace",
        "state": one.state,
        "circuit": one.circuit,
        "rests until": one.rests_until,
        "because": one.reason,
    }


def _print(one: "ProviderConnection") -> None:
    shown = {
        **_row(one),
        "id": one.id,
        "settings": in_words(one.settings),
        "credentials set": ", ".join(one.credentials),
    }
    print_fields({**shown, "limits": in_words(one.limits), "sticky": one.sticky, "updated": one.updated_at})
    if one.activity:
        _print_activity(one.activity)


def _print_activity(done: "ConnectionActivity") -> None:
    print_fields(
        {
            "sent in 10 minutes": done.sent,
            "failed in 10 minutes": done.failed,
            "per minute": done.per_minute,
            "seconds per call": done.average_seconds,
            "in doubt": done.in_doubt,
            "used of its limits": in_words(done.used) if done.used else None,
        }
    )
    rows = [{"at": one.ended_at, "outcome": one.outcome, "error": one.error} for one in done.last_errors]
    print_table("last errors", rows, empty="no attempt has failed lately")


def _says(words: str) -> "Callable[[ProviderConnection], None]":
    return lambda one: print_line(f"{one.id}  {one.name} {words}")


def _print_kinds(found: "Sequence[ProviderKindView]") -> None:
    if len(found) == 1:
        [kind] = found
        print_table(f"what {kind.title} must be told", [_setting(one) for one in kind.settings], empty="nothing")
    else:
        print_table("what can be connected", [_kind(one) for one in found], empty="nothing can be connected")


def _kind(kind: "ProviderKindView") -> dict[str, object]:
    needed = ", ".join(one.name for one in kind.settings if one.required)
    return {"provider": kind.name, "vendor": kind.title, "channels": ", ".join(kind.channels), "needs": needed}


def _setting(one: "KindSetting") -> dict[str, object]:
    return {
        "setting": one.name,
        "given as": "--credential" if one.secret else "--set",
        "needed": "yes" if one.required else None,
        "default": one.default,
        "what": one.doc,
    }


@command(app, shows=_print_kinds, with_app=True)
async def kinds(
    at: InWorkspace,
    provider: Annotated[str | None, typer.Argument(help="One of them, with what it must be told.")] = None,
) -> "list[ProviderKindView]":
    """List what can be connected, or what one of them must be told."""
    found = at.engine.connections.kinds()
    chosen = [one for one in found if provider in (None, one.name)]
    if not chosen:
        near = did_you_mean(provider or "", [one.name for one in found])
        raise NotFound(f"there is no provider {quoted(provider)}{near}; `tidings connections kinds` lists them")
    return chosen


@command(app, "list", shows=table("connections", _row, empty="this workspace has no connection: add one"))
async def list_connections(at: InWorkspace) -> "list[ProviderConnection]":
    """List a workspace's connections in the order in which they are tried, and what the operator offers beside them."""
    return await at.engine.connections.list(at.workspace)


@command(app, shows=_print)
async def show(at: InWorkspace, connection: Connection) -> "ProviderConnection":
    """Show a connection; its credentials are never shown."""
    return await at.find(at.engine.connections, connection)


@command(app, shows=_says("is added: workers use it within seconds"), with_app=True)
async def add(
    at: Acting,
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and hyphens.")],
    provider: Annotated[str, typer.Argument(help="What to connect to, as `kinds` lists them.")],
    channel: Annotated[str | None, typer.Option(help="Where the provider serves several.", show_default=False)] = None,
    settings: Settings = None,
    credentials: Secrets = None,
    limits: LimitsGiven = None,
    position: Position = None,
    weight: Weight = None,
    sticky: Sticky = None,
) -> "ProviderConnection":
    """Connect to a provider. Credentials are read from files, the environment or the terminal, never from arguments."""
    kind = next((one for one in at.engine.connections.kinds() if one.name == provider), None)
    given: dict[str, object] = {"name": name, "provider": provider}
    given |= {"channel": channel} if channel else {}
    given |= {"settings": read_settings(kind, settings)}
    given |= {"credentials": read_secrets(kind, credentials, asks_for_missing=True)}
    return await at.engine.connections.create(at.by, given | _beside(limits, position, weight, sticky))


@command(app, shows=_says("is changed: workers have it within seconds"), with_app=True)
async def update(
    at: Acting,
    connection: Connection,
    settings: Settings = None,
    credentials: Secrets = None,
    limits: LimitsGiven = None,
    position: Position = None,
    weight: Weight = None,
    sticky: Sticky = None,
) -> "ProviderConnection":
    """Change what is given. A setting without a value is taken away; limits are replaced as a whole."""
    found = await at.find(at.engine.connections, connection)
    kind = next((one for one in at.engine.connections.kinds() if one.name == found.provider), None)
    given: dict[str, object] = {"settings": read_settings(kind, settings)} if settings else {}
    given |= {"credentials": read_secrets(kind, credentials, asks_for_missing=False)} if credentials else {}
    return await at.engine.connections.update(at.by, found.id, given | _beside(limits, position, weight, sticky))


def _print_test(found: "ConnectionTest") -> None:
    for line in found.dialogue:
        print_line(line)
    done = found.status if found.done else "not sent yet: is a worker running?"
    print_line(f"{done}{f': {found.error}' if found.error else ''}")


@command(app, "test", shows=_print_test, fails=lambda found: found.status not in SUCCESSES)
async def try_connection(
    at: Acting,
    connection: Connection,
    to: Annotated[str, typer.Option(help="The address, number or token that one real message goes to.")],
    content: Annotated[
        str | None, typer.Option("--data", metavar="JSON", help="What it says, by field.", show_default=False)
    ] = None,
    wait_seconds: Annotated[float, typer.Option(min=0, max=300, help="How long to wait for the answer.")] = 30,
) -> "ConnectionTest":
    """Send one real message through a connection, and show what was said; secrets are struck out."""
    found = await at.find(at.engine.connections, connection)
    given = read_data(content) if content else None
    wait = timedelta(seconds=wait_seconds)
    return await at.engine.connections.test(at.by, found.id, to, given, wait=wait)


@command(app, shows=_says("is used again"))
async def enable(at: Acting, connection: Connection) -> "ProviderConnection":
    """Use a connection again."""
    found = await at.find(at.engine.connections, connection)
    return await at.engine.connections.update(at.by, found.id, {"enabled": True})


@command(app, shows=_says("is not used any more; what waits for it takes the next one, unless it is sticky"))
async def disable(at: Acting, connection: Connection) -> "ProviderConnection":
    """Let nothing more leave through a connection."""
    found = await at.find(at.engine.connections, connection)
    return await at.engine.connections.update(at.by, found.id, {"enabled": False})


@command(app, shows=_says("is called again"))
async def reset(at: Acting, connection: Connection) -> "ProviderConnection":
    """Let a connection that is left alone be called again at once."""
    found = await at.find(at.engine.connections, connection)
    return await at.engine.connections.reset(at.by, found.id)


@command(
    app,
    shows=_says("is removed, and its credentials are forgotten"),
    answers=deleted,
    asks=lambda connection: f"Remove connection {connection} and forget its credentials?",
)
async def remove(at: Acting, connection: Connection) -> "ProviderConnection":
    """Take a connection out of use for good, and forget its credentials."""
    found = await at.find(at.engine.connections, connection)
    await at.engine.connections.delete(at.by, found.id)
    return found


def _beside(limits: str | None, position: int | None, weight: int | None, sticky: bool | None) -> dict[str, object]:
    given = {"limits": read_limits(limits), "position": position, "weight": weight, "sticky": sticky}
    return {name: value for name, value in given.items() if value is not None}
