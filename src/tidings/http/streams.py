"""Limit how many executions are followed at once: each stream is a connection and reads the database twice a second."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from tidings.http.errors import TooManyRequests

MOST_OF_A_KEY = 100
MOST = 1_000
COME_AGAIN_SECONDS = 15


class Streams:
    """The streams of one process, by key."""

    def __init__(self) -> None:
        self._open: Counter[UUID] = Counter()

    def require_room(self, key: UUID) -> None:
        """Raise if there are too many streams already."""
        if self._open[key] >= MOST_OF_A_KEY:
            raise TooManyRequests(f"this key follows {MOST_OF_A_KEY} executions already; end one", COME_AGAIN_SECONDS)
        if self._open.total() >= MOST:
            raise TooManyRequests(f"this server has {MOST:,} streams open; come again later", COME_AGAIN_SECONDS)

    @contextmanager
    def one_more(self, key: UUID) -> Iterator[None]:
        """Count a stream for as long as it lasts."""
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
