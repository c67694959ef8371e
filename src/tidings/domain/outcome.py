"""What a provider said about one call."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider took the message; `message_id` is its own name for it, where it gave one."""

    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The provider refused for good; trying again cannot help."""

    reason: str


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Nothing was accepted, and trying again may help.

    `delay` is what the provider asked for; None leaves it to the retry policy. A provider that only says "not so
    fast" (429) uses no attempt: the policy's total time bounds it instead.
    """

    reason: str
    delay: timedelta | None = None
    uses_attempt: bool = True


@dataclass(frozen=True, slots=True)
class Unknown:
    """The request may have arrived: the item is in doubt, and only evidence, policy or a person can end that."""

    reason: str


Outcome = Accepted | Rejected | RetryLater | Unknown
