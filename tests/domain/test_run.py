"""What jobs and runs come to, as DESIGN.md's table says; the SQL that ends a job says the same."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement, product
from uuid import UUID

import asyncpg
import pytest

from tidings.domain.campaigns.run import OPEN_JOBS, OPEN_RUNS, JobCounts, JobStatus, RunStatus, job_status, run_status
from tidings.domain.flow.ids import Bucket, Shard, make_id
from tidings.domain.flow.item import Fence
from tidings.domain.flow.queue import Claimed, Kind
from tidings.storage.database import Database
from tidings.storage.release import MovedJob, release_jobs

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NAMES = ("sent", "called", "posted", "failed", "skipped")


def every_count(most: int) -> Iterator[JobCounts]:
    for planned in range(most + 1):
        for values in product(range(planned + 1), repeat=5):
            if sum(values) <= planned:
                yield JobCounts(planned, *values)


def expected_job(counts: JobCounts) -> JobStatus:
    """DESIGN.md: all succeeded or skipped → completed; mixed → partial; all failed → failed; open while an item is."""
    ended = [name for name in NAMES for _ in range(getattr(counts, name))]
    if len(ended) < counts.planned:
        return JobStatus.QUEUED
    failed = [name == "failed" for name in ended]
    if not any(failed):
        return JobStatus.COMPLETED
    return JobStatus.FAILED if all(failed) else JobStatus.PARTIAL


def test_a_job_follows_from_its_items_for_every_small_count() -> None:
    for counts in every_count(4):
        assert job_status(counts) is expected_job(counts), counts


def test_counts_add_up_and_know_what_is_open() -> None:
    total = JobCounts(5, sent=1, failed=2) + JobCounts(4, called=1, posted=1, skipped=1)

    assert total == JobCounts(9, 1, 1, 1, 2, 1)
    assert total.succeeded == 3
    assert total.open == 3


def a_job(status: JobStatus) -> list[tuple[JobStatus, JobCounts]]:
    """The ways a job can have come to a status."""
    ways = {
        JobStatus.QUEUED: [JobCounts(2), JobCounts(2, sent=1)],
        JobStatus.LOCKED: [JobCounts(2), JobCounts(2, failed=1)],
        JobStatus.COMPLETED: [JobCounts(2, sent=2), JobCounts(2, skipped=2), JobCounts(2, called=1, skipped=1)],
        JobStatus.PARTIAL: [JobCounts(2, sent=1, failed=1), JobCounts(2, failed=1, skipped=1)],
        JobStatus.FAILED: [JobCounts(2, failed=2)],
        JobStatus.DEAD: [JobCounts(2, failed=2), JobCounts(2, posted=1, failed=1)],
    }
    return [(status, counts) for counts in ways[status]]


def expected_run(planned: int | None, started: bool, jobs: tuple[tuple[JobStatus, JobCounts], ...]) -> RunStatus:
    """DESIGN.md: all jobs completed → completed; none succeeded → failed; else partial; never while planning."""
    statuses = {status for status, _ in jobs}
    if planned is None or statuses & {JobStatus.QUEUED, JobStatus.LOCKED}:
        return RunStatus.RUNNING if started or statuses - {JobStatus.QUEUED} else RunStatus.QUEUED
    if statuses <= {JobStatus.COMPLETED}:
        return RunStatus.COMPLETED
    succeeded = sum(counts.sent + counts.called + counts.posted for _, counts in jobs)
    return RunStatus.PARTIAL if succeeded else RunStatus.FAILED


def test_a_run_follows_from_its_jobs_for_every_mix_of_up_to_three() -> None:
    ways = [way for status in JobStatus for way in a_job(status)]
    for size, planned, started in product(range(4), (None, 6), (False, True)):
        for jobs in combinations_with_replacement(ways, size):
            assert run_status(planned, started, jobs) is expected_run(planned, started, jobs), jobs


@pytest.mark.parametrize("jobs", [[], a_job(JobStatus.COMPLETED), a_job(JobStatus.FAILED)])
def test_a_run_is_never_terminal_while_its_audience_is_being_planned(jobs: list[tuple[JobStatus, JobCounts]]) -> None:
    assert run_status(None, True, jobs) in OPEN_RUNS


def test_a_run_of_nobody_is_completed() -> None:
    assert run_status(0, True, []) is RunStatus.COMPLETED


def job_id(number: int) -> UUID:
    return make_id(Bucket(4 * (number % 1024) + 1), NOW, number)


async def test_the_sql_that_ends_a_job_agrees_with_the_domain(
    db: Database, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    cases = list(enumerate(every_count(3)))
    await sql.executemany(
        "insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, created_at, planned, sent,"
        " called, posted, failed, skipped) values (1, $1, $1, 't', 'w', 'email', 'locked', $2, $3, $4, $5, $6, $7, $8)",
        [(job_id(number), NOW, c.planned, c.sent, c.called, c.posted, c.failed, c.skipped) for number, c in cases],
    )
    await sql.executemany(
        "insert into queue (shard, id, kind, lane, due_at, fence, leased, workspace_hash)"
        " values (1, $1, 'job', 2, $2, 1, true, 1)",
        [(job_id(number), NOW) for number, _ in cases],
    )

    async with db.transaction() as tx:
        released = await release_jobs(
            tx,
            shard=Shard(1),
            moves=[
                MovedJob(Claimed(job_id(n), Kind.JOB, Fence(1), 0, None, NOW), NOW + timedelta(hours=1), job_id(n))
                for n, _ in cases
            ],
            now=NOW,
        )

    stored = {row["id"]: row["status"] for row in await sql.fetch("select id, status from jobs")}
    waiting = {row["id"] for row in await sql.fetch("select id from queue")}
    assert len(released) == len(cases)
    for number, counts in cases:
        assert stored[job_id(number)] == job_status(counts), counts
        assert (job_id(number) in waiting) == (job_status(counts) in OPEN_JOBS), counts
