"""Lets web pages use the few operations of a publishable key, from the origins that such a key names.

A browser asks before it sends a key, and the question does not carry it: what is answered is whether any live key names
the origin. The request itself is then checked against its own key (access.py). The endpoint of existing front ends
(functions_endpoint.py) answers browsers by itself.
"""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidings.engine import Engine
from tidings.http.access import ORIGIN_ALLOWED

_METHODS = {"/v1/triggers": b"POST"}
_ONE_EXECUTION = re.compile(r"/v1/executions/[0-9a-f-]{36}")
_ALLOWED_HEADERS = b"authorization, content-type"
_SECONDS_REMEMBERED = b"600"


class BrowserAccess:
    """Wraps the app; costs other paths one look at their address."""

    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app, self._engine = app, engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser's question, or add to an answer for which page it is."""
        method = _method_for_pages(scope) if scope["type"] == "http" else None
        if method is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and (origin := await self._named_origin(scope)):
            await _allow(send, origin, method)
        else:
            await self._app(scope, receive, _adding_origin(scope, send))

    async def _named_origin(self, scope: Scope) -> bytes | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is None or b"access-control-request-method" not in headers:
            return None
        return origin if origin.decode("latin-1") in await self._engine.access.origins() else None


def _method_for_pages(scope: Scope) -> bytes | None:
    """Return the method that pages may use at this address, if any."""
    path: str = scope["path"]
    return _METHODS.get(path) or (b"GET" if _ONE_EXECUTION.fullmatch(path) else None)


async def _allow(send: Send, origin: bytes, method: bytes) -> None:
    headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", method),
        (b"access-control-allow-headers", _ALLOWED_HEADERS),
        (b"access-control-max-age", _SECONDS_REMEMBERED),
        (b"vary", b"Origin"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _adding_origin(scope: Scope, send: Send) -> Send:
    async def answer(message: Message) -> None:
        origin = scope.get(ORIGIN_ALLOWED)
        if origin and message["type"] == "http.response.start":
            allowed = [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")]
            message["headers"] = [*message.get("headers", []), *allowed]
        await send(message)

    return answer
