"""Which connections are open, and from where: never more than there are files for, nor all of them from one address."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address, ip_network


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be."""

    most: int
    of_an_address: int
    proxies: Collection[str] = ()
    """Addresses and networks whose connections are other people's, and have no limit of their own."""


class OpenConnections:
    """Counts the connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._proxies = [ip_network(one, strict=False) for one in limits.proxies]
        self._by_address: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many are open."""
        return self._by_address.total()

    def add(self, address: str) -> str | None:
        """Count one more; return what is wrong if there are too many with it. Each must be removed again."""
        self._by_address[address] += 1
        if self.count > self._limits.most:
            return f"this server has {self._limits.most:,} connections open; come again later"
        if self._by_address[address] > self._limits.of_an_address and not self._is_proxy(address):
            return f"{self._limits.of_an_address:,} connections from {address} are open; close one, or use it again"
        return None

    def remove(self, address: str) -> None:
        """Count one less."""
        self._by_address[address] -= 1
        if self._by_address[address] <= 0:
            del self._by_address[address]

    def _is_proxy(self, address: str) -> bool:
        try:
            return any(ip_address(address) in one for one in self._proxies)
        except ValueError:  # a socket without an address
            return True
