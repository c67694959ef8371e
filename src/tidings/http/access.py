"""Check each request's key, the permission of its role, and its rate."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from tidings.domain.caller import Caller
from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Permission, may
from tidings.engine import Engine
from tidings.http.errors import Forbidden, NoValidKey
from tidings.http.metrics import Metrics
from tidings.http.pulse import Pulse
from tidings.http.queries import check_query
from tidings.http.rate import RateLimit
from tidings.http.simulator import Simulates
from tidings.http.streams import Streams
from tidings.resources.access import Identity

LONGEST_KEY = 500


@dataclass(frozen=True, slots=True)
class Api:
    """What every handler receives."""

    engine: Engine
    rate: RateLimit
    metrics: Metrics
    streams: Streams
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
    def workspace(self) -> Workspace:
        """Return the only workspace this key opens."""
        return self.identity.workspace


def api_of(request: Request) -> Api:
    """Return what create_app left with the app."""
    api: Api = request.app.state.api
    return api


async def let_in(request: Request, permission: Permission) -> RequestContext:
    """Check the bearer's key, its permission and its rate, in this order."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NoValidKey("send a key: Authorization: Bearer KEY")
    identity = await recognise(request, secret.strip())
    if identity is None:
        raise NoValidKey("this key is unknown, revoked or expired")
    context = admit(request, identity, permission, secret.strip())
    check_query(request)
    return context


async def recognise(request: Request, secret: str) -> Identity | None:
    """Return the identity of a key."""
    return await api_of(request).engine.access.authenticate(secret) if len(secret) <= LONGEST_KEY else None


def admit(request: Request, identity: Identity, permission: Permission, secret: str) -> RequestContext:
    """Admit a known key if it has the permission and is within its rate."""
    api = api_of(request)
    api.rate.spend(identity.key_id)
    if not may(identity.role, permission):
        raise Forbidden(f"a key of role {identity.role} may not do this; it needs the permission {permission}")
    if "%00" in request.url.query:
        raise FieldsInvalid([Problem("query", "holds a NUL, which nothing here contains")])
    return RequestContext(api.engine, identity, secret)


def allowed(permission: Permission) -> Callable[[Request], Awaitable[RequestContext]]:
    """Return a dependency for operations that need this permission."""

    async def check(request: Request) -> RequestContext:
        return await let_in(request, permission)

    return check


Definer = Annotated[RequestContext, Depends(allowed(Permission.DEFINE))]
DefinitionReader = Annotated[RequestContext, Depends(allowed(Permission.READ_DEFINITIONS))]
ContactKeeper = Annotated[RequestContext, Depends(allowed(Permission.CONTACTS))]
Operator = Annotated[RequestContext, Depends(allowed(Permission.OPERATE))]
WorkReader = Annotated[RequestContext, Depends(allowed(Permission.READ_WORK))]
Administrator = Annotated[RequestContext, Depends(allowed(Permission.ADMINISTER))]
WorkerService = Annotated[RequestContext, Depends(allowed(Permission.RUN_WORKERS))]
