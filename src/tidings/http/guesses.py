"""Limit how often one address may come with a wrong key, without locking out who comes from there with a right one.

A key that this process knows is let in at once. Any other costs the address a token, returned if the key is right. An
address without tokens is only let in with a key that is on the list of live keys, which is read for all of them
together every few seconds: a flood of wrong keys costs the database that, and no look-up of its own. The tokens in the
cookies of sessions are held to the same.
"""

import math
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Protocol, TypeVar

from starlette.types import Scope

from tidings.engine import Engine
from tidings.http.errors import TooManyRequests
from tidings.http.tries import Tries, TriesByName, TryLimits
from tidings.log import log
from tidings.resources.identity import Identity
from tidings.resources.session_memory import SignedIn

WRONG_AT_ONCE = 20
WRONG_PER_SECOND = 1 / 3
"""Of one address; an IPv6 network of 64 bits, which is one customer's, counts as one."""
ALL_WRONG_AT_ONCE = 200
ALL_WRONG_PER_SECOND = 50.0
"""Of all addresses together: whoever has very many of them makes the database look no more often."""
LOGGED_EVERY_SECONDS = 60.0
LINES_EVERY_SECONDS = 1.0
REFUSAL = "tidings.refusal"
LONGEST_KEY = 500

Found = TypeVar("Found")
Found_co = TypeVar("Found_co", covariant=True)


class Recognises(Protocol[Found_co]):
    """What knows to whom a secret belongs."""

    def recall(self, secret: str, /) -> Found_co | None:
        """Return whose it is, if that was looked up a moment ago."""

    async def may_be_live(self, secret: str, /) -> bool:
        """Return whether it was among the live ones some seconds ago."""

    async def authenticate(self, secret: str, /) -> Found_co | None:
        """Look up whose it is."""


class Guesses:
    """The failed tries of all addresses, as one process remembers them."""

    def __init__(self, engine: Engine, failed: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._failed, self._clock = engine, failed, clock
        limits = TryLimits(WRONG_AT_ONCE, WRONG_PER_SECOND, ALL_WRONG_AT_ONCE, ALL_WRONG_PER_SECOND)
        self._addresses = TriesByName(limits, clock)
        self._line_at = -math.inf

    async def identify(self, scope: Scope, secret: str) -> Identity | None:
        """Return the identity of a key, or None and leave in the scope why no other is looked up from there."""
        return await self._recognise(self._engine.access, scope, secret)

    async def identify_session(self, scope: Scope, token: str) -> SignedIn | None:
        """Return who is signed in with a cookie's token; None likewise."""
        return await self._recognise(self._engine.sessions, scope, token)

    async def _recognise(self, known: Recognises[Found], scope: Scope, secret: str) -> Found | None:
        if found := known.recall(secret):
            return found
        address = address_of(scope)
        tries = self._addresses.of(address)
        if (is_free := self._addresses.take(tries)) or await known.may_be_live(secret):
            found = await self._look_up(known, tries, secret, is_free=is_free)
        else:
            scope[REFUSAL] = self._refusal(tries)
        if found is None:
            self._note(address, tries)
        return found

    async def _look_up(self, known: Recognises[Found], tries: Tries, secret: str, *, is_free: bool) -> Found | None:
        found = None
        is_wrong = len(secret) > LONGEST_KEY
        try:
            if not is_wrong:
                found = await known.authenticate(secret)
                is_wrong = found is None
        finally:
            if is_free and not is_wrong:  # also where the database did not answer
                self._addresses.give_back(tries)
        return found

    def _note(self, address: str, tries: Tries) -> None:
        """Count a failure, and log now and then: an address every minute and when it is limited, all every second."""
        self._failed()
        tries.unlogged += 1
        now, is_limited = self._clock(), tries.left < 1
        is_due = now - tries.logged_at >= LOGGED_EVERY_SECONDS or (is_limited and not tries.is_told)
        if is_due and now - self._line_at >= LINES_EVERY_SECONDS:
            log.warning("authentication_failed", address=address, failures=tries.unlogged, limited=is_limited)
            tries.unlogged, tries.logged_at, tries.is_told = 0, now, is_limited
            self._line_at = now

    def _refusal(self, tries: Tries) -> TooManyRequests:
        seconds = self._addresses.seconds_left(tries)
        return TooManyRequests(
            f"too many wrong keys came from this address; wait {seconds} s, or send a right one", seconds
        )


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
