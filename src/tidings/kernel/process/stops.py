"""What somebody was just asked to pause or cancel, so that marks whose calls have not begun are taken back at once.

resolve.py and its like tell it after their commit, to every worker; stopped.py asks before each call. Nothing depends
on it but how soon: without it, what is marked already, a tenth of a second's worth, is still called.
"""

from collections.abc import Iterable
from time import monotonic
from uuid import UUID

KEPT_SECONDS = 10.0
"""How long a note waits for whoever holds its owner: far longer than a mark waits for its call."""


class Stops:
    """The owners that were asked to stop of late, as this process knows; whoever holds one takes its note along."""

    def __init__(self) -> None:
        self._owners: dict[UUID, float] = {}  # when it was heard of
        self.sequences = 0
        """How often enrollments were asked to stop without being named, by a filter or with their sequence."""

    def __contains__(self, owner: UUID) -> bool:
        return owner in self._owners

    def __bool__(self) -> bool:
        return bool(self._owners)

    def note(self, owners: Iterable[UUID]) -> None:
        """These are to stop: whatever is marked of them is to be marked anew, which tells whether it may be called."""
        heard_at = monotonic()
        for owner, since in list(self._owners.items()):
            if heard_at - since > KEPT_SECONDS:
                del self._owners[owner]
        self._owners |= dict.fromkeys(owners, heard_at)

    def note_sequences(self) -> None:
        """Any enrollment may be one that is to stop."""
        self.sequences += 1

    def forget(self, owners: Iterable[UUID]) -> None:
        """Whoever holds these has taken back what was marked: what is marked from now on was marked after that."""
        for owner in owners:
            self._owners.pop(owner, None)
