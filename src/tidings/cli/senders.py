"""`tidings senders`: whom messages are from."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import camel, deleted
from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Read, named
from tidings.cli.output import print_fields, print_line, table

if TYPE_CHECKING:
    from tidings.views.senders import NamedSender as ShownSender

app = typer.Typer()
Sender = Annotated[UUID | str, typer.Argument(metavar="SENDER", help="The sender's name or id."), Read(named)]


@dataclass(frozen=True, slots=True)
class Addresses:
    """What a sender has; of one that is there already, what is left out stays."""

    display_name: Annotated[str | None, typer.Option(help="What an inbox shows.", show_default=False)] = None
    email: Annotated[str | None, typer.Option(help="Its e-mail address.", show_default=False)] = None
    reply_to: Annotated[str | None, typer.Option(help="Where answers to its e-mail go.", show_default=False)] = None
    sms: Annotated[
        str | None,
        typer.Option(help="A phone number, a short code, or up to 11 letters and digits.", show_default=False),
    ] = None
    whatsapp: Annotated[str | None, typer.Option(help="Its WhatsApp number.", show_default=False)] = None
    voice: Annotated[str | None, typer.Option(help="The number it calls from.", show_default=False)] = None
    default_for: Annotated[
        list[str] | None,
        typer.Option(
            "--default",
            metavar="CHANNEL",
            help="Messages over this channel are from it when they name nobody; may be given several times.",
            show_default=False,
        ),
    ] = None


def _row(sender: "ShownSender") -> dict[str, object]:
    return {
        "name": sender.name,
        "shown as": sender.display_name,
        "email": sender.email,
        "sms": sender.sms,
        "whatsapp": sender.whatsapp,
        "voice": sender.voice,
        "default for": ", ".join(sender.default_for),
        "id": sender.id,
    }


def _print(sender: "ShownSender") -> None:
    print_line(f"{sender.name}  {sender.id}", style="bold")
    print_fields(
        {name: value for name, value in _row(sender).items() if name not in ("name", "id")}
        | {"answers to": sender.reply_to}
    )


@command(app, shows=_print)
async def add(
    at: Acting,
    name: Annotated[str, typer.Argument(help="What messages call it: lower case letters, digits and dashes.")],
    addresses: Addresses,
) -> "ShownSender":
    """Add somebody whom messages may be from, or change the one of this name."""
    from tidings.domain.errors import NotFound

    given = {camel(field): value for field, value in asdict(addresses).items() if value is not None}
    try:
        found = await at.engine.senders.find(at.workspace, name)
    except NotFound:
        return await at.engine.senders.create(at.by, {"name": name, **given})
    return await at.engine.senders.update(at.by, found.id, given)


@command(app, "list", shows=table("senders", _row, empty="there is no sender"))
async def list_senders(at: InWorkspace, listed: Listed) -> "list[ShownSender]":
    """List senders, newest first."""
    return (await at.engine.senders.list(at.workspace, limit=listed.limit, created=listed.created)).items


@command(app, shows=_print)
async def show(at: InWorkspace, sender: Sender) -> "ShownSender":
    """Show a sender."""
    return await at.find(at.engine.senders, sender)


def _say_removed(one: "ShownSender") -> None:
    print_line(f"{one.name} is removed")


@command(app, shows=_say_removed, answers=deleted, asks=lambda sender: f"Remove sender {sender}?")
async def remove(at: Acting, sender: Sender) -> "ShownSender":
    """Remove a sender; one that something names is refused. Asks first."""
    found = await at.find(at.engine.senders, sender)
    await at.engine.senders.delete(at.by, found.id)
    return found
