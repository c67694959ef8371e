"""The words of each product for the states of an execution, and those of a notification outbox for an item's.

What is stored is an ExecutionStatus; what is shown also knows `processing` (it has started, and goes on), and calls an
execution paused from the moment nothing more can leave it. `shown_status` in storage/schema.sql derives it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.views.executions import ShownStatus

__all__ = ["WORDS", "ShownStatus", "Words", "outbox_word"]


@dataclass(frozen=True, slots=True)
class Words:
    """One state in the words of each product."""

    workflow: str
    """Of a workflow."""
    enrollment: str
    """Of a contact in a sequence."""
    steps: str
    """Of a named workflow of function calls."""


WORDS: Mapping[ShownStatus, Words] = {
    ShownStatus.ENQUEUED: Words("enqueued", "active", "pending"),
    ShownStatus.PROCESSING: Words("processing", "active", "running"),
    ShownStatus.PAUSED: Words("paused", "paused", "pending"),
    ShownStatus.COMPLETED: Words("completed", "completed", "completed"),
    # Enrollments have no word for stopping at a failed step; the reason stands beside it.
    ShownStatus.FAILED: Words("failed", "cancelled", "failed"),
    ShownStatus.CANCELLED: Words("cancelled", "cancelled", "cancelled"),
}


def outbox_word(status: ItemStatus, *, is_marked: bool, in_doubt: bool) -> str:
    """The state of an item in the words of a notification outbox, with two of our own: skipped and in_doubt."""
    if in_doubt:
        return "in_doubt"
    if status is ItemStatus.QUEUED:
        return "processing" if is_marked else "pending"
    return "succeeded" if status in SUCCESSES else str(status)
