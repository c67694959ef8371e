"""Calls over HTTP/1.1, for every provider that makes any: one request for one call, and how far it came.

Whether anything was written is told here and nowhere else. Until the first byte (look-up, connection, TLS, lease)
nothing has started; after it, only an answer says what happened (http_request.py has the ends by name). Nothing is sent
again by itself, no redirect is followed, no proxy of the environment asked, nothing unpacked, and no private address
reached that the request does not allow (guard.py).
"""

import asyncio
import ssl
from collections import defaultdict
from functools import partial

from tidings.domain.flow.provider import MayStart
from tidings.domain.private_addresses import PrivateAddresses
from tidings.providers.deadline_timer import take_slot
from tidings.providers.guard import AddressRefused, Resolver, connect_checked, resolve
from tidings.providers.http_connection import HttpConnection
from tidings.providers.http_request import LATE, AddressClosed, HttpEnd, HttpRequest, LeaseSpent, NotSent
from tidings.providers.http_target import HttpTarget, target_of

_KEPT_SECONDS = 5.0
# Nothing is unpacked here, so nothing small can become large.
_OWN_HEADERS = "Accept-Encoding: identity\r\nUser-Agent: tidings\r\n"


_Key = tuple[bool, str, int, PrivateAddresses]


class HttpClient:
    """At most so many calls at once, over connections that are kept for a few seconds, if at all.

    A server may close an idle connection just when the next request is on its way, and then nothing shows whether it
    was read: only calls that may be repeated should share connections.
    """

    def __init__(
        self,
        *,
        connections: int,
        keeps_connections: bool,
        tls_context: ssl.SSLContext | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        self._tls_context = tls_context or ssl.create_default_context()  # made once: it reads every root certificate
        self._tls_context.set_alpn_protocols(["http/1.1"])
        self._resolver = resolver
        self._slots = asyncio.Semaphore(connections)
        self._most_idle = connections if keeps_connections else 0
        # A connection to a private address that one workspace may call must not serve another that may not.
        self._idle: dict[_Key, list[tuple[float, HttpConnection]]] = defaultdict(list)
        self._idle_count = 0
        self._sweeper: asyncio.TimerHandle | None = None

    async def send(self, request: HttpRequest, until: float, may_start: MayStart) -> HttpEnd:
        """Make one call that ends by `until` on the loop's clock; `may_start` is asked right before the first byte."""
        try:
            target = target_of(request.url)
            written = _written(request, target)
        except ValueError as error:
            return NotSent(str(error))
        try:
            await take_slot(self._slots, until)
        except TimeoutError:
            return NotSent(LATE)
        try:
            return await self._send(request, target, written, until, may_start)
        finally:
            self._slots.release()

    async def close(self) -> None:
        """Let go of every idle connection, and keep none from now on."""
        self._most_idle = 0
        self._close_idle(float("inf"))

    async def _send(
        self, request: HttpRequest, target: HttpTarget, written: bytes, until: float, may_start: MayStart
    ) -> HttpEnd:
        key = (target.is_tls, target.host, target.port, request.private)
        connection = self._take_idle(key)
        if connection is None:
            opened = await self._open(target, request.private, until)
            if not isinstance(opened, HttpConnection):
                return opened
            connection = opened
        try:
            return await connection.exchange(request, written, until) if may_start() else LeaseSpent()
        finally:
            self._put_back(key, connection)

    async def _open(
        self, target: HttpTarget, private: PrivateAddresses, until: float
    ) -> HttpConnection | AddressClosed | NotSent:
        dial = partial(self._dial, target)
        try:
            async with asyncio.timeout_at(until):
                return await connect_checked(target.host, target.port, private, dial, self._resolver)
        except AddressRefused as refused:
            return AddressClosed(str(refused))
        except (OSError, ValueError) as failure:  # ValueError: a name that TLS cannot be spoken to
            return NotSent(str(failure) or LATE)

    async def _dial(self, target: HttpTarget, address: str) -> HttpConnection:
        """Connect to an address; TLS still speaks to the name."""
        tls, name = (self._tls_context, target.host) if target.is_tls else (None, None)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            HttpConnection, address, target.port, ssl=tls, server_hostname=name
        )
        return connection

    # Idle connections

    def _take_idle(self, key: _Key) -> HttpConnection | None:
        """The connection that was used last, if it is still there: one that has ended is found out before a write."""
        waiting = self._idle.get(key)
        while waiting:
            kept_until, connection = waiting.pop()
            self._idle_count -= 1
            is_fresh = asyncio.get_running_loop().time() < kept_until
            if is_fresh and connection.is_reusable and connection.is_silent:
                return connection
            connection.abort()
        return None

    def _put_back(self, key: _Key, connection: HttpConnection) -> None:
        if not connection.is_reusable or self._idle_count >= self._most_idle:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        self._idle[key].append((loop.time() + _KEPT_SECONDS, connection))
        self._idle_count += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(_KEPT_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what was idle for long; one timer for all of them."""
        self._sweeper = None
        self._close_idle(loop.time())
        if self._idle_count:
            self._sweeper = loop.call_later(_KEPT_SECONDS, self._sweep, loop)

    def _close_idle(self, now: float) -> None:
        for key, waiting in list(self._idle.items()):
            for _, connection in (old := [one for one in waiting if one[0] <= now]):
                connection.abort()
            self._idle_count -= len(old)
            waiting[:] = waiting[len(old) :]  # the oldest stand first
            if not waiting:
                del self._idle[key]
        if self._sweeper is not None and not self._idle_count:
            self._sweeper.cancel()
            self._sweeper = None


def _written(request: HttpRequest, target: HttpTarget) -> bytes:
    """The request as bytes; raise ValueError for what could be read as another request, or as another header."""
    length = f"Content-Length: {len(request.body)}\r\n" if request.body or request.method != "GET" else ""
    lines = [f"{name}: {value}\r\n" for name, value in request.headers]
    head = f"{request.method} {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\n{_OWN_HEADERS}{''.join(lines)}{length}"
    flat = head.replace("\r\n", "")
    fits = len(head) - len(flat) == 2 * (4 + len(lines) + bool(length))
    if not fits or not flat.isascii() or not flat.isprintable() or " " in target.path:
        raise ValueError("the address or a header holds a character that cannot be sent")
    return f"{head}\r\n".encode("ascii") + request.body
