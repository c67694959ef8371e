"""Check each request's key, the permission of its role, and its rate."""

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
from tidings.http.errors import Forbidden, NoValidKey, RequestRefused
from tidings.http.guesses import REFUSAL, Guesses
from tidings.http.metrics import Metrics
from tidings.http.pulse import Pulse
from tidings.http.queries import check_query
from tidings.http.rate import RateLimit
from tidings.http.simulator import Simulates
from tidings.http.streams import Streams
from tidings.resources.access import Identity

ORIGIN_ALLOWED = "tidings.origin"


@dataclass(frozen=True, slots=True)
class Api:
    """What every handler receives."""

    engine: Engine
    rate: RateLimit
    metrics: Metrics
    streams: Streams
    bodies: BodyMemory
    guesses: Guesses
    pulse: Pulse
    simulator: Simulates | None = None


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request that was admitted."""

    engine: Engine
    identity: Identity
    secret: str = field(repr=False)

    async def is_over(self) -> bool:
        """Return whether the key was revoked or has expired since."""
        return await self.engine.access.authenticate(self.secret) is None

    @property
    def caller(self) -> Caller:
        """Return the caller as the audit log records it."""
        return self.identity.caller

    @property
    def is_operator(self) -> bool:
        """Return whether the key may see what belongs to the whole installation."""
        return may(self.identity.role, Permission.OPERATE_INSTALLATION)

    @property
    def workspace(self) -> Workspace:
        """Return the only workspace this key opens."""
        return self.identity.workspace


def api_of(request: Request) -> Api:
    """Return what create_app left with the app."""
    api: Api = request.app.state.api
    return api


async def let_in(request: Request, permission: Permission) -> RequestContext:
    """Check the bearer's key, its permission and its rate, in this order."""
    secret = bearer_of(request)
    if not secret:
        raise NoValidKey("send a key: Authorization: Bearer KEY")
    identity = await recognise(request, secret)
    if identity is None:
        raise refusal_of(request, "this key is unknown, revoked or expired")
    context = admit(request, identity, permission, secret)
    check_query(request)
    return context


async def let_in_quietly(request: Request, permission: Permission) -> RequestContext | None:
    """Return the same, or None where it would be refused: for what answers everybody, and some more fully."""
    try:
        return await let_in(request, permission)
    except (RequestRefused, InputInvalid):
        return None


def bearer_of(request: Request) -> str:
    """Return the key that a request carries as its bearer; empty without one."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


async def recognise(request: Request, secret: str) -> Identity | None:
    """Return the identity of a key, or None; refusal_of says why."""
    return await api_of(request).guesses.identify(request.scope, secret)


def refusal_of(request: Request, reason: str) -> RequestRefused:
    """Return why a key was not recognised: the reason, or that this address has tried too many."""
    return request.scope.get(REFUSAL) or NoValidKey(reason)


def admit(request: Request, identity: Identity, permission: Permission, secret: str) -> RequestContext:
    """Admit a known key if it has the permission and is within its rate."""
    api = api_of(request)
    api.rate.spend(identity)
    request.scope[WORKSPACE] = identity.workspace
    if not may(identity.role, permission):
        raise Forbidden(f"a key of role {identity.role} may not do this; it needs the permission {permission}")
    _check_origin(request, identity)
    if b"%00" in request.scope["query_string"]:
        raise FieldsInvalid([Problem("query", "holds a NUL, which nothing here contains")])
    return RequestContext(api.engine, identity, secret)


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
ContactKeeper = Annotated[RequestContext, Depends(allowed(Permission.CONTACTS))]
Operator = Annotated[RequestContext, Depends(allowed(Permission.OPERATE))]
StatusReader = Annotated[RequestContext, Depends(allowed(Permission.READ_STATUS))]
WorkReader = Annotated[RequestContext, Depends(allowed(Permission.READ_WORK))]
Administrator = Annotated[RequestContext, Depends(allowed(Permission.ADMINISTER))]
WorkerService = Annotated[RequestContext, Depends(allowed(Permission.RUN_WORKERS))]
InstallationOperator = Annotated[RequestContext, Depends(allowed(Permission.OPERATE_INSTALLATION))]
