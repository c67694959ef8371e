"""Lets no call reach a private address: looked up, checked and connected to in one step.

The name is resolved once, every address of the answer is checked, and the connection goes to a checked address, so a
name that resolves otherwise a moment later gains nothing. TLS still speaks to the name, because only the address of
the connection is replaced. There is no other way out: no proxies, no redirects, no local sockets.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpcore2

from tidings.domain.private_addresses import METADATA, NO_PRIVATE_ADDRESSES, Address, PrivateAddresses

MOST_POOLS = 100
REMEDY = (
    "use a public one, or let the operator open it with `tidings workspaces set --allow-private`, or for the functions "
    "of the settings with TIDINGS_ALLOW_PRIVATE_ADDRESSES"
)
Resolver = Callable[[str, int], Awaitable[list[str]]]

# Listed, not asked of `ipaddress`, whose answers about 100.64/10, 192.0.0/24 and mapped addresses have changed.
_CLOSED_V4 = [
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
]
_OPEN_V6 = ip_network("2000::/3")  # all that was ever given out; loopback, local, link-local, multicast are outside
_CLOSED_V6 = [ip_network(network) for network in ("2001::/23", "2001:db8::/32", "3fff::/20")]
_NAT64 = ip_network("64:ff9b::/96")
_6TO4 = ip_network("2002::/16")


class AddressRefused(Exception):
    """The host has a private address; which one is not said, as it would map the network for the caller."""


def is_public(address: Address) -> bool:
    """Whether an address belongs to the open internet, and so does the one embedded in it, if any."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    embedded = _embedded(address)
    if embedded is not None:
        return is_public(embedded)
    return address in _OPEN_V6 and not any(address in network for network in _CLOSED_V6)


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a network would translate this one to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return IPv4Address(int(address) >> 80 & 0xFFFF_FFFF) if address in _6TO4 else None


async def resolve(host: str, port: int) -> list[str]:
    """Every address of a host, in the system's order of preference."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to public addresses, and to the private ones that are allowed."""

    def __init__(self, allowed: PrivateAddresses = NO_PRIVATE_ADDRESSES, *, resolver: Resolver = resolve) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of the host that answers, or refuse them all."""
        failure: Exception = httpcore2.ConnectError("the host has no address")
        for address in await self._checked_addresses(host, port):
            try:
                stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
                return _TidyStream(stream)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: a local socket is as private as can be."""
        raise AddressRefused("local sockets cannot be called")

    async def sleep(self, seconds: float) -> None:
        """Wait, as the pool asks for between two tries."""
        await asyncio.sleep(seconds)

    async def _checked_addresses(self, host: str, port: int) -> list[str]:
        try:
            addresses = await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"the host cannot be looked up: {error}") from error
        # One bad address spoils them all: a name that is half private is not a slip but an attempt.
        if not all(self._may_reach(host, ip_address(address)) for address in addresses):
            raise AddressRefused("the host has a private address")
        return addresses

    def _may_reach(self, host: str, address: Address) -> bool:
        meant = (isinstance(address, IPv6Address) and _embedded(address)) or address
        return (is_public(meant) and meant not in METADATA) or self._allowed.allow(host, meant)


class GuardedPools:
    """Pools of connections, one for each list of private addresses.

    A connection to a private address that one workspace may call must not be used for another that may not.
    """

    def __init__(self, resolver: Resolver = resolve, **options: Any) -> None:
        self._resolver, self._options = resolver, options
        self._pools: dict[PrivateAddresses, httpcore2.AsyncConnectionPool] = {}

    async def of(self, allowed: PrivateAddresses) -> httpcore2.AsyncConnectionPool:
        """Return the pool of calls that may reach these."""
        pool = self._pools.pop(allowed, None)
        if pool is None:
            await self._make_room()
            network = GuardedNetwork(allowed, resolver=self._resolver)
            pool = self._pools.get(allowed) or httpcore2.AsyncConnectionPool(network_backend=network, **self._options)
        self._pools[allowed] = pool  # the last used stands last
        return pool

    async def close(self) -> None:
        """Let go of every connection."""
        for pool in self._pools.values():
            await pool.aclose()

    async def _make_room(self) -> None:
        """Close the pool that was idle longest, if there are many."""
        if len(self._pools) < MOST_POOLS:
            return
        idle = (key for key, pool in self._pools.items() if all(one.is_idle() for one in pool.connections))
        if (oldest := next(idle, None)) is not None:
            await self._pools.pop(oldest).aclose()


class _TidyStream(httpcore2.AsyncNetworkStream):
    """A connection that is closed when a deadline cuts off its TLS handshake, which the backend would forget to do."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            await self._stream.aclose()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
