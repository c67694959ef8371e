"""Which private addresses may be called: networks, single addresses and host names, each named by the operator.

A function's or an attachment's URL is a tenant's; what it may reach inside the network is the operator's to say, for
one workspace at a time. The addresses at which clouds hand out credentials open only where they are named themselves.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.messages import quoted

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MOST_ENTRIES = 100
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
METADATA = frozenset(
    ip_address(one)
    # AWS, Google and most others; AWS over IPv6; Alibaba; Oracle; Azure's, which is no private address.
    for one in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
) | frozenset(ip_address(one) for one in ("169.254.170.2", "169.254.170.23", "fd00:ec2::23"))  # AWS containers


@dataclass(frozen=True, slots=True)
class PrivateAddresses:
    """The private addresses that calls may go to; none unless named. `everything` is the operator's own switch."""

    networks: frozenset[Network] = frozenset()
    hosts: frozenset[str] = frozenset()
    everything: bool = False

    def allow(self, host: str, address: Address) -> bool:
        """Whether a private address may be called, for a URL with this host."""
        if address in METADATA:
            return any(network.num_addresses == 1 and address in network for network in self.networks)
        if self.everything or host.lower().rstrip(".") in self.hosts:
            return True
        return any(address.version == network.version and address in network for network in self.networks)


NO_PRIVATE_ADDRESSES = PrivateAddresses()
EVERY_PRIVATE_ADDRESS = PrivateAddresses(everything=True)
FindPrivateAddresses = Callable[[Workspace], Awaitable[PrivateAddresses]]
"""Return the private addresses that a workspace's own URLs may have."""


async def no_private_addresses(_: Workspace) -> PrivateAddresses:
    """Open none to anybody: what holds where nothing else is given."""
    return NO_PRIVATE_ADDRESSES


def private_addresses(entries: Iterable[str]) -> PrivateAddresses:
    """Return what a checked list of entries opens."""
    networks: set[Network] = set()
    hosts: set[str] = set()
    for entry in entries:
        network = _network(entry)
        if network is None:
            hosts.add(entry.lower().rstrip("."))
        else:
            networks.add(network)
    return PrivateAddresses(frozenset(networks), frozenset(hosts))


def check_private_addresses(entries: Sequence[str]) -> list[str]:
    """Return the entries as they are stored, each once; refuse those that name neither addresses nor a host."""
    if len(entries) > MOST_ENTRIES:
        raise FieldsInvalid([Problem("privateAddresses", f"has {len(entries)} entries; use at most {MOST_ENTRIES}")])
    problems = [
        Problem(f"privateAddresses[{place}]", f"{quoted(entry)} is no network, address or host name; {_LIKE}")
        for place, entry in enumerate(entries)
        if _network(entry) is None and not _is_host(entry)
    ]
    if problems:
        raise FieldsInvalid(problems)
    return list(dict.fromkeys(str(_network(entry) or entry.lower().rstrip(".")) for entry in entries))


_LIKE = "write it like 10.1.0.0/16, 127.0.0.1 or functions.internal"


def _network(entry: str) -> Network | None:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def _is_host(entry: str) -> bool:
    """Whether it is a host name; what looks like a mistyped address is none."""
    return _HOST.fullmatch(entry.lower()) is not None and not re.fullmatch(r"[0-9.]+", entry)
