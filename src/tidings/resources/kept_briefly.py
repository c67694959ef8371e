"""Answers that are kept for a moment, so that many who ask for the same thing at once cost what one does."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")
MOST_KEPT = 1_000


class KeptBriefly(Generic[Key, Answer]):
    """The answers of the last seconds, by what was asked; who asks while one is being made waits for it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked: dict[Key, tuple[float, asyncio.Task[Answer]]] = {}

    async def get(self, key: Key, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer that is kept, or make it; a failure is everyone's who waits, and is not kept."""
        now = monotonic()
        asked_at, making = self._asked.get(key, (0.0, None))
        if making is None or (making.done() and not self._is_fresh(asked_at, making, now)):
            self._forget_old(now)
            making = asyncio.ensure_future(_made(make))
            self._asked[key] = now, making
        return await asyncio.shield(making)  # one who goes away must not take it from the others

    def _is_fresh(self, asked_at: float, made: asyncio.Task[Answer], now: float) -> bool:
        return now - asked_at < self._seconds and not made.cancelled() and made.exception() is None

    def _forget_old(self, now: float) -> None:
        if len(self._asked) >= MOST_KEPT:
            self._asked = {key: one for key, one in self._asked.items() if now - one[0] < self._seconds}


async def _made(make: Callable[[], Awaitable[Answer]]) -> Answer:
    return await make()
