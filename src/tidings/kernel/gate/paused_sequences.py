"""Sequences that are paused for everyone: their enrollments are parked as they come due, and nothing of them leaves.

Reached from executions.py and gate.py. Pausing writes one row; the worker that claims an enrollment parks it, and
resuming wakes it (unpark in enroll.py). No enrollment depends on being woken: what is parked comes due again by itself.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from tidings.domain.flow.doubt import LOOK_AGAIN
from tidings.kernel.gate.answer import NOW, Answer, Later
from tidings.kernel.gate.check import FRESH, Ask, Item
from tidings.kernel.kernel import Kernel
from tidings.storage import enroll


class PausedSequences:
    """The sequences of one batch, and which of them are paused; without sequences it costs nothing.

    Each batch begins with a reading of its own, whatever another batch has read.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._version_of: Mapping[UUID, UUID] = {}
        self._paused: set[UUID] = set()
        self._read_at: datetime | None = None

    async def find_parked(self, version_of: Mapping[UUID, UUID], now: datetime) -> set[UUID]:
        """Return the owners whose sequence is paused; `version_of` holds the versions of a batch's enrollments."""
        self._version_of = version_of
        await self._refresh(now)
        return {owner for owner, version in version_of.items() if version in self._paused}

    def concerns(self, _items: Sequence[Item]) -> bool:
        """Whether any of the batch's owners is an enrollment."""
        return bool(self._version_of)

    async def prepare(self, _items: Sequence[Item], now: datetime) -> Ask | None:
        """Read which sequences are paused, unless that was done a moment ago."""
        await self._refresh(now)
        if not self._paused:
            return None
        parked = Later(now + LOOK_AGAIN, "its sequence is paused")

        def answer(item: Item) -> Answer:
            return parked if self._version_of.get(item.owner) in self._paused else NOW

        return answer

    def forget(self) -> None:
        """Have the paused sequences read again before anything more is marked."""
        self._read_at = None

    async def _refresh(self, now: datetime) -> None:
        if self._version_of and (self._read_at is None or now - self._read_at > FRESH):
            read = partial(enroll.paused_versions, ids=sorted(set(self._version_of.values())))
            self._paused, self._read_at = await self._kernel.db.persist(read, alone=True), now
