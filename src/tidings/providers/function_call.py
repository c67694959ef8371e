"""Call a function over HTTP: three phases, told apart by the first byte of the request.

Until it is written (look-up, connection, TLS) nothing has started and every failure is a safe retry; after it, only a
whole answer says what happened. One request for one call: no redirect is followed, no proxy of the environment asked,
and nothing is sent again by itself.
"""

import asyncio
import ssl
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import httpcore2

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import MayStart
from tidings.domain.workflows.function import Endpoint
from tidings.domain.workflows.signing import caller_headers, signature_headers
from tidings.providers.function_answer import LARGEST_ANSWER, Answer, Question
from tidings.providers.guard import REMEDY, AddressRefused, GuardedPools, Resolver, resolve

# What a broken connection or a babbling server raises.
_FAILURES = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError)
_KEPT_SECONDS = 5.0
_FIRST_BYTE = "http11.send_request_headers.started"


@dataclass(frozen=True, slots=True)
class FunctionRequest:
    """What is sent where: the body, and the key that is the same at every attempt."""

    endpoint: Endpoint
    question: Question
    body: bytes
    key: str
    workspace: Workspace


class _LeaseSpent(Exception):
    """The lease ran out before the first byte."""


class _Progress:
    """Whether the first byte was written, noted right before it is."""

    def __init__(self, may_start: MayStart) -> None:
        self.is_sent = False
        self._may_start = may_start

    async def trace(self, event: str, _: Mapping[str, object]) -> None:
        """Hear from the pool what it is about to do."""
        if event == _FIRST_BYTE:
            if not self._may_start():
                raise _LeaseSpent
            self.is_sent = True

    def without_answer(self, reason: str) -> Outcome:
        """Say what a failure means at this point."""
        if self.is_sent:
            return Unknown(f"{reason} (after the request was sent)", is_unanswered=True)
        return RetryLater(f"{reason} (before the request was sent)", is_unanswered=True)


class FunctionCaller:
    """A pool of connections to whatever functions there are.

    Only calls that may be repeated use a connection twice: a server may close an idle one just when the next request
    is on its way, and then nothing shows whether it was read.
    """

    def __init__(
        self,
        *,
        connections: int,
        keep_connections: bool,
        tls_context: ssl.SSLContext | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        self._pools = GuardedPools(
            resolver,
            ssl_context=tls_context or httpcore2.default_ssl_context(),  # made once: it reads every root certificate
            max_connections=connections,
            max_keepalive_connections=connections if keep_connections else 0,
            keepalive_expiry=_KEPT_SECONDS,
        )

    async def call(self, request: FunctionRequest, until: float, may_start: MayStart) -> Answer | Outcome:
        """Make one call that ends by `until` on the loop's clock; return the answer, or what the lack of one means."""
        progress = _Progress(may_start)
        try:
            async with asyncio.timeout_at(until):
                return await self._exchange(request, progress)
        except _LeaseSpent:
            return RetryLater("the lease was spent before the call", uses_attempt=False)
        except AddressRefused as refused:
            return Rejected(f"{refused}, and was not called: {REMEDY}")
        except TimeoutError:
            return progress.without_answer("no answer before the deadline")
        except _FAILURES as failure:
            return progress.without_answer(request.question.shown(str(failure) or type(failure).__name__))

    async def _exchange(self, request: FunctionRequest, progress: _Progress) -> Answer:
        url = urlsplit(request.endpoint.url)
        pool = await self._pools.of(request.endpoint.private)
        async with pool.stream(
            "POST",
            _target(url),
            headers=_headers(url, request),
            content=request.body,
            extensions={"trace": progress.trace},
        ) as response:
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            return Answer(response.status, headers, await _read(response))

    async def close(self) -> None:
        """Let go of every connection."""
        await self._pools.close()


def _target(url: SplitResult) -> httpcore2.URL:
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return httpcore2.URL(scheme=url.scheme, host=url.hostname or "", port=url.port, target=path)


def _headers(url: SplitResult, request: FunctionRequest) -> list[tuple[str, str]]:
    endpoint = request.endpoint
    headers = [
        ("Host", url.netloc),
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity"),  # nothing is unpacked here, so nothing small can become large
        ("User-Agent", "tidings"),
        ("Idempotency-Key", request.key),
        *caller_headers(request.workspace),
        *signature_headers(endpoint.signing, request.workspace, request.key, int(time.time()), request.body),
    ]
    return [*headers, ("Authorization", f"Bearer {endpoint.secret}")] if endpoint.secret else headers


async def _read(response: httpcore2.Response) -> bytes | None:
    """The body, at most so much that it is seen to be too large; None when it broke off, for the status is known."""
    body = bytearray()
    try:
        async with aclosing(response.aiter_stream()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > LARGEST_ANSWER:
                    break
    except _FAILURES:
        return None
    return bytes(body)
