"""Send one request to the API, again where that is safe, and read its answer or raise its error."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from tidings.client.errors import ERROR_BY_STATUS, ApiError, ServerUnreachable
from tidings.views.problems import ProblemDetails

Answer = TypeVar("Answer")
Query = Mapping[str, str | int | bool | Sequence[str] | None]

PASSING = frozenset({502, 503, 504})
"""Statuses that a server, or a proxy before it, answers while it is away for a moment."""
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Errors that happen before the first byte is sent, so that any request may be sent again."""
TOO_MANY = 429
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
LARGEST_ANSWER = 100_000_000
LARGEST_EVENT = 20_000_000
"""The most bytes of an answer, or of one event in a stream; no server of ours sends more."""
LONGEST_SILENCE_SECONDS = 60.0
"""A stream without even a heartbeat for this long is dead."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """How often a request is sent, and the waits between: doubled each time, half of each random."""

    attempts: int = 5
    base_seconds: float = 0.25
    cap_seconds: float = 8.0
    longest_retry_after_seconds: float = 60.0

    def wait(self, attempt: int, asked: float | None = None) -> float:
        """Return the seconds to wait after an attempt (from 1 on); never less than the server asked for."""
        doubled = min(self.cap_seconds, self.base_seconds * 2.0 ** (attempt - 1))
        wait = doubled * (0.5 + secrets.randbelow(1001) / 2000)
        return max(wait, min(asked or 0.0, self.longest_retry_after_seconds))


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request. One that is `repeatable` has the same effect however often it arrives.

    `content` makes a body that is not JSON, anew for each attempt; `timeout` replaces the client's own.
    """

    method: str
    path: str
    body: object = None
    query: Query | None = None
    headers: Mapping[str, str] | None = None
    repeatable: bool = True
    content: Callable[[], AsyncIterator[bytes]] | None = None
    timeout: float | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the request as httpx2 takes it."""
        given = {name: _texts(value) for name, value in (self.query or {}).items() if value is not None}
        headers = dict(self.headers or {})
        arguments: dict[str, Any] = {"method": self.method, "url": self.path, "params": given, "headers": headers}
        if self.body is not None:
            headers["content-type"] = "application/json"
            arguments["content"] = msgspec.json.encode(self.body)
        elif self.content is not None:
            arguments["content"] = self.content()
        return arguments


@dataclass(frozen=True, slots=True)
class _Answered:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Transport:
    """Connections to one server, with one key."""

    def __init__(self, url: str, key: str | None, timeout: float, retrying: Retrying) -> None:
        # Nothing is decompressed here, so nothing small can become large.
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.retrying = retrying
        # Redirects are not followed: the key goes to the server it was given for, and to no other.
        self.http = httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=timeout, follow_redirects=False)

    async def close(self) -> None:
        """Close every connection."""
        await self.http.aclose()

    async def ask(self, request: ApiRequest, kind: type[Answer]) -> Answer:
        """Send a request and return its answer, decoded as a record."""
        return read(await self.send(request), kind)

    async def send(self, request: ApiRequest) -> bytes:
        """Return the body of a successful answer; repeat what may be repeated."""
        attempt = 0
        while True:
            attempt += 1
            is_last = attempt >= self.retrying.attempts
            try:
                answer = await self._try(request)
            except httpx2.TransportError as error:
                if is_last or not (request.repeatable or isinstance(error, NOT_SENT)):
                    raise self.unreachable(error, attempt) from error
                await asyncio.sleep(self.retrying.wait(attempt))
                continue
            if answer.is_success:
                return answer.body
            if is_last or not _may_try_again(request, answer.status):
                raise error_of(answer.status, answer.body)
            await asyncio.sleep(self.retrying.wait(attempt, _retry_after(answer.headers)))

    async def _try(self, request: ApiRequest) -> _Answered:
        timeout = request.timeout or self.timeout
        try:
            # httpx2 limits each read; a server that drips bytes would hold a caller for ever.
            async with asyncio.timeout(timeout), self.http.stream(**request.arguments(), timeout=timeout) as answer:
                return _Answered(answer.status_code, answer.headers, await _body(answer))
        except TimeoutError as error:
            raise httpx2.ReadTimeout(f"no answer within {timeout:g} s") from error

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[str]]:
        """Yield the lines of an answer that goes on."""
        timeout = httpx2.Timeout(self.timeout, read=LONGEST_SILENCE_SECONDS)
        async with self.http.stream(**request.arguments(), timeout=timeout) as answer:
            if not answer.is_success:
                raise error_of(answer.status_code, await _body(answer))
            yield _lines(answer)

    async def pieces(self, request: ApiRequest) -> AsyncIterator[bytes]:
        """Yield the bytes of an answer of any length as they arrive; one that breaks off is an error, not an end."""
        timeout = httpx2.Timeout(self.timeout, read=LONGEST_SILENCE_SECONDS)
        try:
            async with self.http.stream(**request.arguments(), timeout=timeout) as answer:
                if not answer.is_success:
                    raise error_of(answer.status_code, await _body(answer))
                async for piece in _plain(answer):
                    yield piece
        except httpx2.TransportError as error:
            raise self.unreachable(error, 1) from error

    def unreachable(self, error: httpx2.TransportError, attempts: int) -> ServerUnreachable:
        """Return the error for an answer that does not come."""
        tries = "once" if attempts == 1 else f"{attempts} times"
        reason = str(error) or type(error).__name__
        return ServerUnreachable(f"no answer from {self.url}, tried {tries}: {reason}; check TIDINGS_URL")


async def _body(answer: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in _plain(answer):
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise ApiError(answer.status_code, "answer_too_large", f"the answer has more than {LARGEST_ANSWER:,} bytes")
    return bytes(body)


async def _lines(answer: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of a stream; those of one event, up to the blank line after it, are bounded."""
    rest, size = b"", 0
    async for chunk in _plain(answer):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            size = size + len(line) if line.strip() else 0
            yield line.removesuffix(b"\r").decode(errors="replace")
        if size + len(rest) > LARGEST_EVENT:
            raise ApiError(answer.status_code, "answer_too_large", f"an event has more than {LARGEST_EVENT:,} bytes")


def _plain(answer: httpx2.Response) -> AsyncIterator[bytes]:
    packed = answer.headers.get("content-encoding", "identity")
    if packed != "identity":
        raise ApiError(answer.status_code, "answer_unreadable", f"the answer is packed ({packed}), unasked")
    return answer.aiter_raw()


def read(body: bytes, kind: type[Answer]) -> Answer:
    """Decode a body as a record; fields that the record does not name are ignored."""
    try:
        return msgspec.json.decode(body or b"null", type=kind)
    except _UNREADABLE as error:
        raise unreadable(error) from error


def unreadable(error: Exception) -> ApiError:
    """Return the error for an answer that no server of ours sends."""
    return ApiError(200, "answer_unreadable", f"this is not what the API answers: {error}")


def path_to(resource: str, id: object, *verbs: str) -> str:
    """Return the path of one thing; its id, whatever it holds, is one segment and cannot lead elsewhere."""
    return "/".join([resource, quote(str(id), safe=""), *verbs])


def error_of(status: int, body: bytes) -> ApiError:
    """Return the error for an answer that is no success, perhaps a proxy's: such a page has only a status."""
    try:
        found = msgspec.json.decode(body, type=ProblemDetails)
    except _UNREADABLE:
        found = ProblemDetails(detail=body[:200].decode(errors="replace"))
    kind = ERROR_BY_STATUS.get(status, ApiError)
    return kind(status, found.code or "error", found.detail or found.title or "no reason given", found.errors)


def _may_try_again(request: ApiRequest, status: int) -> bool:
    return status == TOO_MANY or (request.repeatable and status in PASSING)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or a date."""
    given = headers.get("retry-after")
    if not given:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _texts(value: str | int | bool | Sequence[str] | None) -> str | list[str]:
    return _text(value) if isinstance(value, str | int | None) else [*value]


def _text(value: str | int | bool | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
