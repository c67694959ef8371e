"""`tidings workspaces` and `tidings tenants`: weights, and the private addresses that may be called."""

from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace, Opened, Operating
from tidings.cli.output import print_line, table

if TYPE_CHECKING:
    from tidings.views.workspaces import TenantSettings, WorkspaceSettings

app = typer.Typer()
tenants = typer.Typer()

Weight = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1000,
        help="Its part beside the tenant's other workspaces.  [default: as it is, 1 at first]",
        show_default=False,
    ),
]
Allowed = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-private",
        metavar="CIDR",
        help="A private network, address or host that its URLs may have: give it once for each; they replace the list.",
        show_default=False,
    ),
]


def _row(one: "WorkspaceSettings") -> dict[str, object]:
    return {
        "tenant": one.tenant,
        "workspace": one.workspace,
        "weight": one.weight,
        "weight of tenant": one.tenant_weight,
        "private addresses": ", ".join(one.private_addresses) or None,
        "phone region": one.phone_region,
        "set": one.updated_at,
    }


def _print_one(one: "WorkspaceSettings") -> None:
    for name, value in _row(one).items():
        print_line(f"{name}: {'–' if value is None else value}")


@command(app, "list", shows=table("workspaces", _row, empty="there is no workspace yet"))
async def list_workspaces(at: Opened) -> "list[WorkspaceSettings]":
    """List the workspaces of every tenant that have settings, keys, workflows or functions."""
    return await at.engine.workspaces.list()


@command(app, shows=_print_one)
async def show(at: InWorkspace) -> "WorkspaceSettings":
    """Show the settings of a workspace."""
    return await at.engine.workspaces.get(at.workspace)


@command(app, "set", shows=_print_one)
async def set_workspace(
    at: Acting,
    weight: Weight = None,
    allow_private: Allowed = None,
    close_private: Annotated[
        bool, typer.Option("--close-private", help="Let it call no private address any more.")
    ] = False,
    phone_region: Annotated[
        str | None,
        typer.Option(
            metavar="CC",
            help="The country of phone numbers without a country's code, like DE; '' for the installation's own.",
            show_default=False,
        ),
    ] = None,
) -> "WorkspaceSettings":
    """Set what a workspace has of its own; every process acts on it within seconds."""
    opened = [] if close_private else allow_private or None
    return await at.engine.workspaces.set(
        at.by, at.workspace, weight=weight, private_addresses=opened, phone_region=phone_region
    )


def _tenant_row(one: "TenantSettings") -> dict[str, object]:
    return {"tenant": one.tenant, "weight": one.weight, "set": one.updated_at}


@command(tenants, "list", shows=table("tenants", _tenant_row, empty="there is no tenant yet"))
async def list_tenants(at: Opened) -> "list[TenantSettings]":
    """List every tenant that has settings, keys or workflows."""
    return await at.engine.workspaces.list_tenants()


def _say_set(one: "TenantSettings") -> None:
    print_line(f"tenant {one.tenant} has weight {one.weight}")


@command(tenants, "set", shows=_say_set)
async def set_tenant(
    at: Operating,
    tenant: Annotated[str, typer.Argument(help="The tenant's name.")],
    weight: Annotated[int, typer.Option(min=1, max=1000, help="Its part beside other tenants.")],
) -> "TenantSettings":
    """Set a tenant's weight; every process acts on it within seconds."""
    return await at.engine.workspaces.set_tenant(at.by, tenant, weight)
