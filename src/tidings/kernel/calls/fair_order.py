"""Who comes next, in the manner of start-time fair queuing: whoever has been served least for its weight.

A newcomer begins at what those being served have reached, so it neither waits for their backlog nor is paid for the
time it was away.
"""

MOST_REMEMBERED = 1_000


class FairOrder:
    """How far each has been served, for its weight: the least served comes next."""

    def __init__(self) -> None:
        self._reached = 0.0
        self._served: dict[int, float] = {}

    def start(self, key: int) -> float:
        """Where the next turn of a key begins."""
        return max(self._reached, self._served.get(key, 0.0))

    def serve(self, key: int, share: float) -> None:
        """Note a turn, as what was taken divided by the weight."""
        self._reached = self.start(key)
        self._served[key] = self._reached + share
        if len(self._served) > MOST_REMEMBERED:  # who is behind starts where the others are, remembered or not
            self._served = {one: served for one, served in self._served.items() if served > self._reached}
