"""/v1/session and /v1/sessions: people sign in, see where they are signed in, and sign out."""

from typing import Annotated

from fastapi import Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tidings.domain.errors import Problem
from tidings.domain.flow.ids import LONGEST_PART
from tidings.domain.roles import Permission, may, permissions_of
from tidings.http.access import Person, api_of
from tidings.http.answers import answer
from tidings.http.bodies import body_of
from tidings.http.errors import Forbidden, LinkInvalid, SignInFailed, WrongPassword
from tidings.http.openapi import takes
from tidings.http.resource import resource_router
from tidings.http.session_cookie import (
    check_origin,
    csrf_token,
    named_workspace,
    removing_cookie,
    setting_cookie,
    token_of,
)
from tidings.http.user_requests import ChangedOwnUser, GivenRedeem, GivenSignIn
from tidings.resources.session_memory import SignedIn
from tidings.resources.sessions import Begun, Browser, OwnChange
from tidings.views.pages import Everything
from tidings.views.users import CurrentSession, OidcWay, OpenSession, SessionWorkspace, SignInWays

router = resource_router("People")
LARGEST_OF_A_STRANGER = 10_000
"""Bytes of a body that are read before anybody is known."""
OfTenant = Annotated[str, Query(max_length=LONGEST_PART, description="The tenant whose people sign in.")]


@router.get("/v1/sign-in")
async def get_sign_in(request: Request, tenant: OfTenant = "default") -> SignInWays:
    """How people of a tenant sign in; needs no key."""
    logins = [one.login for one in api_of(request).people.issuers.values() if one.login.tenant == tenant]
    return SignInWays(
        password=True,
        oidc=[OidcWay(name=one.name, label=one.label, url=f"/v1/oidc/{one.name}/start") for one in logins],
    )


@router.post("/v1/sessions", status_code=201, openapi_extra=takes(GivenSignIn))
async def sign_in(
    request: Request, body: Annotated[GivenSignIn, Depends(body_of(GivenSignIn, limit=LARGEST_OF_A_STRANGER))]
) -> CurrentSession | Response:
    """Sign in with an e-mail address and a password; the answer sets the session's cookie.

    Whatever is wrong, an address that nobody has too, is answered in the same words after the same work.
    """
    check_origin(request, api_of(request).people)
    with api_of(request).sign_in_tries.spending(request.scope, f"{body.tenant} {body.email.strip()}"):
        begun = await api_of(request).engine.sessions.sign_in(
            body.tenant, body.email, body.password, browser_of(request)
        )
        if begun is None:
            raise SignInFailed("nobody signs in with this e-mail address and this password")
    return _begun(request, begun, 201)


@router.post("/v1/sessions/redeem", status_code=201, openapi_extra=takes(GivenRedeem))
async def redeem_link(
    request: Request, body: Annotated[GivenRedeem, Depends(body_of(GivenRedeem, limit=LARGEST_OF_A_STRANGER))]
) -> CurrentSession | Response:
    """Sign in with a one-time link, and set what is given; the link then opens nothing more.

    Who had a password gives a new one, and is signed out everywhere else.
    """
    check_origin(request, api_of(request).people)
    given = OwnChange(body.name, body.email, body.password)
    with api_of(request).sign_in_tries.spending(request.scope):
        begun = await api_of(request).engine.sessions.redeem(body.token, given, browser_of(request))
        if begun is None:
            raise LinkInvalid("this link was used or replaced, or its time is over; ask for another")
    return _begun(request, begun, 201)


@router.get("/v1/session")
async def get_session(request: Request, person: Person) -> CurrentSession:
    """Who is signed in here, what they may do, and the token that changes need."""
    return _shown(person.signed_in, person.token, named_workspace(request))


@router.patch("/v1/session/user", openapi_extra=takes(ChangedOwnUser))
async def update_own_user(
    request: Request, person: Person, body: Annotated[ChangedOwnUser, Depends(body_of(ChangedOwnUser))]
) -> CurrentSession | Response:
    """Change one's own name or password. A new password signs out everywhere else and changes the CSRF token."""
    given = OwnChange(body.name, body.email, body.password, body.current_password)
    with api_of(request).sign_in_tries.spending(request.scope, str(person.signed_in.user.id)):
        begun = await person.engine.sessions.change_own(person.signed_in, given, browser_of(request))
        if begun is None:
            raise WrongPassword([Problem("currentPassword", "is not your password")])
    return _begun(request, begun, 200)


@router.delete("/v1/session", status_code=204)
async def sign_out(request: Request, person: Person) -> Response:
    """Sign out here."""
    await person.engine.sessions.end(person.signed_in, person.token)
    return Response(status_code=204, headers=dict(removing_cookie(request)))


@router.get("/v1/sessions")
async def list_sessions(person: Person) -> Everything[OpenSession]:
    """Where the person is signed in, the last used first."""
    return Everything(await person.engine.sessions.list(person.signed_in))


@router.delete("/v1/sessions", status_code=204)
async def sign_out_everywhere(request: Request, person: Person) -> Response:
    """Sign out everywhere, here too."""
    await person.engine.sessions.end_all(person.signed_in)
    return Response(status_code=204, headers=dict(removing_cookie(request)))


def browser_of(request: Request) -> Browser:
    """Return what a session that begins with this request is to know of it."""
    people = api_of(request).people
    agent = request.headers.get("user-agent", "")
    return Browser(people.idle_after, people.lasts, agent, token_of(request) or None)


def _begun(request: Request, begun: Begun, status: int) -> Response:
    shown = _shown(begun.signed_in, begun.token, named_workspace(request))
    seconds = api_of(request).people.lasts.total_seconds()
    return answer(shown, status, setting_cookie(request, begun.token, seconds))


def _shown(found: SignedIn, token: str, named: str | None) -> CurrentSession:
    if named is not None and named not in found.roles:
        raise Forbidden(
            "you have no role in the workspace that X-Tidings-Workspace names; an administrator gives roles"
        )
    current = named or found.workspace
    roles = found.roles.get(current, frozenset()) if current else frozenset()
    return CurrentSession(
        user=found.user,
        tenant=found.tenant,
        workspace=current,
        workspaces=[
            SessionWorkspace(workspace=name, roles=sorted(held), permissions=sorted(permissions_of(held)))
            for name, held in found.roles.items()
        ],
        permissions=sorted(permissions_of(roles)),
        is_operator=may(roles, Permission.OPERATE_INSTALLATION),
        csrf_token=csrf_token(token),
        expires_at=found.expires_at,
    )
