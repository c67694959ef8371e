"""The outermost layer: gives each request an id and a deadline, counts it, and lets no exception out.

Plain ASGI, so that it costs little and sees streams as they are.
"""

import asyncio
import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidings.http.errors import RETRY_AFTER, problem
from tidings.http.fair_pool import holding
from tidings.http.metrics import Metrics
from tidings.http.queries import spell_query
from tidings.kernel.writable import Hurry, for_nobody, hurried
from tidings.log import log

DEADLINE_SECONDS = 30.0
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
GUARDS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""What every answer has unless it says otherwise."""
TLS_GUARDS = ((b"strict-transport-security", b"max-age=31536000"),)
METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])


class HttpEdge:
    """Wraps the whole app."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        spell_query(scope)
        started = time.perf_counter()
        try:
            with for_nobody(), hurried() as hurry, holding(scope):
                async with asyncio.timeout(DEADLINE_SECONDS) as deadline:
                    answer.lasting = scope["tidings.lasting"] = _Lasting(deadline, hurry)
                    await self._app(scope, receive, answer.send)
        except TimeoutError:
            await answer.fail(503, "timeout", "this took too long, and may still happen: ask with the same key again")
        except Exception:
            # Not the path, in which a contact may be named by its address.
            log.exception("request_crashed", request_id=answer.request_id, operation=_operation(scope))
            await answer.fail(500, "internal_error", "the server failed; its log has more under this request's id")
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._metrics.answered(_operation(scope), method, answer.status, time.perf_counter() - started)


class _Lasting:
    """How long a request may last, and whether it waits for a database that is out of reach."""

    def __init__(self, deadline: asyncio.Timeout, hurry: Hurry) -> None:
        self._deadline, self._hurry = deadline, hurry

    def extend(self, seconds: float | None) -> None:
        """Restart the deadline; a request that has come this far also waits for the database."""
        self._deadline.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)
        self._hurry.end()


def give_time(scope: Scope) -> None:
    """Restart the deadline; a handler that reads a body as long as a file calls this at each piece."""
    lasting: _Lasting | None = scope.get("tidings.lasting")
    if lasting is not None:
        lasting.extend(DEADLINE_SECONDS)


class _Answer:
    """The answer as it is sent, with its request's id."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self.request_id = _request_id(scope)
        self.status = 0
        self.lasting: _Lasting | None = None
        scope["tidings.request_id"] = self.request_id

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*self._guarded(message), (b"x-request-id", self.request_id.encode())]
            if self.lasting and any(value.startswith(b"text/event-stream") for _, value in message["headers"]):
                self.lasting.extend(None)  # a stream lasts as long as what it tells of
        await self._send(message)

    def _guarded(self, message: Message) -> list[tuple[bytes, bytes]]:
        """Return the headers of an answer, with those that keep browsers from doing more with it than show it."""
        headers = list(message.get("headers", []))
        given = {name.lower() for name, _ in headers}
        guards = (*GUARDS, *TLS_GUARDS) if self._scope.get("scheme") == "https" else GUARDS
        return headers + [one for one in guards if one[0] not in given]

    async def fail(self, status: int, code: str, detail: str) -> None:
        if self.status:
            return  # the answer has begun: all that is left is to end the connection
        headers = RETRY_AFTER if status == 503 else None
        await problem(self.request_id, status, code, detail, headers=headers)(self._scope, _nothing, self.send)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _request_id(scope: Scope) -> str:
    """Return the caller's own id if it is fit to be logged, or else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given = value.decode("latin-1")
            return given if _SANE_ID.fullmatch(given) else secrets.token_hex(8)
    return secrets.token_hex(8)


def _operation(scope: Scope) -> str:
    """Return the handler's name, from a fixed set, whatever paths are asked for."""
    endpoint = scope.get("endpoint")
    return getattr(endpoint, "__name__", None) or (type(endpoint).__name__ if endpoint else "none")
