"""When to try again: one policy type, and the presets of the user's documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidings.domain.flow.outcome import RetryLater, Unavailable
from tidings.domain.flow.queue import Lane


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits of base × factorⁿ up to a cap, for so many attempts in all.

    `jitter` is the share of a wait that may be taken off, so that a thousand failures do not come back together.
    `patience` bounds the time spent on refusals that use no attempt (429).
    """

    attempts: int
    base: timedelta
    factor: float = 2.0
    cap: timedelta = timedelta(hours=1)
    jitter: float = 0.0
    patience: timedelta = timedelta(hours=24)

    def wait_after(self, attempt: int, spread: float = 0.0) -> timedelta:
        """How long to wait after the given attempt (1 is the first); `spread` in [0, 1) places it in the jitter."""
        grown = self.base.total_seconds() * self.factor ** min(attempt - 1, 64)
        return timedelta(seconds=min(grown, self.cap.total_seconds())) * (1 - self.jitter * spread)


SHORTEST_WAIT = timedelta(seconds=3)
"""What a provider that says "try again at once" gets: free refusals must not become a loop without a pause."""

GRAPH = RetryPolicy(attempts=3, base=timedelta(seconds=10), jitter=0.1)
STEPS = RetryPolicy(attempts=4, base=timedelta(seconds=10), jitter=0.1)
"""The policy of workflow steps: the first attempt and `max_retries` more, 3 unless set."""
CAMPAIGN = RetryPolicy(attempts=5, base=timedelta(seconds=10), jitter=0.1)
RULE = RetryPolicy(attempts=5, base=timedelta(minutes=1))
"""The policy of rules and sequences: 1, 2, 4, 8 minutes and failed at the fifth attempt; exact, so without jitter."""


@dataclass(frozen=True, slots=True)
class RestLengths:
    """How long a provider that cannot be used is left alone: twice as long each time, up to the longest."""

    shortest: timedelta
    longest: timedelta

    def after(self, times: int) -> timedelta:
        """The rest after so many failures in a row."""
        return min(self.shortest * 2.0 ** min(times - 1, 30), self.longest)


UNREACHED = RestLengths(timedelta(seconds=1), timedelta(minutes=1))
REFUSED = RestLengths(timedelta(minutes=1), timedelta(minutes=2))
"""The rests when a person has to change a setting first; trying every few seconds would only lock us out."""


OUTAGE_PATIENCE: Mapping[Lane, timedelta] = {
    Lane.TRANSACTIONAL: timedelta(hours=12),
    Lane.SEQUENCES: timedelta(hours=24),
    Lane.CAMPAIGNS: timedelta(hours=24),
}
"""How long an item waits for a provider that cannot be used, unless a setting says otherwise: a night at least."""


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Call again at this time."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No attempt or no time is left."""

    reason: str


def after_refusal(
    policy: RetryPolicy,
    outcome: RetryLater,
    *,
    attempts: int,
    first_marked_at: datetime,
    now: datetime,
    spread: float,
) -> TryAgain | Exhausted:
    """Decide after a RetryLater; `attempts` counts those used, this one included."""
    if outcome.uses_attempt and attempts >= policy.attempts:
        return Exhausted(f"{tried_in_vain(attempts)}{outcome.reason}")
    if not outcome.uses_attempt and now - first_marked_at >= policy.patience:
        return Exhausted(f"gave up after {now - first_marked_at}: {outcome.reason}")
    wait = policy.wait_after(max(attempts, 1), spread) if outcome.delay is None else max(outcome.delay, SHORTEST_WAIT)
    return TryAgain(now + min(wait, policy.patience))


def tried_in_vain(attempts: int) -> str:
    """The prefix of an error after so many attempts; empty for a first failure."""
    return f"gave up after {attempts} attempts: " if attempts > 1 else ""


def rests_for(outcome: Unavailable) -> RestLengths:
    """The rests of a provider that could not be used."""
    return REFUSED if outcome.is_refused else UNREACHED


def outlasted(waited: timedelta, patience: timedelta, reason: str) -> str | None:
    """Why an item that has waited so long for its provider is given up, or None while it still waits."""
    if waited < patience:
        return None
    return f"gave up after waiting {timedelta(seconds=int(waited.total_seconds()))} for the provider: {reason}"


def earliest(times: Sequence[datetime | None]) -> datetime | None:
    """The first of the times that are set."""
    return min((time for time in times if time is not None), default=None)
