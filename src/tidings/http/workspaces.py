"""/v1/workspaces and /v1/tenants: weights, and the private addresses that may be called."""

from typing import Annotated

from fastapi import Depends, Path, Query

from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.names import problem_of_name
from tidings.http.access import Administrator, InstallationOperator, RequestContext
from tidings.http.administration_requests import GivenTenantSettings, GivenWorkspaceSettings
from tidings.http.bodies import body_of
from tidings.http.openapi import takes
from tidings.http.resource import resource_router
from tidings.views.pages import Everything
from tidings.views.workspaces import TenantSettings, WorkspaceSettings

router = resource_router("Administration")
Tenant = Annotated[str, Path(min_length=1, max_length=200, description="The tenant's name.")]
Name = Annotated[str, Path(min_length=1, max_length=200, description="The workspace's name.")]
OfTenant = Annotated[str | None, Query(max_length=200, description="Only those of this tenant; for an operator.")]


@router.get("/v1/workspaces")
async def list_workspaces(context: Administrator, tenant: OfTenant = None) -> Everything[WorkspaceSettings]:
    """The workspaces of the key's tenant; an operator sees those of every tenant."""
    own = None if _is_operator(context) else context.workspace.tenant
    if own and tenant not in (None, own):
        return Everything([])
    return Everything(await context.engine.workspaces.list(own or tenant))


@router.get("/v1/workspaces/{tenant}/{workspace}")
async def get_workspace(context: Administrator, tenant: Tenant, workspace: Name) -> WorkspaceSettings:
    """The settings of one workspace; the defaults where nothing was set."""
    if tenant != context.workspace.tenant and not _is_operator(context):
        raise NotFound(f"there is no workspace {workspace!r} of a tenant {tenant!r}")
    return await context.engine.workspaces.get(_named(tenant, workspace))


@router.patch("/v1/workspaces/{tenant}/{workspace}", openapi_extra=takes(GivenWorkspaceSettings))
async def set_workspace(
    context: InstallationOperator,
    tenant: Tenant,
    workspace: Name,
    body: Annotated[GivenWorkspaceSettings, Depends(body_of(GivenWorkspaceSettings))],
) -> WorkspaceSettings:
    """Set what is given; every running process acts on it within seconds."""
    return await context.engine.workspaces.set(
        context.caller,
        _named(tenant, workspace),
        weight=body.weight,
        private_addresses=body.private_addresses,
        phone_region=body.phone_region,
    )


@router.get("/v1/tenants")
async def list_tenants(context: InstallationOperator) -> Everything[TenantSettings]:
    """Every tenant that has settings, keys or workflows."""
    return Everything(await context.engine.workspaces.list_tenants())


@router.patch("/v1/tenants/{tenant}", openapi_extra=takes(GivenTenantSettings))
async def set_tenant(
    context: InstallationOperator,
    tenant: Tenant,
    body: Annotated[GivenTenantSettings, Depends(body_of(GivenTenantSettings))],
) -> TenantSettings:
    """Set a tenant's weight; every running process acts on it within seconds."""
    return await context.engine.workspaces.set_tenant(context.caller, _named(tenant).tenant, body.weight)


def _is_operator(context: RequestContext) -> bool:
    return context.is_operator


def _named(tenant: str, workspace: str = "default") -> Workspace:
    """Return the workspace of these names, or say that there can be none."""
    if problem_of_name(tenant) or problem_of_name(workspace):
        raise NotFound("there is no workspace of this name")
    return Workspace(tenant, workspace)
