"""The hot operations, answered before the router: finding a route and solving its dependencies cost more than they do.

What answers is the operation's own function with its own dependencies, called in the order of its signature, so that
checks, errors and answers are those of the ordinary way. A request with a query goes the ordinary way, which knows the
parameters of each route. tests/http/test_lean.py asks both ways the same and compares.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints
from uuid import UUID

from fastapi.params import Depends
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tidings.domain.errors import TidingsError
from tidings.http.answers import answer
from tidings.http.contacts import create_contact
from tidings.http.errors import tidings_problem
from tidings.http.events import send_event
from tidings.http.executions import get_execution
from tidings.http.triggers import trigger_named

Take = Callable[[Request], Awaitable[Any]]
_WITH_ID = re.compile(r"(/v1/.*/)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
ID = "{id}"
_NOTHING: Mapping[str, UUID] = {}


@dataclass(frozen=True, slots=True)
class LeanRoute:
    """One operation: a path may end in `{id}`, and nothing else in it varies."""

    method: str
    path: str
    endpoint: Callable[..., Awaitable[Any]]


LEAN_ROUTES = (
    LeanRoute("POST", "/v1/triggers", trigger_named),
    LeanRoute("GET", f"/v1/executions/{ID}", get_execution),
    LeanRoute("POST", "/v1/contacts", create_contact),
    LeanRoute("POST", "/v1/events", send_event),
)
"""Which operations skip the router; this is the only place that says so."""


class LeanRoutes:
    """Wraps the router; costs other requests one look at their method and path."""

    def __init__(self, app: ASGIApp, routes: Sequence[LeanRoute]) -> None:
        self._app = app
        self._routes = {(one.method, one.path): (one.endpoint, _takers(one.endpoint)) for one in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a hot operation, or leave the request to the router."""
        found, path_params = None, _NOTHING
        if scope["type"] == "http" and not (scope["query_string"] or scope.get("root_path")):
            path, path_params = _split(scope["path"])
            found = self._routes.get((scope["method"], path))
        if found is None:
            await self._app(scope, receive, send)
            return
        scope["endpoint"], takers = found
        scope["path_params"] = path_params
        response = await _response(scope["endpoint"], takers, Request(scope, receive))
        await response(scope, receive, send)


def _split(path: str) -> tuple[str, Mapping[str, UUID]]:
    """Return the path as routes have it, and what varies in it."""
    if found := _WITH_ID.fullmatch(path):
        return found[1] + ID, {"id": UUID(found[2])}
    return path, _NOTHING


async def _response(endpoint: Callable[..., Awaitable[Any]], takers: Mapping[str, Take], request: Request) -> Response:
    try:
        found = await endpoint(**{name: await take(request) for name, take in takers.items()})
    except TidingsError as error:
        return tidings_problem(request, error)
    return found if isinstance(found, Response) else answer(found)


def _takers(endpoint: Callable[..., Awaitable[Any]]) -> Mapping[str, Take]:
    """Return what gets each argument of an operation from a request."""
    hints = get_type_hints(endpoint, include_extras=True)
    return {name: _taker(hints[name]) for name in inspect.signature(endpoint).parameters}


def _taker(hint: Any) -> Take:
    if hint is Request:
        return _itself
    if hint is UUID:
        return _id
    [depends] = [one for one in get_args(hint) if isinstance(one, Depends)]
    if depends.dependency is None:
        raise TypeError(f"{hint} names no function that gets it")
    return depends.dependency


async def _itself(request: Request) -> Request:
    return request


async def _id(request: Request) -> UUID:
    found: UUID = request.path_params["id"]
    return found
