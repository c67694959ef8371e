"""What was just asked to pause or cancel, so that marks whose calls have not begun are taken back at once.

resolve.py and its like notify every worker after their commit; stopped.py asks before each call. Only speed depends on
it: without it, what is already marked, a tenth of a second's worth, is still called.
"""

from collections.abc import Iterable
from time import monotonic
from uuid import UUID

KEPT_SECONDS = 10.0
"""How long a note waits for the batch that holds its owner: far longer than a mark waits for its call."""


class Stops:
    """The owners that were lately asked to stop, as this process knows; the batch that holds one removes its note."""

    def __init__(self) -> None:
        self._owners: dict[UUID, float] = {}  # when this process was notified
        self.sequences = 0
        """How often enrollments were asked to stop without being named, by a filter or with their sequence."""

    def __contains__(self, owner: UUID) -> bool:
        return owner in self._owners

    def __bool__(self) -> bool:
        return bool(self._owners)

    def note(self, owners: Iterable[UUID]) -> None:
        """Note owners that are to stop: their marks must be made anew, which decides whether they are called for."""
        heard_at = monotonic()
        for owner, since in list(self._owners.items()):
            if heard_at - since > KEPT_SECONDS:
                del self._owners[owner]
        self._owners |= dict.fromkeys(owners, heard_at)

    def note_sequences(self) -> None:
        """Note that any enrollment may be one that is to stop."""
        self.sequences += 1

    def forget(self, owners: Iterable[UUID]) -> None:
        """Remove the notes of owners whose marks have been taken back: any later mark is made after the request."""
        for owner in owners:
            self._owners.pop(owner, None)
