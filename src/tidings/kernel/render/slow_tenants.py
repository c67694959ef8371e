"""Which tenants have expensive templates, and until when: they render in a process of their own."""

from collections.abc import Callable
from dataclasses import dataclass

FIRST_SECONDS = 60.0
LONGEST_SECONDS = 3_600.0
MOST_TENANTS = 10_000


@dataclass(frozen=True, slots=True)
class _Penalty:
    until: float
    seconds: float


class SlowTenants:
    """Remembers who was slow: for a minute, and for twice as long each time it happens again soon after."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._penalties: dict[str, _Penalty] = {}

    def has(self, tenant: str) -> bool:
        """Return whether a tenant is to render apart."""
        found = self._penalties.get(tenant)
        return found is not None and self._clock() < found.until

    def add(self, tenant: str) -> None:
        """Note that a tenant was slow now; for as long as it stays slow, its time starts anew."""
        now, known = self._clock(), self._penalties.get(tenant)
        seconds = FIRST_SECONDS
        if known:
            again = now >= known.until  # it came back, and was slow at once
            seconds = min(2 * known.seconds, LONGEST_SECONDS) if again else known.seconds
        if len(self._penalties) >= MOST_TENANTS:
            self._penalties = {one: penalty for one, penalty in self._penalties.items() if now < penalty.until}
        self._penalties[tenant] = _Penalty(now + seconds, seconds)
