"""What a process knows of each workspace, as last read from the database: its senders, and its settings.

kernel/senders.py and kernel/phone_region.py read.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from tidings.domain.flow.ids import Workspace

Kept = TypeVar("Kept")


class KnownByWorkspace(Generic[Kept]):
    """What is known of the workspaces that have done something lately; `without` is what the others have."""

    STALE_AFTER = timedelta(seconds=1)
    MOST = 1_000

    def __init__(self, without: Kept) -> None:
        self._without = without
        self._known: dict[Workspace, tuple[datetime, Kept]] = {}

    def stale(self, workspaces: Collection[Workspace], now: datetime) -> list[Workspace]:
        """Those that it is time to read again; a clock that was set back must not stop that."""
        return [one for one in workspaces if not self._is_fresh(one, now)]

    def _is_fresh(self, workspace: Workspace, now: datetime) -> bool:
        known = self._known.get(workspace)
        return known is not None and timedelta() <= now - known[0] < self.STALE_AFTER

    def update(self, found: Mapping[Workspace, Kept], now: datetime) -> None:
        """Take over what was read; of very many workspaces those that were read first are forgotten."""
        for workspace, kept in found.items():
            self._known.pop(workspace, None)
            self._known[workspace] = now, kept
        for oldest in list(self._known)[: -self.MOST]:
            del self._known[oldest]

    def forget(self) -> None:
        """Have them read again before their next use: something has changed."""
        self._known.clear()

    def of(self, workspace: Workspace) -> Kept:
        """What is known of one workspace."""
        known = self._known.get(workspace)
        return known[1] if known else self._without
