"""Call a function over HTTP, and say what it means when no answer comes.

http_client.py tells how far a call came: what was not sent is a safe retry, and what was sent without an answer is in
doubt. function_answer.py reads the answers.
"""

import ssl
import time
from dataclasses import dataclass
from typing import assert_never

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import MayStart
from tidings.domain.workflows.function import Endpoint
from tidings.domain.workflows.signing import caller_headers, signature_headers
from tidings.providers.function_answer import LARGEST_ANSWER, Question
from tidings.providers.guard import REMEDY, Resolver, resolve
from tidings.providers.http_client import HttpClient
from tidings.providers.http_request import AddressClosed, HttpAnswer, HttpRequest, LeaseSpent, NoAnswer, NotSent


@dataclass(frozen=True, slots=True)
class FunctionRequest:
    """What is sent where: the body, and the key that is the same at every attempt."""

    endpoint: Endpoint
    question: Question
    body: bytes
    key: str
    workspace: Workspace


class FunctionCaller:
    """Connections to whatever functions there are; only calls that may be repeated use one twice."""

    def __init__(
        self,
        *,
        connections: int,
        keep_connections: bool,
        tls_context: ssl.SSLContext | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        self._http = HttpClient(
            connections=connections, keeps_connections=keep_connections, tls_context=tls_context, resolver=resolver
        )

    async def call(self, request: FunctionRequest, until: float, may_start: MayStart) -> HttpAnswer | Outcome:
        """Make one call that ends by `until` on the loop's clock; return the answer, or what the lack of one means."""
        end = await self._http.send(_http_request(request), until, may_start)
        match end:
            case HttpAnswer():
                return end
            case LeaseSpent():
                return RetryLater("the lease was spent before the call", uses_attempt=False)
            case AddressClosed(reason):
                return Rejected(f"{reason}, and was not called: {REMEDY}")
            case NotSent(reason):
                shown = request.question.shown(reason)
                return RetryLater(f"{shown} (before the request was sent)", is_unanswered=True)
            case NoAnswer(reason):
                shown = request.question.shown(reason)
                return Unknown(f"{shown} (after the request was sent)", is_unanswered=True)
            case _:
                assert_never(end)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._http.close()


def _http_request(request: FunctionRequest) -> HttpRequest:
    endpoint = request.endpoint
    headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
        ("Idempotency-Key", request.key),
        *caller_headers(request.workspace),
        *signature_headers(endpoint.signing, request.workspace, request.key, int(time.time()), request.body),
    ]
    if endpoint.secret:
        headers.append(("Authorization", f"Bearer {endpoint.secret}"))
    return HttpRequest("POST", endpoint.url, headers, request.body, endpoint.private, LARGEST_ANSWER)
