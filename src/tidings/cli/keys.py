"""`tidings keys`: who may call the API."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.roles import Role

if TYPE_CHECKING:
    from tidings.views.keys import ApiKey

app = typer.Typer(help="Keys of the HTTP API.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    role: Annotated[Role, typer.Option(help="What it may do.")],
    expires: Annotated[
        datetime | None, typer.Option(help="When it ends, in UTC.  [default: never]", show_default=False)
    ] = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print its secret: this once, it is not stored."""
    from tidings.cli.output import errors, print_json

    by = caller(tenant, workspace, actor)
    ends = expires.replace(tzinfo=UTC) if expires else None
    made = on_database(database_url, data_dir, lambda engine: engine.access.create_key(by, name, role, expires_at=ends))
    if as_json:
        print_json(made)
        return
    errors.print(f"key {made.id} may do what a {role} may; its secret is shown this once:", style="dim")
    typer.echo(made.secret)


@app.command("list")
def list_keys(
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the tenant's keys, newest first; never their secrets."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    by = caller(tenant, workspace, "cli")
    page = on_database(database_url, data_dir, lambda engine: engine.access.list_keys(by, limit=limit, created=created))
    if as_json:
        print_json(page.items)
    else:
        print_table("keys", [_row(key) for key in page.items], empty="there is no key")


@app.command()
def revoke(
    key_id: Annotated[UUID, typer.Argument(help="The key's id.")],
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a key open nothing from now on."""
    from tidings.cli.output import print_json, print_line

    by = caller(tenant, workspace, actor)
    on_database(database_url, data_dir, lambda engine: engine.access.revoke_key(by, key_id))
    if as_json:
        print_json({"id": key_id, "revoked": True})
    else:
        print_line(f"key {key_id} opens nothing any more")


def _row(key: "ApiKey") -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "workspace": key.workspace,
        "prefix": key.prefix,
        "created": key.created_at,
        "expires": key.expires_at,
        "last used": key.last_used_at,
        "revoked": key.revoked_at,
    }
