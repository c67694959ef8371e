"""The router of one resource: its operations under one tag, each called by the name of its function.

An operation that returns a view says so in its signature, and no more: `-> Execution`, `-> Page[Execution]`. One that
sets its status or headers itself returns `answer(view, 201, headers)` and says `-> Execution | Response`.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, get_args, get_origin, get_type_hints

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.responses import Response

from tidings.http.answers import JSON, answer
from tidings.http.view_schemas import reference
from tidings.views.view import View

Endpoint = Callable[..., Awaitable[Any]]


def resource_router(tag: str) -> APIRouter:
    """Return a router whose operations are described under a tag."""
    return APIRouter(tags=[tag], generate_unique_id_function=_operation_id, route_class=ViewRoute)


class ViewRoute(APIRoute):
    """An operation; if it returns a view, that is encoded and described without the framework's own models."""

    def __init__(self, path: str, endpoint: Endpoint, **options: Any) -> None:
        self.view = _view_of(get_type_hints(endpoint).get("return"))
        if self.view is not None:
            status = options.get("status_code") or 200
            described = {"content": {JSON: {"schema": reference(self.view)}}}
            options |= {"response_model": None, "responses": {status: described, **(options.get("responses") or {})}}
            endpoint = _answering(endpoint, status)
        super().__init__(path, endpoint, **options)


def _answering(endpoint: Endpoint, status: int) -> Endpoint:
    @wraps(endpoint)
    async def respond(*given: Any, **named: Any) -> Response:
        found = await endpoint(*given, **named)
        return found if isinstance(found, Response) else answer(found, status)

    return respond


def _view_of(returned: Any) -> type[View] | None:
    """Return the view among the types that an operation returns."""
    for one in (returned, *get_args(returned)):
        kind = get_origin(one) or one
        if isinstance(kind, type) and issubclass(kind, View):
            found: type[View] = one
            return found
    return None


def _operation_id(route: APIRoute) -> str:
    return route.name
