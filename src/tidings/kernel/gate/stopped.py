"""Which marks of one batch belong to owners that were asked to stop since, and so are to be taken back.

stops.py knows who was asked. What is taken back waits for the next mark, which tells whether it may be called:
so nothing here decides anything.
"""

from collections.abc import Iterable
from uuid import UUID

from tidings.domain.flow.item import Marked
from tidings.domain.flow.queue import Lane
from tidings.kernel.process.stops import Stops


class StoppedOwners:
    """How far one batch has followed what was asked."""

    def __init__(self, stops: Stops, lane: Lane) -> None:
        self._stops = stops
        self._has_sequences = lane is Lane.SEQUENCES
        self._sequences = stops.sequences

    @property
    def are_sequences_asked(self) -> bool:
        """Whether enrollments were asked to stop without being named, since this batch followed."""
        return self._stops.sequences != self._sequences

    @property
    def is_anybody_asked(self) -> bool:
        """Whether anything may have to be taken back."""
        return bool(self._stops) or self.are_sequences_asked

    def is_stopped(self, item: Marked) -> bool:
        """Whether an item's owner may have been asked to stop since its mark."""
        return item.owner in self._stops or (self._has_sequences and self.are_sequences_asked)

    def follow(self, held: Iterable[UUID]) -> None:
        """Everything marked of whoever was asked is taken back: whatever is marked from now on is marked after that."""
        self._stops.forget(held)
        self._sequences = self._stops.sequences
