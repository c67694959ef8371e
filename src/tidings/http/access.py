"""Check whose a request is, by its key or its session, the permission of the roles, and the rate."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from tidings.domain.caller import Caller
from tidings.domain.errors import FieldsInvalid, InputInvalid, Problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.messages import quoted
from tidings.domain.roles import Permission, may
from tidings.engine import Engine
from tidings.http.body_memory import WORKSPACE, BodyMemory
from tidings.http.errors import Forbidden, NoSession, NoValidKey, RequestRefused
from tidings.http.guesses import REFUSAL, Guesses
from tidings.http.metrics import Metrics
from tidings.http.people_settings import PeopleSettings
from tidings.http.pulse import Pulse
from tidings.http.queries import check_query
from tidings.http.rate import RateLimit
from tidings.http.session_cookie import check_page, named_workspace, removing_cookie, token_of
from tidings.http.sign_in_tries import SignInTries
from tidings.http.simulator import Simulates
from tidings.http.streams import Streams
from tidings.resources.identity import Identity
from tidings.resources.session_memory import SignedIn

ORIGIN_ALLOWED = "tidings.origin"


Recognise = Callable[[], Awaitable[Identity | None]]
"""Asks again whose a request is: a key may be revoked and a person lose a role while it lasts."""


@dataclass(frozen=True, slots=True)
class Api:
    """What every handler receives."""

    engine: Engine
    rate: RateLimit
    metrics: Metrics
    streams: Streams
    bodies: BodyMemory
    guesses: Guesses
    sign_in_tries: SignInTries
    people: PeopleSettings
    pulse: Pulse
    simulator: Simulates | None = None


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request that was admitted."""

    engine: Engine
    identity: Identity
    permission: Permission
    recognise: Recognise = field(repr=False)

    async def is_over(self) -> bool:
        """Return whether the key or session has ended since, or may no longer do this."""
        found = await self.recognise()
        return found is None or not may(found.roles, self.permission)

    @property
    def caller(self) -> Caller:
        """Return the caller as the audit log records it."""
        return self.identity.caller

    @property
    def is_operator(self) -> bool:
        """Return whether what belongs to the whole installation may be seen."""
        return may(self.identity.roles, Permission.OPERATE_INSTALLATION)

    @property
    def workspace(self) -> Workspace:
        """Return the only workspace that this request is about."""
        return self.identity.workspace


@dataclass(frozen=True, slots=True)
class PersonContext:
    """A request of somebody who is signed in, about themselves."""

    engine: Engine
    signed_in: SignedIn
    token: str = field(repr=False)


def api_of(request: Request) -> Api:
    """Return what create_app left with the app."""
    api: Api = request.app.state.api
    return api


async def let_in(request: Request, permission: Permission) -> RequestContext:
    """Check whose a request is, the permission and the rate, in this order. A key wins over a cookie."""
    secret = bearer_of(request)
    if secret:
        identity = await recognise(request, secret)
        if identity is None:
            raise refusal_of(request, "this key is unknown, revoked or expired")
        context = admit(request, identity, permission, by_key(api_of(request).engine, secret))
    elif token := token_of(request):
        context = await _let_in_person(request, permission, token)
    else:
        raise NoValidKey("send a key, Authorization: Bearer KEY, or sign in")
    check_query(request)
    return context


async def _let_in_person(request: Request, permission: Permission, token: str) -> RequestContext:
    engine, named = api_of(request).engine, named_workspace(request)
    identity = (await signed_in(request, token)).identity(named)
    if identity is None:
        where = f"the workspace {quoted(named)}" if named else "any workspace"
        raise Forbidden(f"you have no role in {where}; an administrator gives roles")

    async def again() -> Identity | None:
        found = await engine.sessions.authenticate(token, is_use=False)
        return found.identity(identity.workspace.name) if found else None

    return admit(request, identity, permission, again)


async def signed_in(request: Request, token: str) -> SignedIn:
    """Return who is signed in with a cookie's token, if the request is of our own page."""
    api = api_of(request)
    check_page(request, token, api.people)
    found = await api.guesses.identify_session(request.scope, token)
    if found is None:
        ended = NoSession("this session has ended; sign in again", removing_cookie(request))
        raise request.scope.get(REFUSAL) or ended
    return found


async def let_in_person(request: Request) -> PersonContext:
    """Return who is signed in, whatever they may do; a key is nobody."""
    token = token_of(request)
    if bearer_of(request) or not token:
        raise NoValidKey("this is about a person who is signed in; a key is none")
    found = await signed_in(request, token)
    if identity := found.identity(None):
        api_of(request).rate.spend(identity)
    return PersonContext(api_of(request).engine, found, token)


async def let_in_quietly(request: Request, permission: Permission) -> RequestContext | None:
    """Return the same as let_in, or None where it would be refused: for what answers everybody, and some more fully."""
    try:
        return await let_in(request, permission)
    except (RequestRefused, InputInvalid):
        return None


def bearer_of(request: Request) -> str:
    """Return the key that a request carries as its bearer; empty without one."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def by_key(engine: Engine, secret: str) -> Recognise:
    """Return what asks again for the identity of a key."""
    return lambda: engine.access.authenticate(secret)


async def recognise(request: Request, secret: str) -> Identity | None:
    """Return the identity of a key, or None; refusal_of says why."""
    return await api_of(request).guesses.identify(request.scope, secret)


def refusal_of(request: Request, reason: str) -> RequestRefused:
    """Return why a key was not recognised: the reason, or that this address has tried too many."""
    return request.scope.get(REFUSAL) or NoValidKey(reason)


def admit(request: Request, identity: Identity, permission: Permission, again: Recognise) -> RequestContext:
    """Admit a known key or person with the permission, within the rate."""
    api = api_of(request)
    api.rate.spend(identity)
    request.scope[WORKSPACE] = identity.workspace
    if not may(identity.roles, permission):
        raise Forbidden(f"the role {identity.named_roles} may not do this; it needs the permission {permission}")
    _check_origin(request, identity)
    if b"%00" in request.scope["query_string"]:
        raise FieldsInvalid([Problem("query", "holds a NUL, which nothing here contains")])
    return RequestContext(api.engine, identity, permission, again)


def _check_origin(request: Request, identity: Identity) -> None:
    """Refuse a publishable key on a web page that it does not name; note the one it names for cors.py."""
    origin = request.headers.get("origin")
    if not identity.origins or origin is None:
        return
    if origin not in identity.origins:
        raise Forbidden(f"this key is not for {quoted(origin)}; name it when a publishable key is made")
    request.scope[ORIGIN_ALLOWED] = origin


def allowed(permission: Permission) -> Callable[[Request], Awaitable[RequestContext]]:
    """Return a dependency for operations that need this permission."""

    async def check(request: Request) -> RequestContext:
        return await let_in(request, permission)

    return check


Definer = Annotated[RequestContext, Depends(allowed(Permission.DEFINE))]
DefinitionReader = Annotated[RequestContext, Depends(allowed(Permission.READ_DEFINITIONS))]
ContactReader = Annotated[RequestContext, Depends(allowed(Permission.READ_CONTACTS))]
ContactKeeper = Annotated[RequestContext, Depends(allowed(Permission.CONTACTS))]
Operator = Annotated[RequestContext, Depends(allowed(Permission.OPERATE))]
StatusReader = Annotated[RequestContext, Depends(allowed(Permission.READ_STATUS))]
WorkReader = Annotated[RequestContext, Depends(allowed(Permission.READ_WORK))]
Administrator = Annotated[RequestContext, Depends(allowed(Permission.ADMINISTER))]
WorkerService = Annotated[RequestContext, Depends(allowed(Permission.RUN_WORKERS))]
InstallationOperator = Annotated[RequestContext, Depends(allowed(Permission.OPERATE_INSTALLATION))]
Person = Annotated[PersonContext, Depends(let_in_person)]
