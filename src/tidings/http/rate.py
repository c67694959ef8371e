"""Limit how fast each key may ask: one bucket of tokens per key, in this process."""

import math
from collections.abc import Callable
from uuid import UUID

from tidings.http.errors import TooManyRequests

MOST_BUCKETS = 10_000


class RateLimit:
    """Tokens return at `per_second`; a second's worth may be spent at once. 0 means no limit."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._burst = max(per_second, 1.0)
        self._clock = clock
        self._buckets: dict[UUID, tuple[float, float]] = {}

    def spend(self, key: UUID) -> None:
        """Take one token of this key, or return when there will be one."""
        if not self._per_second:
            return
        now = self._clock()
        tokens, at = self._buckets.get(key, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._per_second)
        if tokens < 1:
            seconds = math.ceil((1 - tokens) / self._per_second)
            raise TooManyRequests(f"this key may ask {self._per_second:g} times a second; wait {seconds} s", seconds)
        if len(self._buckets) >= MOST_BUCKETS:
            self._buckets.clear()
        self._buckets[key] = (tokens - 1, now)
