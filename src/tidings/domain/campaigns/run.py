"""Runs and jobs: their states and how they follow from what is below them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class JobStatus(StrEnum):
    """The states of a job; `queued` and `locked` are open."""

    QUEUED = "queued"
    LOCKED = "locked"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    DEAD = "dead"


class RunStatus(StrEnum):
    """The states of a run; paused and cancelled are flags beside them."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"


class Source(StrEnum):
    """Where a run's people come from."""

    LIST = "list"
    CONTACTS = "contacts"
    RETRY = "retry"
    """The failed items of another run."""


OPEN_JOBS = frozenset({JobStatus.QUEUED, JobStatus.LOCKED})
OPEN_RUNS = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items of a job or run are in each terminal state, of how many planned."""

    planned: int
    sent: int = 0
    called: int = 0
    posted: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def succeeded(self) -> int:
        """Items that reached the provider."""
        return self.sent + self.called + self.posted

    @property
    def open(self) -> int:
        """Items that are not terminal, in doubt or not."""
        return self.planned - self.succeeded - self.failed - self.skipped

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.planned + other.planned,
            self.sent + other.sent,
            self.called + other.called,
            self.posted + other.posted,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )


def job_status(counts: Counts) -> JobStatus:
    """What a job without open items has come to."""
    if counts.open > 0:
        return JobStatus.QUEUED
    if counts.failed == 0:
        return JobStatus.COMPLETED
    return JobStatus.FAILED if counts.succeeded + counts.skipped == 0 else JobStatus.PARTIAL


def run_status(planned: int | None, started: bool, jobs: Iterable[tuple[JobStatus, Counts]]) -> RunStatus:
    """What a run has come to, by its jobs; never terminal while its audience is still being planned."""
    jobs = list(jobs)
    is_open = planned is None or any(status in OPEN_JOBS for status, _ in jobs)
    if is_open:
        moving = started or any(status is not JobStatus.QUEUED for status, _ in jobs)
        return RunStatus.RUNNING if moving else RunStatus.QUEUED
    if all(status is JobStatus.COMPLETED for status, _ in jobs):
        return RunStatus.COMPLETED
    return RunStatus.PARTIAL if any(counts.succeeded for _, counts in jobs) else RunStatus.FAILED
