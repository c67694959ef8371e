"""Which marks of one batch belong to owners that were asked to stop since, and so are to be taken back.

stops.py knows which owners were asked. What is taken back waits for the next mark, which decides whether it may be
called for: nothing is decided here.
"""

from collections.abc import Iterable
from uuid import UUID

from tidings.domain.flow.item import Marked
from tidings.domain.flow.queue import Lane
from tidings.kernel.process.stops import Stops


class StoppedOwners:
    """Which requests to stop one batch has already followed."""

    def __init__(self, stops: Stops, lane: Lane) -> None:
        self._stops = stops
        self._has_sequences = lane is Lane.SEQUENCES
        self._sequences = stops.sequences

    @property
    def are_sequences_asked(self) -> bool:
        """Whether enrollments were asked to stop, without being named, since this batch last followed."""
        return self._stops.sequences != self._sequences

    @property
    def is_anybody_asked(self) -> bool:
        """Whether any mark may have to be taken back."""
        return bool(self._stops) or self.are_sequences_asked

    def is_stopped(self, item: Marked) -> bool:
        """Whether an item's owner may have been asked to stop since its mark."""
        return item.owner in self._stops or (self._has_sequences and self.are_sequences_asked)

    def follow(self, held: Iterable[UUID]) -> None:
        """Note that all marks of owners asked so far are taken back: any later mark is made after the request."""
        self._stops.forget(held)
        self._sequences = self._stops.sequences
