"""The short rows of attempts that failed. Reached from commit.py; finalize.py makes facts of the same calls."""

from collections.abc import Container, Sequence
from typing import assert_never
from uuid import UUID

from tidings.domain.flow.item import Delivered
from tidings.domain.flow.outcome import Accepted, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.storable import storable
from tidings.kernel.flow.deliver import Answered
from tidings.storage.finalize import FailedAttempt


def failed_attempts(answered: Sequence[Answered], moved: Container[UUID] = ()) -> list[FailedAttempt]:
    """The short rows of the attempts that did not succeed.

    A call that could not begin is no attempt, unless its item takes another connection: then it says why.
    """
    return [
        _failed_attempt(one.delivered, said)
        for one in answered
        if not isinstance(said := one.delivered.outcome, Accepted)
        and (one.delivered.item.id in moved or not isinstance(said, Unavailable))
    ]


def _failed_attempt(delivered: Delivered, said: Rejected | RetryLater | Unavailable | Unknown) -> FailedAttempt:
    item = delivered.item
    match said:
        case Rejected():
            kind = "rejected"
        case RetryLater():
            kind = "retry_later"
        case Unavailable():
            kind = "unavailable"
        case Unknown():
            kind = "unknown"
        case _:
            assert_never(said)
    error = storable(said.reason) or ""
    return FailedAttempt(item.id, item.attempt, kind, error, delivered.started_at, delivered.ended_at)
