"""/v1/api-keys: the keys of the API."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends

from tidings.domain.roles import Role, may_give
from tidings.http.access import Administrator, RequestContext
from tidings.http.administration_requests import GivenKey
from tidings.http.bodies import body_of
from tidings.http.errors import Forbidden
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.views.keys import ApiKey, CreatedKey
from tidings.views.pages import Page

router = resource_router("Administration")


@router.post("/v1/api-keys", status_code=201, openapi_extra=takes(GivenKey))
async def create_key(context: Administrator, body: Annotated[GivenKey, Depends(body_of(GivenKey))]) -> CreatedKey:
    """Make a key; its secret is in this answer and nowhere else.

    Only an operator makes an operator's key, or one for another tenant.
    """
    _require_operator_for(context, body.role)
    if body.tenant not in (None, context.workspace.tenant) and not context.is_operator:
        raise Forbidden(f"the role {context.identity.named_roles} makes keys of its own tenant only; ask an operator")
    return await context.engine.access.create_key(
        context.caller,
        body.name,
        body.role,
        tenant=body.tenant,
        workspace=body.workspace,
        expires_at=body.expires_at,
        workflows=body.workflows,
        origins=body.origins,
    )


@router.get("/v1/api-keys")
async def list_keys(
    context: Administrator, created: CreatedIn, limit: Limit = 50, cursor: Cursor = None
) -> Page[ApiKey]:
    """The keys of the tenant, newest first, revoked ones too."""
    return await context.engine.access.list_keys(context.caller, limit=limit, created=created, cursor=cursor)


@router.delete("/v1/api-keys/{id:uuid}", status_code=204)
async def revoke_key(context: Administrator, id: UUID) -> None:
    """Revoke a key: within a few seconds it opens nothing. Only an operator revokes an operator's."""
    key = await context.engine.access.get_key(context.caller, id)
    _require_operator_for(context, Role(key.role))
    await context.engine.access.revoke_key(context.caller, id)


def _require_operator_for(context: RequestContext, role: Role) -> None:
    """Refuse an administrator who would make an operator of itself, or lock the operator out."""
    if not may_give(context.identity.roles, [role]):
        raise Forbidden(
            f"the role {context.identity.named_roles} neither makes nor revokes keys of role {role}; an operator"
            " does, or `tidings keys` where the database is"
        )
