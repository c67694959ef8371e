"""The short rows of attempts that failed. Reached from commit.py; finalize.py makes facts of the same calls."""

from collections.abc import Sequence
from typing import assert_never

from tidings.domain.flow.item import Delivered
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.storable import storable
from tidings.kernel.flow.deliver import Answered
from tidings.storage.finalize import FailedAttempt


def failed_attempts(answered: Sequence[Answered]) -> list[FailedAttempt]:
    """The short rows of the attempts that did not succeed; a call that could not begin is no attempt."""
    return [
        _failed_attempt(one.delivered, said)
        for one in answered
        if not isinstance(said := one.delivered.outcome, Accepted | Unavailable)
    ]


def _failed_attempt(delivered: Delivered, said: Rejected | RetryLater | Unknown) -> FailedAttempt:
    item = delivered.item
    match said:
        case Rejected():
            kind = "rejected"
        case RetryLater():
            kind = "retry_later"
        case Unknown():
            kind = "unknown"
        case _:
            assert_never(said)
    error = storable(said.reason) or ""
    return FailedAttempt(item.id, item.attempt, kind, error, delivered.started_at, delivered.ended_at)
