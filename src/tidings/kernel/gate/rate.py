"""Keep a run to its time: what is too late is skipped, and what missed its place in the run's rate is given another.

Reached from jobs.py before anything is rendered; lateness.py asks once more before each mark. After a pause, or when no
worker ran, everything is due at once: a run with a rate puts those items behind the last one that has a place, and
never sends faster than its rate.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import Fence, Reserved
from tidings.domain.flow.lateness import Appointment
from tidings.kernel.gate.answer import Later, Never
from tidings.kernel.kernel import Kernel
from tidings.storage import deploy
from tidings.storage.database import Tx
from tidings.storage.load import LoadedRun

MISSED_AFTER = timedelta(seconds=30)
"""How long after its place in the rate an item is still on time: with less, the time would go into moving items."""


class DueItems(msgspec.Struct, frozen=True):
    """What is due of one job, and under which lease."""

    run: LoadedRun
    fence: Fence
    items: Sequence[Reserved]


def has_times(run: LoadedRun) -> bool:
    """Whether a run has times to keep to at all."""
    return bool(run.max_lateness or run.rate_per_minute)


async def keep_time(
    kernel: Kernel, shard: Shard, due: Sequence[DueItems], now: datetime
) -> Mapping[UUID, Later | Never]:
    """Return which due items are too late, and which missed their place and have another one now."""
    answers: dict[UUID, Later | Never] = {}
    for job in due:
        missed = []
        for item in job.items:
            planned, appointment = _planned(job.run, item), appointment_of(job.run, item)
            if appointment and (reason := appointment.lateness(now)):
                answers[item.id] = Never(reason)
            elif planned and job.run.rate_per_minute and now - planned > MISSED_AFTER:
                missed.append(item)
        if missed:
            answers |= await _move(kernel, shard, job, missed, now)
    return answers


def appointment_of(run: LoadedRun | None, item: Reserved) -> Appointment | None:
    """When an item was to be called for, if its run says how late that may be."""
    if run is None or run.max_lateness is None:
        return None
    planned = _planned(run, item)
    return Appointment(planned, run.max_lateness) if planned else None


def _planned(run: LoadedRun, item: Reserved) -> datetime | None:
    """When an item was to be called for; None in doubt, or once called for, where that time is no longer known."""
    if item.in_doubt:
        return None
    if item.marked_attempt == 0 and item.retry_at:
        return item.retry_at
    has_own_times = run.rate_per_minute or run.send_hour is not None
    return None if has_own_times else run.scheduled_for or run.created_at


async def _move(
    kernel: Kernel, shard: Shard, job: DueItems, missed: Sequence[Reserved], now: datetime
) -> Mapping[UUID, Later | Never]:
    """Assign items places behind the last one, except those for which that would be too late."""
    gap = timedelta(minutes=kernel.shards / (job.run.rate_per_minute or 1))

    async def write(tx: Tx) -> list[datetime]:
        begins_at = max(now, await deploy.lock_pace(tx, shard=shard, run_id=job.run.id) or now)
        await deploy.take_pace(tx, shard=shard, run_id=job.run.id, until=begins_at + gap * len(missed))
        times = [_whole_seconds(begins_at, gap * place) for place in range(len(missed))]
        await deploy.pace_items(
            tx,
            shard=shard,
            ids=[item.id for item in missed],
            owners=[item.owner for item in missed],
            fences=[job.fence] * len(missed),
            retry_at=times,
        )
        return times

    times = await kernel.db.persist(write)
    return {item.id: _answer(job.run, item, at) for item, at in zip(missed, times, strict=True)}


def _answer(run: LoadedRun, item: Reserved, at: datetime) -> Later | Never:
    appointment = appointment_of(run, item)
    reason = appointment.lateness(at) if appointment else None
    return Never(reason) if reason else Later(at, "it missed its place in the run's rate")


def _whole_seconds(begins_at: datetime, after: timedelta) -> datetime:
    return begins_at + timedelta(seconds=int(after.total_seconds()))
