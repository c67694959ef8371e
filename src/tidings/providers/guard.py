"""Lets no call reach a private address: looked up, checked and connected to in one step.

The name is resolved once, every address of the answer is checked, and the connection goes to a checked address, so a
name that resolves otherwise a moment later gains nothing. TLS still speaks to the name, because only the address of
the connection is replaced. There is no other way out: no proxies, no redirects, no local sockets.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeVar

from tidings.domain.private_addresses import METADATA, Address, PrivateAddresses

REMEDY = (
    "use a public one, or let the operator open it with `tidings workspaces set --allow-private`, or for the functions "
    "of the settings with TIDINGS_ALLOW_PRIVATE_ADDRESSES"
)
Resolver = Callable[[str, int], Awaitable[list[str]]]
Connected = TypeVar("Connected")

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


async def connect_checked(
    host: str,
    port: int,
    allowed: PrivateAddresses,
    dial: Callable[[str], Awaitable[Connected]],
    resolver: Resolver = resolve,
) -> Connected:
    """Dial the addresses of a host in turn until one answers; raise AddressRefused if one of them is private.

    `dial` gets an address, never the name, and raises OSError where none answers; so does this.
    """
    failure = OSError("the host has no address")
    for address in await _checked_addresses(host, port, allowed, resolver):
        try:
            return await dial(address)
        except ssl.SSLCertVerificationError:
            raise  # the host is there, and is not who it should be
        except OSError as error:
            failure = error
    raise failure


async def _checked_addresses(host: str, port: int, allowed: PrivateAddresses, resolver: Resolver) -> list[str]:
    try:
        addresses = await resolver(host, port)
    except (OSError, UnicodeError) as error:
        raise OSError(f"the host cannot be looked up: {error}") from error
    # One bad address spoils them all: a name that is half private is not a slip but an attempt.
    if not all(_may_reach(host, ip_address(address), allowed) for address in addresses):
        raise AddressRefused("the host has a private address")
    return addresses


def _may_reach(host: str, address: Address, allowed: PrivateAddresses) -> bool:
    meant = (isinstance(address, IPv6Address) and _embedded(address)) or address
    return (is_public(meant) and meant not in METADATA) or allowed.allow(host, meant)
