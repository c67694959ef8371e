"""Keep a run to its time: what is too late is skipped, and what missed its place in the run's rate is given another.

Reached from jobs.py before anything is rendered; deliver.py judges lateness once more before each mark. After a pause,
or when no worker ran, everything is due at once: a run with a rate sends those behind the last that has a place, never
faster than it was told.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemStatus, Reserved
from tidings.domain.flow.lateness import Appointment
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.settle import Settlement, settle
from tidings.kernel.kernel import Kernel
from tidings.storage import deploy
from tidings.storage.database import Tx
from tidings.storage.load import LoadedRun

MISSED_AFTER = timedelta(seconds=30)
"""How long after its place in the rate an item is still on time: less would be taken up with moving it."""

Missed = list[tuple[Held, Reserved]]


async def keep_time(
    kernel: Kernel, shard: Shard, runs: Mapping[UUID, LoadedRun], owners: Mapping[UUID, Held], now: datetime
) -> None:
    """Skip what is too late and move what missed its place; `runs` and `owners` are by job (an event's has no run)."""
    late: list[Settlement] = []
    missed: dict[UUID, Missed] = defaultdict(list)
    for job_id, held in owners.items():
        run = runs.get(job_id)
        if run is None or not (run.max_lateness or run.rate_per_minute):
            continue
        for item in held.due(now):
            planned, appointment = _planned(run, item), appointment_of(run, item)
            if appointment and (reason := appointment.lateness(now)):
                late.append(Settlement(held, item.id, ItemStatus.SKIPPED, reason))
            elif planned and run.rate_per_minute and now - planned > MISSED_AFTER:
                missed[job_id].append((held, item))
    for job_id, ones in missed.items():
        late += await _move(kernel, shard, runs[job_id], ones, now)
    await settle(kernel, shard, late, now)


def appointment_of(run: LoadedRun | None, item: Reserved) -> Appointment | None:
    """When an item was to be called for, if its run says how late that may be."""
    if run is None or run.max_lateness is None:
        return None
    planned = _planned(run, item)
    return Appointment(planned, run.max_lateness) if planned else None


def _planned(run: LoadedRun, item: Reserved) -> datetime | None:
    """When an item was to be called for; None once it was, where that is no longer known or nobody knows its fate."""
    if item.in_doubt:
        return None
    if item.marked_attempt == 0 and item.retry_at:
        return item.retry_at
    has_own_times = run.rate_per_minute or run.send_hour is not None
    return None if has_own_times else run.scheduled_for or run.created_at


async def _move(kernel: Kernel, shard: Shard, run: LoadedRun, missed: Missed, now: datetime) -> list[Settlement]:
    """Give items places behind the last one; give those for whom that would be too late."""
    gap = timedelta(minutes=kernel.shards / (run.rate_per_minute or 1))

    async def write(tx: Tx) -> Mapping[UUID, datetime]:
        begins_at = max(now, await deploy.lock_pace(tx, shard=shard, run_id=run.id) or now)
        await deploy.take_pace(tx, shard=shard, run_id=run.id, until=begins_at + gap * len(missed))
        times = [_whole_seconds(begins_at, gap * place) for place in range(len(missed))]
        await deploy.pace_items(
            tx,
            shard=shard,
            ids=[item.id for _, item in missed],
            owners=[item.owner for _, item in missed],
            fences=[held.lease.fence for held, _ in missed],
            retry_at=times,
        )
        return {item.id: at for (_, item), at in zip(missed, times, strict=True)}

    times = await kernel.db.persist(write)
    late = []
    for held, item in missed:
        held.open[item.id] = replace(item, retry_at=times[item.id])
        held.states[item.id] = replace(held.states[item.id], retry_at=times[item.id])
        appointment = appointment_of(run, item)
        if appointment and (reason := appointment.lateness(times[item.id])):
            late.append(Settlement(held, item.id, ItemStatus.SKIPPED, reason))
    return late


def _whole_seconds(begins_at: datetime, after: timedelta) -> datetime:
    return begins_at + timedelta(seconds=int(after.total_seconds()))
