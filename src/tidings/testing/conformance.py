"""A conformance kit for providers that speak HTTP: whatever their server does, the outcome is the honest one.

An author gives what makes the provider, an item, the answer that means success, and every documented error with the
outcome it must become; `nonconformities` plays these and each fault of a network against a real server on this machine,
and returns what is wrong, so that a test is `assert await nonconformities(case) == []`.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Keyed, MayStart, Provider
from tidings.testing.scripted_http import Break, HttpReply, HttpSeen, ScriptedReplies, scripted_server

PATIENCE = timedelta(seconds=30)
SHORT = timedelta(seconds=1)
"""The deadline of calls to servers that hang: only these wait for it."""
Wrong: TypeAlias = AsyncIterator[str]


@dataclass(frozen=True, slots=True)
class DocumentedAnswer:
    """An answer that the vendor's documents list, and the outcome it must become."""

    name: str
    reply: HttpReply
    outcome: Outcome | type[Outcome]
    """A type where only the kind matters; an outcome where its fields other than the reason matter too."""


@dataclass(frozen=True, slots=True)
class ConformanceCase:
    """A provider to be tried."""

    make: Callable[[str, timedelta], Provider]
    """Makes the provider for a server's address and a deadline; it must be allowed to call loopback addresses."""
    item: Marked | Callable[[str], Marked]
    """The item, or what makes it for a server's address where recipients name the hosts."""
    accepted: HttpReply
    documented: Sequence[DocumentedAnswer]
    before: Sequence[HttpReply] = ()
    """What the server answers before the call itself, as to the question for a token."""
    message_id: str | None = None
    serve: Callable[..., AbstractAsyncContextManager[ScriptedReplies]] = scripted_server
    """What runs the server; `scripted_h2_server` for a provider that speaks HTTP/2."""
    calls_many_hosts: bool = False
    """Whether recipients name the hosts: one that cannot be reached is RetryLater, and stops no other."""
    secrets: Sequence[str] = field(default=(), repr=False)
    """What must not be found in any reason, though the server repeats it."""


async def nonconformities(case: ConformanceCase) -> list[str]:
    """Return everything that the provider does otherwise than it must, in words."""
    checks = (_success, _documented, _not_begun, _no_whole_answer, _by_status, _lease, _secrets, _recipient)
    return [wrong for check in checks async for wrong in check(case)]


async def _success(case: ConformanceCase) -> Wrong:
    outcome, seen = await _call(case, case.accepted)
    if not isinstance(outcome, Accepted) or outcome.message_id != case.message_id:
        yield f"the answer that means success became {outcome}, not Accepted({case.message_id!r})"
    elif len(seen) != len(case.before) + 1:
        yield f"{len(seen)} requests were made instead of {len(case.before) + 1}"
    again, repeated = await _call(case, case.accepted)
    is_keyed = isinstance(case.make("http://127.0.0.1:9", SHORT).provider_class, Keyed)
    if is_keyed and again == outcome and seen[-1].body != repeated[-1].body:
        yield "it is keyed, and a repeat has another body"


async def _documented(case: ConformanceCase) -> Wrong:
    for one in case.documented:
        outcome, _ = await _call(case, one.reply)
        if not _is_as_documented(one.outcome, outcome):
            yield f"{one.name}: became {outcome}, not {one.outcome}"


def _is_as_documented(wanted: Outcome | type[Outcome], outcome: Outcome) -> bool:
    if isinstance(wanted, type):
        return isinstance(outcome, wanted)
    names = [name for name in type(wanted).__struct_fields__ if name not in ("reason", "kind")]
    return type(wanted) is type(outcome) and all(getattr(wanted, one) == getattr(outcome, one) for one in names)


async def _not_begun(case: ConformanceCase) -> Wrong:
    """What did not begin is the server's trouble: no attempt is used, and nothing is in doubt."""
    refused = f"http://127.0.0.1:{_closed_port()}"
    async with case.serve(HttpReply(leaves_off=Break.BEFORE_READING)) as silent:
        no_tls = silent.url.replace("http://", "https://")
        for what, url in (("a refused connection", refused), ("a TLS handshake that hangs", no_tls)):
            outcome = await _send(case, url, SHORT)
            if not _has_not_begun(case, outcome):
                wanted = "RetryLater(uses_attempt=False)" if case.calls_many_hosts else "Unavailable"
                yield f"{what} became {outcome}, not {wanted}"


def _has_not_begun(case: ConformanceCase, outcome: Outcome) -> bool:
    if case.calls_many_hosts:
        return isinstance(outcome, RetryLater) and not outcome.uses_attempt
    return isinstance(outcome, Unavailable)


async def _no_whole_answer(case: ConformanceCase) -> Wrong:
    """The request was sent, and nothing certain came back: only Unknown is honest."""
    for fault in (Break.AFTER_READING, Break.CLOSES, Break.HALF_A_HEAD, Break.HALF_A_BODY, Break.ENDLESS):
        deadline = SHORT if fault is Break.AFTER_READING else PATIENCE
        body = case.accepted.content or b"{}"
        reply = HttpReply(case.accepted.status, body, case.accepted.headers, leaves_off=fault)
        outcome, _ = await _call(case, reply, deadline)
        if not isinstance(outcome, Unknown):
            yield f"a server that {fault} became {outcome}, not Unknown"


async def _by_status(case: ConformanceCase) -> Wrong:
    """What every HTTP API may say, documented or not."""
    for headers, delay in (({}, None), ({"Retry-After": "7"}, timedelta(seconds=7))):
        outcome, _ = await _call(case, HttpReply(429, b"{}", headers))
        if not isinstance(outcome, RetryLater) or outcome.uses_attempt or (delay and outcome.delay != delay):
            yield f"429 with {headers or 'no Retry-After'} became {outcome}, not RetryLater(uses_attempt=False)"
    for status in (500, 502, 503, 504):
        outcome, _ = await _call(case, HttpReply(status, b"<html>oops</html>"))
        if isinstance(outcome, Accepted) or not _is_honest_after_5xx(case, status, outcome):
            yield f"{status} became {outcome}; without a document that says otherwise the message may have been taken"
    for status in (301, 307):
        outcome, seen = await _call(case, HttpReply(status, b"", {"Location": "/elsewhere"}))
        if isinstance(outcome, Accepted | Unknown) or any(one.path == "/elsewhere" for one in seen):
            yield f"a redirect became {outcome}; it must be refused and not followed"


def _is_honest_after_5xx(case: ConformanceCase, status: int, outcome: Outcome) -> bool:
    is_keyed = isinstance(case.make("http://127.0.0.1:9", SHORT).provider_class, Keyed)
    is_documented = any(one.reply.status == status for one in case.documented)
    return isinstance(outcome, Unknown) or is_keyed or is_documented


async def _lease(case: ConformanceCase) -> Wrong:
    """Without its lease nothing of the message may be handed over."""
    outcome, seen = await _call(case, case.accepted, may_start=lambda: False)
    if not isinstance(outcome, RetryLater) or outcome.uses_attempt or len(seen) > len(case.before):
        yield f"a spent lease became {outcome} after {len(seen)} requests, not RetryLater(uses_attempt=False)"


async def _secrets(case: ConformanceCase) -> Wrong:
    """A server that repeats what it was sent must not get our secrets into a reason, which is stored."""
    for status in (400, 401, 403, 500):
        outcome, _ = await _call(case, HttpReply(status, {"message": " ".join(case.secrets), "error": case.secrets}))
        if any(secret in str(outcome) for secret in case.secrets):
            yield f"the reason of a {status} repeats a secret"


async def _recipient(case: ConformanceCase) -> Wrong:
    """The reason of what is not about the item is shown to operators, who must not read there whom it was for."""
    if not isinstance(case.item, Marked):
        return  # it names the host itself, whose trouble is not shown to operators
    recipient = case.item.recipient
    for status in (401, 403, 404, 503):
        words = f"not to {recipient}"
        outcome, _ = await _call(case, HttpReply(status, {"message": words, "error": words, "errors": [words]}))
        if isinstance(outcome, Unavailable) and recipient in outcome.reason:
            yield f"the reason of a {status}, which is Unavailable, names the recipient"


async def _call(
    case: ConformanceCase, reply: HttpReply, deadline: timedelta = PATIENCE, may_start: MayStart = lambda: True
) -> tuple[Outcome, list[HttpSeen]]:
    async with case.serve(*case.before, reply) as server:
        outcome = await _send(case, server.url, deadline, may_start)
        return outcome, server.seen


async def _send(case: ConformanceCase, url: str, deadline: timedelta, may_start: MayStart = lambda: True) -> Outcome:
    provider = case.make(url, deadline)
    item = case.item if isinstance(case.item, Marked) else case.item(url)
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await provider.send(item, may_start)
    finally:
        with suppress(Exception):
            await provider.close()


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
