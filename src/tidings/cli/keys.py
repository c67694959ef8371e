"""`tidings keys`: who may call the API."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed
from tidings.cli.output import print_aside, print_line, table
from tidings.domain.caller import Caller
from tidings.domain.roles import Role

if TYPE_CHECKING:
    from tidings.views.keys import ApiKey, CreatedKey

app = typer.Typer()


def _row(key: "ApiKey") -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "workspace": key.workspace,
        "prefix": key.prefix,
        "may start": ", ".join(key.workflows) or None,
        "from": ", ".join(key.origins) or None,
        "created": key.created_at,
        "expires": key.expires_at,
        "last used": key.last_used_at,
        "revoked": key.revoked_at,
    }


def _print_secret(made: "CreatedKey") -> None:
    print_aside(f"key {made.id} has the role {made.role}; its secret is shown this once:", style="dim")
    typer.echo(made.secret)


@command(app, shows=_print_secret)
async def create(
    at: Acting,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    role: Annotated[Role, typer.Option(help="What it may do.")],
    expires: Annotated[
        datetime | None, typer.Option(help="When it ends, in UTC.  [default: never]", show_default=False)
    ] = None,
    workflow: Annotated[
        list[str] | None,
        typer.Option(help="A workflow that a publishable key may start: once for each.", show_default=False),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A web page's origin from which it may be used: once for each.", show_default=False),
    ] = None,
) -> "CreatedKey":
    """Make a key and print its secret: this once, it is not stored."""
    ends = expires.replace(tzinfo=UTC) if expires else None
    return await at.engine.access.create_key(
        at.by, name, role, expires_at=ends, workflows=workflow or (), origins=origin or ()
    )


@command(app, "list", shows=table("keys", _row, empty="there is no key"))
async def list_keys(at: InWorkspace, listed: Listed) -> "list[ApiKey]":
    """List the tenant's keys, newest first; never their secrets."""
    by = Caller(at.workspace, "cli")
    return (await at.engine.access.list_keys(by, limit=listed.limit, created=listed.created)).items


def _say_revoked(id: UUID) -> None:
    print_line(f"key {id} opens nothing any more")


@command(app, shows=_say_revoked, answers=lambda id: {"id": id, "revoked": True})
async def revoke(at: Acting, key_id: Annotated[UUID, typer.Argument(help="The key's id.")]) -> UUID:
    """Let a key open nothing from now on."""
    await at.engine.access.revoke_key(at.by, key_id)
    return key_id
