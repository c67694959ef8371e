"""Take back the marks of one batch whose owners were asked to stop since, where no call has begun.

Reached from deliver.py, before each call and before each commit; stops.py knows who was asked. What is taken back waits
for the next mark, which tells whether it may be called: so nothing here decides anything.
"""

from collections.abc import Iterable
from uuid import UUID

from tidings.domain.flow.item import Marked
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.provider_queue import Line, Parcel
from tidings.kernel.gate.paused_sequences import PausedSequences
from tidings.kernel.process.stops import Stops


class Heed:
    """How far one batch has followed what was asked."""

    def __init__(self, stops: Stops, lane: Lane) -> None:
        self._stops = stops
        self._has_sequences = lane is Lane.SEQUENCES
        self._sequences = stops.sequences

    def is_stopped(self, item: Marked) -> bool:
        """Whether an item's owner may have been asked to stop since its mark."""
        return item.owner in self._stops or (self._has_sequences and self._stops.sequences != self._sequences)

    def take_back(
        self, lines: Iterable[Line], held: Iterable[UUID], paused: PausedSequences
    ) -> list[tuple[Marked, Parcel]]:
        """What is marked of whoever was asked to stop; from now on, whatever is marked was marked after that."""
        if not self._stops and self._stops.sequences == self._sequences:
            return []
        taken = [one for line in lines for one in line.take_out(self.is_stopped)]
        self._stops.forget(held)
        if self._stops.sequences != self._sequences:
            self._sequences = self._stops.sequences
            paused.forget()  # a sequence may have been paused just now
        return taken
