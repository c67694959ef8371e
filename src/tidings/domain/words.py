"""The words of each product for the states of an execution, and 000's for those of an item.

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
    """001: a notification workflow's trigger instance."""
    enrollment: str
    """003: a contact in a drip sequence."""
    steps: str
    """004: a named workflow of function calls."""


WORDS: Mapping[ShownStatus, Words] = {
    ShownStatus.ENQUEUED: Words("enqueued", "active", "pending"),
    ShownStatus.PROCESSING: Words("processing", "active", "running"),
    ShownStatus.PAUSED: Words("paused", "paused", "pending"),
    ShownStatus.COMPLETED: Words("completed", "completed", "completed"),
    # 003 has no word for an enrollment that stopped at a failed step; the reason stands beside it.
    ShownStatus.FAILED: Words("failed", "cancelled", "failed"),
    ShownStatus.CANCELLED: Words("cancelled", "cancelled", "cancelled"),
}


def outbox_word(status: ItemStatus, *, is_marked: bool, in_doubt: bool) -> str:
    """000's word for the state of an item, with the two it is silent about: skipped and in_doubt."""
    if in_doubt:
        return "in_doubt"
    if status is ItemStatus.QUEUED:
        return "processing" if is_marked else "pending"
    return "succeeded" if status in SUCCESSES else str(status)
