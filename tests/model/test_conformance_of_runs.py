"""The same side by side for what has no items of its own to walk through: jobs and runs, their leases and their status.

One job or run at a time. Fences are often stale on purpose; a job's items are counted as settled by the test.
"""

from dataclasses import dataclass
from random import Random
from typing import Any, cast

import pytest

from tests.kernel.scenes import Sql, deploy, plan_runs
from tests.model import guards
from tests.model.states import Time
from tests.model.test_conformance import (
    FUTURE,
    NOW,
    PAST,
    Pair,
    cancelled,
    claimed,
    gave_back,
    renewed,
    time_passed,
    woken,
)
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.flow.item import Fence
from tidings.domain.flow.queue import Claimed, Kind, Lane, Stop
from tidings.engine import Engine
from tidings.kernel.manage.job_history import Change, entry_of
from tidings.storage import load, release
from tidings.storage.release import MovedJob, MovedRun

OWNERS, STEPS = 12, 30
LANES = {Kind.JOB: Lane.CAMPAIGNS, Kind.RUN: Lane.RUNS}


@dataclass
class Owned(Pair):
    """A job or a run in the database, and the same in the model."""

    kind: Kind = Kind.JOB
    status: str = "queued"
    open: int = 1

    def lease(self) -> tuple[Claimed, bool]:
        """One that may be lost by now, and whether a stop was known under it."""
        knows = bool(self.row and self.row.stop and self.random.random() < 0.5)
        stop = Stop.CANCEL if knows else None
        return Claimed(self.owner, self.kind, Fence(self.fence()), 0, stop, NOW), knows

    async def real_status(self) -> str:
        return cast(str, await self.sql.fetchval(f"select status from {self.kind}s where id = $1", self.owner))


async def locked(pair: Owned) -> None:
    lease, _ = pair.lease()
    entry = entry_of(pair.engine.kernel, pair.owner, Change.LOCKED, NOW)
    taken = await pair.commit(
        lambda tx: load.take_jobs(tx, shard=pair.shard, ids=[lease.id], fences=[lease.fence], entries=[entry], now=NOW)
    )
    may_take = guards.holds(pair.row, lease.fence) and pair.status != "completed"
    assert bool(taken) is may_take
    pair.status = "locked" if may_take else pair.status


async def settled(pair: Owned) -> None:
    await pair.sql.execute("update jobs set sent = planned where id = $1", pair.owner)
    pair.open = 0


async def released_job(pair: Owned) -> None:
    lease, stop = pair.lease()
    due = cast(Time, pair.random.choice(["due", "later", "later"]))
    entry = entry_of(pair.engine.kernel, pair.owner, Change.ENDED, NOW)
    move = MovedJob(lease, PAST if due == "due" else FUTURE, entry)
    freed = await pair.commit(lambda tx: release.release_jobs(tx, shard=pair.shard, moves=[move], now=NOW))
    pair.row, has_moved = guards.release_job(pair.row, lease.fence, due, stop=stop, is_done=not pair.open)
    assert [one.done for one in freed] == ([not pair.open] if has_moved else [])
    if has_moved:
        pair.status = "queued" if pair.open else "completed"


async def released_run(pair: Owned) -> None:
    lease, stop = pair.lease()
    due = cast(Time, pair.random.choice(["due", "later", "later"]))
    status = pair.random.choice([RunStatus.QUEUED, *[RunStatus.RUNNING] * 4, RunStatus.PARTIAL])
    ended_at = NOW if status is RunStatus.PARTIAL else None
    move = MovedRun(lease, status, 1, ended_at, PAST if due == "due" else FUTURE)
    freed = await pair.commit(lambda tx: release.release_runs(tx, shard=pair.shard, moves=[move], now=NOW))
    pair.row, has_moved = guards.release_run(pair.row, lease.fence, due, stop=stop, has_ended=ended_at is not None)
    assert bool(freed) is has_moved
    if has_moved:
        pair.status = status


EVERY = [claimed, claimed, renewed, woken, time_passed, time_passed]
STEPS_OF: dict[Kind, list[Any]] = {
    Kind.JOB: [*EVERY, locked, released_job, released_job],
    Kind.RUN: [*EVERY, released_run, released_run],
}
SELDOM: dict[Kind, list[Any]] = {Kind.JOB: [gave_back, cancelled, settled], Kind.RUN: [gave_back, cancelled]}


async def make(engine: Engine, sql: Sql, random: Random, kind: Kind, number: int) -> Owned:
    await sql.execute("delete from queue")
    run = await deploy(engine, 1, f"c{number}")
    if kind is Kind.JOB:
        await plan_runs(engine)
        await sql.execute("delete from queue where kind = 'run'")
    owner = run if kind is Kind.RUN else await sql.fetchval("select id from jobs where run_id = $1", run)
    await sql.execute("update queue set due_at = $1, fence = 1", PAST)
    pair = Owned(engine, sql, random, owner, None, [None, None], [], LANES[kind], kind)
    pair.row, _ = await pair.real()
    assert pair.row is not None
    pair.fences.append(pair.row.fence)
    return pair


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", LANES)
async def test_the_guards_of_jobs_and_runs_do_what_the_statements_do(
    engine: Engine, sql: Sql, kind: Kind, seed: int
) -> None:
    random, seen = Random(seed), set[str]()
    for number in range(OWNERS):
        pair = await make(engine, sql, random, kind, number)
        for _ in range(STEPS):
            step = random.choice(SELDOM[kind] if random.random() < 0.1 else STEPS_OF[kind])
            await step(pair)
            seen.add(step.__name__)
            found = (await pair.real())[0], await pair.real_status()
            assert found == (pair.row, pair.status), f"after {step.__name__}, {kind} {number} of seed {seed}"

    assert seen == {step.__name__ for step in [*STEPS_OF[kind], *SELDOM[kind]]}
