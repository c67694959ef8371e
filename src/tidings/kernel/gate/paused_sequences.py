"""Sequences that are paused for everyone: their enrollments are parked as they come due, and nothing of them leaves.

Reached from executions.py and deliver.py. Pausing writes one row, whoever comes due is parked by the worker that claims
them, and resuming wakes them (unpark in enroll.py). Nobody depends on being woken: what is parked looks again.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from tidings.domain.flow.doubt import LOOK_AGAIN
from tidings.domain.flow.graph import Form
from tidings.kernel.flow.plan import Case
from tidings.kernel.kernel import Kernel
from tidings.storage import enroll

FRESH = timedelta(seconds=2)
"""How old the reading of what is paused may be when something is marked; at the beginning of a batch it is new."""


class PausedSequences:
    """The sequences of one batch, and which of them are paused; without sequences it costs nothing."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._version_of: Mapping[UUID, UUID] = {}
        self._paused: set[UUID] = set()
        self._read_at: datetime | None = None

    async def take(self, cases: Mapping[UUID, Case], now: datetime) -> None:
        """Park whoever belongs to a paused sequence; what a person has reopened since it ended is sent all the same."""
        self._version_of = {
            id: case.loaded.version_id
            for id, case in cases.items()
            if case.graph.form is Form.SEQUENCE and case.loaded.ended_at is None
        }
        await self.refresh(now)
        for id in self._version_of:
            cases[id].held.parked = self.not_before(id, now) is not None

    async def refresh(self, now: datetime) -> None:
        """Read what is paused, unless that was done a moment ago."""
        if self._version_of and (self._read_at is None or now - self._read_at > FRESH):
            read = partial(enroll.paused_versions, ids=sorted(set(self._version_of.values())))
            self._paused, self._read_at = await self._kernel.db.persist(read, alone=True), now

    def forget(self) -> None:
        """Read what is paused before anything more is marked."""
        self._read_at = None

    def not_before(self, owner: UUID, now: datetime) -> datetime | None:
        """When to look again at an enrollment whose sequence is paused; None when it may go on."""
        return now + LOOK_AGAIN if self._version_of.get(owner) in self._paused else None
