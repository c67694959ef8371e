"""Limit how often one address may come with a wrong key, without locking out who comes from there with a right one.

A key that this process knows is let in at once. Any other costs the address a token, returned if the key is right. An
address without tokens is only let in with a key that is on the list of live keys, which is read for all of them
together every few seconds: a flood of wrong keys costs the database that, and no look-up of its own.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from starlette.types import Scope

from tidings.engine import Engine
from tidings.http.errors import TooManyRequests
from tidings.log import log
from tidings.resources.access import Identity

WRONG_AT_ONCE = 20
WRONG_PER_SECOND = 1 / 3
"""Of one address; an IPv6 network of 64 bits, which is one customer's, counts as one."""
ALL_WRONG_AT_ONCE = 200
ALL_WRONG_PER_SECOND = 50.0
"""Of all addresses together: whoever has very many of them makes the database look no more often."""
MOST_ADDRESSES = 10_000
LOGGED_EVERY_SECONDS = 60.0
LINES_EVERY_SECONDS = 1.0
REFUSAL = "tidings.refusal"
LONGEST_KEY = 500


@dataclass(slots=True)
class _Tries:
    """The tokens of an address, and the failures that the log does not know of yet."""

    left: float
    at: float
    unlogged: int = 0
    logged_at: float = -math.inf
    is_told: bool = False
    """Whether the log knows that it has none left."""

    def refill(self, now: float, per_second: float, most: float) -> None:
        self.left = min(most, self.left + (now - self.at) * per_second)
        self.at = now


class Guesses:
    """The failed tries of all addresses, as one process remembers them."""

    def __init__(self, engine: Engine, failed: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._failed, self._clock = engine, failed, clock
        self._all = _Tries(ALL_WRONG_AT_ONCE, clock())
        self._addresses: OrderedDict[str, _Tries] = OrderedDict()
        self._line_at = -math.inf

    async def identify(self, scope: Scope, secret: str) -> Identity | None:
        """Return the identity of a key, or None and leave in the scope why no other is looked up from there."""
        if identity := self._engine.access.recall(secret):
            return identity
        address = address_of(scope)
        tries = self._tries_of(address)
        if (is_free := self._take(tries)) or await self._engine.access.may_be_live(secret):
            identity = await self._look_up(tries, secret, is_free=is_free)
        else:
            scope[REFUSAL] = _refusal(tries)
        if identity is None:
            self._note(address, tries)
        return identity

    async def _look_up(self, tries: _Tries, secret: str, *, is_free: bool) -> Identity | None:
        identity = None
        is_wrong = len(secret) > LONGEST_KEY
        try:
            if not is_wrong:
                identity = await self._engine.access.authenticate(secret)
                is_wrong = identity is None
        finally:
            if is_free and not is_wrong:  # also where the database did not answer
                tries.left += 1
                self._all.left += 1
        return identity

    def _tries_of(self, address: str) -> _Tries:
        tries = self._addresses.pop(address, None) or _Tries(WRONG_AT_ONCE, self._clock())
        if len(self._addresses) >= MOST_ADDRESSES:
            self._addresses.popitem(last=False)  # the one that has not come for longest
        self._addresses[address] = tries
        return tries

    def _take(self, tries: _Tries) -> bool:
        """Take a token before the database is asked: many may ask at once."""
        now = self._clock()
        tries.refill(now, WRONG_PER_SECOND, WRONG_AT_ONCE)
        self._all.refill(now, ALL_WRONG_PER_SECOND, ALL_WRONG_AT_ONCE)
        if tries.left < 1 or self._all.left < 1:
            return False
        tries.left -= 1
        self._all.left -= 1
        return True

    def _note(self, address: str, tries: _Tries) -> None:
        """Count a failure, and log now and then: an address every minute and when it is limited, all every second."""
        self._failed()
        tries.unlogged += 1
        now, is_limited = self._clock(), tries.left < 1
        is_due = now - tries.logged_at >= LOGGED_EVERY_SECONDS or (is_limited and not tries.is_told)
        if is_due and now - self._line_at >= LINES_EVERY_SECONDS:
            log.warning("authentication_failed", address=address, failures=tries.unlogged, limited=is_limited)
            tries.unlogged, tries.logged_at, tries.is_told = 0, now, is_limited
            self._line_at = now


def address_of(scope: Scope) -> str:
    """Return whose tries a request counts among: its address, of IPv6 the network."""
    host = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def _refusal(tries: _Tries) -> TooManyRequests:
    seconds = max(1, math.ceil((1 - tries.left) / WRONG_PER_SECOND))
    return TooManyRequests(
        f"too many wrong keys came from this address; wait {seconds} s, or send a right one", seconds
    )
