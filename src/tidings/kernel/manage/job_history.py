"""The history of a job: each change of its state, written in the transaction that makes it.

Reached from plan_audience.py (queued), jobs.py (locked, and how it ended) and resolve.py (pause, resume, cancel). An
entry is one row of a statement for the whole batch: three rows for some hundred items.
"""

from datetime import datetime
from enum import IntEnum
from uuid import UUID

from tidings.domain.flow.ids import Bucket, Shard, bucket_of_id, first_of_many, part_bucket
from tidings.kernel.kernel import Kernel

_RANDOM_BITS = 60


class Change(IntEnum):
    """The changes of a job's state, in the order in which two of the same millisecond are read."""

    QUEUED = 0
    LOCKED = 1
    ASKED = 2
    """A request to pause, to go on or to end."""
    ENDED = 3


def entry_of(kernel: Kernel, job_id: UUID, change: Change, now: datetime) -> UUID:
    """An id for the history entry of a change; reading by id is reading in the order of events."""
    return _ranked(kernel, bucket_of_id(job_id), change, now)


def first_of_asked(kernel: Kernel, run_id: UUID, shard: Shard, now: datetime) -> UUID:
    """The first id for the history entries of a run's jobs in one shard that are asked to pause, to go on or to end."""
    return first_of_many(_ranked(kernel, part_bucket(run_id, shard, kernel.shards), Change.ASKED, now))


def _ranked(kernel: Kernel, bucket: Bucket, change: Change, now: datetime) -> UUID:
    """An id whose random bits begin with the change's rank."""
    id = kernel.new_id(bucket, now).int
    return UUID(int=id & ~(3 << _RANDOM_BITS) | change << _RANDOM_BITS)
