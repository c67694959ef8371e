"""/v1/users: the people of a tenant, for its administrators."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends
from starlette.requests import Request

from tidings.domain.errors import Conflict
from tidings.domain.people.users import Roles
from tidings.domain.roles import Role, may_give
from tidings.http.access import Administrator, RequestContext, api_of
from tidings.http.bodies import body_of
from tidings.http.errors import Forbidden
from tidings.http.openapi import CreatedIn, Cursor, Limit, takes
from tidings.http.resource import resource_router
from tidings.http.user_requests import ChangedUser, GivenUser, roles_given
from tidings.resources.users import LinkedUser, roles_of
from tidings.views.pages import Page
from tidings.views.users import User, UserLink

router = resource_router("People")


@router.get("/v1/users")
async def list_users(
    context: Administrator, created: CreatedIn, limit: Limit = 50, cursor: Cursor = None
) -> Page[User]:
    """The people of the tenant, newest first."""
    return await context.engine.users.list(context.caller, limit=limit, created=created, cursor=cursor)


@router.post("/v1/users", status_code=201, openapi_extra=takes(GivenUser))
async def invite_user(
    request: Request, context: Administrator, body: Annotated[GivenUser, Depends(body_of(GivenUser))]
) -> UserLink:
    """Invite somebody; the answer holds a one-time link, for you to hand over. Only an operator makes an operator."""
    roles = roles_given(body.workspaces)
    _require_may_give(context, _named_in(roles))
    made = await context.engine.users.invite(context.caller, body.email, body.name, roles)
    return _with_link(request, made)


@router.get("/v1/users/{id:uuid}")
async def get_user(context: Administrator, id: UUID) -> User:
    """One person, with their roles."""
    return await context.engine.users.get(context.caller, id)


@router.patch("/v1/users/{id:uuid}", openapi_extra=takes(ChangedUser))
async def update_user(
    context: Administrator, id: UUID, body: Annotated[ChangedUser, Depends(body_of(ChangedUser))]
) -> User:
    """Change what is given. Only an operator changes an operator, or makes one; nobody disables themselves."""
    roles = None if body.workspaces is None else roles_given(body.workspaces)
    await _require_may_manage(context, id, roles or {})
    if body.disabled:
        _refuse_oneself(context, id)
    return await context.engine.users.update(
        context.caller, id, email=body.email, name=body.name, workspaces=roles, disabled=body.disabled
    )


@router.delete("/v1/users/{id:uuid}", status_code=204)
async def remove_user(context: Administrator, id: UUID) -> None:
    """Remove a person and sign them out everywhere; what they did stays in the audit log."""
    await _require_may_manage(context, id)
    _refuse_oneself(context, id)
    await context.engine.users.remove(context.caller, id)


@router.post("/v1/users/{id:uuid}/link", status_code=201)
async def link_user(request: Request, context: Administrator, id: UUID) -> UserLink:
    """Make a one-time link in place of the one before: for a first visit, or to set a new password."""
    await _require_may_manage(context, id)
    return _with_link(request, await context.engine.users.link(context.caller, id))


@router.post("/v1/users/{id:uuid}/sign-out", status_code=204)
async def sign_out_user(context: Administrator, id: UUID) -> None:
    """End every session of a person: within a few seconds they open nothing."""
    await _require_may_manage(context, id)
    await context.engine.users.sign_out(context.caller, id)


def _with_link(request: Request, made: LinkedUser) -> UserLink:
    url = api_of(request).people.url_of(request)
    return UserLink(user=made.user, link=f"{url}/welcome#{made.token}", expires_at=made.expires_at)


async def _require_may_manage(context: RequestContext, id: UUID, roles: Roles | None = None) -> None:
    """Refuse an administrator who would take over an operator, or make one."""
    before = await context.engine.users.get(context.caller, id)
    _require_may_give(context, roles_of(before) | _named_in(roles or {}))


def _require_may_give(context: RequestContext, roles: set[Role]) -> None:
    if not may_give(context.identity.roles, roles):
        raise Forbidden(
            f"the role {context.identity.named_roles} neither makes nor changes an operator; an operator does, or"
            " `tidings users` where the database is"
        )


def _refuse_oneself(context: RequestContext, id: UUID) -> None:
    if id == context.identity.id:
        raise Conflict("nobody locks themselves out; have another administrator do it")


def _named_in(roles: Roles) -> set[Role]:
    return {role for held in roles.values() for role in held}
