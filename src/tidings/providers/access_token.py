"""A token that a vendor hands out for a while: asked for once for many callers, and anew shortly before it ends."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from tidings.domain.flow.outcome import Outcome

LONGEST_MARGIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token, and how long it holds from now on."""

    text: str = field(repr=False)
    holds: timedelta


FetchToken = Callable[[], Awaitable[AccessToken | Outcome]]


class TokenCache:
    """The token of one connection; whoever needs it while it is being fetched waits for the same answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._token: AccessToken | None = None
        self._fresh_until = 0.0
        self._fetching: asyncio.Task[AccessToken | Outcome] | None = None

    async def get(self, fetch: FetchToken) -> AccessToken | Outcome:
        """Return the token, fetched by the first caller who finds none; an outcome when it could not be had."""
        if self._token is not None and self._clock() < self._fresh_until:
            return self._token
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch(fetch))
        # A caller that is cancelled must not take the token from the others.
        return await asyncio.shield(self._fetching)

    def forget(self) -> None:
        """Fetch a new one next time: the vendor no longer takes this one."""
        self._token = None

    async def _fetch(self, fetch: FetchToken) -> AccessToken | Outcome:
        try:
            got = await fetch()
            if isinstance(got, AccessToken):
                # It may end on its way: a tenth of its time, at most some minutes, is left unused.
                usable = got.holds - min(got.holds / 10, LONGEST_MARGIN)
                self._token, self._fresh_until = got, self._clock() + usable.total_seconds()
            return got
        finally:
            self._fetching = None
