"""The time as a test or a simulation sets it; it never goes back."""

from datetime import UTC, datetime, timedelta

from tidings.domain.errors import InputInvalid

MONDAY_MORNING = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""Where a clock starts by default: always the same, so that a test is too."""


class VirtualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime = MONDAY_MORNING) -> None:
        self._time = _with_zone(start)

    @property
    def time(self) -> datetime:
        """The time."""
        return self._time

    async def now(self) -> datetime:
        """The time, as the engine asks for it."""
        return self._time

    def carried(self) -> datetime:
        """The time, for a check that must not wait."""
        return self._time

    def set(self, moment: datetime) -> None:
        """Go to a moment that is not before now."""
        moment = _with_zone(moment)
        if moment < self._time:
            raise InputInvalid(f"{moment} is before {self._time}: the clock does not go back; start a new engine there")
        self._time = moment

    def advance(self, by: timedelta = timedelta(), **parts: float) -> None:
        """Move forward: `advance(timedelta(days=3))`, or `advance(days=3, hours=1)`."""
        self.set(self._time + by + timedelta(**parts))


def _with_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise InputInvalid(f"{moment} has no time zone; write datetime(2026, 1, 5, 9, tzinfo=UTC)")
    return moment.astimezone(UTC)
