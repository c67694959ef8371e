"""Runs and jobs: their states and how they follow from what is below them."""

from collections.abc import Iterable
from enum import StrEnum

from tidings.views.runs import OPEN_RUNS, JobCounts, JobStatus, RunStatus

__all__ = ["OPEN_JOBS", "OPEN_RUNS", "JobCounts", "JobStatus", "RunStatus", "Source", "job_status", "run_status"]


class Source(StrEnum):
    """Where a run's people come from."""

    LIST = "list"
    CONTACTS = "contacts"
    RETRY = "retry"
    """The failed items of another run."""


OPEN_JOBS = frozenset({JobStatus.QUEUED, JobStatus.LOCKED})


def job_status(counts: JobCounts) -> JobStatus:
    """What a job without open items has come to."""
    if counts.open > 0:
        return JobStatus.QUEUED
    if counts.failed == 0:
        return JobStatus.COMPLETED
    return JobStatus.FAILED if counts.succeeded + counts.skipped == 0 else JobStatus.PARTIAL


def run_status(planned: int | None, started: bool, jobs: Iterable[tuple[JobStatus, JobCounts]]) -> RunStatus:
    """What a run has come to, by its jobs; never terminal while its audience is still being planned."""
    jobs = list(jobs)
    is_open = planned is None or any(status in OPEN_JOBS for status, _ in jobs)
    if is_open:
        moving = started or any(status is not JobStatus.QUEUED for status, _ in jobs)
        return RunStatus.RUNNING if moving else RunStatus.QUEUED
    if all(status is JobStatus.COMPLETED for status, _ in jobs):
        return RunStatus.COMPLETED
    return RunStatus.PARTIAL if any(counts.succeeded for _, counts in jobs) else RunStatus.FAILED
