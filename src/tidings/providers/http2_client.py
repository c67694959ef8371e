"""Calls over HTTP/2, for vendors that speak nothing else: one connection to each host, which many calls share.

It keeps the promises of http_client.py: whether a call began is told here, `may_start` is asked right before the first
byte, nothing is sent again by itself, no redirect is followed, and no private address is reached that the request does
not allow. A connection that was silent for a while is asked for a sign of life first, since what is written to one
that has ended unnoticed is in doubt.
"""

import asyncio
import ssl
from functools import partial

from tidings.domain.flow.provider import MayStart
from tidings.domain.private_addresses import PrivateAddresses
from tidings.providers.guard import AddressRefused, Resolver, connect_checked, resolve
from tidings.providers.http2_connection import Http2Connection
from tidings.providers.http_request import LATE, AddressClosed, HttpEnd, HttpRequest, LeaseSpent, NotSent
from tidings.providers.http_target import HttpTarget, target_of

_SILENT_SECONDS = 5.0
_SIGN_OF_LIFE_SECONDS = 5.0
_MOST_CONNECTIONS = 5
"""For one call: a server that ends each as soon as it is open must not have us knock until the deadline."""
_Key = tuple[bool, str, int, PrivateAddresses]
_Opened = Http2Connection | AddressClosed | NotSent


class Http2Client:
    """One connection for each host; over TLS when the address says so, else with prior knowledge (h2c)."""

    def __init__(self, *, tls_context: ssl.SSLContext | None = None, resolver: Resolver = resolve) -> None:
        self._tls_context = tls_context or ssl.create_default_context()
        self._tls_context.set_alpn_protocols(["h2"])
        self._resolver = resolver
        # A connection to a private address that one workspace may call must not serve another that may not.
        self._kept: dict[_Key, Http2Connection] = {}
        self._opening: dict[_Key, asyncio.Task[_Opened]] = {}

    async def send(self, request: HttpRequest, until: float, may_start: MayStart) -> HttpEnd:
        """Make one call that ends by `until` on the loop's clock; `may_start` is asked right before the first byte."""
        try:
            target = target_of(request.url)
            headers = _headers(request, target)
        except ValueError as error:
            return NotSent(str(error))
        try:
            async with asyncio.timeout_at(until):
                connection = await self._free_connection(target, request.private, until)
        except TimeoutError:
            return NotSent(LATE)
        if not isinstance(connection, Http2Connection):
            return connection
        # Nothing may be awaited from here to the first byte: the lease would not be what it was.
        return await connection.exchange(request, headers, until) if may_start() else LeaseSpent()

    async def close(self) -> None:
        """Let go of every connection."""
        for task in self._opening.values():
            task.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        for connection in self._kept.values():
            connection.close()
        self._kept.clear()

    async def _free_connection(self, target: HttpTarget, private: PrivateAddresses, until: float) -> _Opened:
        """Return a connection that takes a request at once; a new one where the kept one takes none any more."""
        key = (target.is_tls, target.host, target.port, private)
        for _ in range(_MOST_CONNECTIONS):
            connection = await self._connection(key, target, until)
            if not isinstance(connection, Http2Connection):
                return connection
            await connection.until_free()
            if connection.is_usable:
                return connection
        return NotSent(f"the server ended {_MOST_CONNECTIONS} connections before a request")

    async def _connection(self, key: _Key, target: HttpTarget, until: float) -> _Opened:
        kept = self._kept.get(key)
        if kept is not None and await _is_alive(kept):
            return kept
        if kept is not None and self._kept.get(key) is kept:
            del self._kept[key]  # those it still answers are waited for; it ends with the last
        if key not in self._opening:
            self._opening[key] = asyncio.create_task(self._open(key, target, until))
        # A caller that is cancelled must not take the connection from the others.
        return await asyncio.shield(self._opening[key])

    async def _open(self, key: _Key, target: HttpTarget, until: float) -> _Opened:
        dial = partial(self._dial, target)
        try:
            async with asyncio.timeout_at(until):
                opened = await connect_checked(target.host, target.port, key[3], dial, self._resolver)
        except AddressRefused as refused:
            return AddressClosed(str(refused))
        except (OSError, ValueError) as failure:  # ValueError: a name that TLS cannot be spoken to
            return NotSent(str(failure) or LATE)
        finally:
            del self._opening[key]
        self._kept[key] = opened
        return opened

    async def _dial(self, target: HttpTarget, address: str) -> Http2Connection:
        """Connect to an address; TLS still speaks to the name."""
        tls, name = (self._tls_context, target.host) if target.is_tls else (None, None)
        loop = asyncio.get_running_loop()
        transport, connection = await loop.create_connection(
            Http2Connection, address, target.port, ssl=tls, server_hostname=name
        )
        spoken = transport.get_extra_info("ssl_object")
        if spoken is not None and spoken.selected_alpn_protocol() != "h2":
            transport.abort()
            raise ConnectionError("the server does not speak HTTP/2")
        try:
            await connection.until_ready()
        except BaseException:
            transport.abort()
            raise
        return connection


async def _is_alive(connection: Http2Connection) -> bool:
    """Whether a kept connection still answers; one that spoke a moment ago is not asked."""
    if asyncio.get_running_loop().time() - connection.heard_at < _SILENT_SECONDS:
        return connection.is_usable
    try:
        async with asyncio.timeout(_SIGN_OF_LIFE_SECONDS):
            await connection.ping()
    except (TimeoutError, ConnectionError):
        connection.retire()
    return connection.is_usable


def _headers(request: HttpRequest, target: HttpTarget) -> list[tuple[str, str]]:
    """The head of a request; raise ValueError for what could be read as another header."""
    length = [("content-length", str(len(request.body)))] if request.body or request.method != "GET" else []
    head = [
        (":method", request.method),
        (":scheme", "https" if target.is_tls else "http"),
        (":authority", target.netloc),
        (":path", target.path),
        ("user-agent", "tidings"),
        *((name.lower(), value) for name, value in request.headers),
        *length,
    ]
    if not all(part.isascii() and part.isprintable() for one in head for part in one) or " " in target.path:
        raise ValueError("the address or a header holds a character that cannot be sent")
    return head
