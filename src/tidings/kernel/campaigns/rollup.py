"""One batch of runs: plan what is left of their audience, then let their status follow from their jobs (rule 10).

Reached from engine.py under the run's own claim; nothing else writes a run's status. Jobs wake their run when they are
done, and a run looks again by itself every thirty seconds while it is open.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import OPEN_RUNS, JobCounts, JobStatus, RunStatus, run_status
from tidings.domain.flow.doubt import LOOK_AGAIN
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_id
from tidings.domain.flow.queue import Claimed, Stop
from tidings.kernel import crash_points
from tidings.kernel.campaigns.plan_audience import deploy_some
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.manage.resolve import pass_on_stop
from tidings.log import log
from tidings.storage import deploy, load, release
from tidings.storage.database import Tx
from tidings.storage.load import LoadedRun
from tidings.storage.release import MovedRun

ENGINE = "engine"
"""The actor in the audit log when no person asked."""
ROLL_UP_EVERY = timedelta(seconds=30)
DEPLOY_SLICE = timedelta(seconds=1)


async def work_runs(kernel: Kernel, shard: Shard, leases: Sequence[Claimed]) -> None:
    """Bring each claimed run up to date."""
    ids = [lease.id for lease in leases]
    runs = await kernel.db.persist(lambda tx: load.load_runs(tx, shard=shard, ids=ids), alone=True)
    for lease in leases:
        await _work_run(kernel, shard, lease, runs[lease.id])


async def _work_run(kernel: Kernel, shard: Shard, lease: Claimed, run: LoadedRun) -> None:
    await pass_on_stop(kernel, run.id, ENGINE)
    planned = run.planned
    # A paused run is planned all the same, since its jobs are paused as well: so its size is known. So is one that is
    # cancelled: everybody it was meant for is accounted for.
    if planned is None and (run.cancelled or run.begins_at <= await kernel.clock.now()):
        planned = await deploy_some(kernel, run, _slice_end(kernel, lease))
    status = run_status(planned, run.started_at is not None, await _jobs(kernel, run))
    now = await kernel.clock.now()
    ended_at = None if status in OPEN_RUNS else now
    await _release(
        kernel, shard, run, MovedRun(lease, status, planned, ended_at, _due_at(run, lease, planned, now)), now
    )


def _due_at(run: LoadedRun, lease: Claimed, planned: int | None, now: datetime) -> datetime:
    """When an open run is due again: at once while people are left to plan, but not before its start time."""
    if planned is None:
        return now if run.cancelled else max(now, run.begins_at)
    return now + (LOOK_AGAIN if lease.stop is Stop.PAUSE else ROLL_UP_EVERY)


def _slice_end(kernel: Kernel, lease: Claimed) -> datetime:
    """When this slice of planning ends: the run's status must keep up with its first jobs, and the lease must hold."""
    begun = lease.until - kernel.limits.lease
    return begun + min(DEPLOY_SLICE, kernel.limits.lease / 3)


async def _jobs(kernel: Kernel, run: LoadedRun) -> list[tuple[JobStatus, JobCounts]]:
    """Count the run's jobs in every shard, by status."""
    found: list[tuple[JobStatus, JobCounts]] = []
    for shard in kernel.every_shard():
        sums = await kernel.db.persist(partial(deploy.sum_jobs, shard=shard, run_id=run.id), alone=True)
        found += sums.items()
    return found


async def _release(kernel: Kernel, shard: Shard, run: LoadedRun, move: MovedRun, now: datetime) -> None:
    async def write(tx: Tx) -> bool:
        held = bool(await release.release_runs(tx, shard=shard, moves=[move], now=now))
        if held and move.status is not run.status:
            by = Caller(Workspace(run.tenant, run.workspace), ENGINE)
            await write_audit(kernel, tx, by, _changes(kernel, run, move, now), now)
        crash_points.reach("before_rollup_commit")
        return held

    if not await kernel.db.persist(write):
        log.warning("lease_lost", owner=str(run.id), fence=move.lease.fence)


def _changes(kernel: Kernel, run: LoadedRun, move: MovedRun, now: datetime) -> list[AuditEntry]:
    """The changes for its history: a run that ended between two roll-ups was running all the same."""
    path = [move.status]
    if run.status is RunStatus.QUEUED and move.status not in OPEN_RUNS:
        path = [RunStatus.RUNNING, move.status]
    entries = sorted(kernel.new_id(bucket_of_id(run.id), now) for _ in path)  # the order of two at one time
    return [
        AuditEntry("run", run.id, status, {"from": before, "planned": move.planned}, entry)
        for before, status, entry in zip([run.status, *path], path, entries, strict=False)
    ]
