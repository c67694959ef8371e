"""Tokens for tries that may fail: so many at once for each name, one back now and then, and a limit for all."""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MOST_NAMES = 10_000


@dataclass(slots=True)
class Tries:
    """The tokens of one name, and the failures that the log does not know of yet."""

    left: float
    at: float
    unlogged: int = 0
    logged_at: float = -math.inf
    is_told: bool = False
    """Whether the log knows that it has none left."""

    def refill(self, now: float, per_second: float, most: float) -> None:
        """Add what has come since."""
        self.left = min(most, self.left + (now - self.at) * per_second)
        self.at = now


@dataclass(frozen=True, slots=True)
class TryLimits:
    """How many tries one name has at once and a second, and all of them together."""

    at_once: float
    per_second: float
    all_at_once: float = math.inf
    all_per_second: float = 0.0


class TriesByName:
    """The tries of all names, as one process remembers them."""

    def __init__(self, limits: TryLimits, clock: Callable[[], float]) -> None:
        self._limits, self._clock = limits, clock
        self._all = Tries(limits.all_at_once, clock())
        self._names: OrderedDict[str, Tries] = OrderedDict()

    def of(self, name: str) -> Tries:
        """Return the tries of a name, at first all that it may have."""
        tries = self._names.pop(name, None) or Tries(self._limits.at_once, self._clock())
        if len(self._names) >= MOST_NAMES:
            self._names.popitem(last=False)  # the one that has not come for longest
        self._names[name] = tries
        return tries

    def take(self, tries: Tries) -> bool:
        """Take a token before anything is asked: many may ask at once."""
        now, limits = self._clock(), self._limits
        tries.refill(now, limits.per_second, limits.at_once)
        self._all.refill(now, limits.all_per_second, limits.all_at_once)
        if tries.left < 1 or self._all.left < 1:
            return False
        tries.left -= 1
        self._all.left -= 1
        return True

    def give_back(self, tries: Tries) -> None:
        """Return a token: the try was no failure."""
        tries.left += 1
        self._all.left += 1

    def seconds_left(self, tries: Tries) -> int:
        """Return after how many seconds there is another token."""
        return max(1, math.ceil((1 - tries.left) / self._limits.per_second))
