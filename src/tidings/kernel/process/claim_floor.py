"""Where claims may begin to look.

A queue row that was claimed or finished leaves an entry in the index behind. Usually the next scan removes it; while
some transaction keeps an old snapshot open nothing can, and every claim would walk past all of them. So each process
remembers how far it has taken everything, starts there, and looks from the beginning every few seconds: a row may
appear late behind that point, when the transaction that made it was slow or a claim was rolled back.

Rows that were being worked on in a crash (suspects) are claimed one by one, and the claim that takes one has the others
locked for that moment: a claim beside it finds nothing and would believe that everything is taken. While there are such
rows, the floor does not rise.
"""

from datetime import UTC, datetime, timedelta

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane

Place = tuple[Shard, Lane] | tuple[Shard, Lane, int]
"""A lane of a shard, or one workspace's part of it."""
MOST_PLACES = 10_000
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
SLACK = timedelta(seconds=5)
"""How long a row may take from its due time to its commit without having to wait for the look from the beginning."""
LOOK_EVERYWHERE = timedelta(seconds=10)


class ClaimFloor:
    """For each lane of a shard: everything due before this time has been taken, as far as this process knows."""

    def __init__(self) -> None:
        self._taken_until: dict[Place, datetime] = {}
        self._claimed_all_at: dict[Place, datetime] = {}
        self._looked_at_all_at: dict[Place, datetime] = {}
        self._suspected_at: dict[Place, datetime] = {}

    def to_claim(self, place: Place, now: datetime) -> datetime:
        """The due time at which a claim begins."""
        return self._since(self._claimed_all_at, place, now)

    def to_look(self, place: Place, now: datetime) -> datetime:
        """The time at which a search for the next due time begins."""
        return self._since(self._looked_at_all_at, place, now)

    def taken_until(self, place: Place) -> datetime:
        """The time at which claims begin, unless one looks from the beginning."""
        return self._taken_until.get(place, BEGINNING)

    def took(self, place: Place, until: datetime, now: datetime) -> None:
        """Note that everything due up to then was claimed, or is locked by a claim of it or of a suspect beside it."""
        if len(self._taken_until) > MOST_PLACES:
            self.forget()
        if not self._was_lately(self._suspected_at, place, now):
            self._taken_until[place] = until - SLACK

    def suspected(self, place: Place, due_at: datetime, now: datetime) -> None:
        """Note that a suspect due then was taken alone: others may be left, so for a while nothing is passed over."""
        self._suspected_at[place] = now
        self.found(place, due_at)

    def found(self, place: Place, due_at: datetime) -> None:
        """Note that a row exists before the floor: the next claim begins with it."""
        if due_at < self.taken_until(place):
            self._taken_until[place] = due_at

    def forget(self) -> None:
        """Have the next claim look from the beginning: a clock moved by days would step over what appeared late."""
        for known in (self._taken_until, self._claimed_all_at, self._looked_at_all_at):
            known.clear()

    def _since(self, done_at: dict[Place, datetime], place: Place, now: datetime) -> datetime:
        if not self._was_lately(done_at, place, now):
            done_at[place] = now
            return BEGINNING
        return self.taken_until(place)

    @staticmethod
    def _was_lately(done_at: dict[Place, datetime], place: Place, now: datetime) -> bool:
        """Whether a time is recent: neither too long ago nor, because the clock was set back, in the future."""
        last = done_at.get(place)
        return last is not None and timedelta() <= now - last < LOOK_EVERYWHERE
