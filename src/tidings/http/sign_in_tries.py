"""Limit how often somebody may try to sign in: each address, each account, and all together.

An account is counted whether or not there is one, so that a refusal says nothing. Computing a password's hash is
expensive on purpose: the limit on all tries keeps a flood of them from taking the processors.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

from starlette.types import Scope

from tidings.http.errors import LinkInvalid, SignInFailed, TooManyRequests, WrongPassword
from tidings.http.guesses import address_of
from tidings.http.tries import Tries, TriesByName, TryLimits
from tidings.log import log

OF_AN_ADDRESS = TryLimits(at_once=20, per_second=1 / 3, all_at_once=40, all_per_second=8.0)
OF_AN_ACCOUNT = TryLimits(at_once=10, per_second=1 / 30)


class SignInTries:
    """The failed tries to sign in, as one process remembers them."""

    def __init__(self, failed: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._failed = failed
        self._addresses = TriesByName(OF_AN_ADDRESS, clock)
        self._accounts = TriesByName(OF_AN_ACCOUNT, clock)

    @contextmanager
    def spending(self, scope: Scope, account: str | None = None) -> Iterator[None]:
        """Spend a token of the address and of the account, if any; they come back unless the try failed."""
        spent: list[tuple[TriesByName, Tries]] = []
        self._take(spent, self._addresses, address_of(scope), "this address")
        if account is not None:
            self._take(spent, self._accounts, sha256(account.casefold().encode()).hexdigest(), "this account")
        try:
            yield
        except (SignInFailed, LinkInvalid, WrongPassword):
            self._failed()
            log.warning("sign_in_failed", address=address_of(scope))
            raise
        except BaseException:
            _give_back(spent)
            raise
        _give_back(spent)

    def _take(self, spent: list[tuple[TriesByName, Tries]], kept: TriesByName, name: str, shown: str) -> None:
        tries = kept.of(name)
        if kept.take(tries):
            spent.append((kept, tries))
            return
        _give_back(spent)
        seconds = kept.seconds_left(tries)
        raise TooManyRequests(f"{shown} has had too many tries to sign in; wait {seconds} s", seconds)


def _give_back(spent: list[tuple[TriesByName, Tries]]) -> None:
    for kept, tries in spent:
        kept.give_back(tries)
