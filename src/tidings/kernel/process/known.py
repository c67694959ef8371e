"""What this process knows of the others, as last read from the database: routes, live workers, and work left to them.

readiness.py reads; kernel.py holds one of each.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.connections.route import SendingRoute
from tidings.domain.connections.vendors import Vendors
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import Staff, find_route
from tidings.kernel.process.connections import ConnectionTable


class RouteTable:
    """The ways out for a channel in which workspace: its connections, or else the provider that serves it."""

    STALE_AFTER = timedelta(seconds=1)

    def __init__(self, connections: ConnectionTable, vendors: Vendors) -> None:
        self._connections, self._vendors = connections, vendors
        self._providers: Mapping[tuple[Workspace | None, Channel], str] = {}
        self._read_at: datetime | None = None

    def is_stale(self, now: datetime) -> bool:
        """Whether it is time to read it again; a clock that was set back must not stop that."""
        return self._read_at is None or not timedelta() <= now - self._read_at < self.STALE_AFTER

    def update(self, providers: Mapping[tuple[Workspace | None, Channel], str], now: datetime) -> None:
        """Take over what was read."""
        self._providers, self._read_at = providers, now

    def forget(self) -> None:
        """Have it read again before its next use: something has changed."""
        self._read_at = None

    def find(self, workspace: Workspace, channel: Channel) -> SendingRoute | None:
        """The ways out for a channel in a workspace, if there are any."""
        if connections := self._connections.in_use(workspace, channel):
            return SendingRoute(None, connections, self._vendors)
        found = find_route(self._providers, workspace, channel)
        return SendingRoute(found) if found else None


class Roster:
    """What the live workers can do."""

    STALE_AFTER = timedelta(seconds=2)

    def __init__(self) -> None:
        self.staff = Staff(frozenset(), frozenset())
        self._read_at: datetime | None = None

    def is_stale(self, now: datetime) -> bool:
        """Whether it is time to read it again."""
        return self._read_at is None or not timedelta() <= now - self._read_at < self.STALE_AFTER

    def update(self, staff: Staff, now: datetime) -> None:
        """Take over what was read."""
        self.staff, self._read_at = staff, now


class Elsewhere:
    """Work that this process has released for a worker that serves its provider.

    The row is due at once, and this process skips it until another worker has held it or a while has passed: it neither
    keeps the other waiting nor claims the same row again and again. A row is recognised by its id and its fence, which
    every holder changes.
    """

    MOST = 500
    """The most notes: each is compared with each row that a claim looks at."""
    FOR = timedelta(seconds=30)

    def __init__(self) -> None:
        self._notes: dict[UUID, tuple[int, datetime]] = {}  # fence, and until when

    def note(self, given_back: Iterable[tuple[UUID, int]], now: datetime) -> None:
        """Skip these rows for a while, as long as their fence does not change; new notes replace the oldest."""
        for id, fence in given_back:
            self._notes.pop(id, None)
            self._notes[id] = fence, now + self.FOR
        for oldest in list(self._notes)[: -self.MOST]:
            del self._notes[oldest]

    def notes(self, now: datetime) -> dict[UUID, int]:
        """The rows that a claim skips now, each while it has this fence."""
        if self._notes:
            self._notes = {id: one for id, one in self._notes.items() if now < one[1] <= now + self.FOR}
        return {id: fence for id, (fence, _) in self._notes.items()}

    @property
    def is_full(self) -> bool:
        """Whether there is no room for more notes."""
        return len(self._notes) >= self.MOST
