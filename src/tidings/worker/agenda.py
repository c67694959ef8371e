"""When and where a worker knows of work: pure bookkeeping, so that an idle worker asks little and sleeps long."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane

Place = tuple[Shard, Lane]


class Agenda:
    """The known due times of lanes, and when each shard must be queried again."""

    def __init__(self, shards: Iterable[Shard], lanes: Iterable[Lane], poll: timedelta) -> None:
        self._lanes = set(lanes)
        self._poll = poll
        self._look_at: dict[Shard, datetime | None] = dict.fromkeys(shards)
        self._due: dict[Place, datetime] = {}

    def shards_to_ask(self, now: datetime) -> list[Shard]:
        """The shards whose due times are too old to rely on."""
        return [shard for shard, at in self._look_at.items() if at is None or at <= now]

    def learn(self, shard: Shard, due: Mapping[Lane, datetime], now: datetime) -> None:
        """Store what the database returned for one shard."""
        self._look_at[shard] = now + self._poll
        for lane in self._lanes:
            self._due.pop((shard, lane), None)
            if lane in due:
                self._due[shard, lane] = due[lane]

    def hear(self, places: Iterable[Place], now: datetime) -> None:
        """Note that there is work in a lane of a shard; one that is due already keeps its turn."""
        for shard, lane in places:
            if lane in self._lanes and shard in self._look_at:
                self._due[shard, lane] = min(now, self._due.get((shard, lane), now))

    def ask_soon(self, shards: Iterable[Shard]) -> None:
        """Have a shard queried again soon: something may have changed there."""
        self._look_at |= dict.fromkeys(shards)

    def found_nothing(self, place: Place, again_at: datetime) -> None:
        """Note that a claim came back empty: the shard must be queried for what is next."""
        self._due.pop(place, None)
        at = self._look_at[place[0]]
        self._look_at[place[0]] = again_at if at is None else min(at, again_at)

    def took_some(self, place: Place, now: datetime) -> None:
        """Note that a claim took what was known to be due: what is left goes behind lanes that have waited longer."""
        if self.is_due(place, now):
            self._due[place] = now

    def is_due(self, place: Place, now: datetime) -> bool:
        """Whether there is work in a lane of a shard now, as far as is known."""
        at = self._due.get(place)
        return at is not None and at <= now

    def due_places(self, now: datetime) -> list[Place]:
        """The lanes of shards that have work now, the longest due first."""
        return [place for place, at in sorted(self._due.items(), key=lambda entry: entry[1]) if at <= now]

    def next_time(self, busy: Iterable[Lane], now: datetime) -> datetime | None:
        """When there is something to do next, apart from what is due in lanes that are full; None means now.

        What comes due there later may be of somebody who has a place beside those that fill it.
        """
        full = set(busy)
        due = [at for (_, lane), at in self._due.items() if lane not in full or at > now]
        times = list(self._look_at.values()) + due
        return None if None in times else min((at for at in times if at), default=None)
