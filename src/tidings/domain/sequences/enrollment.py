"""The words for how an enrollment stands, and for what came of it."""

from enum import StrEnum

from tidings.domain.words import WORDS, ShownStatus


class EnrollmentStatus(StrEnum):
    """The states of an enrollment that a caller knows."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is sent."""
        return self is EnrollmentStatus.COMPLETED or self is EnrollmentStatus.CANCELLED

    def stored(self) -> list[ShownStatus]:
        """The states of an execution that this one stands for."""
        return [status for status, words in WORDS.items() if words.enrollment == self]


class EnrollmentOutcome(StrEnum):
    """What came of an enrollment that has ended: that it completed says only that every step was dealt with."""

    SENT = "sent"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"
